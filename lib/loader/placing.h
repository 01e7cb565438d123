/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement of a batch's rows on a machine of several NUMA nodes: each with the
 * worker of its device, who reads them. */
#ifndef LS_LOADER_PLACING_H
#define LS_LOADER_PLACING_H

#include <lockstep/trainer.h>

/* Let workers touch their shards of an array first, which was not touched so
 * far; its bytes are cut evenly.  Nothing happens where workers sit on one
 * node, or while another thread has their pool. */
void ls__placing_touch(const ls_trainer *t, void *array, size_t bytes,
                       int64_t shards);

#endif
