/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that nothing in a transcript can be another: of each kind of run every
 * field of every line is changed, in several ways, and the file chained anew,
 * as who forges it would.  Each is refused, with the field's name, but for what
 * docs/transcript.md says may differ.  What is no transcript any more is
 * refused without training; all else by lockstep-train --against. */
#define _GNU_SOURCE
#include "calls.h"
#include "folder.h"

#include <jansson.h>
#include <lockstep/transcript.h>
#include <sys/wait.h>

enum { COMMAND = 2048, SAID = 1 << 14, LINES = 200 };

/* Runs of each kind; @ is the folder.  Those that went on write their first
 * part before. */
static const struct kind {
    const char *first, *options, *replay; /* NULL: nothing; the options */
    const char *before; /* a replay's first part; NULL: it has one */
} kinds[] = {
    {NULL, "mlp --data @/t.csv --target c --valid 0.2 --hidden 4 --batch 24 "
     "--steps 16 --eval-every 4 --early-stop 1 --plateau 1 --lr 0.9 --ema 0.5 "
     "--task classification --devices 2", NULL, NULL},
    {NULL, "table --data @/t.csv --target c --hidden 4 --epochs 2 --tune 1 "
     "--cv 2 --devices 2 --early-stop 1",
     "table --data @/t.csv --target c --hidden 4 --epochs 2 --devices 2 "
     "--early-stop 1", NULL},
    {NULL, "gpt --data @/text --seq-len 8 --d-model 8 --heads 2 --layers 1 "
     "--d-ff 8 --batch 4 --steps 3 --devices 2 --transcript :rows "
     "--transcript :gradient,every=2 --accumulate 2 "
     "--clip-norm 1", NULL, NULL},
    {NULL, "cnn --x @/x.npy --y @/y.npy --channels 2 --devices 2 --batch 6 "
     "--epochs 1 --augment flip,crop:2", NULL, NULL},
    {"mlp --hidden 4 --rows 8 --batch 8 --steps 2 --devices 1 --save @/base.st",
     "mlp --hidden 4 --rows 8 --batch 8 --steps 3 --devices 1 "
     "--init @/base.st", NULL, NULL},
    {"gpt --data @/text --seq-len 8 --d-model 8 --heads 2 --layers 1 --d-ff 8 "
     "--batch 4 --steps 1 --devices 1 --save @/base.st",
     "gpt --data @/text --seq-len 8 --d-model 8 --heads 2 --layers 1 --d-ff 8 "
     "--batch 4 --steps 3 --devices 1 --init @/base.st --lora 2 "
     "--lora :save=merged", NULL, NULL},
    {"linear --steps 6 --devices 2 --checkpoint @/c --stop-at 3 "
     "--transcript @/run.lst:every=1 >@/none",
     "linear --steps 6 --devices 2 --checkpoint @/c --resume "
     "--transcript :every=1", "linear --steps 6 --devices 2 "
     "--transcript :every=1", NULL},
    {"linear --steps 6 --devices 2 --transcript :every=1 --checkpoint @/c "
     "--stop-at 3 --transcript @/run.lst",
     "linear --steps 6 --devices 2 --transcript :every=1 --checkpoint @/c "
     "--resume --change lr --lr 0.5",
     "linear --steps 6 --devices 2 --transcript :every=1 --checkpoint @/d "
     "--resume --change lr --lr 0.5",
     "linear --steps 6 --devices 2 --transcript :every=1 --checkpoint @/d "
     "--stop-at 3 --against @/forged.lst"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct forging {
    const struct kind *of;
    json_t *line[LINES];
    int lines, at; /* the one that is changed */
    const char *field;
    int asked, refused; /* by a training; before */
} forging;

/* ------ the run ------ */

/* Run lockstep-train, `more` behind the options, *said: what it wrote. */
static int train(const char *options, const char *more, char said[SAID])
{
    const char *tool = getenv("LOCKSTEP_TRAIN");
    char command[COMMAND];
    size_t n = (size_t)snprintf(command, COMMAND, "%s",
                                tool ? tool : "./lockstep-train");
    FILE *out;

    for (int part = 0; part < 2; part++)
        for (const char *c = part ? more : options; *c; c++)
            n += (size_t)snprintf(command + n, COMMAND - n, "%s%.*s",
                                  c == (part ? more : options) ? " " : "",
                                  *c == '@' ? (int)strlen(folder) : 1,
                                  *c == '@' ? folder : c);
    snprintf(command + n, COMMAND - n, " --log-every 0 --workers 1 2>&1");
    ck_assert_ptr_nonnull(out = popen(command, "r"));
    n = fread(said, 1, SAID - 1, out);
    said[n] = 0;
    return WEXITSTATUS(pclose(out));
}

static void write_table(void)
{
    FILE *f = fopen(in_folder("t.csv"), "w");

    ck_assert_ptr_nonnull(f);
    fputs("a,b,c\n", f);
    for (int i = 0; i < 90; i++)
        fprintf(f, "%d,%d,%d\n", i * i % 31, i * 7 % 23,
                i * i % 31 + i * 7 % 23 > 26);
    fclose(f);
    f = fopen(in_folder("text"), "w");
    ck_assert_ptr_nonnull(f);
    for (int i = 0; i < 60; i++)
        fprintf(f, "line %d of a text, %d\n", i, i * i % 97);
    fclose(f);
}

static void write_bytes(const char *name, const char *shape, int n, int below)
{
    char header[256];
    FILE *f = fopen(in_folder(name), "w");

    ck_assert_ptr_nonnull(f);
    snprintf(header, sizeof header, "{'descr': '|u1', 'fortran_order': False, "
             "'shape': %s, }%128s", shape, "");
    header[117] = '\n';
    fwrite("\x93NUMPY\1\0\x76\0", 1, 10, f);
    fwrite(header, 1, 118, f);
    for (int i = 0; i < n; i++)
        fputc((i * 37 + i * i / 11) % below, f);
    fclose(f);
}

static void open_run(forging *f, const struct kind *of)
{
    char said[SAID], text[1 << 14];
    FILE *file;

    *f = (forging){.of = of};
    folder_open();
    write_table();
    write_bytes("x.npy", "(12, 8, 8, 1)", 768, 256);
    write_bytes("y.npy", "(12,)", 12, 3);
    if (of->first)
        ck_assert_msg(train(of->first, "", said) == 0, "%s", said);
    ck_assert_msg(train(of->options, "--transcript @/run.lst --save @/m.st",
                        said) == 0, "%s", said);
    ck_assert_ptr_nonnull(file = fopen(in_folder("run.lst"), "r"));
    while (f->lines < LINES && fgets(text, sizeof text, file))
        ck_assert_ptr_nonnull(f->line[f->lines++] = json_loads(text, 0, NULL));
    fclose(file);
}

static void close_run(forging *f)
{
    for (int i = 0; i < f->lines; i++)
        json_decref(f->line[i]);
    folder_close();
}

/* ------ what is forged ------ */

/* Write the file with another line in the place of f->at, chained anew. */
static void write_forged(const forging *f, json_t *line)
{
    char prev[65];
    FILE *file = fopen(in_folder("forged.lst"), "w");

    memset(prev, '0', 64);
    prev[64] = 0;
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < f->lines; i++) {
        json_t *one = i == f->at ? line : f->line[i];
        char *text;

        if (json_object_get(one, "prev"))
            json_object_set_new(one, "prev", json_string(prev));
        text = json_dumps(one, JSON_COMPACT | JSON_SORT_KEYS);
        text = realloc(text, strlen(text) + 2);
        strcat(text, "\n");
        ls_digest(text, strlen(text), prev);
        fputs(text, file);
        free(text);
    }
    fclose(file);
}

static const char *text_of(const json_t *line, const char *name)
{
    const char *text = json_string_value(json_object_get(line, name));

    return text ? text : "";
}

/* Who trains again takes over what the file says of a search, if it says it. */
static bool is_of_search(const forging *f, const json_t *line)
{
    const char *field = f->field;

    return json_object_get(line, field) &&
           strcmp(text_of(f->line[f->at], "what"), "chosen") == 0 &&
           (!strcmp(field, "folds") || !strcmp(field, "seed") ||
            !strcmp(field, "table") || !strcmp(field, "tried"));
}

/* The other fields of docs/transcript.md's table. */
static bool may_differ(const forging *f)
{
    return f->at == 0 && (!strcmp(f->field, "lockstep") ||
                          !strcmp(f->field, "name"));
}

/* Train again and compare with forged.lst, in two parts where options
 * changed. */
static int replay(const struct kind *of, const char *save, char said[SAID])
{
    char more[COMMAND];
    int status = 0;

    if (of->before) {
        snprintf(more, COMMAND, "rm -rf %s", in_folder("d"));
        ck_assert_int_eq(system(more), 0);
        status = train(of->before, "", said);
    }
    snprintf(more, COMMAND, "--against @/forged.lst %s", save);
    return status ? status
                  : train(of->replay ? of->replay : of->options, more, said);
}

/* The training is the same; a model that names the first line is not of it. */
static void expect_other_model(forging *f)
{
    char said[SAID];
    int status = replay(f->of, "", said);

    ck_assert_msg(status == 0, "%s: status %d, %s", f->field, status, said);
    status = replay(f->of, "--save @/again.st", said);
    ck_assert_msg(status == 6 && strstr(said, "model differs") &&
                      strstr(said, "contents is"),
                  "%s: status %d, %s", f->field, status, said);
    f->asked += 2;
}

/* Does a message name the line, the next one, which counts on, or the field? */
static bool is_named(const forging *f, const char *said)
{
    char place[40], next[40];

    snprintf(place, sizeof place, "line %d: ", f->at + 1);
    snprintf(next, sizeof next, "line %d: ", f->at + 2);
    return strstr(said, place) || strstr(said, next) ||
           strstr(said, "head says") || strstr(said, f->field);
}

/* Does a comparison name the field, or of another event the line, or the option
 * that it is about? */
static bool is_told(const forging *f, const char *said)
{
    bool event = !strcmp(f->field, "what") || !strcmp(f->field, "to");
    char place[40];

    snprintf(place, sizeof place, "line %d (event", f->at + 1);
    return strstr(said, f->field) || strstr(said, "kind is") ||
           (event && (strstr(said, place) || strstr(said, "options ")));
}

/* A head without "keeps" is that of a program of before, and trained again as
 * such: what differs is its graph, or the model, which names the head. */
static bool is_told_of_old(const forging *f, const json_t *line,
                           const char *said)
{
    const json_t *options = json_object_get(line, "options");

    return f->at == 0 && !json_object_get(options, "keeps") &&
           (strstr(said, "(head): graph is") || strstr(said, "contents is"));
}

/* Is the forged file refused, with the name of what was changed? */
static void expect_refused(forging *f, json_t *line)
{
    ls_transcript_facts facts;
    char said[SAID];
    int status;

    write_forged(f, line);
    status = ls_transcript_check(in_folder("forged.lst"), &facts);
    if (status < 0) {
        ck_assert_msg(status == LS_EFORMAT && is_named(f, ls_errmsg()),
                      "%s of line %d: %s", f->field, f->at + 1, ls_errmsg());
        f->refused++;
        return;
    }
    if (may_differ(f)) {
        expect_other_model(f);
        return;
    }
    status = replay(f->of, "--save @/again.st", said);
    f->asked++;
    ck_assert_msg((status == 0) == is_of_search(f, line), "%s of line %d: "
                  "status %d, %s", f->field, f->at + 1, status, said);
    ck_assert_msg(status == 0 || is_told(f, said) ||
                      is_told_of_old(f, line, said),
                  "%s of line %d is not named: %s", f->field, f->at + 1, said);
}

/* Forge with a value at a place of the line's copy. */
static void expect_with(forging *f, json_t *copy, json_t *in, const char *name,
                        json_t *value)
{
    json_t *was = json_incref(json_object_get(in, name));

    if (value)
        json_object_set_new(in, name, value);
    else
        json_object_del(in, name);
    expect_refused(f, copy);
    json_object_set_new(in, name, was);
}

/* Another text: another last digit, that stays a digit. */
static json_t *other_text(const char *text)
{
    char *other = strdup(text);
    size_t n = strlen(text);
    json_t *value;

    if (n)
        other[n - 1] = other[n - 1] == '1' ? '2' : '1';
    value = json_string(n ? other : "1");
    free(other);
    return value;
}

static void forge_members(forging *f, json_t *copy, json_t *in, bool named);

/* One that is there twice, one that is missing, and what is in each. */
static void forge_list(forging *f, json_t *copy, json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *one = json_incref(json_array_get(list, i));

        json_array_remove(list, i);
        expect_refused(f, copy);
        json_array_insert(list, i, one);
        json_array_append(list, one);
        expect_refused(f, copy);
        json_array_remove(list, json_array_size(list) - 1);
        forge_members(f, copy, one, false);
        json_decref(one);
    }
}

