/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rows of a table are trained on, held back (--valid), of a fold that no
 * training sees (--cv), or left out.  Rows of a group, or of one time, are a
 * unit that nothing parts; otherwise each row is one.  Nothing but the rows and
 * --data-seed decides. */
#include "data/data.h"
#include "opt/opt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row and what it is sorted by. */
typedef struct key {
    char *text;
    double number;
    int64_t row;
} key;

typedef struct split {
    const table_file *f;
    int64_t rows, units;
    key *key;       /* [rows] */
    int64_t *of;    /* [rows]: the unit of each, */
    int64_t *size;  /* [units]: its rows of those that are still there */
    int64_t *order; /* [units]: from those that are held back first */
    char *to;       /* [units]: where those go next; DATA_TRAINED: nowhere */
    char *part;     /* [rows]: DATA_TRAINED .. */
} split;

static int no_memory(void)
{
    return opt_fail(OPT_FAILED, "no memory to part the rows");
}

/* ------ Units ------ */

static int take_text(void *user, ls_table *t, int column, int64_t row)
{
    split *s = user;
    key *k = &s->key[row];

    k->row = row;
    if (ls_table_missing(t, column))
        return opt_fail(OPT_FAILED, "%s: line %lld, column \"%s\": the value "
                        "is missing, so the row belongs to no group",
                        s->f->path, (long long)ls_table_line(t),
                        ls_table_column(t, column));
    k->text = strdup(ls_table_text(t, column));
    return k->text ? OPT_GO : no_memory();
}

static int take_time(void *user, ls_table *t, int column, int64_t row)
{
    split *s = user;
    key *k = &s->key[row];
    ls_date date;

    k->row = row;
    if (ls_date_read(&date, ls_table_text(t, column)))
        k->number = date.days;
    else if (ls_table_number(t, column, &k->number) < 0)
        return opt_fail(OPT_FAILED, "%s; --time is a column of numbers or of "
                        "dates (ISO 8601)", ls_errmsg());
    return OPT_GO;
}

