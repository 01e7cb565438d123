/* SPDX-License-Identifier: BSD-3-Clause */
/* See dispute.h.  Five questions, to which both sides answer at once:
 *
 *     1 states    the transcript's roots, so which two states enclose the
 *                 first difference
 *     2 steps     the roots of all states between, made by training again
 *     3 record    all that the step after the last equal state makes, hashed
 *                 (docs/transcript.md): phases, nodes, leaves
 *     4 leaf      the numbers of the first leaf that differs, so the element
 *     5 evidence  what that number is made of, by which the referee judges */
#define _GNU_SOURCE
#include "verify/dispute.h"
#include "opt/opt.h"
#include "verify/quarrel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAF = 4096 };

/* ------ 3: all that the step makes ------ */

/* The other's record must be what it said. */
static void compare_records(quarrel *q, const char *theirs)
{
    int other = mail_other(&q->x) - 'a';
    char hash[MAIL_HEX];
    int64_t bytes;

    if (ls_file_digest(q->record[other], &bytes, hash) < 0 ||
        strcmp(hash, theirs)) {
        mail_lose(&q->x, mail_other(&q->x), "its record is not the "
                      "file whose hash it gave");
        return;
    }
    if (ls_record_compare(q->record[0], q->record[1], &q->found) < 0)
        mail_lose(&q->x, mail_other(&q->x), "its record: %.400s",
                      ls_errmsg());
    else if (q->found.same)
        quarrel_settle(q, "not settled: both records of step %" PRId64 " are "
                       "the same, and their states are not: what differs is no "
                       "part of a step", q->first);
}

static int ask_record(quarrel *q)
{
    char hash[MAIL_HEX], *theirs = NULL;
    const char *mine;
    int64_t bytes;
    int status;

    for (int side = 0; side < 2; side++)
        q->record[side] =
            mail_path(&q->x, q->x.number + 1, (char)('a' + side), "lsr");
    mine = q->record[q->x.side - 'a'];
    if (!q->record[0] || !q->record[1])
        return opt_fail(OPT_FAILED, "no memory");
    status = replay_record(&q->d->of, q->first, -1, mine, false);
    if (status == OPT_GO)
        status = opt_check(ls_file_digest(mine, &bytes, hash));
    if (status == OPT_GO)
        status = mail_answer(&q->x, 2, "record", hash, ROOT, ROOT,
                                 &theirs);
    if (status == OPT_GO && quarrel_goes_on(q))
        compare_records(q, theirs);
    free(theirs);
    return status;
}

/* ------ 4: the leaf ------ */

/* Bytes of a leaf's digits, and the byte behind them; returns how many. */
static size_t leaf_bytes(const char *digits, uint8_t *to)
{
    size_t n = strlen(digits) / 8;

    for (size_t i = 0; i < n; i++) {
        char text[9] = "";
        uint32_t x;

        memcpy(text, digits + 8 * i, 8);
        x = (uint32_t)strtoul(text, NULL, 16);
        for (int k = 0; k < 4; k++)
            to[4 * i + (size_t)k] = (uint8_t)(x >> 8 * k);
    }
    to[4 * n] = 0;
    return 4 * n + 1;
}

static void check_leaf(quarrel *q, const char *theirs)
{
    int other = mail_other(&q->x) - 'a';
    uint8_t bytes[4 * LEAF + 1];
    char hash[MAIL_HEX], want[MAIL_HEX];

    ls_digest(bytes, leaf_bytes(theirs, bytes), hash);
    if (strlen(theirs) % 8 ||
        ls_record_leaf_hash(q->record[other], q->found.place, q->found.leaf,
                            want) < 0 ||
        strcmp(hash, want))
        mail_lose(&q->x, mail_other(&q->x), "the leaf that it gave "
                      "does not have the hash in its record");
}

static uint32_t word_of(const char *digits, int64_t i)
{
    char text[9] = "";

    memcpy(text, digits + 8 * i, 8);
    return (uint32_t)strtoul(text, NULL, 16);
}

