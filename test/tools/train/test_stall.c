/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves when the watchdog of lockstep-train speaks: after the seconds it was
 * given, at most a tenth later, however steps and stalls follow each other.
 * The clock is the test's own: a sleep of the watchdog's makes the time pass,
 * and the steps that a script puts there finish. */
#define _GNU_SOURCE
#include "calls.h"

#include <errno.h>
#include <lockstep.h>

#include "opt/opt.h"
#include "train/stall.h"

enum { MOST = 8 };

const char opt_program_name[] = "test";

typedef struct script {
    const char *name;
    double seconds, end;
    double step[MOST]; /* when each finishes; 0: no more */
    const char *said;
} script;

/* The run that the watchdog looks at, which is on its thread alone. */
static stall watched;
static const script *played;
static double now;
static int finished;

double __wrap_opt_seconds(void);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
                                  const struct timespec *until);

double __wrap_opt_seconds(void)
{
    return now;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
                                  const struct timespec *until)
{
    double when = (double)until->tv_sec + 1e-9 * (double)until->tv_nsec;

    (void)cond, (void)lock;
    while (finished < MOST && played->step[finished] > 0 &&
           played->step[finished] <= when) {
        now = played->step[finished];
        stall_step(&watched, ++finished);
    }
    now = when > now ? when : now;
    watched.ends = now >= played->end;
    return ETIMEDOUT;
}

/* A report begins with a line that has the program's name. */
static const script scripts[] = {
    {"steps in time", 10, 80, {9, 18, 27, 36, 45, 54, 63, 72}, ""},
    {"no step", 10, 75, {0},
     "no step finished for 10.0 s; 0 are done|"
     "no step finished for 20.0 s; 0 are done|"
     "no step finished for 40.0 s; 0 are done|"},
    {"a stall after steps", 10, 25, {3, 9.5},
     "no step finished for 10.0 s; 2 are done|"},
    {"a stall after a stall", 10, 75, {3, 60},
     "no step finished for 10.0 s; 1 is done|"
     "no step finished for 20.0 s; 1 is done|"
     "no step finished for 40.0 s; 1 is done|"
     "goes on; 2 steps are done|"
     "no step finished for 10.0 s; 2 are done|"},
    {"a short time", 0.5, 2, {0.25, 0.75},
     "no step finished for 0.5 s; 2 are done|"
     "no step finished for 1.0 s; 2 are done|"},
};
enum { SCRIPTS = sizeof scripts / sizeof *scripts };

/* What stands behind the program's name in its lines. */
static void gather(FILE *out, char *said)
{
    char line[256];
    size_t name = strlen(opt_program_name);

    rewind(out);
    while (fgets(line, sizeof line, out))
        if (strncmp(line, opt_program_name, name) == 0) {
            line[strcspn(line, "\n")] = '|';
            strcat(said, line + name + 2);
        }
}

LOOP_TEST(test_times, 0, SCRIPTS)
{
    ls_mesh_options o = ls_mesh_defaults();
    char said[2048] = "";
    FILE *out = tmpfile();
    ls_mesh *mesh;
    ls_pool *pool;

    o.devices = o.workers = 2;
    OK(ls_mesh_open(&mesh, &o));
    OK(ls_pool_open(&pool, mesh, NULL));
    played = &scripts[_i];
    now = finished = 0;
    ck_assert_int_eq(stall_open(&watched, pool, mesh, played->seconds, out), 0);
    pthread_join(watched.thread, NULL);
    gather(out, said);
    ck_assert_msg(strcmp(said, played->said) == 0, "%s: \"%s\", not \"%s\"",
                  played->name, said, played->said);
    fclose(out);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
}

MAIN()
