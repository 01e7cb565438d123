/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes by a page that forks clear (Linux 4.14), or else by their number.
 * The page is mapped, not allocated: what malloc hands out would keep the mark
 * after it is freed. */
#define _GNU_SOURCE /* MADV_WIPEONFORK */
#include "base/process.h"

#include <sys/mman.h>
#include <unistd.h>

#ifdef MADV_WIPEONFORK

enum { NO_ADVICE = 0x7fff }; /* that any Linux knows */

/* An emulator may say yes to any advice and follow none (qemu 7). */
static bool is_wiped_by_forks(void *page, size_t bytes)
{
    return madvise(page, bytes, NO_ADVICE) < 0 &&
           madvise(page, bytes, MADV_WIPEONFORK) == 0;
}

static bool *map_mark(size_t bytes)
{
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return NULL;
    if (is_wiped_by_forks(page, bytes))
        return page;
    munmap(page, bytes);
    return NULL;
}

#else

static bool *map_mark(size_t bytes)
{
    (void)bytes;
    return NULL;
}

#endif

ls__process ls__process_open(void)
{
    ls__process p = {.id = (long)getpid(),
                     .bytes = (size_t)sysconf(_SC_PAGESIZE)};
    bool *mark = map_mark(p.bytes);

    if (mark)
        *mark = true;
    p.mark = mark;
    return p;
}

void ls__process_close(ls__process *p)
{
    if (p->mark)
        munmap((void *)p->mark, p->bytes);
    *p = (ls__process){0};
}

bool ls__process_is_this(const ls__process *p)
{
    return p->mark ? *p->mark : p->id == (long)getpid();
}