static void find_element(quarrel *q, const char *a, const char *b)
{
    size_t n = strlen(a), i = 0;

    while (i < n && a[i] == b[i])
        i++;
    if (strlen(b) != n || i == n) {
        quarrel_settle(q, "not settled: the two leaves are the same");
        return;
    }
    q->found.element = q->found.leaf * LEAF + (int64_t)i / 8;
    q->found.a = word_of(a, (int64_t)i / 8);
    q->found.b = word_of(b, (int64_t)i / 8);
}

static int ask_leaf(quarrel *q)
{
    uint32_t value[LEAF];
    char mine[8 * LEAF + 1] = "", *theirs = NULL, *both[2];
    int64_t n;
    int status = OPT_GO;

    q->values = mail_path(&q->x, 0, q->x.side, "lsr");
    if (!q->values)
        return opt_fail(OPT_FAILED, "no memory");
    status = replay_record(&q->d->of, q->first,
                           q->found.device < 0 ? 0 : q->found.device,
                           q->values, true);
    if (status != OPT_GO || q->found.leaf < 0)
        return status; /* a number: the record has it */
    n = ls_record_leaf(q->values, q->found.place, q->found.leaf, value);
    for (int64_t i = 0; i < n; i++)
        snprintf(mine + 8 * i, 9, "%08" PRIx32, value[i]);
    if (n < 0)
        return opt_check((int)n);
    status = mail_answer(&q->x, 4, "leaf", mine, 8, 8 * LEAF, &theirs);
    if (status == OPT_GO && quarrel_goes_on(q))
        check_leaf(q, theirs);
    quarrel_in_order(q, mine, theirs, both);
    if (status == OPT_GO && quarrel_goes_on(q))
        find_element(q, both[0], both[1]);
    free(theirs);
    return status;
}

/* ------ 5: the evidence ------ */

static const char NONE[] =
    "0000000000000000000000000000000000000000000000000000000000000000";

/* What the referee's exit status says; 3: it refuses the evidence. */
static const char *const verdicts[] = {"a is right", "b is right",
                                       "neither is right"};
enum { REFUSED = 3 };

/* What the referee says, if it is here: its exit status, or -1. */
static int ask_referee(const quarrel *q, const char *path, char *const of[2])
{
    int state;
    pid_t child;

    if (!q->d->referee || (child = fork()) < 0)
        return -1;
    if (child == 0) {
        execlp(q->d->referee, q->d->referee, path, of[0], of[1], (char *)NULL);
        _exit(127);
    }
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

/* Does the evidence have numbers of a record?  Else it has only options and
 * places, on which both sides agree. */
static bool opens(const char *path)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    bool is = false;

    while (f && !is && getline(&line, &room, f) > 0)
        is = strncmp(line, "@ ", 2) == 0;
    free(line);
    if (f)
        fclose(f);
    return is;
}

static void judge(quarrel *q, const char *path)
{
    char *const past[2] = {q->past, NULL}, *const none[2] = {NULL, NULL};
    char *const *of = !opens(path) ? none : q->past ? past : q->record;
    int verdict = ask_referee(q, path, of);

    if (verdict >= 0 && verdict < 3)
        quarrel_settle(q, "%s: the referee made the number again",
                       verdicts[verdict]);
    else if (verdict == REFUSED)
        quarrel_settle(q, "not settled: the referee refuses %s, or its numbers "
                       "are not in both records", path);
    else
        quarrel_settle(q, "for the referee: cc -O2 -std=c99 "
                       "referee/referee.c -o referee && ./referee %s %s %s",
                       path, of[0] ? of[0] : "", of[1] ? of[1] : "");
}

/* Where the number was made: of what was there before a step in the one before
 * it, of which both have the state, so the same record. */
