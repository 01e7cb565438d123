/* SPDX-License-Identifier: BSD-3-Clause */
/* The check of a transcript by itself: is it a whole chain? */
#include "base/json.h"
#include "base/sized.h"
#include "file/changes.h"
#include "file/seek.h"
#include <lockstep/transcript.h>

#include <string.h>

/* The lines so far, as the next one must follow them. */
typedef struct reading {
    int64_t next; /* batch */
    json_t *options; /* of the run, so far */
    bool rows, gradient; /* each step has them */
} reading;

/* A step has the roots that the head promises. */
static const char *wrong_step(const json_t *line, const reading *r)
{
    if (r->rows != !!json_object_get(line, "rows"))
        return "a step has a root of its rows where the head says so";
    if (r->gradient != !!json_object_get(line, "gradient"))
        return "a step has a root of its gradient where the head says so";
    return NULL;
}

/* A line that is out of its place: the head is the first one and none but the
 * end is the last; states, steps and events come in the order of batches. */
static const char *misplaced(const ls__chain *c, const json_t *line,
                             const ls_transcript_facts *f, reading *r)
{
    int64_t n = ls__json_count(line, "n");

    if (ls__line_is(line, "head") != (c->lines == 1))
        return "a line \"head\" stands first and nowhere else";
    if (f->is_whole)
        return "nothing follows a line \"end\"";
    if (ls__line_is(line, "step"))
        return n == r->next++ ? wrong_step(line, r)
                              : "a step is missing before it";
    if (ls__line_is(line, "steps")) {
        if (ls__json_count(line, "first") != r->next ||
            ls__json_count(line, "last") < r->next)
            return "a step is missing before it";
        r->next = ls__json_count(line, "last") + 1;
        return wrong_step(line, r);
    }
    if (ls__line_is(line, "head")) {
        r->rows = ls__json_count(line, "rows") == 1;
        r->gradient = ls__json_count(line, "gradient") == 1;
        return NULL;
    }
    if (n != r->next)
        return "its batches are not those of the steps before it";
    if (ls__line_is(line, "end") && ls__json_count(line, "lines") != c->lines)
        return "the end counts other lines";
    return NULL;
}

static void take(const json_t *line, ls_transcript_facts *f)
{
    if (ls__line_is(line, "head")) {
        f->every = ls__json_count(line, "every");
        snprintf(f->lockstep, sizeof f->lockstep, "%s",
                 ls__json_word(line, "lockstep"));
    }
    if (ls__line_is(line, "state"))
        memcpy(f->root, ls__json_word(line, "root"), sizeof f->root);
    if (ls__line_is(line, "end")) {
        f->is_whole = true;
        snprintf(f->model, sizeof f->model, "%.64s",
                 ls__json_word(line, "model"));
        snprintf(f->contents, sizeof f->contents, "%.64s",
                 ls__json_word(line, "contents"));
    }
}

/* Take a line, which is in its place and says of options what they were. */
static int read_line(const ls__chain *c, const json_t *line,
                     ls_transcript_facts *f, reading *r)
{
    const char *wrong = misplaced(c, line, f, r);
    char said[LS__MESSAGE / 2];
    int status = wrong ? LS_EFORMAT : ls__changes_follow(r->options, line);

    if (status == 0) {
        take(line, f);
        return 0;
    }
    snprintf(said, sizeof said, "%s", wrong ? wrong : ls_errmsg());
    return ls__fail(status, "%s: line %lld: %s", c->path, (long long)c->lines,
                    said);
}

static int read_all(ls__chain *c, ls_transcript_facts *f)
{
    reading r = {.options = json_object()};
    json_t *line;
    int status = r.options ? 0 : ls__no_memory("a transcript's options", 0);

    while (status == 0 && (status = ls__chain_read(c, &line)) == 0 && line) {
        status = read_line(c, line, f, &r);
        json_decref(line);
    }
    json_decref(r.options);
    f->lines = c->lines;
    f->batches = r.next;
    return status < 0 || c->lines
               ? status
               : ls__fail(LS_EFORMAT, "%s: is empty", c->path);
}

int ls_transcript_check_bytes(const char *path, ls_transcript_facts *facts,
                              size_t size)
{
    LS__NEED(path);
    LS__NEED(facts);

    ls_transcript_facts f = {0};
    int64_t bytes;
    ls__chain c;
    int status = ls__chain_open(&c, path);

    if (status == 0)
        status = read_all(&c, &f);
    ls__chain_close(&c);
    if (status == 0)
        status = ls_file_digest(path, &bytes, f.file);
    if (status == 0)
        ls__sized_put(facts, size, &f, sizeof f);
    return status;
}

static int compare_model(const char *path, const char *field,
                         const char *said, const char *is)
{
    return strcmp(said, is) == 0
               ? 0 : ls__fail(LS_EDIFFERS, "%s: its end: %s is %s in the "
                              "file, %s here", path, field, said, is);
}

int ls_transcript_model(const char *path, const char *model)
{
    LS__NEED(path);
    LS__NEED(model);

    char contents[LS__HEX], digest[LS__HEX];
    ls_transcript_facts f = {0};
    int64_t bytes;
    int status = ls_transcript_check(path, &f);

    if (status == 0 && !*f.model)
        status = ls__fail(LS_ENOTFOUND, "%s: names no model: the run was not "
                          "saved, or has no end yet", path);
    if (status == 0)
        status = ls_model_contents(model, contents);
    if (status == 0)
        status = compare_model(path, "contents", f.contents, contents);
    if (status == 0)
        status = ls_file_digest(model, &bytes, digest);
    return status < 0 || strcmp(f.lockstep, ls_version()) != 0
               ? status : compare_model(path, "model", f.model, digest);
}

int ls_transcript_root_at(const char *path, int64_t batches, char root[65])
{
    LS__NEED(path);
    LS__NEED(root);

    json_t *line = NULL;
    ls__chain c;
    int status = ls__chain_open(&c, path);

    *root = 0;
    if (status == 0)
        status = ls__seek(&c, batches, NULL, NULL);
    if (status == 0)
        status = ls__chain_read(&c, &line);
    if (status == 0)
        memcpy(root, ls__json_word(line, "root"), LS__HEX);
    json_decref(line);
    ls__chain_close(&c);
    return status;
}

int64_t ls_transcript_states(const char *path, int64_t room,
                             ls_state_root *roots)
{
    LS__NEED(path);

    json_t *line = NULL;
    int64_t n = 0;
    ls__chain c;
    int status;

    if (room < 0 || (room && !roots))
        return ls__fail(LS_EINVAL, "ls_transcript_states: room for %lld roots",
                        (long long)room);
    status = ls__chain_open(&c, path);
    while (status == 0 && (status = ls__chain_read(&c, &line)) == 0 && line) {
        if (ls__line_is(line, "state") && n++ < room) {
            roots[n - 1].batches = ls__json_count(line, "n");
            memcpy(roots[n - 1].root, ls__json_word(line, "root"), LS__HEX);
        }
        json_decref(line);
    }
    ls__chain_close(&c);
    return status < 0 ? status : n;
}
