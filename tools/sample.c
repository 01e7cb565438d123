/* Each byte is drawn from what the model says after those before it, at most
 * a window of them; the first follows a newline.  Tokens beyond 255 are no
 * bytes and are not drawn.  A position's logits depend on no later one, so a
 * window may end in anything.  Device 0 alone has a row of weight, the others
 * are left out. */
#include "sample.h"
#include "opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 256 };

typedef struct sampler {
    const sample *s;
    ls_batch *batch;
    int32_t *tokens; /* (rows,window), row 0 in use */
    float *weights;  /* 1 0 0 .. */
    float *logits;   /* (rows,window,vocab) */
    int64_t filled;  /* tokens in row 0 */
} sampler;

static int open_sampler(sampler *m, const sample *s)
{
    size_t rows = (size_t)s->rows, window = (size_t)s->window;
    int status;

    *m = (sampler){.s = s, .filled = 1};
    m->tokens = calloc(rows * window, sizeof *m->tokens);
    m->weights = calloc(rows, sizeof *m->weights);
    m->logits = calloc(rows * window, (size_t)s->vocab * sizeof *m->logits);
    if (!m->tokens || !m->weights || !m->logits)
        return opt_fail(OPT_FAILED, "sample: out of memory");
    m->tokens[0] = s->vocab > '\n' ? '\n' : 0;
    m->weights[0] = 1;
    status = ls_batch_open(&m->batch, s->trainer);
    if (status == 0)
        status = ls_batch_set_weights(m->batch, m->weights, s->rows);
    return opt_check(status);
}

static void close_sampler(sampler *m)
{
    ls_batch_close(m->batch);
    free(m->tokens);
    free(m->weights);
    free(m->logits);
}

/* Append a token; a full window loses its first. */
static void append(sampler *m, int32_t token)
{
    if (m->filled == m->s->window) {
        m->filled--;
        memmove(m->tokens, m->tokens + 1, (size_t)m->filled * sizeof token);
    }
    m->tokens[m->filled++] = token;
}

static int next(sampler *m, int64_t i)
{
    const sample *s = m->s;
    int64_t token;
    int status = ls_batch_set(m->batch, "tokens", LS_I32, m->tokens, s->rows);

    if (status == 0)
        status = ls_predict(s->trainer, m->batch, "logits",
                            s->rows * s->window * s->vocab, m->logits);
    if (status < 0)
        return opt_check(status);
    token = ls_random_categorical(ls_key_fold_in(s->key, (uint32_t)i),
                                  s->vocab < BYTES ? s->vocab : BYTES,
                                  m->logits + (m->filled - 1) * s->vocab,
                                  (float)s->temperature);
    putchar((int)token);
    append(m, (int32_t)token);
    return OPT_GO;
}

int sample_print(const sample *s)
{
    sampler m;
    int status = open_sampler(&m, s);

    for (int64_t i = 0; i < s->count && status == OPT_GO; i++)
        status = next(&m, i);
    close_sampler(&m);
    return status;
}
