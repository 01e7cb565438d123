/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement: the part of the state that each device owns and updates (ZeRO). */
#ifndef LOCKSTEP_PLACEMENT_H
#define LOCKSTEP_PLACEMENT_H

#include <lockstep/trainer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------ Placement: who owns, and so updates, which part ------ */

/* Parts of the state. */
typedef enum ls_state_part {
    LS_STATE_PARAMS = 1, LS_STATE_OPTIMIZER = 2, LS_STATE_ALL = 3
} ls_state_part;

/* Place parameters, optimizer state, or both, from the next step on; NULL
 * leaves things as they are:
 *     "replicate"       nobody owns a part: the caller updates
 *     "shard"           each array is cut along its biggest axis (the first of
 *                       equals; a single number is not cut), ceil(n / D) of it
 *                       to each of the D devices of the data axis, the last
 *                       ones less or none
 *     "PATTERN=HOW,.."  arrays whose name the pattern matches, as fnmatch(3)
 *                       does (* also matches dots); the first pattern that
 *                       matches counts; others are replicated.  HOW is
 *         1             cut along that axis, counted from 0, which must divide
 *                       by D
 *         1:model       likewise, but the owners are the devices along that
 *                       axis of the mesh, as many as it has
 *         model         the biggest axis, as "shard" does, by these owners
 *         replicate     nobody owns a part
 * A parameter and its moments are updated together: where the two are placed
 * differently, by the owners of the moments if those are cut.  In shared memory
 * the bytes exist once for every placement, and the bits are the same; on NUMA
 * machines they stay near those who owned them when the trainer was opened.
 * LS_ESHAPE, LS_EINVAL name the parameter, its shape and the axis; LS_ENOTFOUND
 * a pattern that matches nothing; the placement is then as it was. */
LS_API int ls_state_place(ls_trainer *trainer, ls_state_part part,
                          const char *placement);

/* The axis along which a parameter, or its optimizer state, is cut; -1 when
 * it is replicated.  part is one of the two. */
LS_API int ls_state_axis(const ls_trainer *trainer, ls_state_part part,
                         const char *name, int *axis);

/* Returns the axis of the mesh along which the owners of a parameter, or of its
 * optimizer state, are counted, and stores how many there are; NULL when it is
 * replicated, and with a message for an unknown name or part. */
LS_API const char *ls_state_owners(const ls_trainer *trainer,
                                   ls_state_part part, const char *name,
                                   int *owners);

#ifdef __cplusplus
}
#endif

#endif
