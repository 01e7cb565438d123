/* SPDX-License-Identifier: BSD-3-Clause */
/* A source of another one's images, changed in each epoch (data augmentation).
 * Mixup adds the label of the other image and the row's own share: they stand
 * behind the arrays of that source and before its weights. */
#include "image/change_image.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "image/crew.h"
#include "image/normalise.h"

#include <stdlib.h>
#include <string.h>

enum {
    EACH = 1 << 16, /* numbers that are worth a thread */
    ADDED = 2       /* arrays: `other` and `share` */
};

typedef struct augmented {
    ls_source inner;
    ls_augment_options o;
    int64_t shape[3], size; /* of an image */
    int image, label;       /* numbers of arrays; -1: none */
    ls__normal normal;
    ls__arena arena;
    bool adds;              /* the two arrays that mixup adds */
    void **to;              /* [arrays + 1] where the inner source writes */
    /* For up to `room` rows: */
    int64_t room;
    int64_t *row;    /* of the inner source, also for partners */
    ls__augmentation *draw;
    float *scratch;  /* an image each */
    void **other;    /* [arrays + 1] rows of the partners, or NULL */
} augmented;

static int arrays_of(const augmented *s)
{
    return s->inner.n_arrays + s->inner.weighted;
}

/* ------ Room ------ */

static void free_room(augmented *s)
{
    for (int a = 0; s->other && a < arrays_of(s); a++)
        free(s->other[a]);
    free(s->other);
    free(s->row);
    free(s->draw);
    free(s->scratch);
    s->other = NULL;
    s->row = NULL;
    s->draw = NULL;
    s->scratch = NULL;
    s->room = 0;
}

static size_t row_size(const augmented *s, int a)
{
    const ls_array_spec *spec = &s->inner.arrays[a];

    return a < s->inner.n_arrays ? (size_t)ls__count(spec->rank, spec->shape)
                                 : 1;
}

static int make_others(augmented *s, size_t n)
{
    s->other = ls__new((size_t)arrays_of(s), sizeof *s->other, "mixed rows");
    for (int a = 0; s->other && a < arrays_of(s); a++)
        if (!(s->other[a] = ls__new(n * row_size(s, a), sizeof(float),
                                    "mixed rows")))
            return LS_ENOMEM;
    return s->other ? 0 : LS_ENOMEM;
}

static int make_room(augmented *s, int64_t n)
{
    size_t rows = (size_t)n;
    int status;

    if (n <= s->room)
        return 0;
    free_room(s);
    s->row = ls__new(rows, sizeof *s->row, "augmented rows");
    s->draw = ls__new(rows, sizeof *s->draw, "augmented rows");
    s->scratch = ls__new(rows * (size_t)s->size, sizeof *s->scratch,
                         "augmented rows");
    status = s->row && s->draw && s->scratch ? 0 : LS_ENOMEM;
    if (status == 0 && s->o.mixup > 0)
        status = make_others(s, rows);
    if (status == 0)
        s->room = n;
    return status;
}

/* ------ Rows ------ */

/* A call's rows. */
typedef struct asked {
    augmented *s;
    const int64_t *index;
    void *const *out;
} asked;

static void normalise(const augmented *s, float *x)
{
    int64_t channels = s->shape[2];

    for (int64_t i = 0; s->normal.mean && i < s->size; i += channels)
        for (int64_t c = 0; c < channels; c++)
            x[i + c] = ls__normal_of(&s->normal, c, x[i + c]);
}

static void mix(const augmented *s, const ls__augmentation *d, float *x,
                const float *other)
{
    for (int64_t i = 0; i < s->size; i++)
        x[i] = d->share * x[i] + (1 - d->share) * other[i];
}

/* The label that is mixed in, or the row's own, and the row's own share. */
static void put_added(const asked *a, int64_t i)
{
    const augmented *s = a->s;
    void *const *added = a->out + s->inner.n_arrays;
    const int32_t *label = s->other ? s->other[s->label] : a->out[s->label];

    ((int32_t *)added[0])[i] = label[i];
    ((float *)added[1])[i] = s->draw[i].share;
}

