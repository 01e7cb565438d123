/* SPDX-License-Identifier: BSD-3-Clause */
/* Which step two trainings disagree on: the first two questions of a
 * dispute. */
#define _GNU_SOURCE
#include "verify/quarrel.h"
#include "opt/opt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATE = 16 + ROOT, STATES = 1 << 20 };

bool quarrel_goes_on(const quarrel *q)
{
    return !q->settled && !q->x.lost;
}

__attribute__((format(printf, 2, 3)))
void quarrel_settle(quarrel *q, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(q->verdict, sizeof q->verdict, format, args);
    va_end(args);
    q->settled = true;
}

void quarrel_in_order(const quarrel *q, char *mine, char *theirs, char *to[2])
{
    to[0] = q->x.side == 'a' ? mine : theirs;
    to[1] = q->x.side == 'a' ? theirs : mine;
}

/* ------ 1: the states of two transcripts ------ */

/* The digits of a transcript: its head without what may differ, and of each
 * state its batches and root.  To be freed. */
static char *states_of(const char *path)
{
    FILE *f = fopen(path, "r");
    char *line = NULL, *all = NULL;
    size_t room = 0, bytes = 0;
    FILE *out = open_memstream(&all, &bytes);
    ssize_t n;

    while (f && out && (n = getline(&line, &room, f)) > 0) {
        json_t *o = json_loadb(line, (size_t)n, 0, NULL);
        const char *kind = json_string_value(json_object_get(o, "kind"));

        if (kind && strcmp(kind, "head") == 0) {
            char hash[MAIL_HEX], *text;

            json_object_del(o, "prev");
            json_object_del(o, "lockstep");
            json_object_del(o, "data");
            text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
            ls_digest(text ? text : "", text ? strlen(text) : 0, hash);
            fputs(hash, out);
            free(text);
        } else if (kind && strcmp(kind, "state") == 0) {
            fprintf(out, "%016" PRIx64 "%s",
                    (uint64_t)json_integer_value(json_object_get(o, "n")),
                    json_string_value(json_object_get(o, "root")));
        }
        json_decref(o);
    }
    free(line);
    if (f)
        fclose(f);
    if (out)
        fclose(out);
    return all;
}

static int64_t batches_at(const char *states, int64_t i)
{
    char text[17] = "";

    memcpy(text, states + ROOT + i * STATE, 16);
    return (int64_t)strtoull(text, NULL, 16);
}

static void take_root(const char *states, int64_t i, char root[ROOT + 1])
{
    memcpy(root, states + ROOT + i * STATE + 16, ROOT);
    root[ROOT] = 0;
}

/* The first state that differs, and the one before; of two beginnings none
 * is. */
static void enclose(quarrel *q, const char *a, const char *b)
{
    int64_t n = (int64_t)(strlen(a) - ROOT) / STATE, i = 0;
    int64_t m = (int64_t)(strlen(b) - ROOT) / STATE;

    if (memcmp(a, b, ROOT))
        quarrel_settle(q, "not settled: the two transcripts have other heads: "
                       "they are not of one training");
    while (quarrel_goes_on(q) && i < n && i < m &&
           memcmp(a + ROOT + i * STATE, b + ROOT + i * STATE, STATE) == 0)
        i++;
    if (quarrel_goes_on(q) && (i == n || i == m)) {
        q->same = true;
        quarrel_settle(q, "same: %" PRId64 " states that both have", i);
    }
    if (quarrel_goes_on(q) && batches_at(a, i) != batches_at(b, i))
        quarrel_settle(q, "not settled: the states are of other batches");
    if (quarrel_goes_on(q) && i == 0 && batches_at(a, 0) > 0)
        quarrel_settle(q, "not settled: the two begin in other states, which "
                       "is a matter of files");
    if (!quarrel_goes_on(q))
        return;
    q->first = batches_at(a, i ? i - 1 : 0);
    q->last = batches_at(a, i);
    for (int side = 0; side < 2; side++) {
        take_root(side ? b : a, i ? i - 1 : 0, q->root[side][0]);
        take_root(side ? b : a, i, q->root[side][1]);
    }
}

int quarrel_states(quarrel *q)
{
    char *mine = states_of(q->d->of.of->path), *theirs = NULL, *both[2];
    int status = mine ? mail_answer(&q->x, 1, "states", mine, ROOT + STATE,
                                        ROOT + (size_t)STATE * STATES, &theirs)
                      : opt_fail(OPT_FAILED, "no memory");

    if (status == OPT_GO && theirs && (strlen(theirs) - ROOT) % STATE)
        mail_lose(&q->x, mail_other(&q->x), "its states are cut off");
    quarrel_in_order(q, mine, theirs, both);
    if (status == OPT_GO && quarrel_goes_on(q))
        enclose(q, both[0], both[1]);
    free(mine);
    if (status == OPT_GO)
        free(theirs);
    return status;
}

/* ------ 2: the steps between ------ */

/* Train again with a root after each batch; their digits, to be freed. */
static int roots_between(const quarrel *q, char **roots)
{
    char *path = mail_path(&q->x, 0, q->x.side, "lst"), *to = NULL;
    const char *more[] = {NULL, "--transcript-every=1", NULL};
    replay r = q->d->of;
    size_t bytes = 0;
    FILE *out = open_memstream(roots, &bytes);
    int status = path && out && asprintf(&to, "--transcript=%s", path) >= 0
                     ? OPT_GO : opt_fail(OPT_FAILED, "no memory");

    more[0] = to;
    r.more = more;
    r.until = q->last;
    if (status == OPT_GO)
        status = replay_write(&r);
    for (int64_t n = q->first; status == OPT_GO && n <= q->last; n++) {
        char root[ROOT + 1];

        status = opt_check(ls_transcript_root_at(path, n, root));
        if (status == OPT_GO)
            fputs(root, out);
    }
    if (out)
        fclose(out);
    if (path)
        unlink(path);
    free(path);
    free(to);
    return status;
}

/* Does a side stand by the two roots of its transcript? */
static void check_ends(quarrel *q, char *const roots[2])
{
    int64_t n = q->last - q->first;

    for (int side = 0; side < 2; side++)
        for (int end = 0; end < 2; end++)
            if (memcmp(roots[side] + (end ? n * ROOT : 0),
                       q->root[side][end], ROOT))
                mail_lose(&q->x, (char)('a' + side), "it does not stand by "
                              "its transcript: trained again, its state of %"
                              PRId64 " is another",
                              end ? q->last : q->first);
}

int quarrel_steps(quarrel *q)
{
    size_t n = (size_t)(q->last - q->first + 1) * ROOT;
    char *mine = NULL, *theirs = NULL, *both[2];
    int status = roots_between(q, &mine);
    int64_t i = 0;

    if (status == OPT_GO)
        status = mail_answer(&q->x, 1, "steps", mine, n, n, &theirs);
    quarrel_in_order(q, mine, theirs, both);
    if (status == OPT_GO && quarrel_goes_on(q))
        check_ends(q, both);
    while (status == OPT_GO && quarrel_goes_on(q) &&
           memcmp(mine + i * ROOT, theirs + i * ROOT, ROOT) == 0)
        i++;
    q->first += i ? i - 1 : 0; /* the step that makes the first other state, or
                                  begins in it */
    free(mine);
    free(theirs);
    return status;
}
