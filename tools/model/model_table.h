/* SPDX-License-Identifier: BSD-3-Clause */
/* What the graph of table and its first values share. */
#ifndef TOOLS_MODEL_TABLE_H
#define TOOLS_MODEL_TABLE_H

#include "model/model.h"

/* Is a column of words a 1 among zeros (and not embedded)? */
bool table_is_coded(const model_settings *s, const ls_column *c);

/* The places of a coded column: two words share one. */
static inline int64_t table_codes(const ls_column *c)
{
    return c->words == 2 ? 1 : c->words;
}

/* The graph; probe: with an output "layers.<i>" for what each dense layer gives
 * in place of its own. */
void table_net(ls_graph *g, const model_settings *s, bool probe);

/* The first values that depend on the rows (table_start.c). */
int table_start(ls_trainer *t, const data *d, const settings *s,
                const model_means *with);

#endif
