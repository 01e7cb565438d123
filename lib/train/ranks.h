/* The seam of a trainer whose devices are shared by the ranks of a transport:
 * what the four meetings of seam.h are made of. */
#ifndef LS_TRAIN_RANKS_H
#define LS_TRAIN_RANKS_H

#include "base/error.h"
#include "train/seam.h"

typedef struct ls__ranks ls__ranks;

/* What a rank says of how something went. */
typedef struct ls__word {
    int status;
    char message[LS__MESSAGE];
} ls__word;

/* Test the transport, and cut so many devices over its ranks.  LS_EIO,
 * LS_EINVAL. */
int ls__ranks_open(ls__ranks **ranks, const ls_transport *transport,
                   int devices);
void ls__ranks_close(ls__ranks *ranks);

ls__seam *ls__ranks_seam(ls__ranks *ranks);
const ls_transport *ls__ranks_link(const ls__ranks *ranks);

/* Room for a word of each rank, there from the beginning: who has no memory
 * must still tell the others. */
ls__word *ls__ranks_words(ls__ranks *ranks);

/* LS_EINVAL names what is not the same on all ranks. */
int ls__ranks_compare(ls__ranks *ranks, const ls_trainer *t);

#endif
