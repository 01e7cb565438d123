/* SPDX-License-Identifier: BSD-3-Clause */
/* Synchronisation points: the phases in which ranks meet, where several
 * processes train one model.
 *
 * A process runs some of the devices.  Ranks exchange four things in a step,
 * always on the calling thread:
 *
 *     PARTIALS partial sums of gradients go to those who finish them, section
 *              by section, the first while others are computed
 *              (reduce_scatter.h)
 *     REPORTS  what each device reported, so that every process judges alike
 *     SOUND    what is not finite, and squares of blocks, from those who know
 *     VALUES   updated parameters, from those who updated them, section by
 *              section, the first while others are updated (all_gather.h)
 *
 * Between REPORTS and SOUND every process completes the tree for the floats it
 * owns (reduce/owned.h), multiplies, checks and squares, as one process does
 * for all; after SOUND it updates these alone, so that moments exist once over
 * all processes.  A synchronisation that fails is s->status: the step fails
 * with it and, before VALUES, changes nothing in this process.  A process that
 * is alone has none of these phases. */
#ifndef LS_RANKS_SYNC_POINTS_H
#define LS_RANKS_SYNC_POINTS_H

#include "reduce/reduce.h"
#include "train/step.h"

bool ls__phase_reports(ls__step *s, int worker);

/* ls__phase_joint with the devices of all ranks. */
bool ls__phase_joint_ranks(ls__step *s, int worker);

/* Phases: add the rest of the partial sums; send them, and the reports. */
bool ls__phase_partials(ls__step *s, int worker);
bool ls__phase_exchange(ls__step *s, int worker);

/* Completes the tree from partial sums, over a stretch of what is owned.  Its
 * floats are `shift` further on in memory of what is owned alone. */
ls__reduction ls__completion(const ls__step *s, int64_t shift);

/* ls__phase_reduce from partial sums, over what this process owns. */
bool ls__phase_complete(ls__step *s, int worker);

bool ls__phase_sound(ls__step *s, int worker);
bool ls__phase_values(ls__step *s, int worker);

/* The rows of an output, from the ranks that have them to all. */
bool ls__phase_outputs(ls__step *s, int worker);

#endif
