/* Files of arrays for the header's readers: views of what the readers of each
 * format have checked. */
#include "base/error.h"
#include "file/convert.h"
#include "file/safetensors.h"

#include <stdlib.h>

struct ls_archive {
    ls__safetensors file;
    char *path;
};

int ls_archive_open(ls_archive **archive, const char *path)
{
    ls_archive *a = ls__new(1, sizeof *a, "archive");
    int status;

    if (!a)
        return LS_ENOMEM;
    status = ls__safetensors_read(&a->file, path);
    if (status == 0 && !(a->path = ls__arena_text(&a->file.arena, path)))
        status = LS_ENOMEM;
    if (status < 0) {
        ls_archive_close(a);
        return status;
    }
    *archive = a;
    return 0;
}

void ls_archive_close(ls_archive *a)
{
    if (!a)
        return;
    ls__safetensors_free(&a->file);
    free(a);
}

int ls_archive_entries(const ls_archive *a)
{
    return a->file.count;
}

int ls_archive_entry(const ls_archive *a, int i, ls_entry *entry)
{
    if (i < 0 || i >= a->file.count)
        return ls__fail(LS_EINVAL, "%s: there is no array %d of %d", a->path,
                        i, a->file.count);
    *entry = a->file.entry[i];
    return 0;
}

int ls_archive_read(const ls_archive *a, int i, int64_t n, float *out)
{
    ls_entry e;
    int status = ls_archive_entry(a, i, &e);

    if (status < 0 || (status = ls__convert_check(&e, a->path)) < 0)
        return status;
    if (n != e.elements)
        return ls__fail(LS_ESHAPE, "%s: tensor \"%s\" has %lld elements, not "
                        "%lld", a->path, e.name, (long long)e.elements,
                        (long long)n);
    ls__convert(&e, out);
    return 0;
}

bool ls_archive_note(const ls_archive *a, int i, const char **name,
                     const char **value)
{
    if (i < 0 || i >= a->file.pairs)
        return false;
    *name = a->file.pair[i].key;
    *value = a->file.pair[i].value;
    return true;
}
