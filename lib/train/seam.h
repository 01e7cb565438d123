/* The seam between what the devices of this process sum and what all devices
 * of the experiment do: where several processes train one model together.
 *
 * A process runs some of the devices.  What all have to agree about passes the
 * seam four times in a step, always on the calling thread:
 *
 *     PARTIALS partial sums of gradients go to those who finish them, section
 *              by section, the first while others are computed (leaving.h)
 *     REPORTS  what each device reported, so that every process judges alike
 *     SOUND    what is not finite, and squares of blocks, from those who know
 *     VALUES   updated parameters, from those who updated them, section by
 *              section, the first while others are updated (giving.h)
 *
 * Between the second and the third every process completes the tree for the
 * floats it owns (reduce/owned.h), multiplies, checks and squares, as one
 * process does for all of them; then it updates these alone, so that moments
 * exist once over all processes.  A process that is alone has no seam, and its
 * pass none of this. */
#ifndef LS_TRAIN_SEAM_H
#define LS_TRAIN_SEAM_H

#include "base/tree.h"
#include "rank/link.h"
#include "train/step.h"

/* How the processes meet.  A function returns 0, or a status whose message
 * it has set: then the step fails with it and, before VALUES, changes
 * nothing in this process.  All processes must fail alike, which is the
 * functions' duty. */
typedef struct ls__seam {
    ls__span devices; /* those of this process */
    int rank, ranks;  /* which process this is, and of how many */
    void *user;       /* the first argument of all functions */

    /* Once, when the trainer has its memory: allocate, and fill the following.
     * What all devices consist of: part k, whose sum over what this process
     * owns will lie in partial[k] when REPORTS has returned. */
    int (*open)(void *user, const ls_trainer *t);
    int parts;
    const ls__subtree *part;
    float *const *partial; /* [part][owned float]; written over */
    ls__span here; /* parts whose sums lie as the layout does, [part][float] */

    /* A training pass begins, whose sections will leave in this order, in all
     * processes alike. */
    int (*begin)(void *user, const int *order);
    /* The sum of each part of this process lies, over this section, in the
     * gradient of the part's first device, and is not written before REPORTS
     * has returned: send it.  Other workers may be computing meanwhile. */
    int (*leave)(void *user, float *const *grad, int section);
    /* Move on what has left, without waiting. */
    int (*move)(void *user);
    /* report[device] of this process are set; set the others.  A pointer to an
     * operator would mean nothing here, so reports have none.  In a pass that
     * began as above all sections have left, and those of others are awaited
     * too. */
    int (*reports)(void *user, ls__report *report);
    /* *bad: the first element owned here that is not finite, or -1; becomes the
     * first of all.  square: those of blocks owned here are set, NULL where
     * nobody clips; set the others. */
    int (*sound)(void *user, int64_t *bad, float *square);
    /* What is owned here of a section of value is new, and stays until VALUES
     * has returned: send it, and let the rest of the section come.  Sections
     * come in rising order, in all processes alike. */
    int (*give)(void *user, float *value, int section);
    /* All sections were given; the others' parts are awaited, with work in
     * between (rank/link.h). */
    int (*values)(void *user, ls__work_fn *work, void *with);
    /* Of so many sections given, how many are there from the first on. */
    int (*arrived)(void *user, int given);
    /* So many bytes of each device of the experiment, in order, up to `all`:
     * those of this process are set; set the others. */
    int (*outputs)(void *user, void *out, int64_t bytes, int64_t all);
} ls__seam;

/* Open a trainer that has a seam, which is borrowed until the trainer is
 * closed.  The pool's mesh has all devices of the experiment and the workers of
 * this process. */
int ls__trainer_open_seam(ls_trainer **trainer, ls_pool *pool,
                          const ls_graph *graph,
                          const ls_trainer_options *options, ls__seam *seam);

/* The meetings as phases, and the partial sums for the first. */
bool ls__phase_reports(ls__step *s, int worker);
bool ls__phase_partials(ls__step *s, int worker);
bool ls__phase_exchange(ls__step *s, int worker);
bool ls__phase_sound(ls__step *s, int worker);
bool ls__phase_values(ls__step *s, int worker);
bool ls__phase_outputs(ls__step *s, int worker);

#endif
