/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rank sends the hash of its facts to all.  Where one differs, all send
 * their facts until the first difference, some at a time; so ranks end
 * alike. */
#include "rank/agree.h"
#include "base/error.h"
#include "rank/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOME = 32, TEXT = 112 };

/* What a rank sends first, and so whatever its version. */
typedef struct head {
    char hash[64];
    int64_t count; /* of facts; -1: there was no memory */
} head;

/* A fact on its way; past a rank's last one it is empty. */
typedef struct sent {
    char name[TEXT], value[TEXT];
} sent;

static int tell_names(int r, const sent *a, const sent *b)
{
    return ls__fail(LS_EINVAL, "ranks differ: rank %d has %.111s%s%.111s, "
                    "where rank 0 has %.111s%s%.111s", r,
                    *b->name ? b->name : "nothing", *b->name ? " " : "",
                    b->value, *a->name ? a->name : "nothing",
                    *a->name ? " " : "", a->value);
}

static int tell_values(int r, const sent *a, const sent *b)
{
    return ls__fail(LS_EINVAL, "ranks differ: %.111s is %.111s on rank %d, and "
                    "%.111s on rank 0", b->name, b->value, r, a->value);
}

/* of[rank][SOME] */
static int compare(int ranks, sent (*of)[SOME])
{
    for (int i = 0; i < SOME; i++)
        for (int r = 1; r < ranks; r++) {
            const sent *a = &of[0][i], *b = &of[r][i];

            if (strncmp(a->name, b->name, TEXT))
                return tell_names(r, a, b);
            if (strncmp(a->value, b->value, TEXT))
                return tell_values(r, a, b);
        }
    return 0;
}

static int find_first(const ls_transport *t, const ls__facts *f, int64_t most,
                      sent (*of)[SOME])
{
    int status = 0;

    for (int64_t i = 0; i < most && status == 0; i += SOME) {
        sent *mine = of[t->rank];

        memset(mine, 0, sizeof *of);
        for (int64_t k = 0; k < SOME && i + k < f->count; k++) {
            ls__facts_part(mine[k].name, TEXT, f->fact[i + k].name);
            ls__facts_part(mine[k].value, TEXT, f->fact[i + k].value);
        }
        if ((status = ls__link_gather_each(t, of, sizeof *of)) == 0)
            status = compare(t->ranks, of);
    }
    return status < 0 ? status : ls__fail(LS_EINVAL, "ranks differ");
}

/* Memory for what follows is there on all ranks, or none goes on. */
static int meet(const ls_transport *t, const ls__facts *f, head *heads,
                sent (*of)[SOME])
{
    head *mine = &heads[t->rank];
    int64_t most = 0;
    char hex[65];
    bool same = true;
    int status;

    ls__facts_hash(f->count, f->fact, hex);
    memcpy(mine->hash, hex, sizeof mine->hash);
    mine->count = of && !f->failed ? f->count : -1;
    if ((status = ls__link_gather_each(t, heads, sizeof *heads)) < 0)
        return status;
    for (int r = 0; r < t->ranks; r++) {
        if (heads[r].count < 0)
            return ls__fail(LS_ENOMEM, "rank %d has no memory to compare what "
                            "must be equal", r);
        most = heads[r].count > most ? heads[r].count : most;
        same &= !memcmp(heads[r].hash, mine->hash, sizeof mine->hash);
    }
    return same ? 0 : find_first(t, f, most, of);
}

int ls__agree(const ls_transport *t, const ls__facts *facts)
{
    head *heads = ls__new((size_t)t->ranks, sizeof *heads, "facts of ranks");
    sent(*of)[SOME] = ls__new((size_t)t->ranks, sizeof *of, "facts of ranks");
    int status = heads ? meet(t, facts, heads, of) : LS_ENOMEM;

    free(heads);
    free(of);
    return status;
}
