/* SPDX-License-Identifier: BSD-3-Clause */
/* Feeds readers of sealed files: an input is a file twice, as it is, and with
 * its seal made right, so that damage gets past it. */
#ifndef TEST_FUZZ_SEALED_FILES_H
#define TEST_FUZZ_SEALED_FILES_H

#include "memory_file.h"
#include "mutate.h"

static inline void sealed_files(const uint8_t *data, size_t size,
                                void (*parse)(const char *path))
{
    for (int sealed = 0; sealed < 2; sealed++) {
        char *bytes = copy_of(data, size), path[32];
        int fd;

        if (sealed)
            reseal(bytes, size, size);
        fd = memory_file((uint8_t *)bytes, size, path);
        free(bytes);
        parse(path);
        close(fd);
    }
}

#endif
