/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a transcript: its chain, its order, and the lines around a step. */
#include "transcript.h"
#include "verdict.h"

enum { MOST_LINE = 1 << 24 };

/* The next line, without its end; 0: there is none. */
static size_t read_line(transcript *t, char **line, size_t *room)
{
    size_t n = 0;
    int c;

    while ((c = getc(t->file)) != EOF && c != '\n') {
        if (n == *room) {
            char *more = room_of(*room = *room ? 2 * *room : 4096);

            if (n > MOST_LINE)
                refuse("%s: a line is too long", t->path);
            if (n)
                memcpy(more, *line, n);
            *line = more;
        }
        (*line)[n++] = (char)c;
    }
    if (c == EOF && n)
        refuse("%s: its last line has no end", t->path);
    return n;
}

static void set_option(transcript *t, const char *name, const char *value)
{
    int i = 0;

    while (i < t->options && strcmp(t->option[i][0], name))
        i++;
    if (i == t->options && value && t->options++ == 512)
        refuse("%s: has more than 512 options", t->path);
    if (i < t->options) {
        t->option[i][0] = name;
        t->option[i][1] = value;
    }
}

/* A run that went on with other options says which. */
static void follow(transcript *t, const json *line)
{
    const json *from = json_get(line, "from"), *to = json_get(line, "to");

    for (const json *j = from ? from->first : NULL; j; j = j->next)
        if (j->key)
            set_option(t, j->key, NULL);
    for (const json *j = to ? to->first : NULL; j; j = j->next)
        if (j->key && j->type == JSON_TEXT)
            set_option(t, j->key, j->text);
}

static void take_event(transcript *t, const json *line, int64_t before)
{
    const char *what = json_text(line, "what");
    bool is_change = what && !strcmp(what, "change");

    if (is_change && t->next <= before)
        follow(t, line);
    t->moved |= is_change || (what && !strcmp(what, "set"));
}

static void take_step(transcript *t, const json *line)
{
    static const char *const of_all[] = {"loss", "lr", "norm", "weight"};
    static const char *const of_some[] = {"rows", "gradient"};
    bool is_whole = json_whole(line, "updated", -1) >= 0 &&
                    json_whole(line, "updated", 2) <= 1;

    for (int i = 0; i < 4; i++)
        is_whole &= json_text(line, of_all[i]) != NULL;
    for (int i = 0; i < 2; i++)
        is_whole &= (json_text(line, of_some[i]) != NULL) ==
                    (json_whole(t->head, of_some[i], 0) == 1);
    if (!is_whole)
        refuse("%s: the line of step %lld is not whole", t->path,
               (long long)json_whole(line, "n", 0));
    t->step = line;
}

/* Short steps share a line: of one alone the root is that of its words. */
static void take_steps(transcript *t, const json *line)
{
    t->in_many = 1;
    if (json_whole(line, "first", -1) == json_whole(line, "last", -2))
        t->alone = json_text(line, "root");
}

/* Before the step the last state counts, after it the first.  Two states of one
 * place are two, unless something was set or changed between them, which is
 * said. */
static void take_state(transcript *t, const json *line, const char **state,
                       bool is_last)
{
    const char *root = json_text(line, "root");

    if (!root)
        refuse("%s: a state without its root", t->path);
    if (*state && !t->moved && strcmp(*state, root))
        t->torn = text_of("its transcript has two states after %lld batches, "
                          "and nothing between them", (long long)t->next);
    if (!*state || is_last)
        *state = root;
    t->moved = 0;
}

static bool is_kind(const json *line, const char *kind)
{
    const char *is = json_text(line, "kind");

    return is && !strcmp(is, kind);
}

/* Is a line in its place?  Steps follow each other, all else stands behind the
 * last of them, and nothing behind the end. */
static bool is_in_order(transcript *t, const json *line)
{
    int64_t n = json_whole(line, "n", -1);

    if (is_kind(line, "step") || is_kind(line, "steps")) {
        bool one = is_kind(line, "step");

        if (t->ended || (one ? n : json_whole(line, "first", -1)) != t->next)
            return false;
        t->next = (one ? n : json_whole(line, "last", -1)) + 1;
        return t->next > 0;
    }
    if (t->ended || is_kind(line, "head") || n != t->next)
        return false;
    t->ended = is_kind(line, "end");
    return true;
}

/* Take in a line up to the state after the step; false: it is not needed. */
static bool take_line(transcript *t, const json *line, int64_t before)
{
    int64_t was = t->next;

    if (!is_in_order(t, line))
        refuse("%s: a line that is not in its place behind step %lld", t->path,
               (long long)was - 1);
    if (is_kind(line, "state") && (was == before || was == before + 1))
        take_state(t, line, was == before ? &t->before : &t->after,
                   was == before);
    else if (is_kind(line, "step") && was == before)
        take_step(t, line);
    else if (is_kind(line, "steps") && was <= before && t->next > before)
        take_steps(t, line);
    else if (is_kind(line, "event"))
        take_event(t, line, before);
    else
        return false;
    return true;
}

static void take_head(transcript *t, const json *line)
{
    const json *options = json_get(line, "options");

    if (!json_text(line, "kind") || strcmp(json_text(line, "kind"), "head") ||
        json_whole(line, "version", 0) != 2)
        refuse("%s: is no transcript of version 2", t->path);
    t->head = line;
    for (const json *j = options ? options->first : NULL; j; j = j->next)
        if (j->type == JSON_TEXT)
            set_option(t, j->key, j->text);
}

void transcript_read(transcript *t, const char *path, int64_t before)
{
    char prev[65] = "", *line = NULL;
    size_t room = 0, n;
    int64_t lines = 0;

    memset(prev, '0', 64);
    t->path = path;
    t->file = fopen(path, "rb");
    if (!t->file)
        refuse("%s: cannot be opened", path);
    while ((n = read_line(t, &line, &room)) > 0) {
        const void *before_it = rooms();
        const json *j = json_read(line, n);
        uint8_t hash[HASH];
        sha s;

        if (!j || !json_text(j, "prev") || strcmp(json_text(j, "prev"), prev))
            refuse("%s, line %lld: is no line behind the one before", path,
                   (long long)lines + 1);
        if (!lines++)
            take_head(t, j);
        else if (!take_line(t, j, before))
            leave_rooms(before_it);
        sha_begin(&s);
        sha_add(&s, line, n);
        sha_add(&s, "\n", 1);
        sha_end(&s, hash);
        sha_hex(hash, prev);
    }
    if (!t->head)
        refuse("%s: is empty", path);
}

void transcript_close(transcript *t)
{
    if (t->file)
        fclose(t->file);
    memset(t, 0, sizeof *t);
}
