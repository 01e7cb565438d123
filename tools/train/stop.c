/* SPDX-License-Identifier: BSD-3-Clause */
/* The handler does what a handler may: sets a flag, gives the signals back
 * their default, and writes one line.  Workers block all signals, so it runs on
 * the main thread. */
#define _GNU_SOURCE

#include "train/stop.h"
#include "opt/opt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ctrl-C, kill, a terminal or a session that went away, and what schedulers
 * send before they kill. */
static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
enum { ENDS = sizeof ends / sizeof *ends };

static volatile sig_atomic_t caught;
static char line[160]; /* message of the handler */

static void asked(int number)
{
    int error = errno;

    caught = number;
    for (int i = 0; i < ENDS; i++)
        signal(ends[i], SIG_DFL);
    if (write(STDERR_FILENO, line, strlen(line)) < 0)
        errno = error; /* nobody listens: the status tells */
    errno = error;
}

static void answer(int number)
{
    struct sigaction old, new = {.sa_handler = asked, .sa_flags = SA_RESTART};

    sigemptyset(&new.sa_mask);
    for (int i = 0; i < ENDS; i++) /* two at once are one, then another */
        sigaddset(&new.sa_mask, ends[i]);
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(number, &new, NULL);
}

void stop_open(void)
{
    snprintf(line, sizeof line,
             "%s%s: ends after this step; once more to end at once\n",
             isatty(STDERR_FILENO) ? "\n" : "", opt_program_name);
    for (int i = 0; i < ENDS; i++)
        answer(ends[i]);
}

int stop_signal(void)
{
    return (int)caught;
}

int stop_asked(const run *r, int *number)
{
    *number = stop_signal();
    return r->launch ? launch_most(r->launch, number) : OPT_GO;
}

int stop_status(int status)
{
    return status == OPT_GO && caught ? 128 + (int)caught : status;
}
