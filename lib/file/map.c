/* Files as memory. */
#define _GNU_SOURCE
#include "file/map.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* An empty file cannot be mapped; its bytes are not NULL all the same. */
static const uint8_t nothing[1];

static int map_descriptor(ls__map *map, const char *path, int fd)
{
    struct stat info;
    void *bytes;

    if (fstat(fd, &info) < 0)
        return ls__fail(LS_EIO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return ls__fail(LS_EIO, "%s: is not a regular file", path);
    *map = (ls__map){nothing, 0};
    if (info.st_size == 0)
        return 0;
    bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) {
        *map = (ls__map){0};
        return ls__fail(LS_EIO, "%s: cannot be mapped: %s", path,
                        strerror(errno));
    }
    *map = (ls__map){bytes, info.st_size};
    return 0;
}

/* O_NONBLOCK: a pipe without a writer must not hold us. */
int ls__map_open(ls__map *map, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), status;

    *map = (ls__map){0};
    if (fd < 0)
        return ls__fail(LS_EIO, "%s: %s", path, strerror(errno));
    status = map_descriptor(map, path, fd);
    close(fd);
    return status;
}

void ls__map_close(ls__map *map)
{
    if (map->size)
        (void)munmap((void *)(uintptr_t)map->bytes, (size_t)map->size);
    *map = (ls__map){0};
}
