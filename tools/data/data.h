/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows a tool trains on, and the batches cut from them: rows of a source
 * (arrays in memory, images in files), windows of a text (text.h),
 * or noise (noise.h).
 * Step s takes rows sB .. sB+B-1, past the last batch from the start again; or
 * the same of each epoch's own order.  The short last batch of an epoch is
 * skipped, or padded with rows of weight 0 to a multiple of the devices; of a
 * batch that does not divide by them the last devices have fewer rows.
 *
 * In this order: fill in the rows (arrays.c, generate.c, image_files.c),
 * data_plan, data_checksum where it is wanted, data_open, then data_fill for
 * each step. */
#ifndef TOOLS_DATA_H
#define TOOLS_DATA_H

#include "data/noise.h"
#include "data/normal.h"
#include "data/text.h"

#include <lockstep.h>
#include <lockstep/columns.h>
#include <lockstep/files.h>
#include <lockstep/images.h>

enum {
    DATA_INPUTS = 8,
    DATA_SERIES = 2,
    DATA_CHUNK = 512 /* rows that are read at once, at most */
};

typedef struct data_input {
    const char *name; /* of the graph's input */
    ls_array all;     /* (rows, row shape) */
} data_input;

typedef struct data {
    int inputs; /* arrays in memory; 0: another source, or a text */
    bool by_name; /* all but the second are arrays of one file, by name */
    data_input input[DATA_INPUTS];
    ls_array held_out[DATA_INPUTS]; /* rows to evaluate on; or empty */
    ls_array fold[DATA_INPUTS];     /* rows of --cv, which no training sees */
    ls_array series[DATA_SERIES];   /* rows that windows are of; or empty */
    ls_table_data *table; /* the rows' table; else NULL */
    bool quiet;           /* its notes will be told again */
    char *images;         /* normal_write's text of images; NULL: none are */
    normal normal;        /* source of that text */
    bool augments;        /* the source, once it is opened, by: */
    ls_augment_options augment;
    ls_array mask;        /* weights of the rows; empty: all 1 */
    ls_source source;     /* until data_open, which hands both over */
    ls_source plain;      /* from data_open on, as long as the loader is: the
                             same; none where rows differ by epoch */
    bool shuffles;        /* the loader, by: */
    ls_key order;
    ls_source evaluation; /* rows 0: none */
    ls_source again;      /* the same of images, for who computes figures */
    int32_t *labels;      /* of images: [rows]; NULL: not known beforehand */
    int64_t rows;         /* of every input */
    int64_t batch;        /* rows of a full batch */
    int64_t usual;        /* the default that was too many for it; or 0 */
    int64_t batches;      /* of one epoch */
    uint64_t sum;         /* data_checksum's; 0: not made */
    uint64_t held_sum;    /* the same of what is evaluated on */
    int64_t shards;       /* it is cut into: devices x micro-batches */
    bool pad;
    bool no_thread;       /* rows are read by nobody else meanwhile */
    ls_loader *loader, *held; /* training, evaluation */
    text_data text;           /* instead of a source, when there is one */
    noise noise;              /* likewise, when it has a size */
} data;

/* ------ Arrays in memory: all have equally many rows ------ */

/* Take over t as the next input; `from` is what a message names. */
int data_add(data *d, const char *name, ls_array t, const char *from);

/* The file of such a path, of "F.npz:NAME" F.npz, of "F.onnx:SIZES" F.onnx; to
 * be freed, NULL: there is no memory. */
char *data_file(const char *path);

/* The part of the path behind that file: ":NAME", ":SIZES" or "". */
const char *data_behind(const char *path);

/* The rank of the array in a .npy file, or of one in a .npz file
 * ("F.npz:NAME"), and its shape; or a status of the library's. */
int data_shape(const char *path, int64_t shape[LS_MAX_RANK]);

/* A shape as messages have it: "(3,32,32)". */
enum { DATA_SHAPE = 128 };
const char *data_shape_text(char text[DATA_SHAPE], int rank,
                            const int64_t *shape);

/* Add an input from such a file with this number of axes, rows among them; a
 * list of floats is (N,1). */
int data_load(data *d, const char *name, const char *path, ls_dtype as,
              int rank);

/* Refuse labels that are not below `classes`, and note how many are below 0
 * (those rows are ignored); and, of those to train on, that no row is of the
 * first classes. */
int data_labels(const ls_array *labels, const char *path, int64_t classes,
                bool trained);

/* Rows of each input to evaluate on, by their .npy files (NULL past the last
 * input): rows as those trained on. */
int data_hold(data *d, const char *const path[DATA_INPUTS]);

/* Weights of the rows that are there, from a .npy file of one axis. */
int data_mask(data *d, const char *path);

/* The rows that a share of them holds back: the first ceil(share x rows) of
 * numpy.random.RandomState(seed).permutation(rows).  To be freed; NULL after a
 * message. */
bool *data_choose(int64_t rows, double share, int64_t seed);

/* Hold these rows of the arrays back, to evaluate on. */
int data_hold_rows(data *d, const bool *held);

/* The number of rows that are marked; none of NULL. */
int64_t data_count(const bool *marked, int64_t rows);

/* Take the rows that are held out of an array, or out of each; they go to
 * `to`. */
int data_part(ls_array *t, const bool *held, ls_array *to);
int data_part_rows(data *d, const bool *held, ls_array to[DATA_INPUTS]);

/* Make a source of the rows in memory that are held back; none where there are
 * none.  To be closed. */
int data_held_source(const data *d, ls_source *source);

/* Weigh the rows so that all classes of the labels, the second input, have the
 * same weight together, and the rows a mean weight of 1. */
