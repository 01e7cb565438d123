/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the record of a step while the engine shows it: the lines that a
 * record begins with, what the trainer is, its parameters and the nodes of its
 * graph, and then what it is shown. */
#include "record/record_write.h"
#include "base/error.h"
#include "base/sized.h"
#include "record/record_file.h"
#include "record/record_step.h"
#include "transcript/head.h"

typedef struct writing {
    const ls_trainer *trainer;
    const ls_record_options *options;
    ls__record_file file; /* not open without a path, or before it begins */
    ls__touch_fn *touch;
    void *user;
} writing;

/* ------ what it begins with ------ */

static json_t *head_line(const writing *w, int64_t chunk_rows)
{
    const ls__state is = ls__state_of(w->trainer);
    char graph[LS__HEX], layout[LS__HEX], device[20] = "all";

    if (ls__head_graph(w->trainer, graph) < 0)
        return NULL;
    ls__head_layout(is.layout, layout);
    if (w->options->device >= 0)
        snprintf(device, sizeof device, "%d", w->options->device);
    return json_pack("{s:i,s:s,s:i,s:s,s:s,s:s,s:s,s:s,s:i,s:o,s:I,s:s,s:I,s:i"
                     ",s:i}",
                     "bits", LS_BITS, "device", device, "devices",
                     is.here.of, "graph", graph, "kind", "record", "layout",
                     layout, "lockstep", ls_version(), "maker",
                     "any", "micro", is.micro, "options",
                     ls__head_options(w->trainer), "plan",
                     (json_int_t)chunk_rows, "prev", w->file.chain.prev,
                     "step", (json_int_t)is.step, "values",
                     (int)w->file.values, "version", LS__RECORD_VERSION);
}

static json_t *slot_line(const writing *w, const ls__slot *s)
{
    char shape[LS__SIZES_TEXT];

    return json_pack("{s:I,s:I,s:s,s:s,s:s,s:s}", "at", (json_int_t)s->offset,
                     "floats", (json_int_t)s->size, "kind", "slot", "name",
                     s->name, "prev", w->file.chain.prev, "shape",
                     ls__sizes_text(shape, s->rank, s->shape));
}

/* ------ what is shown ------ */

static int begin(void *user, int64_t chunk_rows)
{
    writing *w = user;
    const ls__params *p = ls__state_of(w->trainer).layout;
    int status;

    if (!w->options->path)
        return 0;
    status = ls__record_create(&w->file, w->options->path, w->options->values);
    if (status == 0)
        status = ls__record_line(&w->file, head_line(w, chunk_rows));
    for (int i = 0; i < p->count && status == 0; i++)
        status = ls__record_line(&w->file, slot_line(w, &p->slot[i]));
    return status;
}

static int node(void *user, json_t *line)
{
    writing *w = user;

    if (w->options->path) {
        if (json_object_set_new(line, "prev",
                                json_string(w->file.chain.prev)) == 0)
            return ls__record_line(&w->file, line);
        json_decref(line);
        return ls__no_memory("a line of a record", 0);
    }
    json_decref(line);
    return 0;
}

static int array(void *user, const ls__where *at, void *values, int64_t floats,
                 bool integers)
{
    writing *w = user;

    if (w->touch)
        w->touch(w->user, at, values, floats);
    return w->options->path ? ls__record_array(&w->file, at, values, floats,
                                               integers)
                            : 0;
}

static int number(void *user, const ls__where *at, float *x)
{
    writing *w = user;

    if (w->touch)
        w->touch(w->user, at, x, 1);
    return w->options->path ? ls__record_float(&w->file, at, *x) : 0;
}

static int real(void *user, const ls__where *at, double x)
{
    writing *w = user;

    return w->options->path ? ls__record_double(&w->file, at, x) : 0;
}

/* ------ the step ------ */

int ls__record_step(ls_trainer *t, const ls_batch *batch,
                    const ls_record_options *o, ls__touch_fn *touch,
                    void *user, ls_result *result)
{
    writing w = {.trainer = t, .options = o, .touch = touch, .user = user};
    const ls__onlooker show = {&w, begin, node, array, number, real};
    int shown, closed;
    int status = ls__show_step(t, batch, touch ? -1 : o->device, &show, result,
                               &shown);

    closed = ls__record_close(&w.file, status == 0 && shown == 0);
    if (status < 0)
        return status;
    status = shown < 0 ? shown : closed;
    if (status == 0)
        return 0;
    return ls__fail(status, "%.300s (there is no record, but step %lld was "
                    "made)", ls_errmsg(), (long long)result->step);
}

LS__DEFAULTS(ls_record_options, ls_record_defaults_bytes, .device = -1)

int ls_trainer_record_bytes(ls_trainer *t, const ls_batch *batch,
                            const ls_record_options *options,
                            ls_result *result, size_t size)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(batch);
    LS__NEED(options);
    LS__NEED(result);

    ls_record_options o = ls_record_defaults();
    ls_result r;
    int status = ls__sized_take("record", &o, sizeof o, options);

    if (status < 0 || (status = ls__show_check(t, o.device)) < 0)
        return status;
    if (!o.path)
        return ls__null("ls_trainer_record", "options->path");
    if ((status = ls__record_step(t, batch, &o, NULL, NULL, &r)) < 0)
        return status;
    ls__sized_put(result, size, &r, sizeof r);
    return 0;
}