static int change_row(void *user, int64_t i)
{
    const asked *a = user;
    const augmented *s = a->s;
    const ls__augmentation *d = &s->draw[i];
    float *x = (float *)a->out[s->image] + i * s->size;
    float *room = s->scratch + i * s->size;

    ls__change_image(&s->o, s->shape, d, x, room);
    if (s->other) {
        float *other = (float *)s->other[s->image] + i * s->size;
        ls__augmentation of =
            ls__augmentation_of(&s->o, s->inner.rows, s->shape,
                                a->index[i] / s->inner.rows, d->partner);

        ls__change_image(&s->o, s->shape, &of, other, room);
        mix(s, d, x, other);
    }
    if (s->adds)
        put_added(a, i);
    normalise(s, x);
    return 0;
}

/* The rows as they are, and those that are mixed in. */
static int read_rows(augmented *s, int64_t n, const int64_t *index,
                     void *const *out)
{
    const ls_source *in = &s->inner;
    int status;

    for (int64_t i = 0; i < n; i++) {
        s->row[i] = index[i] % in->rows;
        s->draw[i] = ls__augmentation_of(&s->o, in->rows, s->shape,
                                  index[i] / in->rows, s->row[i]);
    }
    for (int a = 0; a < in->n_arrays; a++)
        s->to[a] = out[a];
    if (in->weighted)
        s->to[in->n_arrays] = out[in->n_arrays + (s->adds ? ADDED : 0)];
    status = in->fill(in->user, n, s->row, s->to);
    if (status < 0 || !s->other)
        return status;
    for (int64_t i = 0; i < n; i++)
        s->row[i] = s->draw[i].partner;
    return in->fill(in->user, n, s->row, s->other);
}

static int fill(void *user, int64_t n, const int64_t *index, void *const *out)
{
    augmented *s = user;
    asked a = {s, index, out};
    int64_t threads = n * s->size / EACH + 1;
    int status = make_room(s, n);

    if (status == 0)
        status = read_rows(s, n, index, out);
    if (status < 0)
        return status;
    threads = threads < s->o.threads ? threads : s->o.threads;
    return ls__crew_run((int)threads, n, change_row, &a);
}

static void free_source(augmented *s)
{
    free_room(s);
    ls__arena_free(&s->arena);
    free(s);
}

static void close_source(void *user)
{
    augmented *s = user;
    ls_source inner = s->inner;

    free_source(s); /* which looks at its arrays */
    ls_source_close(&inner);
}

/* ------ Opening ------ */

static bool is_image(const ls_array_spec *a)
{
    return a->dtype == LS_F32 && a->rank == 3;
}

static bool is_label(const ls_array_spec *a)
{
    return a->dtype == LS_I32 && a->rank == 0;
}

/* An array of this name and kind; -1: there is none. */
static int find(const ls_source *s, const char *name,
                bool (*is)(const ls_array_spec *a))
{
    for (int a = 0; a < s->n_arrays; a++)
        if (is(&s->arrays[a]) &&
            (!name || strcmp(name, s->arrays[a].name) == 0))
            return a;
    return -1;
}

static int find_arrays(augmented *s)
{
    const ls_source *in = &s->inner;

    s->image = find(in, s->o.image, is_image);
    s->label = find(in, s->o.label, is_label);
    if (s->image < 0)
        return ls__fail(LS_ENOTFOUND, "the source has no array of images "
                        "%s%s(H,W,C) of LS_F32", s->o.image ? s->o.image : "",
                        s->o.image ? " " : "");
    if (s->label < 0 && s->adds)
        return ls__fail(LS_ENOTFOUND, "the source has no array of labels%s%s, "
                        "LS_I32 without axes, that mixup takes",
                        s->o.label ? " " : "", s->o.label ? s->o.label : "");
    memcpy(s->shape, in->arrays[s->image].shape, sizeof s->shape);
    s->size = s->shape[0] * s->shape[1] * s->shape[2];
    if (in->by_epoch || in->rows < 1 || in->rows > INT32_MAX)
        return ls__fail(LS_EINVAL, "a source of %lld rows%s is not augmented",
                        (long long)in->rows,
                        in->by_epoch ? " that change from epoch to epoch" : "");
    return 0;
}

