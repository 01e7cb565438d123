/* SPDX-License-Identifier: BSD-3-Clause */
/* See album.h. */
#include "image/album.h"
#include "base/error.h"
#include "image/crew.h"
#include "image/fit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PIXELS = 1 << 28, KEEP = 1 << 30 };

/* ------ The lists ------ */

/* Twice the room for both, or some. */
static int grow(ls__album *a)
{
    int64_t room = a->room ? 2 * a->room : 256;
    const char **path = realloc(a->path, (size_t)room * sizeof *path);
    int32_t *label = realloc(a->label, (size_t)room * sizeof *label);

    a->path = path ? path : a->path;
    a->label = label ? label : a->label;
    if (!path || !label)
        return ls__no_memory("names of files", (size_t)room * sizeof *path);
    a->room = room;
    return 0;
}

int ls__album_add(ls__album *a, const char *path, int32_t label)
{
    const char *copy = ls__arena_text(&a->arena, path);

    if (!copy || (a->pictures == a->room && grow(a) < 0))
        return LS_ENOMEM;
    a->path[a->pictures] = copy;
    a->label[a->pictures++] = label;
    return 0;
}

/* One more file with a reason that others have, too; beyond LS__REASONS they
 * are only counted. */
static int note_reason(ls__album *a, const char *path, const char *said)
{
    size_t name = strlen(path);
    ls__refused *r = a->reason, *end = r + a->reasons;

    a->left_out++;
    if (strncmp(said, path, name) != 0)
        name = 0;
    while (r < end && strcmp(r->first + r->name, said + name) != 0)
        r++;
    if (r == a->reason + LS__REASONS)
        return 0;
    if (r == end) {
        *r = (ls__refused){0, ls__arena_text(&a->arena, said), name};
        a->reasons++;
    }
    r->files++;
    return r->first ? 0 : LS_ENOMEM;
}

int ls__album_refuse(ls__album *a, const char *path, int status)
{
    return a->skips && status != LS_ENOMEM ? note_reason(a, path, ls_errmsg())
                                           : status;
}

/* ------ Looking at all of them ------ */

/* A look at a picture: its size, or why it has none. */
typedef struct look {
    ls__album *album;
    char **said;     /* of those that are left out; else NULL */
    ls__picture *is; /* without pixels */
} look;

/* A file that may be left out is read to its end. */
static int look_at(void *user, int64_t i)
{
    look *l = user;
    const ls__album *a = l->album;
    ls__picture *p = &l->is[i];
    int status = a->skips ? ls__picture_read(p, a->path[i])
                          : ls__picture_look(p, a->path[i]);

    free(p->pixels);
    p->pixels = NULL;
    if (status == 0 || status == LS_ENOMEM || !a->skips)
        return status;
    l->said[i] = ls__text_copy(ls_errmsg());
    return l->said[i] ? 0 : LS_ENOMEM;
}

/* Classes without pictures are none, unless others gave them. */
static int drop_classes(ls__album *a)
{
    int32_t *to = ls__new((size_t)a->classes + 1, sizeof *to, "classes");
    int64_t n = 0;
    int status = to ? 0 : LS_ENOMEM;

    for (int64_t i = 0; to && i < a->pictures; i++)
        to[a->label[i]] = 1;
    for (int64_t i = 0; status == 0 && i < a->classes; i++) {
        const char *name = a->class_name[i];

        if (!to[i]) {
            ls__fail(LS_EFORMAT, "%s: a folder without pictures", name);
            status = note_reason(a, name, ls_errmsg());
            continue;
        }
        to[i] = (int32_t)n;
        a->class_name[n++] = name;
    }
    for (int64_t i = 0; status == 0 && i < a->pictures; i++)
        a->label[i] = to[a->label[i]];
    a->classes = n;
    free(to);
    return status;
}

/* Take those out of the lists that failed. */
static int leave_out(look *l)
{
    ls__album *a = l->album;
    int64_t n = 0;
    int status = 0;

    for (int64_t i = 0; i < a->pictures && status == 0; i++) {
        if (l->said[i]) {
            status = note_reason(a, a->path[i], l->said[i]);
            continue;
        }
        a->path[n] = a->path[i];
        a->label[n] = a->label[i];
        l->is[n++] = l->is[i];
    }
    a->pictures = n;
    return status == 0 && a->classes && !a->given ? drop_classes(a) : status;
}

