/* The seam of a trainer whose devices are shared by the ranks of a transport:
 * what the four meetings of seam.h are made of. */
#ifndef LS_TRAIN_RANKS_H
#define LS_TRAIN_RANKS_H

#include "train/seam.h"

typedef struct ls__ranks ls__ranks;

/* Test the transport, and cut so many devices over its ranks.  LS_EIO,
 * LS_EINVAL. */
int ls__ranks_open(ls__ranks **ranks, const ls_transport *transport,
                   int devices);
void ls__ranks_close(ls__ranks *ranks);

ls__seam *ls__ranks_seam(ls__ranks *ranks);
const ls_transport *ls__ranks_link(const ls__ranks *ranks);

/* LS_EINVAL names what is not the same on all ranks. */
int ls__ranks_compare(ls__ranks *ranks, const ls_trainer *t);

#endif
