/* The bytes of a file, mapped where there is something to map.  The file must
 * keep its length while it is open: what is cut off another way is a fault of
 * the bus, as with every mapping. */
#ifndef LS_FILE_MAP_H
#define LS_FILE_MAP_H

#include <stdint.h>

typedef struct ls__map {
    const uint8_t *bytes;
    int64_t size;
} ls__map;

/* Open a regular file, wherever it stands. */
int ls__map_open(ls__map *map, const char *path);
/* Accepts a cleared map. */
void ls__map_close(ls__map *map);

#endif