/* All are as large as the first; grey if all are. */
static int take_shape(look *l)
{
    ls__album *a = l->album;
    const ls__picture *one = l->is;

    a->shape[2] = 1;
    for (int64_t i = 0; i < a->pictures; i++) {
        const ls__picture *p = &l->is[i];

        if (p->height != one->height || p->width != one->width)
            return ls__fail(LS_ESHAPE, "%s is %lld pixels wide and %lld high, "
                            "%s %lld and %lld: name a size that all become, as "
                            "--image 64x64x3", a->path[0],
                            (long long)one->width, (long long)one->height,
                            a->path[i], (long long)p->width,
                            (long long)p->height);
        if (p->channels > 2)
            a->shape[2] = 3;
    }
    a->shape[0] = one->height;
    a->shape[1] = one->width;
    return 0;
}

static int look_at_all(ls__album *a)
{
    size_t n = (size_t)a->pictures;
    look l = {a, ls__new(n, sizeof *l.said, "pictures"),
              ls__new(n, sizeof *l.is, "pictures")};
    int status = l.said && l.is
                     ? ls__crew_run(a->threads, a->pictures, look_at, &l)
                     : LS_ENOMEM;

    if (status == 0 && a->skips)
        status = leave_out(&l);
    if (status == 0 && a->pictures == 0)
        status = ls__fail(LS_EFORMAT, "no pictures: %lld file%s left out, the "
                          "first as %s", (long long)a->left_out,
                          a->left_out == 1 ? " was" : "s were",
                          a->reasons ? a->reason->first : "there are none");
    if (status == 0 && a->shape[0] == 0)
        status = take_shape(&l);
    for (size_t i = 0; l.said && i < n; i++)
        free(l.said[i]);
    free(l.said);
    free(l.is);
    return status;
}

/* ------ Opening ------ */

static int check_shape(const ls_images_options *o)
{
    const int64_t *s = o->shape;
    bool is = s[0] && s[1] && s[2];

    if (!is && !s[0] && !s[1] && !s[2])
        return 0;
    if (!is || s[0] < 1 || s[1] < 1 || s[0] > LS__PICTURE_SIDE ||
        s[1] > LS__PICTURE_SIDE || s[0] * s[1] > MOST_PIXELS / 4)
        return ls__fail(LS_EINVAL, "pictures of %lldx%lldx%lld",
                        (long long)s[0], (long long)s[1], (long long)s[2]);
    if (s[2] != 1 && s[2] != 3 && s[2] != 4)
        return ls__fail(LS_EINVAL, "pictures of %lld channels; there are 1 "
                        "(grey), 3 (colour) and 4 (with alpha)",
                        (long long)s[2]);
    return 0;
}

static int start(ls__album **album, const ls_images_options *o)
{
    int status = check_shape(o);
    ls__album *a;

    *album = NULL;
    if (status < 0)
        return status;
    if ((unsigned)o->fit > LS_IMAGE_STRETCH)
        return ls__fail(LS_EINVAL, "a fit of pictures of number %d", o->fit);
    if (!(a = ls__new(1, sizeof *a, "pictures")))
        return LS_ENOMEM;
    pthread_mutex_init(&a->lock, NULL);
    memcpy(a->shape, o->shape, sizeof a->shape);
    a->fit = o->fit;
    a->skips = o->skip_broken;
    a->given = o->n_classes > 0 && o->class_names;
    a->threads = o->threads > 0 ? o->threads : ls__crew_cpus();
    a->spare = KEEP;
    *album = a;
    return 0;
}

static int finish(ls__album *a)
{
    int status = look_at_all(a);

    if (status < 0)
        return status;
    a->kept = ls__new((size_t)a->pictures, sizeof *a->kept, "pictures");
    return a->kept ? 0 : LS_ENOMEM;
}

