/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints: what a run needs to go on bit for bit. */
#ifndef LOCKSTEP_CHECKPOINT_H
#define LOCKSTEP_CHECKPOINT_H

#include <lockstep/trainer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The checkpoints of one run, in a folder: all that is needed to go on bit for
 * bit, with any workers and placement.  One is written by a thread of its own
 * from a copy of the state; it appears whole, and on disk, or not at all.  What
 * is damaged is found by checksums and the state hash, and never half loaded.
 * The folder may come from anybody: nothing is written or deleted through a
 * link in it, nor deleted that was not written here.  A checkpoint that was
 * moved elsewhere and linked back is read, and stays.  Over ranks all of them
 * make each call, and end alike; the first one alone writes and reads, the
 * files of one machine.  examples/state_hash.py reads one in ten lines. */
typedef struct ls_checkpoints ls_checkpoints;

/* Options of a run's checkpoints; ls_checkpoints_open copies them. */
typedef struct ls_checkpoints_options {
    size_t size; /* ls_checkpoints_defaults() writes it */
    const char *folder; /* made if it is not there */
    int keep;           /* the newest that stay; 0: all */
    int n_settings;
    const ls_setting *settings; /* model, data and so on, which must be the same
                                  to go on, as must the trainer's options */
    const char *may_change; /* names that may differ, by commas and as patterns
                               of fnmatch: "lr,boundary *", of the graph "node
                               *: rate"; NULL: none may */
    bool keep_first;        /* the oldest stays too, beside the newest */
} ls_checkpoints_options;

/* Returns options that keep the newest 3.  A folder must be named besides. */
LS_API void ls_checkpoints_defaults_bytes(ls_checkpoints_options *options,
                                          size_t size);
static inline ls_checkpoints_options ls_checkpoints_defaults(void)
{
    ls_checkpoints_options o;

    ls_checkpoints_defaults_bytes(&o, sizeof o);
    return o;
}

/* Make the folder, the copy's memory and the thread, and lock the folder
 * against other runs.  The trainer is borrowed until it is closed; strings are
 * copied.  LS_EIO; LS_EBUSY: another run writes there; LS_EINVAL: a setting
 * that is NULL or no UTF-8, or has the name of another or of a trainer's
 * option. */
LS_API int ls_checkpoints_open(ls_checkpoints **checkpoints,
                               ls_trainer *trainer,
                               const ls_checkpoints_options *options);

/* Wait for the checkpoint that is being written, and close.  Call
 * ls_checkpoints_wait first to learn whether it was written.  In a child of
 * fork, where saving fails with LS_ETHREAD, it frees the memory and leaves the
 * parent's lock alone. */
LS_API void ls_checkpoints_close(ls_checkpoints *checkpoints);

/* Copy the trainer's state and have it written; notes, where the program is in
 * its data, are kept with it.  A note "root" is the root of the state
 * (ls_trainer_root) and stands beside the state hash in checkpoint.json;
 * LS_EINVAL: it is no root.  Waits only while the one before is being
 * written.  When the new one is on disk, the oldest are deleted.  A save that
 * fails leaves the older ones as they are and is reported once, by the next
 * call of this (which does its own work all the same) or of
 * ls_checkpoints_wait.  LS_ENONFINITE: ls_trainer_check fails, and nothing is
 * saved, so that the newest checkpoint is one to go on from. */
LS_API int ls_checkpoints_save(ls_checkpoints *checkpoints, int n_notes,
                               const ls_setting *notes);

/* Wait until what was saved is on disk. */
LS_API int ls_checkpoints_wait(ls_checkpoints *checkpoints);

/* Returns how many checkpoints the folder holds, damaged ones included, or
 * LS_EIO. */
LS_API int ls_checkpoints_count(const ls_checkpoints *checkpoints);

/* Go on from the newest checkpoint: *step is the updates done then, -1 if
 * there is none.  One that is damaged is passed over for the one before
 * it.  LS_EINVAL names an option or setting that must be what it was and is
 * not, and both values; LS_ESHAPE, LS_ENOTFOUND: another model, which names a
 * parameter, or a node of the graph and its attribute, and both values.  Nodes
 * are compared that the loss needs; an operator of your own is its name and its
 * shape.  LS_EFORMAT: all there are are damaged.  The trainer is then as it was
 * before. */
LS_API int ls_checkpoints_load(ls_checkpoints *checkpoints, int64_t *step);

/* Go back: load as ls_checkpoints_load does, but the newest checkpoint of fewer
 * than `before` updates, and then delete the younger ones, which the run will
 * save anew.  *step is -1 if there is none; nothing is changed then.  Called
 * with INT64_MAX, and then with each step that it gave, it comes to the oldest.
 * It waits for a save that is under way. */
LS_API int ls_checkpoints_back(ls_checkpoints *checkpoints, int64_t before,
                               int64_t *step);

/* Returns a note of the checkpoint that was loaded, or NULL if it has none of
 * that name. */
LS_API const char *ls_checkpoints_note(const ls_checkpoints *checkpoints,
                                       const char *name);

/* An option or setting that is not what it was in a checkpoint; NULL: it is not
 * there. */
typedef struct ls_change {
    const char *name, *is, *was;
} ls_change;

/* Change i = 0, 1, .. that the last call of ls_checkpoints_load found, whether
 * it went on or was refused for it; false past the last.  Texts live until the
 * next such call.  After a change that was allowed, the bits are those of
 * this run alone. */
LS_API bool ls_checkpoints_change(const ls_checkpoints *checkpoints, int i,
                                  ls_change *change);

/* Returns why the newest was passed over, or NULL if it was not. */
LS_API const char *ls_checkpoints_skipped(const ls_checkpoints *checkpoints);

#ifdef __cplusplus
}
#endif

#endif
