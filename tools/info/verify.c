/* SPDX-License-Identifier: BSD-3-Clause */
/* See verify.h.
 *
 * The level is chosen once in a process, so each other level of this CPU is
 * verified by this program started again with LS_ISA set to its name. */
#define _GNU_SOURCE

#include "info/rerun.h"
#include "opt/json_parts.h"
#include "opt/opt.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PUS = 8192 };

/* ------ The time there is ------ */

/* Is there time for another run?  Always, where none is set. */
static bool has_time(double end)
{
    return end <= 0 || opt_seconds() < end;
}

/* ------ Showing ------ */

static json_t *json_step(const verify_step *s)
{
    json_t *digests = json_array();

    for (int i = 0; i < s->tensors; i++)
        digests = json_and(digests, json_integer(s->digest[i]));
    return json_pack("{s:s, s:o}", "state", s->state, "digests", digests);
}

static json_t *json_run(const rerun *t)
{
    json_t *steps = json_array();

    for (int s = 0; s < VERIFY_STEPS; s++)
        steps = json_and(steps, json_step(&t->got[s]));
    return json_pack("{s:s, s:s*, s:b, s:s, s:o}", "name", t->run->name,
                     "like", t->run->like, "same", !*t->difference,
                     "difference", t->difference, "steps", steps);
}

/* ------ One level ------ */

typedef struct tally {
    int same, different, skipped;
    int pu;       /* computes alone; -1: all do */
    bool crowd;   /* all PUs compute alone, at once */
    double end;   /* when no run begins any more; 0: never */
    int left;     /* runs that did not begin */
    json_t *runs; /* NULL: as text */
} tally;

/* Does a run have bytes that are the same on every processor? */
static bool is_known(const verify_run *run)
{
    char text[LS_TEXT];

    return ls_backend_text(text, run->backend, run->precision) == 0;
}

/* A run that is right is told alone, of one PU with all others. */
static void print_run(const rerun *t)
{
    if (t->pu < 0)
        printf("  %-28s %s\n", t->run->name,
               *t->difference ? t->difference : "the same bytes");
    else if (*t->difference)
        printf("  PU %d: %s %s\n", t->pu, t->run->name, t->difference);
}

static int verify_one(const verify_run *run, tally *sum)
{
    rerun t = {.run = run, .pu = sum->pu};
    int status;

    if (!is_known(run)) {
        sum->skipped++;
        return OPT_GO;
    }
    status = opt_check(rerun_train(&t));
    if (status == OPT_GO)
        status = opt_check(rerun_again(&t));
    *(*t.difference ? &sum->different : &sum->same) += 1;
    if (status == OPT_GO && !sum->runs)
        print_run(&t);
    else if (status == OPT_GO &&
             !(sum->runs = json_and(sum->runs, json_run(&t))))
        status = opt_no_memory("the results");
    rerun_close(&t);
    return status;
}

static int end_level(tally *sum, const char *level)
{
    json_t *o;

    if (!sum->runs) {
        if (sum->pu >= 0)
            printf("  PU %d%s:", sum->pu, sum->crowd ? ", all at once" : "");
        printf("  %d the same, %d different", sum->same, sum->different);
        if (sum->skipped)
            printf(", %d left out (no such backend, or bits that depend on the "
                   "processor)", sum->skipped);
        if (sum->left)
            printf(", %d not begun: the time was over", sum->left);
        putchar('\n');
        return OPT_GO;
    }
    o = json_pack("{s:s, s:s, s:i, s:b, s:i, s:i, s:i, s:i, s:o}", "version",
                  ls_version(), "level", level, "pu", sum->pu, "at_once",
                  sum->crowd, "same",
                  sum->same, "different", sum->different, "skipped",
                  sum->skipped, "left", sum->left, "runs", sum->runs);
    return json_print(o, JSON_COMPACT);
}

static int verify_runs(tally *sum)
{
    int status = OPT_GO;

    for (int i = 0; verify_run_at(i) && status == OPT_GO; i++)
        if (has_time(sum->end))
            status = verify_one(verify_run_at(i), sum);
        else
            sum->left++;
    return status;
}

static int tell(tally *sum, const char *level)
{
    int status = end_level(sum, level);

    if (status != OPT_GO || !sum->different)
        return status;
    if (sum->pu >= 0)
        return opt_fail(OPT_FAILED, "%s: PU %d gave other bytes than those "
                        "recorded in %d of %d runs", level, sum->pu,
                        sum->different, sum->different + sum->same);
    return opt_fail(OPT_FAILED, "%s: %d of %d runs did not give the bytes that "
                    "are recorded", level, sum->different,
                    sum->different + sum->same);
}

/* All runs on one PU, or, -1, on those that each run says. */
static int verify_on(const char *level, int pu, const verify_options *o)
{
    tally sum = {.pu = pu, .end = o->end,
                 .runs = o->json ? json_array() : NULL};
    int status = verify_runs(&sum);

    return status == OPT_GO ? tell(&sum, level) : status;
}

/* ------ all PUs at once, which heats ------ */

typedef struct seat {
    pthread_t thread;
    bool runs;
    tally sum;
    int status;
} seat;

static void *sit(void *user)
{
    seat *s = user;

    s->status = verify_runs(&s->sum);
    return NULL;
}

