/* Text by one thread with keys and values kept: the likeliest token after
 * token, from token 10 until the window is full, and again.
 *
 *     bench-tokens MODEL [BLOCKS]
 *
 * A line a block, one window: "ms" is a token's, "by_processor" in processor
 * time, "sum" a sum over the tokens' numbers, by which sides are compared. */
#include "bench.h"

static int64_t likeliest(int64_t n, const float *x)
{
    int64_t best = 0;

    for (int64_t i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

/* A window; the sum of i times token i. */
static int64_t window(ls_generator *g, int64_t vocab, float *logits)
{
    int64_t sum = 0, length = ls_generator_window(g);
    int32_t token = 10;

    must(ls_generator_cut(g, 0));
    for (int64_t i = 1; i <= length; i++) {
        must(ls_generator_append(g, 1, &token, vocab, logits));
        token = (int32_t)likeliest(vocab, logits);
        sum += i * token;
    }
    return sum;
}

int main(int argc, char **argv)
{
    int blocks = argc > 2 ? atoi(argv[2]) : 20;
    ls_predictor *predictor;
    ls_generator *g;
    ls_array_spec out;
    float *logits;

    if (argc < 2) {
        fprintf(stderr, "usage: bench-tokens MODEL [BLOCKS]\n");
        return 2;
    }
    must(ls_predictor_load(&predictor, argv[1]));
    must(ls_generator_open(&g, predictor, "logits"));
    ls_predictor_output(predictor, 0, &out);
    if (!(logits = malloc((size_t)out.shape[1] * sizeof *logits)))
        return EXIT_FAILURE;
    for (int i = 0; i < blocks; i++) {
        double start = now_ms(), busy = processor_ms();
        int64_t sum = window(g, out.shape[1], logits);
        double each = 1 / (double)ls_generator_window(g);

        printf("{\"step\":%d,\"ms\":%.6g,\"by_processor\":%.6g,\"sum\":%lld}\n",
               i, (now_ms() - start) * each, (processor_ms() - busy) * each,
               (long long)sum);
    }
    free(logits);
    ls_generator_close(g);
    ls_predictor_close(predictor);
    return EXIT_SUCCESS;
}