static int find_maker(quarrel *q, const char **record_of,
                      char place[LS_RECORD_TEXT])
{
    static const char before[] = "before: ";
    size_t n = sizeof before - 1;

    *record_of = q->values;
    snprintf(place, LS_RECORD_TEXT, "%s", q->found.place);
    if (strncmp(place, before, n) || q->first == 0)
        return OPT_GO;
    snprintf(place, LS_RECORD_TEXT, "after: %s", q->found.place + n);
    *record_of = q->past =
        mail_path(&q->x, q->x.number + 1, q->x.side, "past.lsr");
    return q->past ? replay_record(&q->d->of, q->first - 1, 0, q->past, true)
                   : opt_fail(OPT_FAILED, "no memory");
}

/* ------ 5: a row of the data ------ */

/* The input of "rows 0 to 47, batch: x"; NULL: it is no batch. */
static const char *input_of(const char *place)
{
    static const char batch[] = "batch: ";
    const char *at = strstr(place, batch);

    return at && strncmp(place, "device ", 7) ? at + sizeof batch - 1 : NULL;
}

/* Evidence of a word that was given to the step: which row of the data has
 * it. */
static int prove_row(const quarrel *q, const char *input, const char *path,
                     int *made)
{
    char unknown[REPLAY_NAMES] = "";
    replay r = q->d->of;
    int status = OPT_GO;

    r.unknown = unknown;
    *made = LS_ENOTSUP;
    if (!published_text(r.of, "source"))
        (void)ls_error(LS_ENOTSUP, "the transcripts have no root of the data, "
                       "by which a batch is judged");
    else
        status = replay_evidence(&r, q->first, input, q->found.element,
                                 (uint32_t[]){q->found.a, q->found.b}, path);
    if (status == OPT_GO && access(path, R_OK) == 0)
        *made = 0;
    else if (*unknown)
        (void)ls_error(LS_ENOTSUP, unknown);
    return status;
}

/* The evidence up to its leaf, or up to its root where it has no leaf: so far
 * both sides must say the same.  To be freed. */
static char *said_before_leaf(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 4096), *leaf = NULL;

    if (f && text && fread(text, 1, 4095, f) > 0)
        leaf = strstr(text, "\nleaf ");
    if (text && !leaf)
        leaf = strstr(text, "\nroot ");
    if (leaf)
        *leaf = 0;
    if (f)
        fclose(f);
    return text;
}

/* Where the two give other proofs of the same row, that of a side whose data is
 * another does not open. */
static void judge_rows(quarrel *q)
{
    char *const of[2] = {(char *)(uintptr_t)q->d->of.of->path, NULL};
    char *path[2], *said[2];
    int verdict = -1;

    for (int side = 0; side < 2; side++) {
        path[side] = mail_path(&q->x, q->x.number, (char)('a' + side),
                               "evidence");
        said[side] = path[side] ? said_before_leaf(path[side]) : NULL;
    }
    if (said[0] && said[1] && strcmp(said[0], said[1]) == 0)
        for (int side = 0; side < 2 && (verdict < 0 || verdict > 2); side++)
            verdict = ask_referee(q, path[side], of);
    if (verdict >= 0 && verdict < 3)
        quarrel_settle(q, "%s: the row of the data stands under the root that "
                       "both have", verdicts[verdict]);
    else if (q->d->referee)
        quarrel_settle(q, "not settled: no side proves what the data has "
                       "there");
    else
        quarrel_settle(q, "for the referee: cc -O2 -std=c99 "
                       "referee/referee.c -o referee && ./referee %s %s",
                       path[0], of[0]);
    for (int side = 0; side < 2; side++) {
        free(path[side]);
        free(said[side]);
    }
}

