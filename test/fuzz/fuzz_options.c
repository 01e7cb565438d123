/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines of lockstep-train: words of the input, cut at line ends, are
 * refused with a message or make settings, of which every value has a text that
 * gives it again. */
#include "mutate.h"
#include "run/rate.h"
#include "run/run.h"

#include <stdbool.h>

const char opt_program_name[] = "fuzz";

enum { WORDS = 16 };

/* What was stored is shown as text that stores the same. */
static void check_values(const run *r)
{
    const opt_program *p = &r->program;

    for (int i = 0; i < p->count; i++) {
        char room[OPT_VALUE];
        bool quoted;
        static char again[sizeof *r];
        const char *text = opt_value(&p->option[i], room, &quoted);
        opt o = p->option[i];

        o.settings = again;
        if (r->line.given[i] && text && opt_store(&o, text) != OPT_GO)
            abort();
    }
}

static bool is_given(const opt_line *line, int i)
{
    return line->given[i];
}

/* The one spelling of an option and its parts is read as the same. */
static void check_words(run *r)
{
    for (int i = 0; i < r->program.count; i++) {
        char *text = NULL, *again = NULL;

        if (opt_is_part(&r->program.option[i]))
            continue;
        text = opt_spelt(&r->line, i, is_given);
        r->line.used = 0;
        if (text && *text && opt_take_word(&r->line, i, text) != OPT_GO)
            abort();
        again = opt_spelt(&r->line, i, is_given);
        if (text && again && strcmp(text, again) != 0)
            abort();
        free(text);
        free(again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = copy_of(bytes, size), *words[WORDS + 2] = {"fuzz"};
    ls_boundary room[RATE_BOUNDARIES];
    ls_schedule schedule;
    int n = 1;
    static run r;

    if (!r.program.count)
        run_program(&r, "a target", &(run_own){.settings = NULL});
    r.set = (settings){0};
    r.how = (run_settings){0};
    r.line = (opt_line){0};
    text[size] = 0;
    for (char *p = strtok(text, "\n"); p && n <= WORDS; p = strtok(NULL, "\n"))
        words[n++] = p;
    if (run_parse(&r, n, words) == OPT_GO) {
        check_values(&r);
        if (run_check(&r) == OPT_GO)
            (void)rate_read(&r.how, &r.set.data, room, &schedule);
        check_words(&r);
    }
    free(text);
    return 0;
}

#ifndef FUZZING
int main(void)
{
    static const char mlp[] = "mlp\n--devices=4\n--hidden\n512,512\n--lr\n"
                              "1e-3\n--optimizer\nadamw\n--schedule=cosine\n"
                              "--schedule\n:warmup=10,end=1e-5\n--seed\n-1",
                      lm[] = "lm\n--schedule\npiecewise:"
                             "boundaries=100:0.1,,200:0.1\n--state="
                             "mlp.*=1\n--batch\n32";

    if (!freopen("/dev/null", "w", stdout) ||
        !freopen("/dev/null", "w", stderr))
        return 1;
    feed(mlp, sizeof mlp - 1, 5000);
    feed(lm, sizeof lm - 1, 5000);
    return 0;
}
#endif
