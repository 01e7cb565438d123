/* SPDX-License-Identifier: BSD-3-Clause */
/* A user's function on every device, inputs cut along their leading axis and
 * outputs stacked along theirs.  Nothing is copied: cutting and stacking are
 * pointers into the user's arrays. */
#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "pool/call.h"
#include "loader/named_array.h"
#include <lockstep/collective.h>

#include <stdlib.h>

typedef struct call {
    ls_pool *pool;
    ls_pmap_fn *fn;
    void *user;
    int devices, inputs, outputs;
    const void **in; /* [device * inputs + input] */
    void **out;      /* [device * outputs + output] */
    int *status;     /* [device], written by its worker */
} call;

/* The bytes from one device's part of an array to the next. */
static int64_t stride_of(const ls_array *a, int devices)
{
    int64_t row_bytes, rows = ls__array_rows(a, &row_bytes);

    if (rows < 0)
        return rows;
    if (rows % devices)
        return ls__fail(LS_ESHAPE, "array \"%s\": a leading axis of %lld does "
                        "not divide by %d devices", a->name, (long long)rows,
                        devices);
    return rows / devices * row_bytes;
}

static int cut(call *c, const ls_array *input, const ls_array *output)
{
    for (int i = 0; i < c->inputs + c->outputs; i++) {
        const ls_array *a = i < c->inputs ? &input[i]
                                          : &output[i - c->inputs];
        int64_t stride = stride_of(a, c->devices);

        if (stride < 0)
            return (int)stride;
        for (int d = 0; d < c->devices; d++) {
            char *at = (char *)a->data + d * stride;

            if (i < c->inputs)
                c->in[d * c->inputs + i] = at;
            else
                c->out[d * c->outputs + i - c->inputs] = at;
        }
    }
    return 0;
}

static void run(void *user, int worker)
{
    const call *c = user;
    int first, last;

    ls__pool_devices_of(c->pool, worker, &first, &last);
    LS__ASSERT(0 <= first && first <= last && last <= c->devices);
    for (int d = first; d < last; d++) {
        ls__pool_at("pmap", d);
        c->status[d] = LS__ENDED;
        c->status[d] = c->fn(c->user, d, c->in + d * c->inputs,
                             c->out + d * c->outputs);
    }
}

static int verdict(const call *c)
{
    for (int d = 0; d < c->devices; d++)
        if (c->status[d] == LS__ENDED)
            return ls__fail(LS_EUSER, "pmap: the function ended the thread of "
                            "device %d", d);
        else if (c->status[d] < 0)
            return ls__fail(LS_EUSER, "pmap: the function failed on device %d "
                            "with status %d", d, c->status[d]);
    return 0;
}

static int pmap(call *c, const ls_array *input, const ls_array *output)
{
    size_t d = (size_t)c->devices;
    int status = LS_ENOMEM;

    c->in = ls__new(d * (size_t)c->inputs, sizeof *c->in, "pmap");
    c->out = ls__new(d * (size_t)c->outputs, sizeof *c->out, "pmap");
    c->status = ls__new(d, sizeof *c->status, "pmap");
    if (c->in && c->out && c->status &&
        (status = cut(c, input, output)) == 0 &&
        (status = ls__pool_call(c->pool, "pmap", run, c)) == 0)
        status = verdict(c);
    free(c->in);
    free(c->out);
    free(c->status);
    return status;
}

int ls_pmap(ls_pool *pool, ls_pmap_fn *fn, void *user, int n_inputs,
            const ls_array *inputs, int n_outputs, const ls_array *outputs)
{
    LS__NEED(pool);
    LS__NEED(fn);
    LS__NEED_AS(inputs || n_inputs <= 0, "inputs", LS_EINVAL);
    LS__NEED_AS(outputs || n_outputs <= 0, "outputs", LS_EINVAL);

    call c = {.pool = pool, .fn = fn, .user = user, .inputs = n_inputs,
              .devices = ls_pool_devices(pool), .outputs = n_outputs};

    if (n_inputs < 0 || n_outputs < 0)
        return ls__fail(LS_EINVAL, "pmap: %d inputs and %d outputs; neither "
                        "may be negative", n_inputs, n_outputs);
    return pmap(&c, inputs, outputs);
}
