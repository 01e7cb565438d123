/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of this process, as the kernel lists them, and a function of
 * devices that ends one.  Asserts with Check.
 *
 * A thread that was joined may still be on its way out of the list, so a number
 * is awaited, not read once. */
#ifndef TEST_TASKS_H
#define TEST_TASKS_H

#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

static inline int count_tasks(void)
{
    DIR *list = opendir("/proc/self/task");
    int n = 0;

    ck_assert_ptr_nonnull(list);
    for (const struct dirent *e; (e = readdir(list));)
        n += *e->d_name != '.';
    closedir(list);
    return n;
}

/* A task for ls_pmap: ends the thread of the device *user, and no other. */
static inline int ending_device(void *user, int device, const void *const *in,
                                void *const *out)
{
    (void)in, (void)out;
    if (device == *(int *)user)
        pthread_exit(NULL);
    return 0;
}

/* Asserts that n threads are left, at the latest after a minute. */
static inline void await_tasks(int n)
{
    for (int i = 0; i < 60000 && count_tasks() > n; i++)
        usleep(1000);
    ck_assert_int_eq(count_tasks(), n);
}

/* The number of tasks once nobody is on the way out: the least of a while. */
static inline int settled_tasks(void)
{
    int least = count_tasks();

    for (int i = 0; i < 50; i++) {
        int n;

        usleep(1000);
        n = count_tasks();
        least = n < least ? n : least;
    }
    return least;
}

#endif
