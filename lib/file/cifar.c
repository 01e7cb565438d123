/* CIFAR-10's binary files: 3073 bytes a record, the label, then 1024 bytes each
 * of red, green and blue.  A file has no header; its length tells. */
#include "base/error.h"
#include "file/images.h"

enum { PIXELS = 3 * 32 * 32, RECORD = 1 + PIXELS, CLASSES = 10 };

static int check_file(const ls__map *m, const char *path)
{
    if (m->size == 0 || m->size % RECORD)
        return ls__fail(LS_EFORMAT, "%s: %lld bytes are no whole number of "
                        "CIFAR-10 records of %d; the last begins at byte "
                        "%lld", path, (long long)m->size, RECORD,
                        (long long)(m->size / RECORD * RECORD));
    for (int64_t at = 0; at < m->size; at += RECORD)
        if (m->bytes[at] >= CLASSES)
            return ls__fail(LS_EFORMAT, "%s: the label at byte %lld is %d; "
                            "CIFAR-10 has %d classes", path, (long long)at,
                            m->bytes[at], CLASSES);
    return 0;
}

int ls__cifar_add(ls__images *im, const char *path)
{
    ls__map *m = &im->map[im->parts];
    int status;

    if (im->parts == LS__IMAGE_PARTS)
        return ls__fail(LS_ENOTSUP, "%s: more than %d files", path,
                        LS__IMAGE_PARTS);
    status = ls__map_open(m, path);
    if (status == 0)
        status = check_file(m, path);
    if (status < 0) {
        ls__map_close(m);
        return status;
    }
    im->part[im->parts++] =
        (ls__part){m->bytes + 1, m->size / RECORD, RECORD};
    im->rows += m->size / RECORD;
    im->shape[0] = im->shape[1] = 32;
    im->shape[2] = 3;
    im->planar = true;
    im->classes = CLASSES;
    return 0;
}