static int verify_at_once(const char *level, const int *pu, int pus,
                          const verify_options *o)
{
    seat *all = calloc((size_t)pus, sizeof *all);
    int status = all ? OPT_GO : opt_fail(OPT_FAILED, "out of memory"), one;

    for (int i = 0; all && i < pus; i++) {
        all[i].sum = (tally){.pu = pu[i], .crowd = true, .end = o->end,
                             .runs = o->json ? json_array() : NULL};
        all[i].runs = pthread_create(&all[i].thread, NULL, sit, &all[i]) == 0;
    }
    for (int i = 0; all && i < pus; i++) {
        if (all[i].runs)
            pthread_join(all[i].thread, NULL);
        one = !all[i].runs ? opt_fail(OPT_FAILED, "no thread for PU %d", pu[i])
              : all[i].status == OPT_GO ? tell(&all[i].sum, level)
                                        : all[i].status;
        status = one > status ? one : status;
    }
    free(all);
    return status;
}

/* The PUs that this process may run on; NULL after a message. */
static int *find_pus(int *pus)
{
    cpu_set_t *set = CPU_ALLOC(MOST_PUS);
    size_t bytes = CPU_ALLOC_SIZE(MOST_PUS);
    int *list = calloc(MOST_PUS, sizeof *list);
    bool known = set && list && sched_getaffinity(0, bytes, set) == 0;

    *pus = 0;
    if (!known)
        opt_fail(OPT_FAILED, "the processors are not known: %s",
                 strerror(errno));
    for (int pu = 0; known && pu < MOST_PUS; pu++)
        if (CPU_ISSET_S(pu, bytes, set))
            list[(*pus)++] = pu;
    CPU_FREE(set);
    if (known)
        return list;
    free(list);
    return NULL;
}

/* Each PU by itself.  With too little time for all of them every minute of the
 * clock begins with another one, so that none is always left out. */
static int verify_each(const char *level, const int *pu, int pus,
                       const verify_options *o)
{
    int first = o->end > 0 ? (int)(time(NULL) / 60 % pus) : 0, i, one;
    int status = OPT_GO;

    for (i = 0; i < pus && status != OPT_WRONG && has_time(o->end); i++) {
        one = verify_on(level, pu[(first + i) % pus], o);
        status = one > status ? one : status;
    }
    if (i < pus && status == OPT_GO && !o->again)
        fprintf(stderr, "note: %s: the time was over after %d of %d PUs\n",
                level, i, pus);
    return status;
}

/* Each PU that this process may run on, one after the other, and then all. */
static int verify_cores(const char *level, const verify_options *o)
{
    int pus, one, status, *pu = find_pus(&pus);

    if (!pu)
        return OPT_FAILED;
    status = verify_each(level, pu, pus, o);
    if (pus > 1 && status != OPT_WRONG && has_time(o->end)) {
        one = verify_at_once(level, pu, pus, o);
        status = one > status ? one : status;
    }
    free(pu);
    return status;
}

/* One level's rounds, until its time is over or something differs. */
static int verify_level(const char *level, verify_options o)
{
    int status;

    if (!o.json)
        puts(level);
    do {
        status = o.each_core ? verify_cores(level, &o)
                             : verify_on(level, -1, &o);
        o.again = true;
    } while (status == OPT_GO && o.end > 0 && has_time(o.end));
    return status;
}

/* ------ All levels ------ */

/* The same command in a process of its own, on another level. */
static int start_again(const char *level, const verify_options *o)
{
    char *args[7] = {"lockstep-info", "--verify"}, minutes[32];
    int n = 2, result = 0, error;
    pid_t child;

    if (o->json)
        args[n++] = "--json";
    if (o->each_core)
        args[n++] = "--each-core";
    if (o->end > 0) {
        snprintf(minutes, sizeof minutes, "%.9g",
                 fmax((o->end - opt_seconds()) / 60, 1e-6));
        args[n++] = "--minutes";
        args[n++] = minutes;
    }
    fflush(stdout);
    if (setenv("LS_ISA", level, 1))
        return opt_fail(OPT_FAILED, "no memory for LS_ISA=%s", level);
    error = posix_spawn(&child, "/proc/self/exe", NULL, NULL, args, environ);
    unsetenv("LS_ISA");
    if (error)
        return opt_fail(OPT_FAILED, "cannot start a process for level %s: %s",
                        level, strerror(error));
    if (waitpid(child, &result, 0) < 0 || !WIFEXITED(result))
        return opt_fail(OPT_FAILED, "the process for level %s did not end "
                        "by itself", level);
    return WEXITSTATUS(result);
}

/* Is it of this CPU, and to be verified? */
static bool is_asked(const ls_isa *isa)
{
    const char *asked = getenv("LS_ISA");

    return isa->here && (!asked || !*asked || isa->used);
}

/* Each level has an equal part of the time that is left. */
int verify(const verify_options *o)
{
    double end = o->minutes > 0 ? opt_seconds() + 60 * o->minutes : 0;
    int status = OPT_GO, one, left = 0;
    verify_options of = *o;
    ls_isa isa;

    for (int i = 0; ls_isa_level(i, &isa); i++)
        left += is_asked(&isa);
    for (int i = 0; ls_isa_level(i, &isa); i++) {
        if (!is_asked(&isa) || !has_time(end))
            continue;
        if (end > 0)
            of.end = opt_seconds() + (end - opt_seconds()) / left--;
        one = isa.used ? verify_level(isa.name, of)
                       : start_again(isa.name, &of);
        status = one > status ? one : status;
    }
    return opt_end(status);
}
