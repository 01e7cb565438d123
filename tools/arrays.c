/* Arrays in memory as the rows to train on: .npy files, and whatever else was
 * made into an array. */
#include "data.h"
#include "opt.h"

static int check_new(const data *d, const ls_array *t, const char *from)
{
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] == 0)
            return opt_fail(OPT_FAILED, "%s: the data set is empty", from);
    if (d->inputs > 0 && t->shape[0] != d->rows)
        return opt_fail(OPT_FAILED, "%s: %lld rows, but %s has %lld", from,
                        (long long)t->shape[0], d->input[0].name,
                        (long long)d->rows);
    return OPT_GO;
}

int data_add(data *d, const char *name, ls_array t, const char *from)
{
    int status = check_new(d, &t, from);

    if (status == OPT_GO) {
        d->rows = t.shape[0];
        d->input[d->inputs++] = (data_input){.name = name, .all = t};
    } else {
        ls_array_free(&t);
    }
    return status;
}

static int load(ls_array *t, const char *name, const char *path, ls_dtype as,
                int rank)
{
    if (ls_npy_load(t, path, as) < 0)
        return opt_fail(OPT_FAILED, "%s", ls_errmsg());
    if (t->rank == rank)
        return OPT_GO;
    opt_fail(OPT_FAILED, "%s: %d axes, but %s needs %d, rows first", path,
             t->rank, name, rank);
    ls_array_free(t);
    return OPT_FAILED;
}

int data_load(data *d, const char *name, const char *path, ls_dtype as,
              int rank)
{
    ls_array t;
    int status = load(&t, name, path, as, rank);

    return status == OPT_GO ? data_add(d, name, t, path) : status;
}

int data_mask(data *d, const char *path)
{
    int status = load(&d->mask, "mask", path, LS_F32, 1);

    if (status == OPT_GO && d->mask.shape[0] != d->rows)
        return opt_fail(OPT_FAILED, "%s: %lld weights for %lld rows", path,
                        (long long)d->mask.shape[0], (long long)d->rows);
    return status;
}

int data_collect(data *d)
{
    ls_array array[DATA_INPUTS] = {0};

    for (int i = 0; i < d->inputs; i++) {
        const ls_array *t = &d->input[i].all;

        array[i] = (ls_array){.name = d->input[i].name, .dtype = t->dtype,
                              .rank = t->rank, .data = t->data};
        for (int k = 0; k < t->rank; k++)
            array[i].shape[k] = t->shape[k];
    }
    return opt_check(ls_source_arrays(&d->source, d->inputs, array));
}