static void forge_value(forging *f, json_t *copy, json_t *in, const char *name,
                        const json_t *value)
{
    if (json_is_object(value))
        forge_members(f, copy, json_object_get(in, name), false);
    else if (json_is_array(value))
        forge_list(f, copy, json_object_get(in, name));
    else if (json_is_integer(value))
        expect_with(f, copy, in, name,
                    json_integer(json_integer_value(value) + 1));
    else
        expect_with(f, copy, in, name, other_text(json_string_value(value)));
    expect_with(f, copy, in, name, json_is_string(value) ? json_integer(1)
                                                         : json_string("1"));
    expect_with(f, copy, in, name, NULL);
}

/* Each member of an object in the copy of a line: another value, another type,
 * none; and one that is not there. */
static void forge_members(forging *f, json_t *copy, json_t *in, bool named)
{
    json_t *all = json_deep_copy(in), *value;
    const char *field = f->field, *name;

    json_object_foreach (all, name, value) {
        if (named && strcmp(name, "prev") == 0)
            continue;
        if (named || strcmp(name, "name") == 0)
            f->field = name;
        forge_value(f, copy, in, name, value);
        f->field = field;
    }
    f->field = named ? "added" : field;
    expect_with(f, copy, in, "added", json_string("1"));
    json_object_del(in, "added");
    f->field = field;
    json_decref(all);
}

