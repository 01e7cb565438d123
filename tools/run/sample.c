/* SPDX-License-Identifier: BSD-3-Clause */
/* Each byte is drawn from what the model says after those before it.  A
 * generator keeps what the model knows of them, so a byte costs one position.
 * When the window is full the first half of it is forgotten, and the other half
 * read again.  A model that cannot be computed position by position (an rnn)
 * predicts its whole window for each byte; a position must depend on no later
 * one, so the window may end in anything. */
#include "run/sample.h"
#include "opt/characters.h"
#include "opt/opt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 256 };

struct sampler {
    sample s;
    ls_array_spec in, out;
    int64_t window, vocab;
    ls_generator *generator; /* or NULL, and .. */
    ls_context *context;     /* .. this predicts .. */
    float *whole;            /* .. (window,vocab) */
    int32_t *tokens;         /* (window) */
    float *logits;           /* (vocab), after the last of them */
    int64_t filled;
};

ls_key sample_key(int64_t seed)
{
    return ls_key_fold_in(ls_key_new(seed), UINT32_MAX);
}

/* ------ predicting ------ */

static int predict_whole(sampler *m)
{
    int status = ls_context_set(m->context, m->in.name, LS_I32, m->tokens, 1);

    if (status == 0)
        status = ls_context_predict(m->context, m->out.name,
                                    m->window * m->vocab, m->whole);
    return opt_check(status);
}

/* Take in the tokens from number `from` on. */
static int take_in(sampler *m, int64_t from)
{
    int status;

    if (m->generator)
        return opt_check(ls_generator_append(m->generator, m->filled - from,
                                             m->tokens + from, m->vocab,
                                             m->logits));
    status = predict_whole(m);
    if (status == OPT_GO)
        memcpy(m->logits, m->whole + (m->filled - 1) * m->vocab,
               (size_t)m->vocab * sizeof *m->logits);
    return status;
}

/* ------ opening ------ */

static int no_text(const sampler *m, const char *why)
{
    return opt_fail(OPT_WRONG, "%s: generates no text: %s", m->s.model, why);
}

/* Computes, of tokens (T), the logits (T,V) of the token after each. */
static int look(sampler *m)
{
    ls_predictor *p = m->s.predictor;
    ls_array_spec second;

    if (!ls_predictor_input(p, 0, &m->in) ||
        !ls_predictor_output(p, 0, &m->out) ||
        ls_predictor_input(p, 1, &second) || m->in.dtype != LS_I32 ||
        m->in.rank != 1 || m->out.rank != 2 ||
        m->out.shape[0] != m->in.shape[0])
        return no_text(m, "it does not go from tokens to the logits of the "
                          "next one");
    m->window = m->in.shape[0];
    m->vocab = m->out.shape[1];
    return m->vocab > BYTES ? no_text(m, "its tokens are no bytes") : OPT_GO;
}

/* Take the prompt; where it is longer than the window its end counts. */
static int take_prompt(sampler *m)
{
    const unsigned char *p = (const unsigned char *)m->s.prompt;
    int64_t n = p ? (int64_t)strlen(m->s.prompt) : 0;
    int64_t first = n > m->window ? n - m->window : 0;

    for (int64_t i = 0; i < n; i++)
        if (p[i] >= m->vocab)
            return opt_fail(OPT_WRONG, "%s: knows bytes below %lld; byte %lld "
                            "of the prompt is %d", m->s.model,
                            (long long)m->vocab, (long long)i, p[i]);
    for (int64_t i = first; i < n; i++)
        m->tokens[i - first] = p[i];
    m->filled = n - first;
    if (!n)
        m->tokens[m->filled++] = m->vocab > '\n' ? '\n' : 0;
    return OPT_GO;
}

/* Does the first position stay what it is whatever stands behind it? */
static int check_later(sampler *m)
{
    int32_t other = m->tokens[0] == 0 && m->vocab > 1;
    size_t size = (size_t)m->vocab * sizeof *m->logits;
    int status = predict_whole(m);

    memcpy(m->logits, m->whole, size);
    for (int64_t i = 1; i < m->window; i++)
        m->tokens[i] = other;
    if (status == OPT_GO)
        status = predict_whole(m);
    if (status == OPT_GO && memcmp(m->logits, m->whole, size))
        status = no_text(m, "its positions depend on later ones (it has no "
                            "causal mask)");
    return status;
}

