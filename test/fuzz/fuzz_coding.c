/* The description of a table in a model file: any text is taken or refused, and
 * one that is taken codes a row and comes out as it went in. */
#include "coding.h"
#include "mutate.h"
#include "opt.h"

#include <math.h>

const char opt_program_name[] = "fuzz_coding";

/* A row of values that are there or not. */
static void use(const coding *c)
{
    double *raw = calloc((size_t)c->columns + 1, sizeof *raw);
    float *x = calloc((size_t)coding_seen(c), sizeof *x);

    if (!raw || !x)
        abort();
    for (int i = 0; i < c->columns; i++)
        raw[i] = i % 3 == 2 ? (double)NAN : i;
    coding_inputs(c, raw, x);
    free(raw);
    free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = copy_of(data, size), *again, *third;
    coding c = {0}, d = {0};

    text[size] = 0;
    if (coding_load(&c, text, "input") == OPT_GO) {
        use(&c);
        again = coding_write(&c);
        if (!again || coding_load(&d, again, "again") != OPT_GO ||
            !(third = coding_write(&d)) || strcmp(again, third))
            abort();
        free(again);
        free(third);
    }
    coding_free(&c);
    coding_free(&d);
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

    if (!freopen("/dev/null", "w", stderr)) /* each refusal is a line */
        return 1;
    feed(good, sizeof good - 1, 5000);
    feed(series, sizeof series - 1, 5000);
    return 0;
}
#endif
