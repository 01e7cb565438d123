/* SPDX-License-Identifier: BSD-3-Clause */
/* A RealMLP: realmlp.c makes it, realmlp_net.c builds its graph and
 * realmlp_start.c gives it its first values. */
#ifndef LS_TABLE_REALMLP_PARTS_H
#define LS_TABLE_REALMLP_PARTS_H

#include <lockstep/arithmetic.h>
#include <lockstep/initial.h>
#include <lockstep/ops.h>
#include <lockstep/realmlp.h>

#include <stdbool.h>

/* Columns of up to so many words are one-hot, those of more embedded. */
enum { LS__MOST_CODED = 8, LS__EMBEDDED = 8, LS__WAVES = 16, LS__OF_WAVES = 3 };
enum { LS__MOST_LAYERS = 64, LS__MOST_GROUPS = LS__MOST_LAYERS + 8 };
enum { LS__REALMLP_NAME = 64 };

struct ls_realmlp {
    const ls_coding *coding;
    ls_realmlp_options o; /* without what is below 0 or NULL */
    int64_t width[LS__MOST_LAYERS + 1]; /* [o.hidden], and of the outputs */
    int64_t classes;                /* 0: a number */
    int64_t numbers, codes, embedded; /* columns, places, columns */
    int64_t front;                    /* places before the first layer */
    ls_group group[LS__MOST_GROUPS];
    char room[LS__MOST_GROUPS][LS__REALMLP_NAME]; /* of their names */
    int groups;
};

/* Is a column of words a 1 among zeros (and not embedded)? */
bool ls__realmlp_is_coded(const ls_realmlp *m, const ls_column *c);

/* The places of a coded column: two words share one. */
static inline int64_t ls__realmlp_codes(const ls_column *c)
{
    return c->words == 2 ? 1 : c->words;
}

/* The name of a member's part i, its format "layers.%d.kernel"; that of the
 * only member has nothing before it.  Member -1: of all of them, a pattern. */
const char *ls__realmlp_name(const ls_realmlp *m, int64_t member,
                             const char *format, int i,
                             char room[LS__REALMLP_NAME]);

/* The graph; probe: with an output "layers.<i>" for what each dense layer gives
 * in place of its own. */
void ls__realmlp_net(const ls_realmlp *m, ls_graph *g, bool probe);

/* The mean of what several networks say: of numbers; and of probabilities as
 * its logarithm, of which softmax makes the mean again (x is written to). */
ls_node *ls__mean_number(ls_node *const *x, int64_t count);
ls_node *ls__mean_logits(ls_node **x, int64_t count);

#endif