static int by_key(const void *a, const void *b)
{
    const key *x = a, *y = b;
    int by_text = x->text ? strcmp(x->text, y->text) : 0;

    if (by_text || x->number != y->number)
        return by_text ? by_text : x->number < y->number ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

/* Number the units in the order of their keys. */
static void number_units(split *s)
{
    qsort(s->key, (size_t)s->rows, sizeof *s->key, by_key);
    for (int64_t i = 0; i < s->rows; i++) {
        const key *k = &s->key[i], *last = k - 1;

        s->units += i == 0 || (k->text ? strcmp(k->text, last->text) != 0
                                       : k->number != last->number);
        s->of[k->row] = s->units - 1;
    }
}

/* The columns say which; a column of neither makes each row a unit. */
static int make_units(split *s, const data *d, const char *name,
                      data_row_fn *take)
{
    int status = OPT_GO;

    s->units = 0;
    if (name && !(s->key = calloc((size_t)s->rows, sizeof *s->key)))
        return no_memory();
    if (name)
        status = data_read_column(d, s->f, name, take, s);
    if (name && status == OPT_GO)
        number_units(s);
    for (int64_t i = 0; name && i < s->rows; i++)
        free(s->key[i].text);
    free(s->key);
    for (int64_t i = 0; !name && i < s->rows; i++)
        s->of[i] = s->units++;
    s->key = NULL;
    return status;
}

/* Count the rows of each unit that are trained on so far. */
static int64_t count_rows(split *s)
{
    int64_t n = 0;

    memset(s->size, 0, (size_t)s->units * sizeof *s->size);
    for (int64_t i = 0; i < s->rows; i++)
        if (s->part[i] == DATA_TRAINED) {
            s->size[s->of[i]]++;
            n++;
        }
    return n;
}

/* Units that have rows, in their order: the latest first, or by chance. */
static int64_t put_in_order(split *s)
{
    int64_t n = 0;
    ls_numpy rs;

    for (int64_t i = 0; i < s->units; i++)
        n += s->size[i] > 0;
    if (!s->f->time) {
        ls_numpy_seed(&rs, (uint32_t)s->f->seed);
        ls_numpy_permutation(&rs, n, s->order);
        for (int64_t i = 0, at = 0; i < s->units; i++) /* which has rows */
            if (s->size[i])
                s->size[at++] = i;
        for (int64_t i = 0; i < n; i++)
            s->order[i] = s->size[s->order[i]];
        count_rows(s);
        return n;
    }
    for (int64_t i = s->units - 1, at = 0; i >= 0; i--)
        if (s->size[i])
            s->order[at++] = i;
    return n;
}

/* The units go where they are to. */
static void move_units(split *s)
{
    for (int64_t i = 0; i < s->rows; i++)
        if (s->part[i] == DATA_TRAINED)
            s->part[i] = s->to[s->of[i]];
    memset(s->to, DATA_TRAINED, (size_t)s->rows);
}

/* ------ --valid ------ */

/* Units until they have the share; scikit-learn's train_test_split takes as
 * many of single rows. */
static int hold_back(split *s)
{
    int64_t rows = count_rows(s), n = put_in_order(s), held = 0;
    int64_t wanted = (int64_t)ceil(s->f->valid * (double)rows);

    for (int64_t i = 0; i < n && held < wanted; i++) {
        held += s->size[s->order[i]];
        s->to[s->order[i]] = DATA_HELD;
    }
    move_units(s);
    if (held < rows)
        return OPT_GO;
    return opt_fail(OPT_WRONG, "--valid: of %lld row%s%s that leaves none to "
                    "train on", (long long)rows, opt_s(rows),
                    s->f->group ? " in groups"
                    : s->f->time ? " by --time" : "");
}

/* ------ --cv ------ */

/* Folds forward in time: of K + 1 stretches the first ones are trained on, and
 * the next is the fold. */
static void fold_of_time(split *s)
{
    int64_t folds = s->f->folds + 1, fold = s->f->fold + 1, before = 0;

    for (int64_t u = 0; u < s->units; u++) {
        int64_t at = before * folds / s->rows;

        before += s->size[u];
        if (at >= fold)
            s->to[u] = at == fold ? DATA_FOLD : DATA_LEFT_OUT;
    }
    move_units(s);
}

static int64_t lightest(const int64_t *rows, int64_t folds)
{
    int64_t best = 0;

    for (int64_t i = 1; i < folds; i++)
        best = rows[i] < rows[best] ? i : best;
    return best;
}

/* Groups, the largest first, each to the fold that has the fewest rows. */
static int fold_of_groups(split *s)
{
    int64_t *rows = calloc((size_t)s->f->folds, sizeof *rows);
    key *largest = calloc((size_t)s->units, sizeof *largest);
    int64_t n = rows && largest ? put_in_order(s) : -1;

    for (int64_t i = 0; i < n; i++)
        largest[i] = (key){.number = -(double)s->size[s->order[i]], .row = i};
    if (n > 0)
        qsort(largest, (size_t)n, sizeof *largest, by_key);
    for (int64_t i = 0; i < n; i++) {
        int64_t unit = s->order[largest[i].row];
        int64_t fold = lightest(rows, s->f->folds);

        rows[fold] += s->size[unit];
        if (fold == s->f->fold)
            s->to[unit] = DATA_FOLD;
    }
    free(rows);
    free(largest);
    move_units(s);
    return n < 0 ? no_memory() : OPT_GO;
}

/* Rows as they come by chance, those of a class dealt out to the folds, and the
 * next class's go on where they ended (stratified). */
static void fold_of_classes(split *s, const int64_t *row, const int64_t *class,
                            int64_t classes)
{
    int64_t at = 0;

    for (int64_t c = 0; c < classes; c++)
        for (int64_t i = 0; i < s->rows; i++)
            if (class[row[i]] == c && at++ % s->f->folds == s->f->fold)
                s->part[row[i]] = DATA_FOLD;
}

/* Folds of single rows: of numbers parts of the permutation. */
static int fold_of_rows(split *s, const data *d)
{
    int64_t k = s->f->fold, folds = s->f->folds, classes;
    int64_t *row = malloc((size_t)s->rows * sizeof *row);
    int status = row ? OPT_GO : no_memory();

    if (status == OPT_GO)
        put_in_order(s);
    if (status == OPT_GO && !data_target(d).words) {
        for (int64_t i = k * s->rows / folds; i < (k + 1) * s->rows / folds;
             i++)
            s->part[s->order[i]] = DATA_FOLD;
    } else if (status == OPT_GO) {
        memcpy(row, s->order, (size_t)s->rows * sizeof *row);
        status = make_units(s, d, data_target(d).name, take_text);
        classes = s->units;
        if (status == OPT_GO)
            fold_of_classes(s, row, s->of, classes);
        if (status == OPT_GO)
            status = make_units(s, d, NULL, NULL);
    }
    free(row);
    return status;
}

static int take_fold(split *s, const data *d)
{
    int64_t fewest = s->f->folds + (s->f->time != NULL);

    count_rows(s);
    if (s->units < fewest)
        return opt_fail(OPT_WRONG, "--cv: %lld folds of %lld %s%s%s",
                        (long long)s->f->folds, (long long)s->units,
                        s->f->group ? "group" : s->f->time ? "time" : "row",
                        opt_s(s->units), s->f->time ? ", which need one more"
                                                    : "");
    if (s->f->group)
        return fold_of_groups(s);
    if (!s->f->time)
        return fold_of_rows(s, d);
    fold_of_time(s);
    return OPT_GO;
}

/* ------ Both ------ */

static int part_all(split *s, const data *d)
{
    const table_file *f = s->f;
    int status = make_units(s, d, f->group ? f->group : f->time,
                            f->group ? take_text : take_time);

    if (status == OPT_GO && f->folds)
        status = take_fold(s, d);
    return status == OPT_GO && f->valid > 0 ? hold_back(s) : status;
}

int data_split(const data *d, const table_file *f, char **part)
{
    size_t rows = (size_t)ls_table_data_rows(d->table);
    split s = {.f = f, .rows = (int64_t)rows,
               .of = malloc(rows * sizeof *s.of),
               .size = malloc(rows * sizeof *s.size),
               .order = malloc(rows * sizeof *s.order),
               .to = calloc(rows, 1),
               .part = calloc(rows, 1)};
    int status = s.of && s.size && s.order && s.to && s.part
                     ? part_all(&s, d) : no_memory();

    free(s.of);
    free(s.size);
    free(s.order);
    free(s.to);
    *part = s.part;
    return status;
}
