/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints on disk: in DIR a folder "step-000000000040" for each (with ".1"
 * and so on behind it where that name is taken), in which are
 *
 *     params.safetensors     parameters in canonical order
 *     optimizer.safetensors  moments, "mu.NAME" of all before "nu.NAME"
 *     checkpoint.json        step, state hash, root, options, graph, notes;
 *                            sealed
 *
 * A folder gets its name when all of it is on disk, and the JSON is what goes
 * first when it is deleted, so one that has a JSON is whole.  The hash ties the
 * three files together.
 *
 * Links are followed where a checkpoint is read, since it may have been moved
 * to an archive and linked back, and nowhere else. */
#ifndef LS_CHECKPOINT_CHECKPOINT_H
#define LS_CHECKPOINT_CHECKPOINT_H

#include "file/safetensors.h"

#include <jansson.h>

/* The step and serial number in a folder's name. */
typedef struct ls__stamp {
    int64_t step;
    int serial;
} ls__stamp;

enum { LS__STAMP_TEXT = 40 };
void ls__stamp_text(char out[LS__STAMP_TEXT], ls__stamp stamp);

/* The checkpoints in DIR by their names, oldest first; to be freed.  DIR is the
 * open folder, or AT_FDCWD and looked up by its path. */
int ls__checkpoint_list(int folder, const char *path, ls__stamp **list,
                        int *count);

/* The note that is the root of the state: in the JSON it stands beside the
 * state hash. */
#define LS__ROOT_NOTE "root"

/* ------ Writing ------ */

/* DIR, open, so that it stays the same one whatever its path means
 * meanwhile. */
typedef struct ls__folder {
    const char *path; /* for messages; borrowed */
    int fd;           /* -1: not open */
} ls__folder;

typedef struct ls__checkpoint_content {
    int params, tensors;           /* parameters are the first of the tensors */
    const ls__safetensor *tensor;
    int64_t step;
    const char *root;              /* "": the program gave none */
    const json_t *options, *notes; /* objects of texts */
    const json_t *graph; /* the computation (run_options.h) */
} ls__checkpoint_content;

/* Write a checkpoint; *stamp names it.  A failure leaves DIR as it was. */
int ls__checkpoint_write(const ls__folder *dir,
                         const ls__checkpoint_content *snapshot,
                         ls__stamp *stamp);

/* Delete the oldest until `keep` are left (0: all stay), never `newest`, nor,
 * with `first`, the very oldest, which is not counted.  A link to a checkpoint
 * that is kept elsewhere stays and is not counted. */
int ls__checkpoint_prune(const ls__folder *dir, int keep, bool first,
                         ls__stamp newest);

/* Delete those of more updates than `step`. */
int ls__checkpoint_drop(const ls__folder *dir, int64_t step);

/* ------ Reading ------ */

typedef struct ls__checkpoint {
    char *folder;
    json_t *info;           /* the JSON */
    int64_t step;
    const char *state;      /* these are the info's */
    json_t *options, *notes;
    json_t *nodes; /* of the graph */
    ls__safetensors params, optimizer;
} ls__checkpoint;

/* Read the JSON of a folder, then its arrays, which are checked against the
 * hash.  LS_EFORMAT: damaged or not complete; LS_EIO; LS_ENOMEM. */
int ls__checkpoint_open(ls__checkpoint *c, const char *folder);
int ls__checkpoint_arrays(ls__checkpoint *c);

/* Accepts a cleared or failed one. */
void ls__checkpoint_close(ls__checkpoint *c);

/* A comparison, and its outcome. */
typedef struct ls__comparison {
    const char *folder;     /* of the checkpoint, for messages */
    const char *may_change; /* patterns by commas, as for fnmatch; "": none */
    json_t *changed; /* names, with what they were: what is another now */
} ls__comparison;

/* Compare two objects of options, filling in the outcome.  LS_EINVAL names the
 * first that differs and matches no pattern of may_change, and both values.  Of
 * options that only `now` has, one that is named where it is on was off; the
 * rest may stand.  Or compare the nodes of two graphs, where all counts:
 * LS_ESHAPE. */
int ls__checkpoint_compare(const ls__comparison *c, const json_t *now,
                           const json_t *then, bool nodes);

/* The JSON alone, from memory: bytes are borrowed, and written to and put right
 * again. */
int ls__checkpoint_parse(ls__checkpoint *c, const char *path, char *bytes,
                         size_t size);

#endif
