/* One member of a ZIP archive (PKWARE's APPNOTE 6.3: stored or deflated, with
 * ZIP64's sizes, no encryption). */
#ifndef LS_ARRAY_ZIP_H
#define LS_ARRAY_ZIP_H

#include "base/file.h"

/* The central directory of an archive, with its members in the file's order. */
typedef struct ls__zip {
    const ls__file *file; /* borrowed */
    uint8_t *directory;   /* all of it */
    int64_t *entry;       /* [members] where in it each begins */
    int64_t begins;       /* where in the file: members lie before it */
    int64_t size;
    int64_t members;
} ls__zip;

/* LS_EFORMAT names the byte at which something is wrong. */
int ls__zip_open(ls__zip *zip, const ls__file *file);
void ls__zip_close(ls__zip *zip);

/* The name of member i: no zero byte after its `length`. */
const char *ls__zip_name(const ls__zip *zip, int64_t i, int *length);

/* All bytes of member i, to be freed, and their number.  What it says of its
 * size is believed where that many bytes can come of those in the file, and its
 * checksum must hold.  No other member may lie in its place. */
int ls__zip_read(const ls__zip *zip, int64_t i, uint8_t **bytes, int64_t *size);

#endif
