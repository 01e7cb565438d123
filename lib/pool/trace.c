/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces: rings given to a pool's tracks, and their events as Chrome's JSON
 * (the "Trace Event Format", object form).
 *
 * Names and numbers are written by jansson, which knows about quotes and about
 * locales with a decimal comma; the frame around them is text. */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/sized.h"
#include "mesh/mesh.h"
#include "pool/pool.h"
#include <lockstep/machine.h>

#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 24 }; /* events of a ring */

struct ls_trace {
    ls_pool *pool;
    int workers;
    int64_t opened; /* ns: 0 of the file's clock */
    int level;
    uint64_t capacity;
    ls__event **event; /* [workers + 1], of the tracks */
};

/* ------ Opening ------ */

static const ls_trace_options defaults = {
    .size = sizeof defaults, .level = 1, .events = 65536};

void ls_trace_defaults_bytes(ls_trace_options *options, size_t size)
{
    LS__NEED_OR(options, );
    ls__sized_defaults(options, size, &defaults, sizeof defaults);
}

static uint64_t power_of_two(int64_t least)
{
    uint64_t n = 1;

    while (n < (uint64_t)least)
        n *= 2;
    return n;
}

static int check(const ls_trace_options *o)
{
    if (o->level < 1 || o->level > 2)
        return ls__fail(LS_EINVAL, "trace: level %d is neither 1 nor 2",
                        o->level);
    if (o->events < 1 || o->events > MOST)
        return ls__fail(LS_EINVAL, "trace: %lld events; there must be 1 to %d",
                        (long long)o->events, MOST);
    return 0;
}

static int make_rings(ls_trace *t)
{
    size_t n = (size_t)t->workers + 1;

    t->event = ls__new(n, sizeof *t->event, "trace");
    for (size_t i = 0; t->event && i < n; i++)
        if (!(t->event[i] =
                  ls__block((size_t)t->capacity * sizeof **t->event, "trace")))
            return LS_ENOMEM;
    return t->event ? 0 : LS_ENOMEM;
}

/* Each worker touches its own pages first: not in a step. */
static void touch(void *user, int worker)
{
    ls_trace *t = user;

    ls__track_phase(ls__track_here(), "trace", -1);
    memset(t->event[worker], 0, (size_t)t->capacity * sizeof **t->event);
}

/* The pool is taken. */
static int attach(ls_trace *t)
{
    if (ls__pool_track(t->pool, 0)->level)
        return ls__fail(LS_EBUSY, "trace: the pool has one already");
    memset(t->event[t->workers], 0, (size_t)t->capacity * sizeof **t->event);
    ls__pool_run(t->pool, touch, t);
    t->opened = ls__nanoseconds();
    for (int i = 0; i <= t->workers; i++) {
        ls__track *k = ls__pool_track(t->pool, i);

        k->ring = (ls__ring){.event = t->event[i], .capacity = t->capacity};
        k->began = t->opened;
        k->level = t->level;
    }
    return 0;
}

int ls_trace_open(ls_trace **trace, ls_pool *pool,
                  const ls_trace_options *options)
{
    LS__NEED(trace);
    LS__NEED(pool);

    ls_trace_options o = defaults;
    int status = ls__sized_take("trace", &o, sizeof o, options);
    ls_trace *t;

    if (status < 0 || (status = check(&o)) < 0)
        return status;
    if (!(t = ls__new(1, sizeof *t, "trace")))
        return LS_ENOMEM;
    t->pool = pool;
    t->workers = ls_pool_workers(pool);
    t->level = o.level;
    t->capacity = power_of_two(o.events);
    status = make_rings(t);
    if (status == 0 && (status = ls__pool_take(pool)) == 0) {
        status = attach(t);
        ls__pool_give(pool);
    }
    if (status < 0) {
        ls_trace_close(t);
        return status;
    }
    *trace = t;
    return 0;
}