int data_balance(data *d, int64_t classes);

/* Make the arrays the source. */
int data_collect(data *d);

/* ------ Tables: "x", and "y" its labels or numbers ------ */

typedef struct table_file {
    const char *path;
    ls_table_data_options wants; /* but for how messages are made */
    const char *weights; /* a column: what rows weigh; NULL: they do alike */
    const char *group, *time; /* columns, one at most: of a group no rows are on
                                 both sides; later rows are held back */
    double valid; /* share of the rows to hold back */
    int64_t seed; /* that says which */
    int64_t fold, folds; /* one of so many, which no training sees; folds 0:
                            there is none */
    const char *x, *y;   /* names of the inputs; NULL: "x" and "y" */
} table_file;

/* --missing, and its part target. */
enum { DATA_REFUSE, DATA_MEAN, DATA_DROP };

/* The coding of the table's columns; NULL: there is no table. */
const ls_coding *data_coding(const data *d);

/* The table's target; without a name where there is no table. */
ls_column data_target(const data *d);

/* The inputs, and the held-out rows; d->table is what they are of.  With a
 * window they are those of a series: "x" (window, columns), "y" the target
 * `horizon` rows after the last; held out are those with a target in the last
 * share of the rows. */
int data_table(data *d, const table_file *file);

/* Columns that are no inputs (table_columns.c): before the table is read,
 * whether they are there; with --ignore's as a list, to be freed; of each row
 * that counts, as `take` takes its field; the weights, d->mask. */
typedef int data_row_fn(void *user, ls_table *t, int column, int64_t row);

int data_check_columns(const table_file *file, const char *path);
char *data_left_out(const table_file *file);
int data_read_column(const data *d, const table_file *file, const char *name,
                     data_row_fn *take, void *user);
int data_table_weights(data *d, const table_file *file);

/* What becomes of each row (table_split.c); to be freed in any case. */
enum { DATA_TRAINED, DATA_HELD, DATA_FOLD, DATA_LEFT_OUT, DATA_PARTS };

int data_split(const data *d, const table_file *file, char **part);

/* Another table of the same columns, to evaluate on. */
int data_table_held(data *d, const char *path);

/* The sources of a series from its rows (table_series.c). */
int data_series(data *d, const table_file *file);

/* Make a source of the windows that are held back; none where there are
 * none. */
int data_series_held(const data *d, ls_source *source);

/* ------ Generated arrays ------ */

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

/* ------ Images: inputs "x" (H,W,C) and "y", the labels ------ */

typedef struct image_files {
    const char *path;
    const char *labels;     /* NULL: as ls_source_images finds them */
    const char *evaluation; /* NULL: the folder's test set, if it has one */
    const char *eval_labels; /* NULL: as ls_source_images finds them */
    const char *mean, *std; /* lists of numbers, or NULL */
    int64_t shape[3];       /* of pictures; 0: all are alike */
    int64_t fit;            /* ls_image_fit */
    bool skip_broken;       /* with a count on stderr */
    int64_t classes;        /* that were asked for; 0: as many as there are */
    double valid;           /* share of the rows to hold back */
    int64_t seed;           /* that says which, and what is drawn of .. */
    const char *augment;    /* .. --augment, or NULL */
    const char *x, *y;      /* names of the inputs; NULL: "x" and "y" */
} image_files;

/* Then source.array[0].shape is the image's, source.classes theirs. */
int data_images(data *d, const image_files *files);

/* Read --augment (augment_words.c): OPT_GO, or OPT_WRONG after a message.  What
 * the text does not name stays. */
int augment_read(const char *text, ls_augment_options *o);

/* ------ Batches ------ */

/* The cut of the rows into batches. */
typedef struct data_cut {
    int64_t batch; /* rows; 0: all */
    bool fits;     /* nobody asked for it: fewer rows make it smaller */
    int devices, micro;
    bool pad;
} data_cut;

/* Settle the batches.  Refuses a batch that is larger than the data, unless
 * pad. */
int data_plan(data *d, const data_cut *cut);

/* Bytes of a row of an array of a source. */
size_t data_row_bytes(const ls_array_spec *array);

/* Read n rows of a source from `first` on, DATA_CHUNK at most.  Returns the
 * source's status. */
int data_read(const ls_source *s, int64_t first, int64_t n, void *const *out);

/* Set d->sum, which tells the rows and their weights, or the text, from others,
 * and where held d->held_sum.  Before data_open; it reads all rows. */
int data_checksum(data *d, bool held);

/* Start making them for a trainer; order NULL: rows as they stand, else each
 * epoch in an order of its own by this key. */
int data_open(data *d, const ls_trainer *trainer, const ls_key *order);

/* The root of the rows (ls_source_root), "" where they have none; why they are
 * not judged, NULL where they are.  After data_open, before the first
 * data_fill. */
int data_root(const data *d, char root[65]);
const char *data_unjudged(const data *d);

/* Give a record the rows that batches are of, into *rows, which the options
 * point to; nothing where they have no root. */
void data_record(const data *d, ls_source *rows, ls_array_spec *spec,
                 ls_record_options *o);

/* Give the batch its rows for a step; *rows: without the padding. */
int data_fill(data *d, int64_t step, ls_batch *batch, int64_t *rows);

/* Evaluation is this many batches, padded to divide; 0: nothing is held out. */
int64_t data_eval_batches(const data *d);
int data_eval_fill(data *d, int64_t i, ls_batch *batch);

/* Is there a set of rows to evaluate on? */
bool data_holds_rows(const data *d);

void data_free(data *d);

#endif
