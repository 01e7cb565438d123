/* SPDX-License-Identifier: BSD-3-Clause */
/* One source as two, of other rows each or of the same ones. */
#include "base/error.h"
#include "base/memory.h"

#include <lockstep/images.h>

#include <pthread.h>
#include <stdlib.h>

/* The source that both share: one thread calls it at a time. */
typedef struct whole {
    ls_source source;
    pthread_mutex_t lock; /* of all of it */
    int parts;
} whole;

typedef struct part {
    whole *of;
    int64_t rows, room;
    int64_t *row;   /* [rows] of the whole; NULL: all, as they are */
    int64_t *index; /* [room] rows that are asked for */
} part;

/* ------ Rows ------ */

static int make_room(part *p, int64_t n)
{
    if (n <= p->room)
        return 0;
    free(p->index);
    p->index = ls__new((size_t)n, sizeof *p->index, "rows");
    p->room = p->index ? n : 0;
    return p->index ? 0 : LS_ENOMEM;
}

static int fill(void *user, int64_t n, const int64_t *index, void *const *out)
{
    part *p = user;
    const ls_source *s = &p->of->source;
    int status = p->row ? make_room(p, n) : 0;

    if (status < 0)
        return status;
    for (int64_t i = 0; p->row && i < n; i++)
        p->index[i] = p->row[index[i]];
    pthread_mutex_lock(&p->of->lock);
    status = s->fill(s->user, n, p->row ? p->index : index, out);
    pthread_mutex_unlock(&p->of->lock);
    return status;
}

static void close_part(void *user)
{
    part *p = user;
    int left;

    pthread_mutex_lock(&p->of->lock);
    left = --p->of->parts;
    pthread_mutex_unlock(&p->of->lock);
    if (left == 0) {
        ls_source_close(&p->of->source);
        pthread_mutex_destroy(&p->of->lock);
        free(p->of);
    }
    free(p->row);
    free(p->index);
    free(p);
}

/* ------ Cutting ------ */

static int mark(const ls_source *s, int64_t n, const int64_t *rows, bool *held)
{
    if (n < 1 || n >= s->rows)
        return ls__fail(LS_EINVAL, "%lld row%s of a source of %lld; both parts "
                        "need some", (long long)n, ls__s(n),
                        (long long)s->rows);
    for (int64_t i = 0; i < n; i++) {
        if (rows[i] < 0 || rows[i] >= s->rows || held[rows[i]])
            return ls__fail(LS_EINVAL, "row %lld of a source of %lld: %s",
                            (long long)rows[i], (long long)s->rows,
                            rows[i] < 0 || rows[i] >= s->rows
                                ? "there is none" : "it is named twice");
        held[rows[i]] = true;
    }
    return 0;
}

static part *new_part(whole *of)
{
    part *p = ls__new(1, sizeof *p, "part of a source");

    if (p)
        p->of = of;
    return p;
}

/* The same with room for a list of rows. */
static part *new_list(whole *of, int64_t rows)
{
    part *p = new_part(of);

    if (p && !(p->row = ls__new((size_t)rows, sizeof *p->row, "rows"))) {
        free(p);
        return NULL;
    }
    return p;
}

/* The source becomes what two parts share. */
static void start(whole *w, const ls_source *source)
{
    w->source = *source;
    w->parts = 2;
    pthread_mutex_init(&w->lock, NULL);
}

static ls_source source_of(part *p)
{
    ls_source s = p->of->source;

    s.rows = p->rows;
    s.fill = fill;
    s.close = close_part;
    s.user = p;
    return s;
}

/* Cut, as the marks say; the held ones in the order of `rows`. */
static int cut(ls_source *source, int64_t n, const int64_t *rows,
               const bool *held, ls_source *out)
{
    whole *w = ls__new(1, sizeof *w, "parts of a source");
    part *rest = w ? new_list(w, source->rows - n) : NULL;
    part *taken = rest ? new_list(w, n) : NULL;

    if (!taken) {
        free(rest ? rest->row : NULL);
        free(rest);
        free(w);
        return LS_ENOMEM;
    }
    start(w, source);
    for (int64_t i = 0; i < source->rows; i++)
        if (!held[i])
            rest->row[rest->rows++] = i;
    for (int64_t i = 0; i < n; i++)
        taken->row[taken->rows++] = rows[i];
    *source = source_of(rest);
    *out = source_of(taken);
    return 0;
}

int ls_source_split(ls_source *source, int64_t n, const int64_t *rows,
                    ls_source *held)
{
    LS__NEED(source);
    LS__NEED(rows);
    LS__NEED(held);

    bool *marks;
    int status;

    if (source->by_epoch)
        return ls__fail(LS_EINVAL, "a source whose rows change from epoch to "
                        "epoch is not cut: cut what it is made of");
    if (source->rows < 1 || !source->fill)
        return ls__fail(LS_EINVAL, "a source of %lld rows is empty",
                        (long long)source->rows);
    marks = ls__new((size_t)source->rows, sizeof *marks, "rows");
    status = marks ? mark(source, n, rows, marks) : LS_ENOMEM;
    if (status == 0)
        status = cut(source, n, rows, marks, held);
    free(marks);
    return status;
}

int ls_source_share(ls_source *source, ls_source *again)
{
    LS__NEED(source);
    LS__NEED(again);

    whole *w = ls__new(1, sizeof *w, "parts of a source");
    part *one = w ? new_part(w) : NULL, *two = one ? new_part(w) : NULL;

    if (!two) {
        free(one);
        free(w);
        return LS_ENOMEM;
    }
    start(w, source);
    one->rows = two->rows = source->rows;
    *source = source_of(one);
    *again = source_of(two);
    return 0;
}