static int open_whole(sampler *m)
{
    int status;

    m->whole = calloc((size_t)m->window, (size_t)m->vocab * sizeof *m->whole);
    if (!m->whole)
        return opt_fail(OPT_FAILED, "sample: out of memory");
    status = opt_check(ls_context_open(&m->context, m->s.predictor, NULL));
    return status == OPT_GO ? check_later(m) : status;
}

static int open_sampler(sampler *m)
{
    int status;

    if ((status = look(m)) != OPT_GO)
        return status;
    m->tokens = calloc((size_t)m->window, sizeof *m->tokens);
    m->logits = calloc((size_t)m->vocab, sizeof *m->logits);
    if (!m->tokens || !m->logits)
        return opt_fail(OPT_FAILED, "sample: out of memory");
    status = ls_generator_open(&m->generator, m->s.predictor, m->out.name);
    if (status == 0 && m->s.pool)
        status = ls_generator_share(m->generator, m->s.pool);
    status = status == LS_ENOTSUP ? open_whole(m) : opt_check(status);
    if (status == OPT_GO)
        status = take_prompt(m);
    return status == OPT_GO ? take_in(m, 0) : status;
}

int sample_open(sampler **out, const sample *s)
{
    sampler *m = calloc(1, sizeof *m);
    int status;

    *out = NULL;
    if (!m)
        return opt_fail(OPT_FAILED, "sample: out of memory");
    m->s = *s;
    if ((status = open_sampler(m)) == OPT_GO)
        *out = m;
    else
        sample_close(m);
    return status;
}

void sample_close(sampler *m)
{
    if (!m)
        return;
    ls_generator_close(m->generator);
    ls_context_close(m->context);
    free(m->whole);
    free(m->tokens);
    free(m->logits);
    free(m);
}

/* ------ drawing ------ */

/* Append a token; a full window loses its first half. */
static int append(sampler *m, int32_t token)
{
    int64_t kept = m->filled / 2, from = m->filled;

    if (m->filled == m->window) {
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

/* Leave the k largest, of equals the first ones. */
static void leave_largest(int64_t n, int64_t k, float *logits)
{
    bool leaves[BYTES];

    for (int64_t i = 0; i < n; i++) {
        int64_t above = 0;

        for (int64_t j = 0; j < n; j++)
            above += logits[j] > logits[i] || (logits[j] == logits[i] && j < i);
        leaves[i] = above >= k;
    }
    for (int64_t i = 0; i < n; i++)
        if (leaves[i])
            logits[i] = -INFINITY;
}

static int64_t draw(const sampler *m, int64_t i)
{
    const sample *s = &m->s;

    if (s->top_k && s->top_k < m->vocab)
        leave_largest(m->vocab, s->top_k, m->logits);
    return ls_random_categorical(ls_key_fold_in(s->key, (uint32_t)i), m->vocab,
                                 m->logits, (float)s->temperature);
}

/* The file that a text goes to; a character waits until it is whole. */
typedef struct output {
    FILE *file;
    bool is_terminal;
    char held[5];
    int n; /* bytes held */
} output;

/* A terminal is shown whole characters, and of what it acts on ends of lines
 * and tabs alone. */
static void put(output *o, int byte)
{
    bool more = byte >= 0x80 && byte < 0xc0 && o->n > 0 && o->n < 4;

    if (!more) {
        o->held[o->n] = 0;
        characters_print(o->file, o->held);
        o->n = 0;
    }
    if (!o->is_terminal || byte == '\n' || byte == '\t')
        fputc(byte, o->file);
    else
        o->held[o->n++] = byte ? (char)byte : '?';
}

int sample_print(sampler *m, FILE *file)
{
    output o = {.file = file, .is_terminal = isatty(fileno(file))};
    int status = OPT_GO;

    for (const char *p = m->s.prompt ? m->s.prompt : ""; *p; p++)
        put(&o, (unsigned char)*p);
    for (int64_t i = 0; i < m->s.count && status == OPT_GO; i++) {
        int64_t token = draw(m, i);

        put(&o, (int)token);
        if (i + 1 < m->s.count)
            status = append(m, (int32_t)token);
    }
    put(&o, '\n');
    return status;
}
