/* SPDX-License-Identifier: BSD-3-Clause */
/* Readers are given a path: an input becomes a file in memory. */
#ifndef TEST_FUZZ_MEMORY_FILE_H
#define TEST_FUZZ_MEMORY_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file in memory with these bytes; its path in room.  To be closed. */
static inline int memory_file(const uint8_t *data, size_t size, char room[32])
{
    int fd = memfd_create("fuzz", 0);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(room, 32, "/proc/self/fd/%d", fd);
    return fd;
}

#endif
