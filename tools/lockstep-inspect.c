/* lockstep-inspect: what a safetensors file or a checkpoint holds, or the first
 * array in which two of them differ.
 *
 * Two are equal when they have the same arrays: names, types, shapes and bytes.
 * The order of a file and what stands beside the arrays do not count, but for
 * the step of checkpoints. */
#define _GNU_SOURCE
#include "opt.h"

#include <lockstep.h>

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char opt_program_name[] = "lockstep-inspect";

typedef struct settings {
    bool json;
} settings;

/* clang-format off */
static const opt options[] = {
    { "json", NULL, OPT_FLAG, offsetof(settings, json), OPT_ALL, "",
      "one object of JSON" },
};
static const opt_model models[] = {
    { "", "Show what a safetensors file or a checkpoint holds; of two, the "
      "first array\nthat differs (exit status 1).", NULL, NULL, NULL },
};
static const opt_program program = {
    .about = "", .models = models, .model_count = 1, .options = options,
    .option_count = sizeof options / sizeof *options,
    .paths = 2, .args = "FILE|FOLDER [FILE2|FOLDER2]",
};
/* clang-format on */

typedef struct run {
    settings set;
    opt_line line;
    ls_archive *archive[2];
} run;

/* ------ Elements ------ */

static ls_entry entry(const ls_archive *a, int i)
{
    ls_entry e = {0};

    (void)ls_archive_entry(a, i, &e); /* i is one of its own */
    return e;
}

static bool is_float(const ls_entry *e)
{
    return strchr(e->dtype, 'F') && strncmp(e->dtype, "F8", 2) != 0;
}

static size_t width(const ls_entry *e)
{
    return e->elements ? (size_t)(e->bytes / e->elements) : 0;
}

/* The little-endian integer of an element, its sign seen to. */
static int64_t integer(const ls_entry *e, int64_t i)
{
    size_t n = width(e);
    int64_t x = 0;

    memcpy(&x, (const char *)e->data + (size_t)i * n, n);
    if (*e->dtype == 'I' && n < 8)
        x = (int64_t)((uint64_t)x << (64 - 8 * n)) >> (64 - 8 * n);
    return x;
}

/* Element i as text that reads back; floats are the array's, converted. */
static void element_text(const ls_entry *e, const float *floats, int64_t i,
                         char text[32])
{
    if (!strcmp(e->dtype, "F64")) {
        double d;

        memcpy(&d, (const char *)e->data + 8 * i, sizeof d);
        snprintf(text, 32, "%.17g", d);
    } else if (floats) {
        snprintf(text, 32, "%.9g", (double)floats[i]);
    } else if (!strcmp(e->dtype, "U64")) {
        snprintf(text, 32, "%" PRIu64, (uint64_t)integer(e, i));
    } else {
        snprintf(text, 32, "%" PRId64, integer(e, i));
    }
}

/* All elements as floats, to be freed; NULL for other types, or F64 that no
 * float can hold. */
static float *floats_of(const ls_archive *a, int i)
{
    ls_entry e = entry(a, i);
    float *out = is_float(&e) ? malloc((size_t)e.elements * sizeof *out + 1)
                              : NULL;

    if (out && ls_archive_read(a, i, e.elements, out) < 0) {
        free(out);
        out = NULL;
    }
    return out;
}

typedef struct stats {
    bool known;
    double min, mean, max, norm; /* NaN where one of the elements is */
} stats;

static stats stats_of(const ls_archive *a, int i)
{
    int64_t n = entry(a, i).elements;
    float *x = floats_of(a, i);
    double sum = 0, squares = 0;
    stats s = {x && n > 0, HUGE_VAL, 0, -HUGE_VAL, 0};

    for (int64_t k = 0; s.known && k < n; k++) {
        double v = (double)x[k];

        s.min = v < s.min || v != v ? v : s.min;
        s.max = v > s.max || v != v ? v : s.max;
        sum += v;
        squares += v * v;
    }
    s.mean = n ? sum / (double)n : 0;
    s.norm = sqrt(squares);
    free(x);
    return s;
}

static void shape_text(const ls_entry *e, char text[160])
{
    int at = snprintf(text, 160, "(");

    for (int i = 0; i < e->rank; i++)
        at += snprintf(text + at, (size_t)(160 - at), "%s%" PRId64,
                       i ? "," : "", e->shape[i]);
    snprintf(text + at, (size_t)(160 - at), ")");
}

/* Text of a file, which may be anybody's, as one line that does nothing to a
 * terminal, and in so many columns at least. */
static void put_text(const char *text, int width)
{
    for (; *text; text++, width--)
        putchar((unsigned char)*text < ' ' || *text == 127 ? '?' : *text);
    for (; width > 0; width--)
        putchar(' ');
}

/* ------ One: a table ------ */