/* The arrays of the source and those that mixup adds. */
static int add_arrays(augmented *s, ls_source *source)
{
    const ls_source *in = &s->inner;
    const char *name[ADDED] = {s->o.other, s->o.share};
    size_t n = (size_t)in->n_arrays;
    ls_array_spec *all = ls__arena_new(&s->arena, n + ADDED, sizeof *all);

    if (!all)
        return LS_ENOMEM;
    memcpy(all, in->arrays, n * sizeof *all);
    for (int i = 0; i < ADDED; i++, n++) {
        for (size_t a = 0; a < n; a++)
            if (strcmp(all[a].name, name[i]) == 0)
                return ls__fail(LS_EINVAL, "mixup adds an array \"%s\"; there "
                                "is one of that name already", name[i]);
        all[n] = (ls_array_spec){ls__arena_text(&s->arena, name[i]),
                                 i ? LS_F32 : LS_I32, 0, {0}};
        if (!all[n].name)
            return LS_ENOMEM;
    }
    source->arrays = all;
    source->n_arrays = (int)n;
    return 0;
}

static int check_names(const augmented *s)
{
    if (!s->o.other != !s->o.share || (s->o.mixup > 0 && !s->adds))
        return ls__fail(LS_EINVAL, "mixup: the names of the arrays `other` and "
                        "`share` that it adds are not given");
    return 0;
}

/* Not a NaN, either. */
static int in_range(const char *name, double x, double low, double high)
{
    if (x >= low && x <= high)
        return 0;
    return ls__fail(LS_ERANGE, "%s %g; it may be %g to %g", name, x, low, high);
}

static int check_options(const augmented *s)
{
    const ls_augment_options *o = &s->o;
    const struct {
        const char *name;
        double x, low, high;
    } all[] = {
        {"crop", o->crop, 0, 4096},
        {"rotate", o->rotate, 0, 180},
        {"scale", o->scale_low, o->scale_high > 0 ? 0.01 : 0, o->scale_high},
        {"scale", o->scale_high, 0, 100},
        {"brightness", o->brightness, 0, 100},
        {"contrast", o->contrast, 0, 100},
        {"cutout", o->cutout, 0, 65536},
        {"mixup", o->mixup, o->mixup > 0 ? 0.001 : 0, 1},
    };
    int status = 0;

    for (size_t i = 0; i < sizeof all / sizeof *all && status == 0; i++)
        status = in_range(all[i].name, all[i].x, all[i].low, all[i].high);
    return status;
}

LS__DEFAULTS(ls_augment_options, ls_augment_defaults_bytes)

int ls_source_augment(ls_source *source, const ls_augment_options *options)
{
    LS__NEED(source);
    LS__NEED(options);

    augmented *s = ls__new(1, sizeof *s, "augmentation");
    int status;

    if (!s)
        return LS_ENOMEM;
    s->inner = *source;
    s->o = ls_augment_defaults();
    status = ls__sized_take("augment", &s->o, sizeof s->o, options);
    s->adds = s->o.other && s->o.share;
    if (status == 0)
        status = find_arrays(s);
    if (status == 0)
        status = check_options(s);
    if (status == 0)
        status = check_names(s);
    if (status == 0)
        status = ls__normal_take(&s->normal, &s->arena, s->shape[2],
                                 s->o.channels, s->o.mean, s->o.std);
    if (status == 0 && !(s->to = ls__arena_new(&s->arena,
                                               (size_t)s->inner.n_arrays + 1,
                                               sizeof *s->to)))
        status = LS_ENOMEM;
    if (status == 0 && s->adds)
        status = add_arrays(s, source);
    if (status < 0) {
        free_source(s);
        return status;
    }
    if (s->o.threads < 1)
        s->o.threads = ls__crew_cpus();
    source->by_epoch = true;
    source->fill = fill;
    source->close = close_source;
    source->user = s;
    return 0;
}
