/* What the fuzz targets share.  Built with -fsanitize=fuzzer a target is a
 * fuzzer; built plainly it is a program that feeds itself the files named on
 * its command line, so that make check keeps the corpus and all finds alive. */
#ifndef TEST_FUZZ_REPLAY_H
#define TEST_FUZZ_REPLAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file in memory with these bytes; its path in room.  To be closed. */
static inline int memory_file(const uint8_t *data, size_t size, char room[32])
{
    int fd = memfd_create("fuzz", 0);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(room, 32, "/proc/self/fd/%d", fd);
    return fd;
}

/* Look at every byte.  volatile: so that the compiler looks too. */
static inline void touch(const void *data, int64_t n)
{
    const volatile uint8_t *p = data;

    for (int64_t i = 0; i < n; i++)
        (void)p[i];
}

#ifndef FUZZING
static int replay(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *f = fopen(path, "rb");
    size_t n;

    if (!f) {
        perror(path);
        return 1;
    }
    n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    LLVMFuzzerTestOneInput(bytes, n);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;

    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i]);
    printf("%d files\n", argc - 1);
    return failed;
}
#endif

#endif