static void print_notes(const ls_archive *a)
{
    const char *name, *value;

    for (int i = 0; ls_archive_note(a, i, &name, &value); i++) {
        put_text(name, 0);
        fputs(": ", stdout);
        put_text(value, 0);
        putchar('\n');
    }
}

static void print_number(bool known, double x)
{
    if (known)
        printf("  %11.4g", opt_shown(x));
    else
        printf("  %11s", "-");
}

static void print_row(const ls_archive *a, int i, int name_width,
                      int shape_width)
{
    ls_entry e = entry(a, i);
    stats s = stats_of(a, i);
    char shape[160];

    shape_text(&e, shape);
    put_text(e.name, name_width);
    printf("  %-5s  %-*s", e.dtype, shape_width, shape);
    print_number(s.known, s.min);
    print_number(s.known, s.mean);
    print_number(s.known, s.max);
    print_number(s.known, s.norm);
    printf("  %11" PRId64 "\n", e.bytes);
}

static int max_width(int a, size_t b)
{
    return a > (int)b ? a : (int)b;
}

static void print_table(const ls_archive *a)
{
    int names = 4, shapes = 5, n = ls_archive_entries(a);
    int64_t elements = 0, bytes = 0;

    for (int i = 0; i < n; i++) {
        ls_entry e = entry(a, i);
        char shape[160];

        shape_text(&e, shape);
        names = max_width(names, strlen(e.name));
        shapes = max_width(shapes, strlen(shape));
        elements += e.elements;
        bytes += e.bytes;
    }
    print_notes(a);
    printf("%-*s  %-5s  %-*s  %11s  %11s  %11s  %11s  %11s\n", names, "name",
           "dtype", shapes, "shape", "min", "mean", "max", "norm", "bytes");
    for (int i = 0; i < n; i++)
        print_row(a, i, names, shapes);
    printf("%d arrays, %" PRId64 " elements, %" PRId64 " bytes\n", n, elements,
           bytes);
}

/* ------ One: JSON ------ */

/* null where it is no number. */
static json_t *number(bool known, double x)
{
    return known && isfinite(x) ? json_real(x) : json_null();
}

static json_t *shape_json(const ls_entry *e)
{
    json_t *shape = json_array();

    for (int i = 0; i < e->rank; i++)
        json_array_append_new(shape, json_integer(e->shape[i]));
    return shape;
}

static json_t *row_json(const ls_archive *a, int i)
{
    ls_entry e = entry(a, i);
    stats s = stats_of(a, i);

    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:I}", "name", e.name,
                     "dtype", e.dtype, "shape", shape_json(&e), "min",
                     number(s.known, s.min), "mean", number(s.known, s.mean),
                     "max", number(s.known, s.max), "norm",
                     number(s.known, s.norm), "bytes", (json_int_t)e.bytes);
}

static json_t *archive_json(const ls_archive *a, const char *path)
{
    json_t *notes = json_object(), *arrays = json_array();
    const char *name, *value;

    for (int i = 0; ls_archive_note(a, i, &name, &value); i++)
        json_object_set_new(notes, name, json_string(value));
    for (int i = 0; i < ls_archive_entries(a); i++)
        json_array_append_new(arrays, row_json(a, i));
    return json_pack("{s:s*, s:o, s:o}", "path", path, "notes", notes,
                     "arrays", arrays);
}

static int print_json(json_t *object)
{
    int bad = !object || json_dumpf(object, stdout, JSON_INDENT(1)) < 0;

    putchar('\n');
    json_decref(object);
    return bad ? opt_fail(OPT_FAILED, "no JSON could be written") : OPT_GO;
}

/* ------ Two: the first difference ------ */

typedef struct difference {
    int arrays;       /* that differ */
    const char *name; /* of the first; NULL: they are equal */
    const char *what; /* "value", "shape", "dtype", "step"; "only": in a */
    ls_entry e;       /* the first one's, of "value" */
    int64_t at, count;
    char a[160], b[160];
} difference;

/* The place of a name; -1. */
static int find(const ls_archive *a, const char *name)
{
    for (int i = 0; i < ls_archive_entries(a); i++)
        if (!strcmp(entry(a, i).name, name))
            return i;
    return -1;
}

