/* The rows a tool trains on, in memory, and the batches cut from them in
 * order: step s takes rows sB .. sB+B-1, past the last batch from the start
 * again; or in each epoch's own order, a permutation drawn by the epoch's key;
 * or windows of a text (text.h), or noise (noise.h).  The short last batch of an epoch is skipped, or padded with rows of
 * weight 0 to a multiple of the devices. */
#ifndef TOOLS_DATA_H
#define TOOLS_DATA_H

#include "noise.h"
#include "text.h"

#include <lockstep.h>

enum { DATA_INPUTS = 4 };

typedef struct data_input {
    const char *name; /* of the graph's input */
    ls_tensor all;    /* (rows, row shape) */
    void *room;       /* for one batch that needs padding or an order */
} data_input;

typedef struct data {
    int inputs;
    data_input input[DATA_INPUTS];
    int64_t rows;    /* of every input */
    int64_t batch;   /* rows of a full batch */
    int64_t batches; /* of one epoch */
    int64_t shards;  /* it is cut into: devices x micro-batches */
    float *weights; /* of a padded batch; NULL: batches are not padded */
    int32_t *order; /* of the rows in `epoch`; NULL: as they stand */
    int64_t epoch;
    ls_key key;     /* epoch e is permutation(fold_in(key, e), rows) */
    text text;      /* instead of inputs, when it has bytes */
    noise noise;    /* instead of inputs, when it has a size */
} data;

/* Add an input from a .npy file with this number of axes, rows among them.
 * All inputs must have equally many rows. */
int data_load(data *d, const char *name, const char *path, ls_dtype as,
              int rank);

/* Add (rows,width) numbers of rs.randn. */
int data_randn(data *d, const char *name, ls_numpy *rs, int64_t rows,
               int64_t width);

/* Add (rows,width) integers of rs.randint(0, high). */
int data_randint(data *d, const char *name, ls_numpy *rs, int64_t rows,
                 int64_t width, int64_t high);

/* Add rows of `width` floats in classes, and their labels: a class is a centre
 * of rs.randn, a row its centre + 3 rs.randn, labels are rs.randint. */
int data_classes(data *d, const char *x, const char *labels, ls_numpy *rs,
                 int64_t rows, int64_t width, int64_t classes);

/* Take the rows of each epoch in an order of its own.  After data_plan. */
int data_shuffle(data *d, ls_key key);

/* Settle the batches: batch 0 means all rows.  Refuses a batch that is larger
 * than the data or does not divide by devices x micro-batches, unless pad. */
int data_plan(data *d, int64_t batch, int devices, int micro, bool pad);

/* The rows of the largest batch, padding included. */
int64_t data_max_rows(const data *d);

/* Give the batch its rows for a step; *rows: without the padding. */
int data_fill(data *d, int64_t step, ls_batch *batch, int64_t *rows);

void data_free(data *d);

#endif