/* ------ the tests ------ */

LOOP_TEST(fields, 0, KINDS)
{
    forging f;
    char said[SAID];
    const struct kind *of = &kinds[_i];

    open_run(&f, of);
    f.at = -1; /* as it was */
    write_forged(&f, NULL);
    ck_assert_msg(replay(of, "--save @/again.st", said) == 0 &&
                      strstr(said, "model same "), "%s", said);
    for (f.at = 0; f.at < f.lines; f.at++) {
        json_t *copy = json_deep_copy(f.line[f.at]);

        f.field = "";
        forge_members(&f, copy, copy, true);
        json_decref(copy);
    }
    ck_assert_int_gt(f.refused, 50);
    ck_assert_int_gt(f.asked, 20);
    if (getenv("LS_LONG"))
        printf("%.20s: %d lines, %d forged: %d refused unread, %d by "
               "training\n", of->options, f.lines, f.refused + f.asked,
               f.refused, f.asked);
    close_run(&f);
}

/* The transcript of one run with the model of another in its end, and all that
 * is said of that file right. */
TEST(model)
{
    forging f;
    char said[SAID], options[COMMAND], digest[65], contents[65];
    const char *evil;
    int64_t bytes;

    open_run(&f, &kinds[0]);
    snprintf(options, COMMAND, "%s --seed 5", kinds[0].options);
    ck_assert_msg(train(options, "--save @/evil.st", said) == 0, "%s", said);
    evil = in_folder("evil.st");
    ck_assert_int_eq(ls_file_digest(evil, &bytes, digest), 0);
    ck_assert_int_eq(ls_model_contents(evil, contents), 0);
    f.at = f.lines - 1;
    json_object_set_new(f.line[f.at], "model", json_string(digest));
    json_object_set_new(f.line[f.at], "contents", json_string(contents));
    write_forged(&f, f.line[f.at]);
    ck_assert_int_eq(ls_transcript_model(in_folder("forged.lst"), evil), 0);
    ck_assert_int_eq(replay(f.of, "--save @/again.st", said), 6);
    ck_assert_msg(strstr(said, "contents is"), "%s", said);
    close_run(&f);
}

/* The transcript of a run on other data, whose head names these. */
TEST(data)
{
    forging f;
    char said[SAID], digest[65], text[1 << 12];
    int64_t bytes;
    size_t n;
    json_t *one;
    char *all;

    open_run(&f, &kinds[0]);
    one = json_array_get(json_object_get(f.line[0], "data"), 0);
    all = get_file(in_folder("t.csv"), &n);
    snprintf(text, sizeof text, "%.*s0,0,1\n", (int)n, all);
    put_file(in_folder("t.csv"), text, strlen(text));
    free(all);
    ck_assert_int_eq(ls_file_digest(in_folder("t.csv"), &bytes, digest), 0);
    json_object_set_new(one, "sha256", json_string(digest));
    json_object_set_new(one, "bytes", json_integer(bytes));
    f.at = -1;
    write_forged(&f, NULL);
    ck_assert_int_eq(replay(f.of, "", said), 5);
    ck_assert_msg(strstr(said, "line 1 (head): "), "%s", said);
    close_run(&f);
}

MAIN(.timeout = 3600)
