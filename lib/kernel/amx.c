/* SPDX-License-Identifier: BSD-3-Clause */
/* Linux gives the state of the tiles, 8 KB a thread, to processes that ask for
 * it with arch_prctl.  It refuses where it does not know the call (before
 * 5.16), where it is told to, and where a thread has an alternate signal stack
 * that is too small for the state. */
#define _GNU_SOURCE /* syscall */
#include "kernel/amx.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__linux__)

enum { ASK_PERMISSION = 0x1023, TILE_DATA = 18 };

static int ask(void)
{
    int error = errno, answer = 0;

    if (syscall(SYS_arch_prctl, ASK_PERMISSION, TILE_DATA))
        answer = errno;
    errno = error;
    return answer;
}

#else

static int ask(void)
{
    return ENOSYS;
}

#endif

/* Relaxed: to ask twice does no harm, and the answer is all there is. */
static atomic_int answer = -1;

bool ls__amx_permitted(void)
{
    if (atomic_load_explicit(&answer, memory_order_relaxed) < 0)
        atomic_store_explicit(&answer, ask(), memory_order_relaxed);
    return ls__amx_answer() == 0;
}

int ls__amx_answer(void)
{
    return atomic_load_explicit(&answer, memory_order_relaxed);
}