void ls_trace_close(ls_trace *t)
{
    if (!t)
        return;
    for (int i = 0; t->event && i <= t->workers; i++) {
        ls__track *k = ls__pool_track(t->pool, i);

        if (t->event[i] && k->ring.event == t->event[i]) {
            k->level = 0;
            k->ring = (ls__ring){0};
        }
        ls__block_free(t->event[i]);
    }
    free(t->event);
    free(t);
}

/* ------ Recording ------ */

/* The calling worker's track, or the caller's outside of a job. */
static ls__track *mine(ls_pool *pool)
{
    ls__track *here = ls__track_here(), *first = ls__pool_track(pool, 0);

    return here >= first && here < first + ls_pool_workers(pool) ? here : first;
}

ls_mark ls_mark_begin(ls_pool *pool, const char *name)
{
    LS__NEED_OR(pool, (ls_mark){0});
    LS__NEED_OR(name, (ls_mark){0});
    return ls__track_begin(mine(pool), 1, name);
}

void ls_mark_end(ls_pool *pool, ls_mark mark)
{
    LS__NEED_OR(pool, );
    ls__track_end(mine(pool), 1, &mark, LS__OWN, -1);
}

void ls_trace_counter(ls_pool *pool, const char *name, double value)
{
    LS__NEED_OR(pool, );
    LS__NEED_OR(name, );
    ls__track_counter(ls__pool_track(pool, ls_pool_workers(pool)), name, value);
}

int ls_pool_doing_bytes(const ls_pool *pool, int worker, ls_doing *doing,
                        size_t size)
{
    LS__NEED(pool);
    LS__NEED(doing);

    const ls__track *k;
    ls_doing d;

    if (worker < 0 || worker >= ls_pool_workers(pool))
        return ls__fail(LS_EINVAL, "worker %d; the pool has %d, counted from "
                        "0", worker, ls_pool_workers(pool));
    k = ls__pool_track(pool, worker);
    d.phase = atomic_load_explicit(&k->phase, memory_order_relaxed);
    d.what = atomic_load_explicit(&k->what, memory_order_relaxed);
    d.device = atomic_load_explicit(&k->device, memory_order_relaxed);
    d.waits = atomic_load_explicit(&k->waits, memory_order_relaxed);
    ls__sized_put(doing, size, &d, sizeof d);
    return 0;
}

/* ------ Writing ------ */

/* What a kind is to the format, and what its number is; "": it has none. */
static const struct {
    const char *category, *number;
} kinds[] = {
    [LS__PHASE] = {"phase", ""},         [LS__WAIT] = {"barrier", ""},
    [LS__FORWARD] = {"forward", "node"}, [LS__BACKWARD] = {"backward", "node"},
    [LS__STEP] = {"step", "step"},       [LS__OWN] = {"user", ""},
    [LS__COUNTER] = {"counter", ""},
};

/* False only for want of memory.  Takes the value over. */
static bool put(FILE *file, json_t *value)
{
    int failed = value ? json_dumpf(value, file,
                                    JSON_ENCODE_ANY | JSON_REAL_PRECISION(9))
                       : -1;

    json_decref(value);
    return failed == 0;
}

/* Text that is not UTF-8 is not JSON. */
static bool put_name(FILE *file, const char *name)
{
    json_t *text = json_string(name);

    return put(file, text ? text : json_string("?"));
}

