/* SPDX-License-Identifier: BSD-3-Clause */
/* A text file, byte by byte, or tokens of 16 bits: random windows to train on,
 * and fixed windows that cover what is held out.
 *
 * Row i of step s starts at randint(fold_in(key, s), 0, n)[i], n being the
 * places a window can start at: the rows of a step depend on neither devices
 * nor workers, and any step can be made without those before it.
 *
 * Both are sources, of windows by their numbers, and a window is read from the
 * file when it is asked for: a text may be larger than the memory, and a rank
 * reads the windows of its own devices. */
#ifndef TOOLS_TEXT_H
#define TOOLS_TEXT_H

#include <lockstep.h>
#include <stdio.h>

typedef struct text_file {
    FILE *file;       /* NULL: there is none */
    const char *path; /* borrowed */
    int64_t size; /* in tokens */
    int width;    /* bytes of a token: 1 or 2 */
} text_file;

/* Tokens of a file. */
typedef struct text_part {
    const text_file *in;
    int64_t first, size;
} text_part;

typedef struct text_data {
    text_file file, other; /* --data, and --eval-data */
    text_part train, held; /* to train on, and to evaluate on */
    int64_t window;        /* tokens of a row */
    ls_key key;
    int64_t batch; /* rows of a step */
    int64_t rows;  /* the same, up to a multiple of the devices */
    const char *name;   /* of the input; NULL: "tokens" */
    ls_array_spec spec; /* of a window */
} text_data;

/* Is there a text? */
bool text_is(const text_data *t);

/* "byte" or "token". */
const char *text_unit(const text_file *f);

/* Open a file with all tokens below vocab.  Its last tenth is held out, unless
 * evaluation (NULL: none) names a file of its own. */
int text_load(text_data *t, const char *path, const char *evaluation,
              int64_t window, int64_t vocab, ls_key key);

/* Batches will have `batch` rows. */
void text_plan(text_data *t, int64_t batch, int devices);

/* Call `take` with all bytes of a part, 64 KiB at a time but the last. */
int text_each(const text_part *part,
              void (*take)(void *user, const unsigned char *bytes, size_t n),
              void *user);

/* The text's tokens to train on, a row each: the array "tokens", which *spec is
 * to describe as long as the source is used. */
ls_source text_tokens(const text_data *t, ls_array_spec *spec);

/* Windows without end: rows s x batch .. of step s.  t must not move. */
ls_source text_source(text_data *t);

/* Evaluation is this many batches of t->rows; 0: less than a window is held
 * out.  Each window starts on the last byte of the one before, so that each
 * token but the first is predicted once; the last one ends with the text and
 * weighs as much as it has new tokens. */
int64_t text_eval_batches(const text_data *t);
ls_source text_eval_source(text_data *t);

void text_free(text_data *t);

#endif
