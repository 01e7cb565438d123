/* SPDX-License-Identifier: BSD-3-Clause */
/* The descriptions of a table and of images in a model file: any text is taken
 * or refused, and one that is taken codes a row, or has numbers to divide by,
 * and comes out as it went in. */
#include "data/normal.h"
#include "mutate.h"
#include "opt/opt.h"
#include "table/coding.h"

#include <math.h>

const char opt_program_name[] = "fuzz_coding";

/* A row of values that are there or not. */
static void use(const ls_coding *c)
{
    double *raw = calloc((size_t)c->columns + 1, sizeof *raw);
    float *x = calloc((size_t)ls_coding_width(c), sizeof *x);

    if (!raw || !x)
        abort();
    for (int i = 0; i < c->columns; i++)
        raw[i] = i % 3 == 2 ? (double)NAN : i;
    ls__coding_inputs(c, raw, x);
    free(raw);
    free(x);
}

static void table(const char *text)
{
    ls_coding *c = NULL, *d = NULL;

    if (ls_coding_read(&c, text, "input") == 0) {
        use(c);
        if (ls_coding_read(&d, ls_coding_note(c), "again") != 0 ||
            strcmp(ls_coding_note(c), ls_coding_note(d)))
            abort();
    }
    ls_coding_free(c);
    ls_coding_free(d);
}

static void images(const char *text)
{
    static normal n, m;
    char *again, *third;

    if (normal_load(&n, text, "input") != OPT_GO)
        return;
    if (!n.is || n.channels < 0 || n.channels > NORMAL_CHANNELS)
        abort();
    for (int c = 0; c < n.channels; c++)
        if (!isfinite(n.mean[c]) || !((float)n.std[c] > 0))
            abort();
    again = normal_write(&n);
    if (!again || normal_load(&m, again, "again") != OPT_GO ||
        !(third = normal_write(&m)) || strcmp(again, third))
        abort();
    free(again);
    free(third);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = copy_of(data, size);

    text[size] = 0;
    table(text);
    images(text);
    free(text);
    return 0;
}

#ifndef FUZZING
int main(void)
{
    static const char good[] =
        "{\"version\":1,\"missing\":\"mean\",\"inputs\":[{\"name\":\"a\","
        "\"mean\":1.5,\"scale\":2.25},{\"name\":\"b\",\"words\":[\"1\",\"2\","
        "\"x\"]}],\"target\":{\"name\":\"c\",\"words\":[\"big\",\"small\"]}}";
    static const char series[] =
        "{\"version\":1,\"missing\":\"refused\",\"inputs\":[],\"target\":"
        "{\"name\":\"c\",\"mean\":0.5,\"scale\":2.0},\"window\":7,"
        "\"horizon\":2}";
    static const char pictures[] =
        "{\"version\":1,\"mean\":[0.5,0.25,-1e-3],\"std\":[1.0,0.125,2]}";

    if (!freopen("/dev/null", "w", stderr)) /* each refusal is a line */
        return 1;
    feed(good, sizeof good - 1, 5000);
    feed(series, sizeof series - 1, 5000);
    feed(pictures, sizeof pictures - 1, 5000);
    return 0;
}
#endif