static void put_time(FILE *file, const char *key, int64_t ns)
{
    fprintf(file, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

/* ,"args":{"device":3,"node":5} or less. */
static bool put_args(FILE *file, const ls__event *e)
{
    const char *number = kinds[e->kind].number, *comma = "";
    bool good = true;

    fputs(",\"args\":{", file);
    if (e->device >= 0) {
        fprintf(file, "\"device\":%d", (int)e->device);
        comma = ",";
    }
    if (*number)
        fprintf(file, "%s\"%s\":%d", comma, number, (int)e->number);
    if (e->kind == LS__WAIT) {
        fputs("\"after\":", file);
        good = put_name(file, e->name);
    }
    fputc('}', file);
    return good;
}

static bool put_slice(FILE *file, const ls_trace *t, int row,
                      const ls__event *e)
{
    bool good;

    fputs(",\n{\"ph\":\"X\",\"name\":", file);
    good = put_name(file, e->kind == LS__WAIT ? "barrier" : e->name);
    fprintf(file, ",\"cat\":\"%s\",\"pid\":1,\"tid\":%d",
            kinds[e->kind].category, row);
    put_time(file, "ts", e->began - t->opened);
    put_time(file, "dur", e->ended - e->began);
    good = put_args(file, e) && good;
    fputc('}', file);
    return good;
}

static bool put_counter(FILE *file, const ls_trace *t, const ls__event *e)
{
    bool good;

    if (e->value - e->value != 0)
        return true;
    fputs(",\n{\"ph\":\"C\",\"name\":", file);
    good = put_name(file, e->name);
    fprintf(file, ",\"pid\":1");
    put_time(file, "ts", e->began - t->opened);
    fputs(",\"args\":{\"value\":", file);
    good = put(file, json_real(e->value)) && good;
    fputs("}}", file);
    return good;
}

static uint64_t dropped(const ls_trace *t, int row)
{
    uint64_t count = ls__pool_track(t->pool, row)->ring.count;

    return count > t->capacity ? count - t->capacity : 0;
}

int64_t ls_trace_dropped(const ls_trace *t)
{
    LS__NEED_AS(t, "trace", 0);

    int64_t sum = 0;

    for (int i = 0; i <= t->workers; i++)
        sum += (int64_t)dropped(t, i);
    return sum;
}

static bool put_events(FILE *file, const ls_trace *t, int row)
{
    const ls__ring *r = &ls__pool_track(t->pool, row)->ring;
    bool good = true;

    for (uint64_t i = dropped(t, row); i < r->count && good; i++) {
        const ls__event *e = &r->event[i & (r->capacity - 1)];

        good = e->kind == LS__COUNTER ? put_counter(file, t, e)
                                      : put_slice(file, t, row, e);
    }
    return good;
}

static void put_rows(FILE *file, const ls_trace *t)
{
    fputs("{\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"process_name\","
          "\"pid\":1,\"args\":{\"name\":\"lockstep\"}}",
          file);
    for (int w = 0; w < t->workers; w++)
        fprintf(file,
                ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%d"
                ",\"args\":{\"name\":\"worker %d (PU %d)\"}}"
                ",\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":1,"
                "\"tid\":%d,\"args\":{\"sort_index\":%d}}",
                w, w, ls_mesh_worker_pu(ls__pool_mesh(t->pool), w), w, w);
}

static void put_end(FILE *file, const ls_trace *t)
{
    fprintf(file,
            "\n],\"displayTimeUnit\":\"ms\",\"otherData\":{"
            "\"version\":\"%s\",\"devices\":%d,\"workers\":%d,\"level\":%d,"
            "\"dropped\":%lld}}\n",
            ls_version(), ls_pool_devices(t->pool), t->workers, t->level,
            (long long)ls_trace_dropped(t));
}

static int fill(ls__newfile *to, const ls_trace *t)
{
    FILE *file = ls__file_stream(fcntl(to->fd, F_DUPFD_CLOEXEC, 0), "w");
    bool good = true;
    int status = 0;

    if (!file)
        return ls__io_error(to->path, "writing cannot begin");
    put_rows(file, t);
    for (int i = 0; i <= t->workers && good; i++)
        good = put_events(file, t, i);
    put_end(file, t);
    if (ferror(file) || fflush(file) != 0)
        status = ls__io_error(to->path, "writing failed");
    if (fclose(file) != 0 && status == 0)
        status = ls__io_error(to->path, "closing failed");
    return status < 0 || good ? status : ls__no_memory("trace", 64);
}

int ls_trace_write(const ls_trace *t, const char *path)
{
    LS__NEED_AS(t, "trace", LS_EINVAL);
    LS__NEED(path);

    ls__aside to;
    int status = ls__aside_open(&to, path);

    if (status == 0)
        status = fill(&to.out, t);
    if (status == 0)
        status = ls__aside_finish(&to);
    ls__aside_close(&to);
    return status;
}