static int ask_evidence(quarrel *q)
{
    const char *input = input_of(q->found.place);
    char hash[MAIL_HEX], *theirs = NULL, why[MAIL_TEXT] = "";
    char *path = mail_path(&q->x, q->x.number + 1, q->x.side, "evidence");
    char place[LS_RECORD_TEXT];
    const char *maker = NULL;
    int64_t bytes;
    int status = path ? find_maker(q, &maker, place)
                      : opt_fail(OPT_FAILED, "no memory");
    int made = 0;

    if (status != OPT_GO) {
        free(path);
        return status;
    }
    memcpy(hash, NONE, sizeof hash);
    if (q->found.element < 0)
        made = LS_ENOTSUP;
    else if (input)
        status = prove_row(q, input, path, &made);
    else
        made = ls_record_evidence(maker, place, q->found.element, q->found.a,
                                  q->found.b, path);
    if (made < 0)
        snprintf(why, sizeof why, "%s", q->found.element < 0
                                            ? "its element is not known"
                                            : ls_errmsg());
    if (status == OPT_GO && made < 0 && made != LS_ENOTSUP)
        status = opt_check(made);
    if (status == OPT_GO && made == 0)
        status = opt_check(ls_file_digest(path, &bytes, hash));
    if (status == OPT_GO)
        status = mail_answer(&q->x, 5, "evidence", hash, ROOT, ROOT,
                                 &theirs);
    if (status == OPT_GO && quarrel_goes_on(q) && input && made == 0)
        judge_rows(q);
    if (status == OPT_GO && quarrel_goes_on(q) && strcmp(hash, theirs))
        quarrel_settle(q, "not settled: the two give other evidence for "
                       "the same number: compare their files");
    if (status == OPT_GO && quarrel_goes_on(q) && made < 0)
        quarrel_settle(q, "not settled: %s", why);
    if (status == OPT_GO && quarrel_goes_on(q))
        judge(q, path);
    free(theirs);
    free(path);
    return status;
}

/* ------ the verdict ------ */

static int write_verdict(const quarrel *q, const char *text)
{
    char *aside = NULL, *path = NULL;
    FILE *f = NULL;
    bool good = asprintf(&aside, "%s/verdict.%c", q->d->folder, q->x.side) >=
                    0 && asprintf(&path, "%s/verdict", q->d->folder) >= 0;

    if (good)
        f = fopen(aside, "w");
    good = f && fputs(text, f) >= 0;
    if (f && fclose(f) != 0)
        good = false;
    if (good && rename(aside, path) < 0)
        good = false;
    free(aside);
    free(path);
    return good ? OPT_GO : opt_fail(OPT_FAILED, "%s: no verdict could be "
                                    "written", q->d->folder);
}

static int finish(quarrel *q)
{
    char text[sizeof q->verdict + 4 * LS_RECORD_TEXT + REPLAY_NAMES];
    char at[LS_RECORD_TEXT] = "", known[REPLAY_NAMES + 40] = "";

    if (q->x.lost)
        quarrel_settle(q, "%c has lost: %s", q->x.lost, q->x.why);
    if (*q->found.place && q->found.element >= 0)
        snprintf(at, sizeof at, "step %" PRId64 ", %.400s: element %" PRId64
                 "\n  a says %08" PRIx32 ", b says %08" PRIx32 "\n", q->first,
                 q->found.place, q->found.element, q->found.a, q->found.b);
    else if (*q->found.place)
        snprintf(at, sizeof at, "step %" PRId64 ", %.400s\n", q->first,
                 q->found.text);
    if (*q->d->of.unknown)
        snprintf(known, sizeof known, "the referee does not know %s\n",
                 q->d->of.unknown);
    snprintf(text, sizeof text, "%s\n%s%s", q->verdict, at, known);
    fputs(text, stdout);
    return write_verdict(q, text);
}

int dispute_run(const dispute *d, bool *same)
{
    static int (*const questions[])(quarrel *) = {
        quarrel_states, quarrel_steps, ask_record, ask_leaf, ask_evidence};
    quarrel q = {.d = d, .found.element = -1};
    int status = mail_open(&q.x, d->folder, d->seconds);

    for (int i = 0; i < 5 && status == OPT_GO && quarrel_goes_on(&q); i++)
        status = questions[i](&q);
    if (status == OPT_GO)
        status = finish(&q);
    *same = q.same;
    if (q.values)
        unlink(q.values);
    free(q.values);
    free(q.past);
    free(q.record[0]);
    free(q.record[1]);
    return status;
}
