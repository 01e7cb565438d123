/* Each byte is drawn from what the model says after those before it; the first
 * follows a newline.  A generator keeps what the model knows of them, so a byte
 * costs one position.  When the window is full the first half of it is
 * forgotten, and the other half read again.  A model that cannot be computed
 * position by position (an rnn) predicts its whole window for each byte; a
 * position depends on no later one, so the window may end in anything.  Tokens
 * beyond 255 are no bytes and are not drawn. */
#include "sample.h"
#include "opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 256 };

typedef struct sampler {
    const sample *s;
    ls_predictor *predictor;
    ls_generator *generator; /* or NULL, and .. */
    ls_context *context;     /* .. this predicts .. */
    float *whole;            /* .. (window,vocab) */
    int32_t *tokens;         /* (window) */
    float *logits;           /* (vocab), after the last of them */
    int64_t filled;
} sampler;

static int predict_whole(sampler *m)
{
    const sample *s = m->s;
    int status = ls_context_set(m->context, "tokens", LS_I32, m->tokens, 1);

    if (status == 0)
        status = ls_context_predict(m->context, "logits",
                                    s->window * s->vocab, m->whole);
    if (status == 0)
        memcpy(m->logits, m->whole + (m->filled - 1) * s->vocab,
               (size_t)s->vocab * sizeof *m->logits);
    return opt_check(status);
}

/* Take in the tokens from number `from` on. */
static int take_in(sampler *m, int64_t from)
{
    if (!m->generator)
        return predict_whole(m);
    return opt_check(ls_generator_append(m->generator, m->filled - from,
                                         m->tokens + from, m->s->vocab,
                                         m->logits));
}

static int open_whole(sampler *m)
{
    int status;

    m->whole = calloc((size_t)m->s->window,
                      (size_t)m->s->vocab * sizeof *m->whole);
    if (!m->whole)
        return opt_fail(OPT_FAILED, "sample: out of memory");
    status = opt_check(ls_context_open(&m->context, m->predictor, NULL));
    return status == OPT_GO ? take_in(m, 0) : status;
}

static int open_sampler(sampler *m, const sample *s)
{
    int status;

    *m = (sampler){.s = s, .filled = 1};
    m->tokens = calloc((size_t)s->window, sizeof *m->tokens);
    m->logits = calloc((size_t)s->vocab, sizeof *m->logits);
    if (!m->tokens || !m->logits)
        return opt_fail(OPT_FAILED, "sample: out of memory");
    m->tokens[0] = s->vocab > '\n' ? '\n' : 0;
    status = ls_predictor_open(&m->predictor, s->trainer);
    if (status == 0)
        status = ls_generator_open(&m->generator, m->predictor, "logits");
    if (status == LS_ENOTSUP)
        return open_whole(m);
    return status == 0 ? take_in(m, 0) : opt_check(status);
}

static void close_sampler(sampler *m)
{
    ls_generator_close(m->generator);
    ls_context_close(m->context);
    free(m->whole);
    ls_predictor_close(m->predictor);
    free(m->tokens);
    free(m->logits);
}

/* Append a token; a full window loses its first half. */
static int append(sampler *m, int32_t token)
{
    int64_t kept = m->filled / 2, from = m->filled;

    if (m->filled == m->s->window) {
        memmove(m->tokens, m->tokens + m->filled - kept,
                (size_t)kept * sizeof token);
        m->filled = kept;
        from = 0;
        if (m->generator)
            ls_generator_cut(m->generator, 0);
    }
    m->tokens[m->filled++] = token;
    return take_in(m, from);
}

static int64_t draw(const sampler *m, int64_t i)
{
    const sample *s = m->s;

    return ls_random_categorical(ls_key_fold_in(s->key, (uint32_t)i),
                                 s->vocab < BYTES ? s->vocab : BYTES,
                                 m->logits, (float)s->temperature);
}

int sample_print(const sample *s)
{
    sampler m;
    int status = open_sampler(&m, s);

    for (int64_t i = 0; i < s->count && status == OPT_GO; i++) {
        int64_t token = draw(&m, i);

        putchar((int)token);
        if (i + 1 < s->count)
            status = append(&m, (int32_t)token);
    }
    close_sampler(&m);
    return status;
}
