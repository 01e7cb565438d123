/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of tests: each says TEST(name) where it stands, and the file ends
 * with MAIN(), which runs them in the file's order.  CK_RUN_CASE=NAME runs one
 * alone. */
#ifndef TEST_PROGRAM_H
#define TEST_PROGRAM_H

#include "lockstep.h"

#include <check.h>
#include <string.h>

typedef struct program_test {
    const char *name;
    void (*add)(TCase *);
    int line;
    struct program_test *next;
} program_test;

static program_test *program_tests; /* by their lines */

/* Compilers order constructors as they like. */
static inline void program_joins(program_test *t)
{
    program_test **at = &program_tests;

    while (*at && (*at)->line < t->line)
        at = &(*at)->next;
    t->next = *at;
    *at = t;
}

/* A test that runs once for each _i of [from,to). */
#define LOOP_TEST(name, from, to) \
    static void name##_runs(int _i); \
    START_TEST(name) \
    { \
        name##_runs(_i); \
    } \
    END_TEST \
    static void name##_is_added(TCase *its_case) \
    { \
        tcase_add_loop_test(its_case, name, from, to); \
    } \
    __attribute__((constructor)) static void name##_joins(void) \
    { \
        static program_test it = {#name, name##_is_added, __LINE__, NULL}; \
\
        program_joins(&it); \
    } \
    static void name##_runs(int _i __attribute__((unused)))

#define TEST(name) LOOP_TEST(name, 0, 1)

/* What stands around each test, and the seconds that one _i may take. */
typedef struct {
    const char *file;
    void (*setup)(void), (*teardown)(void);
    double timeout;
} program_frame;

/* Run all and report: what main returns.  BLIS has not started yet, and its own
 * choice of kernels need not keep the contract of bits. */
static inline int run_tests(program_frame frame)
{
    const char *slash = strrchr(frame.file, '/');
    Suite *suite = suite_create(slash ? slash + 1 : frame.file);
    SRunner *runner = srunner_create(suite);
    int failed;

    for (const program_test *t = program_tests; t; t = t->next) {
        TCase *alone = tcase_create(t->name);

        tcase_set_timeout(alone, frame.timeout ? frame.timeout : 600);
        tcase_add_checked_fixture(alone, frame.setup, frame.teardown);
        t->add(alone);
        suite_add_tcase(suite, alone);
    }
    ls_blis_tune();
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}

/* Run all in a frame: RUN_TESTS(.setup = folder_open). */
#define RUN_TESTS(...) \
    run_tests((program_frame){.file = __FILE__, __VA_ARGS__})

#define MAIN(...) \
    int main(void) \
    { \
        return RUN_TESTS(__VA_ARGS__); \
    }

#endif