static const char *note_of(const ls_archive *a, const char *name)
{
    const char *key, *value;

    for (int i = 0; ls_archive_note(a, i, &key, &value); i++)
        if (!strcmp(key, name))
            return value;
    return NULL;
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

static void find_values(difference *d, const run *r, int i, int j)
{
    ls_entry x = entry(r->archive[0], i), y = entry(r->archive[1], j);
    const char *p = x.data, *q = y.data;
    size_t n = width(&x);
    float *f = floats_of(r->archive[0], i), *g = floats_of(r->archive[1], j);
    char a[32], b[32];

    d->e = x;
    for (int64_t k = x.elements - 1; k >= 0; k--)
        if (memcmp(p + (size_t)k * n, q + (size_t)k * n, n) != 0) {
            d->at = k;
            d->count++;
        }
    element_text(&x, f, d->at, a);
    element_text(&y, g, d->at, b);
    first(d, x.name, "value", a, b);
    free(f);
    free(g);
}

/* Array i of the first against its namesake. */
static void compare(difference *d, const run *r, int i)
{
    ls_entry x = entry(r->archive[0], i), y;
    int j = find(r->archive[1], x.name);
    char a[160], b[160];

    if (j < 0) {
        first(d, x.name, "only", r->line.path[0], "");
        return;
    }
    y = entry(r->archive[1], j);
    shape_text(&x, a);
    shape_text(&y, b);
    if (!same_shape(&x, &y))
        first(d, x.name, "shape", a, b);
    else if (strcmp(x.dtype, y.dtype) != 0)
        first(d, x.name, "dtype", x.dtype, y.dtype);
    else if (memcmp(x.data, y.data, (size_t)x.bytes) == 0)
        return;
    else if (d->arrays)
        d->arrays++;
    else
        find_values(d, r, i, j);
}

static difference compare_all(const run *r)
{
    const char *a = note_of(r->archive[0], "step");
    const char *b = note_of(r->archive[1], "step");
    difference d = {0};

    for (int i = 0; i < ls_archive_entries(r->archive[0]); i++)
        compare(&d, r, i);
    for (int i = 0; i < ls_archive_entries(r->archive[1]); i++) {
        ls_entry e = entry(r->archive[1], i);

        if (find(r->archive[0], e.name) < 0)
            first(&d, e.name, "only", r->line.path[1], "");
    }
    if (!d.arrays && a && b && strcmp(a, b) != 0)
        first(&d, "step", "step", a, b);
    return d;
}

/* "(3,17)" of element d->at. */
static void place_text(const difference *d, char text[160])
{
    ls_entry place = d->e;
    int64_t rest = d->at;

    for (int i = place.rank - 1; i >= 0; i--) {
        place.shape[i] = rest % d->e.shape[i];
        rest /= d->e.shape[i];
    }
    shape_text(&place, text);
}

static void print_difference(const run *r, const difference *d)
{
    const char *const *path = r->line.path;
    char place[160];

    if (!d->arrays) {
        printf("equal: %d arrays\n", ls_archive_entries(r->archive[0]));
        return;
    }
    put_text(d->name, 0);
    fputs(": ", stdout);
    if (d->count) {
        place_text(d, place);
        printf("element %s is %s in %s, %s in %s; %" PRId64 " of %" PRId64
               " differ\n", place, d->a, path[0], d->b, path[1], d->count,
               d->e.elements);
    } else if (!strcmp(d->what, "only")) {
        printf("only in %s\n", d->a);
    } else {
        printf("%s is %s in %s, %s in %s\n", d->what, d->a, path[0], d->b,
               path[1]);
    }
    if (d->arrays > 1)
        printf("%d arrays differ\n", d->arrays);
}

static json_t *difference_json(const difference *d)
{
    char place[160] = "";

    if (!d->arrays)
        return json_pack("{s:b}", "equal", 1);
    if (d->count)
        place_text(d, place);
    return json_pack("{s:b, s:i, s:s, s:s, s:s, s:s, s:s, s:I}", "equal", 0,
                     "arrays", d->arrays, "name", d->name, "what", d->what,
                     "a", d->a, "b", d->b, "place", place, "elements",
                     (json_int_t)d->count);
}

/* ------ */

static int open_archives(run *r)
{
    int status = OPT_GO;

    if (r->line.paths == 0)
        return opt_fail(OPT_WRONG, "which file?  see %s --help",
                        opt_program_name);
    for (int i = 0; i < r->line.paths && status == OPT_GO; i++)
        status = opt_check(ls_archive_open(&r->archive[i], r->line.path[i]));
    return status;
}

static int show_one(const run *r)
{
    int status = OPT_GO;

    if (r->set.json)
        status = print_json(archive_json(r->archive[0], r->line.path[0]));
    else
        print_table(r->archive[0]);
    return opt_end(status);
}

static int show_two(const run *r)
{
    difference d = compare_all(r);
    int status = d.arrays ? OPT_FAILED : OPT_GO;

    if (!r->set.json)
        print_difference(r, &d);
    else if (print_json(difference_json(&d)) != OPT_GO)
        status = OPT_FAILED;
    return opt_end(status);
}

int main(int argc, char **argv)
{
    run r = {0};
    int status = opt_parse(&program, argc, argv, &r.set, &r.line);

    if (status == OPT_GO)
        status = open_archives(&r);
    if (status == OPT_GO)
        status = r.line.paths == 2 ? show_two(&r) : show_one(&r);
    ls_archive_close(r.archive[0]);
    ls_archive_close(r.archive[1]);
    return status == OPT_DONE ? 0 : status;
}
