/* SPDX-License-Identifier: BSD-3-Clause */
/* See difference.h. */
#include "inspect/difference.h"
#include "opt/characters.h"
#include "opt/opt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The position of a name; -1. */
static int find(const ls_archive *a, const char *name)
{
    for (int i = 0; i < ls_archive_entries(a); i++)
        if (!strcmp(entry_of(a, i).name, name))
            return i;
    return -1;
}

static bool same_shape(const ls_entry *x, const ls_entry *y)
{
    return x->rank == y->rank &&
           !memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape);
}

static void first(difference *d, const char *name, const char *what,
                  const char *a, const char *b)
{
    if (d->arrays++)
        return;
    d->name = name;
    d->what = what;
    snprintf(d->a, sizeof d->a, "%s", a);
    snprintf(d->b, sizeof d->b, "%s", b);
}

static void find_values(difference *d, const pair *two, int i, int j)
{
    ls_entry x = entry_of(two->archive[0], i);
    ls_entry y = entry_of(two->archive[1], j);
    const char *p = x.data, *q = y.data;
    size_t n = entry_width(&x);
    float *f = entry_floats(two->archive[0], i);
    float *g = entry_floats(two->archive[1], j);
    char a[ELEMENT_TEXT], b[ELEMENT_TEXT];

    d->e = x;
    for (int64_t k = x.elements - 1; k >= 0; k--)
        if (memcmp(p + (size_t)k * n, q + (size_t)k * n, n) != 0) {
            d->at = k;
            d->count++;
        }
    entry_element(&x, f, d->at, a);
    entry_element(&y, g, d->at, b);
    first(d, x.name, "value", a, b);
    free(f);
    free(g);
}

/* Array i of the first against its namesake. */
static void compare(difference *d, const pair *two, int i)
{
    ls_entry x = entry_of(two->archive[0], i), y;
    int j = find(two->archive[1], x.name);
    char a[ENTRY_TEXT], b[ENTRY_TEXT];

    if (j < 0) {
        first(d, x.name, "only", two->path[0], "");
        return;
    }
    y = entry_of(two->archive[1], j);
    entry_shape(&x, a);
    entry_shape(&y, b);
    if (!same_shape(&x, &y))
        first(d, x.name, "shape", a, b);
    else if (strcmp(x.dtype, y.dtype) != 0)
        first(d, x.name, "dtype", x.dtype, y.dtype);
    else if (memcmp(x.data, y.data, (size_t)x.bytes) == 0)
        return;
    else if (d->arrays)
        d->arrays++;
    else
        find_values(d, two, i, j);
}

difference difference_find(const pair *two)
{
    const char *a = entry_note(two->archive[0], "step");
    const char *b = entry_note(two->archive[1], "step");
    difference d = {0};

    for (int i = 0; i < ls_archive_entries(two->archive[0]); i++)
        compare(&d, two, i);
    for (int i = 0; i < ls_archive_entries(two->archive[1]); i++) {
        ls_entry e = entry_of(two->archive[1], i);

        if (find(two->archive[0], e.name) < 0)
            first(&d, e.name, "only", two->path[1], "");
    }
    if (!d.arrays && a && b && strcmp(a, b) != 0)
        first(&d, "step", "step", a, b);
    return d;
}

/* "(3,17)" of element d->at. */
static void position_text(const difference *d, char text[ENTRY_TEXT])
{
    ls_entry position = d->e;
    int64_t rest = d->at;

    for (int i = position.rank - 1; i >= 0; i--) {
        position.shape[i] = rest % d->e.shape[i];
        rest /= d->e.shape[i];
    }
    entry_shape(&position, text);
}

void difference_print(const pair *two, const difference *d)
{
    const char *const path[2] = {characters_shown(two->path[0]),
                                 characters_shown(two->path[1])};
    const char *a = characters_shown(d->a), *b = characters_shown(d->b);
    char position[ENTRY_TEXT];

    if (!d->arrays) {
        int arrays = ls_archive_entries(two->archive[0]);

        printf("equal: %d array%s\n", arrays, opt_s(arrays));
        return;
    }
    entry_print(d->name, 0);
    fputs(": ", stdout);
    if (d->count) {
        position_text(d, position);
        printf("element %s is %s in %s, %s in %s; %" PRId64 " of %" PRId64
               " differ\n", position, a, path[0], b, path[1], d->count,
               d->e.elements);
    } else if (!strcmp(d->what, "only")) {
        printf("only in %s\n", a);
    } else {
        printf("%s is %s in %s, %s in %s\n", d->what, a, path[0], b, path[1]);
    }
    if (d->arrays > 1)
        printf("%d arrays differ\n", d->arrays);
}

json_t *difference_json(const difference *d)
{
    char position[ENTRY_TEXT] = "";

    if (!d->arrays)
        return json_pack("{s:b}", "equal", 1);
    if (d->count)
        position_text(d, position);
    return json_pack("{s:b, s:i, s:s, s:s, s:s, s:s, s:s, s:I}", "equal", 0,
                     "arrays", d->arrays, "name", d->name, "what", d->what,
                     "a", d->a, "b", d->b, "place", position, "elements",
                     (json_int_t)d->count);
}