static int done(ls__album **album, int status)
{
    if (status == 0)
        status = finish(*album);
    if (status < 0) {
        ls__album_close(*album);
        *album = NULL;
    }
    return status;
}

/* A failure whose message has what to do about a file that is no picture. */
static int broken(int status)
{
    char said[LS__MESSAGE];

    if (status != LS_EFORMAT)
        return status;
    snprintf(said, sizeof said, "%s", ls_errmsg());
    return ls__fail(status, "%s; or leave out what is no picture (skip_broken, "
                    "--skip-broken)", said);
}

int ls__album_open(ls__album **album, const char *folder,
                   const ls_images_options *o)
{
    int status = start(album, o);

    status = done(album, status == 0 ? ls__album_find(*album, folder, o)
                                     : status);
    return o->skip_broken ? status : broken(status);
}

int ls__album_list(ls__album **album, int64_t n, const char *const *path,
                   const ls_images_options *o)
{
    int status = start(album, o);

    if (status == 0 && n < 1)
        status = ls__fail(LS_EINVAL, "%lld pictures", (long long)n);
    for (int64_t i = 0; i < n && status == 0; i++)
        status = path[i] ? ls__album_add(*album, path[i], 0)
                         : ls__fail(LS_EINVAL, "picture %lld has no path",
                                    (long long)i);
    return done(album, status);
}

void ls__album_close(ls__album *a)
{
    if (!a)
        return;
    for (int64_t i = 0; a->kept && i < a->pictures; i++)
        free(a->kept[i]);
    pthread_mutex_destroy(&a->lock);
    free(a->kept);
    free(a->path);
    free(a->label);
    ls__arena_free(&a->arena);
    free(a);
}

/* ------ Rows ------ */

typedef struct wanted {
    ls__album *album;
    const int64_t *index;
    void (*take)(void *user, int64_t i, const uint8_t *pixels);
    void *user;
} wanted;

static uint8_t *find_kept(ls__album *a, int64_t row)
{
    uint8_t *pixels;

    pthread_mutex_lock(&a->lock);
    pixels = a->kept[row];
    pthread_mutex_unlock(&a->lock);
    return pixels;
}

/* Keep the pixels of a row, or free them: there is no room, or another thread
 * decoded the same row. */
static void keep(ls__album *a, int64_t row, uint8_t *pixels)
{
    int64_t n = a->shape[0] * a->shape[1] * a->shape[2];

    pthread_mutex_lock(&a->lock);
    if (!a->kept[row] && a->spare >= n) {
        a->kept[row] = pixels;
        a->spare -= n;
        pixels = NULL;
    }
    pthread_mutex_unlock(&a->lock);
    free(pixels);
}

static int decode(const ls__album *a, int64_t row, uint8_t **pixels)
{
    size_t n = (size_t)(a->shape[0] * a->shape[1] * a->shape[2]);
    ls__picture p;
    int status = ls__picture_read(&p, a->path[row]);

    *pixels = NULL;
    if (status < 0)
        return a->skips ? status : broken(status);
    *pixels = ls__new(n, 1, a->path[row]);
    status = *pixels ? ls__picture_fit(&p, a->fit, a->shape, *pixels)
                     : LS_ENOMEM;
    ls__picture_free(&p);
    if (status < 0)
        free(*pixels);
    return status;
}

static int give(void *user, int64_t i)
{
    const wanted *w = user;
    int64_t row = w->index[i];
    uint8_t *pixels = find_kept(w->album, row);
    int status;

    if (pixels) {
        w->take(w->user, i, pixels);
        return 0;
    }
    status = decode(w->album, row, &pixels);
    if (status < 0)
        return status;
    w->take(w->user, i, pixels);
    keep(w->album, row, pixels);
    return 0;
}

int ls__album_rows(ls__album *a, int64_t n, const int64_t *index,
                   void (*take)(void *user, int64_t i, const uint8_t *pixels),
                   void *user)
{
    wanted w = {a, index, take, user};
    int64_t missing = 0;

    for (int64_t i = 0; i < n; i++)
        missing += !find_kept(a, index[i]);
    return ls__crew_run((int)(missing < a->threads ? missing : a->threads), n,
                        give, &w);
}
