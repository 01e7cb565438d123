/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rank sends the hash of its facts to all.  Where one differs, all send
 * their facts until the first difference, some at a time; so ranks end
 * alike.  A rank that failed before it had facts says that instead, and then
 * why. */
#include "ranks/agree.h"
#include "base/error.h"
#include "ranks/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOME = 32, TEXT = 112, WORDS = 252 };
enum { NO_MEMORY = -1, FAILED = -2 }; /* instead of a count */

/* A rank's first message, readable by every version. */
typedef struct head {
    char hash[64];
    int64_t count; /* of facts, or why there are none */
} head;

_Static_assert(sizeof(head) == 72, "every version reads so many bytes");

/* Why a rank failed; 0: it did not. */
typedef struct failure {
    int32_t status;
    char words[WORDS];
} failure;

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

/* Every rank says whether it failed, and keeps what it says itself: failures of
 * its own are told already. */
static int tell_failures(const ls_transport *t, const failure *mine)
{
    failure *of = ls__new((size_t)t->ranks, sizeof *of, "failures of ranks");
    int status = of ? 0 : LS_ENOMEM;

    if (status == 0) {
        of[t->rank] = *mine;
        status = ls__link_gather_each(t, of, sizeof *of);
    }
    for (int r = 0; r < t->ranks && status == 0; r++)
        if (of[r].status < 0)
            status = ls__fail(of[r].status, "rank %d failed: %.*s", r,
                              WORDS - 1, of[r].words);
    free(of);
    return status;
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
    mine->count = of && !f->failed ? f->count : NO_MEMORY;
    if ((status = ls__link_gather_each(t, heads, sizeof *heads)) < 0)
        return status;
    for (int r = 0; r < t->ranks; r++)
        if (heads[r].count == FAILED)
            return tell_failures(t, &(failure){0});
    for (int r = 0; r < t->ranks; r++) {
        if (heads[r].count == NO_MEMORY)
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

void ls__agree_to_fail(const ls_transport *t, int status)
{
    head *heads = ls__new((size_t)t->ranks, sizeof *heads, "facts of ranks");
    failure mine = {.status = status};

    ls__facts_part(mine.words, WORDS, ls_errmsg());
    if (heads) {
        heads[t->rank].count = FAILED;
        if (ls__link_gather_each(t, heads, sizeof *heads) == 0)
            (void)tell_failures(t, &mine);
    }
    free(heads);
    (void)ls__fail(status, "%s", mine.words);
}
