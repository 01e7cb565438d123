/* SPDX-License-Identifier: BSD-3-Clause */
/* The events of a trace as Chrome's JSON (the "Trace Event Format", object
 * form).
 *
 * Names and numbers are written by jansson, which knows about quotes and about
 * locales with a decimal comma; the frame around them is text. */
#include "base/error.h"
#include "file/file.h"
#include "pool/call.h"
#include "pool/trace.h"
#include <lockstep/machine.h>

#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

/* A kind's category in the format, and the name of its number; "": none. */
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

static bool put_events(FILE *file, const ls_trace *t, int row)
{
    const ls__ring *r = ls__trace_ring(t, row);
    bool good = true;

    for (uint64_t i = ls__trace_first(t, row); i < r->count && good; i++) {
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
