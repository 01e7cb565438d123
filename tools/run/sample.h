/* SPDX-License-Identifier: BSD-3-Clause */
/* Text that a model generates, byte by byte: --sample and --generate. */
#ifndef TOOLS_SAMPLE_H
#define TOOLS_SAMPLE_H

#include <lockstep.h>

#include <stdio.h>

typedef struct sample {
    ls_predictor *predictor;
    ls_pool *pool;      /* its workers share a byte; NULL: one thread */
    const char *model;  /* its name in messages */
    const char *prompt; /* what the text goes on from, in bytes that the model
                           knows; NULL: a newline */
    ls_key key;         /* byte i is drawn with fold_in(key, i) */
    double temperature;
    int64_t top_k; /* bytes that may be drawn, the likeliest; 0: all */
    int64_t count; /* bytes wanted */
} sample;

/* The key of a sample by a seed.  Keys of a run's steps are those below
 * 2^32 - 1. */
ls_key sample_key(int64_t seed);

/* The drawer of a sample; it borrows what the sample names. */
typedef struct sampler sampler;

/* Open it, and have the model read the prompt.  OPT_FAILED with a message: the
 * model does not go from tokens to the logits of the next one, sees later
 * tokens, or does not know a byte of the prompt. */
int sample_open(sampler **out, const sample *s);

/* Write the prompt, the bytes and a newline. */
int sample_print(sampler *m, FILE *file);

/* NULL is nothing. */
void sample_close(sampler *m);

#endif
