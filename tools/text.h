/* A text file, byte by byte: random windows to train on, and fixed windows
 * that cover what is held out.
 *
 * Row i of step s starts at randint(fold_in(key, s), 0, n)[i], n being the
 * places a window can start at: the rows of a step depend on neither devices
 * nor workers, and any step can be made without those before it. */
#ifndef TOOLS_TEXT_H
#define TOOLS_TEXT_H

#include <lockstep.h>

typedef struct text_data {
    unsigned char *bytes; /* NULL: there is no text */
    unsigned char *other; /* --eval-data, or NULL */
    int64_t size;
    int64_t train; /* bytes to train on, from the start */
    const unsigned char *held;
    int64_t held_size;
    int64_t window; /* bytes of a row */
    ls_key key;
    int64_t batch; /* rows of a step */
    int64_t rows;  /* the same, up to a multiple of the devices */
    int32_t *start, *tokens;
    float *weights;
} text_data;

/* Read a file whose bytes are all below vocab.  Its last tenth is held out,
 * unless evaluation (NULL: none) names a file of its own. */
int text_load(text_data *t, const char *path, const char *evaluation,
              int64_t window, int64_t vocab, ls_key key);

/* Make room for batches of so many rows. */
int text_plan(text_data *t, int64_t batch, int devices);

/* The rows of a step as input "tokens". */
int text_fill(text_data *t, int64_t step, ls_batch *batch);

/* Evaluation is this many batches; 0: less than a window is held out.  Each
 * window starts on the last byte of the one before, so that each byte but the
 * first is predicted once; the last one ends with the text and weighs as much
 * as it has new bytes. */
int64_t text_eval_batches(const text_data *t);
int text_eval_fill(text_data *t, int64_t i, ls_batch *batch);

void text_free(text_data *t);

#endif
