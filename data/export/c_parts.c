/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts that sources are made of: the lines of part_*.c, which `make` has
 * put into c_part_lines.h.  A line such as
 *
 *     (comment) == softmax: exps div ==
 *
 * begins one and names those that it needs. */
#include "base/error.h"
#include "export/writer.h"

#include "export/c_part_lines.h"

#include <stdlib.h>
#include <string.h>

static const char mark[] = "/* == ";

static bool begins(int line)
{
    return !strncmp(lines[line], mark, sizeof mark - 1);
}

/* Is `name` one of the words of a text? */
static bool is_among(const char *words, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = words; (at = strstr(at, name)); at += n)
        if ((at == words || at[-1] == ' ') &&
            (!at[n] || strchr(" :\n", at[n])))
            return true;
    return false;
}

/* Parts that are others of int8, by names with _8 behind them. */
static bool is_asked(const ls__writer *w, int line)
{
    static const char both[] = "times table";
    const char *at = lines[line] + sizeof mark - 1;
    size_t n = strcspn(at, ": ");
    bool of_int8 = n > 2 && !strncmp(at + n - 2, "_8", 2);
    char name[LS__NAME];

    snprintf(name, sizeof name, "%.*s", (int)(of_int8 ? n - 2 : n), at);
    return is_among(w->parts.bytes, name) &&
           (!is_among(both, name) || of_int8 == w->int8);
}

void ls__write_part(ls__writer *w, const char *name)
{
    if (!w->parts.bytes || !is_among(w->parts.bytes, name))
        ls__text_put(&w->parts, "%s ", name);
}

/* A part needs only those before it, so from the last to the first all are
 * found. */
static void ask_for_needed(ls__writer *w)
{
    for (int i = COUNT - 1; i >= 0; i--) {
        const char *needs;

        if (!begins(i) || !is_asked(w, i) || !(needs = strchr(lines[i], ':')))
            continue;
        while (*(needs += strspn(needs, ": ")) && *needs != '=') {
            char name[LS__NAME];

            snprintf(name, sizeof name, "%.*s", (int)strcspn(needs, " "),
                     needs);
            ls__write_part(w, name);
            needs += strlen(name);
        }
    }
}

/* MODEL_ becomes the model's own. */
static void put_line(const ls__writer *w, ls__text *to, const char *line)
{
    const char *at;

    for (; (at = strstr(line, "MODEL_")); line = at + 6) {
        ls__text_add(to, line, (size_t)(at - line));
        ls__text_put(to, "%s_", w->upper);
    }
    ls__text_add(to, line, strlen(line));
}

int ls__parts_write(ls__writer *w, ls__text *to)
{
    bool asked = false;

    ls__write_part(w, "start");
    ask_for_needed(w);
    for (int i = 0; i < COUNT; i++)
        if (begins(i))
            asked = is_asked(w, i);
        else if (asked)
            put_line(w, to, lines[i]);
    return w->parts.failed || to->failed ? LS_ENOMEM : 0;
}
