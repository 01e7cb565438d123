/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines of the form  PROGRAM MODEL --name VALUE --name=VALUE ...
 * or, where the table of models is one without a name, without MODEL; and a
 * program that asks for paths takes them among the options.
 *
 * A value may have parts, "--schedule cosine:warmup=100,end=1e-5": a row each,
 * "schedule:warmup".  ":warmup=100" alone leaves the word as it is; the option
 * may be there again.  Of an option with parts a ':' in the word stands twice,
 * and a ',' in a part's value.
 *
 * A row says everything about an option: its name, what its value looks like
 * and where it is stored, which models and programs take it, its default, its
 * line of --help, which other options it goes with, and whether it must be the
 * same when a run goes on.  The rows are the only list there is: parsing,
 * --help, the header of --metrics and checkpoints all read it.  A model may
 * list defaults of its own. */
#ifndef TOOLS_OPT_H
#define TOOLS_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { OPT_MAX = 192, OPT_VALUE = 64, OPT_ROOM = 4096, OPT_TEXTS = 20480 };

typedef enum opt_type {
    OPT_FLAG,    /* bool: no value */
    OPT_DEVICES, /* int64_t: 1 to 65536, or "auto", stored as 0 */
    OPT_WORKERS, /* int64_t: 1 to 65536 */
    OPT_COUNT,   /* int64_t: 1 to 2^31 - 1 */
    OPT_NUMBER,  /* int64_t: 0 to 10^15 */
    OPT_SEED,    /* int64_t: any */
    OPT_SEED32,  /* int64_t: 0 to 2^32 - 1 */
    OPT_REAL,    /* double: finite, not negative, or in the row's own range */
    OPT_DECAY,   /* double: 0 <= x < 1 */
    OPT_CHOICE,  /* int64_t: the value of one of the row's words */
    OPT_WORD,    /* const char *: one of the row's words */
    OPT_TEXT,    /* const char *: not empty, borrowed from argv */
} opt_type;

typedef struct opt_word {
    const char *word; /* NULL ends a list */
    int64_t value;    /* of an OPT_CHOICE */
} opt_word;

/* A word that an option took once, or a part of a file's, and what to type
 * instead. */
typedef struct opt_gone {
    const char *word, *instead; /* NULL ends a list */
} opt_gone;

typedef struct opt opt;

/* The use of a file that a command is told of: run/apart.h holds that none is
 * lost. */
typedef enum opt_use {
    OPT_NO_FILE,
    OPT_READ,     /* of a folder its images and labels, or all that is in it */
    OPT_WRITTEN,  /* a device, too */
    OPT_PICTURE,  /* so, as SVG */
    OPT_ASIDE,    /* written beside and renamed: only a regular file */
    OPT_REPLACED, /* so, in the place of what the run begins with, too */
    OPT_SOURCE,   /* so, F.c, and F.h beside */
    OPT_FOLDER,   /* folders in it are written, and removed again */
    OPT_MADE      /* a folder that is made for files of the command's own */
} opt_use;

struct opt {
    const char *name;  /* without the dashes; of a part "option:part" */
    const char *arg;   /* as --help shows the value; NULL: the words, or none */
    opt_type type;
    size_t at; /* offset in the settings that opt_add binds it to */
    const char *const *models; /* names of those that take it, ended by NULL;
                                  NULL: all do */
    const char *start; /* the default, "": none */
    const char *help;  /* a sentence without its end */

    /* The words of an OPT_CHOICE or OPT_WORD: a list, or a function that names
     * the values 0, 1, .. and gives NULL past the last. */
    const opt_word *words;
    const char *(*word)(int64_t value);
    const opt_gone *gone;

    double least, below; /* an OPT_REAL's own range, if below is not 0, and */
    const char *range;   /* the same in words: "a number from 0 to below 1" */

    const char *only;     /* the program that takes it; NULL: all that have the
                             row in their tables */
    const char *group;    /* of --help; NULL: that of its rows */
    int first;            /* 1: --help begins with it, 2: that of a
                             model */
    const char *was;      /* its name in transcripts and checkpoints before it
                             became a part; or NULL */
    bool may_differ;      /* from the run that a run goes on from */
    bool is_replayed;     /* though it may: who trains again must have it */
    bool is_file;         /* an OPT_TEXT that names what a run reads, which its
                             transcript has */
    opt_use use;          /* of the file that an OPT_TEXT names */
    bool of_rank;         /* ranks may be told otherwise: it moves no message */
    bool may_change;      /* the same, where --change names it */
    const char *kept_as;  /* the trainer's name of it in checkpoints, a pattern;
                             NULL: its own, with underscores */
    const char *alone;    /* the value where none follows; NULL: one must */
    const char *needs;    /* it is of use only where one of these options is
                             given: "generate|score", */
    bool needs_value;     /* or has a value that is not 0, given or not */
    const char *not_with; /* it excludes this option */
    unsigned marks;       /* bits of what the program asks opt_refuse */

    /* It is of use only with those words of the OPT_CHOICE `of` that fit. */
    const char *of;
    bool (*fits)(int64_t value, const char *name);
    bool required; /* and these need it */

    void *settings; /* by opt_add: what `at` is an offset in */
};

/* The rows of one room, in the order in which they are shown. */
typedef struct opt_rows {
    int count;
    const opt *row;
    const char *group; /* of --help; NULL: it always shows them */
} opt_rows;

#define OPT_GROUP(group, rows) {(int)(sizeof(rows) / sizeof *(rows)), rows, \
                                group}
#define OPT_ROWS(rows) OPT_GROUP(NULL, rows)

/* The members of a row that every option has, in this order; others may follow,
 * by their names. */
#define OPT_ROW(name_, arg_, type_, at_, models_, start_, help_) \
    .name = name_, .arg = arg_, .type = type_, .at = at_, .models = models_, \
    .start = start_, .help = help_

/* A default of a model's own. */
typedef struct opt_start {
    const char *name, *start;
} opt_start;

typedef struct opt_model {
    const char *name;
    const char *about; /* one line */
    const char *note;  /* shown by the model's own --help */
    const void *impl;  /* the program's own, not looked at */
    const opt_start *own; /* its own defaults, ended by one without a name;
                             NULL: none */
    const char *const *files; /* ends of names, ended by NULL: without a MODEL,
                                 --data or --model of such a name means it;
                                 NULL: none */
} opt_model;

typedef struct opt_program {
    const char *about; /* one line */
    const opt_model *const *models;
    int model_count;
    int paths;        /* the most it takes besides options */
    const char *args; /* as --help shows them: "FILE [FILE2]"; NULL: none */
    int count;
    opt option[OPT_MAX]; /* by opt_add */
    int others;
    const opt *other[OPT_MAX]; /* that it left out: another program's */
    size_t used;
    char room[OPT_ROOM]; /* by opt_keep */
} opt_program;

/* Append the rows that this program takes, their values stored in these
 * settings (all zero bytes at first); those of others are borrowed. */
void opt_add(opt_program *program, opt_rows rows, void *settings);

/* A copy of a text that lives as long as the program, which must not be
 * moved. */
const char *opt_keep(opt_program *program, const char *text);

/* The rest of the command line, besides the values in the settings. */
typedef struct opt_line {
    const opt_program *program;
    int model;
    bool given[OPT_MAX]; /* by the option's position in the table, */
    bool typed[OPT_MAX]; /* and not in the file of --config */
    bool repeats; /* it is another run's, which may have had options without
                     effect */
    int paths;
    char **path; /* the first words of argv, which these replace */
    size_t used;
    char room[OPT_TEXTS]; /* of words, of values of parts, of --config's */
} opt_line;

/* Results of a tool's functions: go on, or end with exit status 1 or 2, or,
 * after --help or --version, with 0. */
enum { OPT_GO = 0, OPT_FAILED = 1, OPT_WRONG = 2, OPT_DONE = 3 };

/* Fill the settings of all rows, and line.  OPT_GO; OPT_DONE after
 * --help or --version; OPT_WRONG after a message on stderr.  From here on
 * files can be opened and written without harm to the program (ulimit -f) or to
 * them (standard streams that are closed). */
int opt_parse(const opt_program *program, int argc, char **argv,
              opt_line *line);

/* Has the chosen word of `of` an option, if it is for some of them alone? */
bool opt_is_of_chosen(const opt_line *line, const opt *option);

/* Has the line one of the options that an option needs, if it needs any? */
bool opt_has_needed(const opt_line *line, const opt *option);

/* OPT_WRONG, and a message, for options that do not go together. */
int opt_check_together(const opt_line *line);

/* OPT_WRONG, and "--NAME" with the reason, for the first option of the command
 * line that has one of these marks, unless its value is 0. */
int opt_refuse(const opt_line *line, unsigned marks, const char *why);

/* The same of options without effect, for a run that repeats another: of those
 * that need a value, where it is 0, and of those with marks. */
int opt_refuse_idle(const opt_line *line, unsigned marks, const char *why);
int opt_check_values(const opt_line *line);

/* OPT_WRONG for the first that has none of these marks: it has no part in
 * `what`. */
int opt_refuse_others(const opt_line *line, unsigned marks, const char *what);

/* Was this option on the command line?  false where the program has none of
 * that name. */
bool opt_given(const opt_line *line, const char *name);

/* The option of a name, by its position; -1: there is none. */
int opt_find(const opt_program *program, const char *name);

/* ------ Words with parts ------ */

/* Is a row that of a part of a word?  And of this option's? */
static inline bool opt_is_part(const opt *option)
{
    return strchr(option->name, ':') != NULL;
}

static inline bool opt_is_part_of(const opt *part, const opt *word)
{
    size_t n = strlen(word->name);

    return strncmp(part->name, word->name, n) == 0 && part->name[n] == ':';
}

/* The part's own name, or the option's. */
static inline const char *opt_own_name(const opt *option)
{
    const char *colon = strchr(option->name, ':');

    return colon ? colon + 1 : option->name;
}

/* The option's name without that of the part, for "%.*s". */
static inline int opt_word_bytes(const opt *option)
{
    return (int)strcspn(option->name, ":");
}

bool opt_has_parts(const opt_program *program, const opt *word);

/* The row of what a transcript of old called so; -1: there is none. */
int opt_find_old(const opt_program *program, const char *name);

/* Store what a command line says of option i, its parts too, and mark them as
 * given.  OPT_WRONG after a message. */
int opt_take_word(opt_line *line, int i, const char *text);

/* The one spelling of an option and of those of its parts that are wanted and
 * have a value, to be freed: "cosine:warmup=100", ":warmup=100" where the word
 * is not wanted, "" for nothing.  NULL: no memory. */
typedef bool opt_wanted(const opt_line *line, int i);
char *opt_spelt(const opt_line *line, int i, opt_wanted *wanted);

/* Write options as members of JSON: those that are wanted and have a value,
 * `before` the first, `between` them. */
int opt_put_options(FILE *file, const opt_line *line, opt_wanted *wanted,
                    const char *before, const char *between);

/* Print the command line as a file for --config: what was given, and the
 * defaults that are of use beside it.  OPT_DONE. */
int opt_print_config(const opt_line *line);

/* Take such a file as if it were on the command line; the model that it
 * names. */
int opt_read_config(opt_line *line, const char *path);
int opt_config_model(const char *path, char model[OPT_VALUE]);

/* A copy of a text that lives as long as the line; NULL after a message. */
const char *opt_keep_text(opt_line *line, const char *text);

/* A text in which a character stands twice; to be freed, NULL: no memory. */
char *opt_doubled(const char *text, char twice);

/* A part of a text in that spelling: the bytes of its name, and its value or
 * NULL; *text goes on to the next.  Before the first it is at the end of the
 * word, which opt_word_end gives. */
const char *opt_word_end(const char *text);
bool opt_next_part(const char **text, const char **name, size_t *bytes);

/* Must whoever trains again have it as it was? */
static inline bool opt_is_recorded(const opt *option)
{
    return !option->may_differ || option->is_replayed;
}

/* Does a model take this option? */
bool opt_takes(const opt *option, const opt_model *model);

/* The default of an option with a model, "": none. */
const char *opt_default(const opt *option, const opt_model *model);

/* Word i of an option; false past the last. */
bool opt_word_at(const opt *option, int i, opt_word *word);

/* Store a value (true for a flag); OPT_WRONG after a message. */
int opt_store(const opt *option, const char *text);

/* Is a value neither 0, false, none nor the first of its words?  Make it so. */
bool opt_is_on(const opt *option);
void opt_switch_off(const opt *option);

/* The value of an option as text, in room or the settings' own; NULL when it
 * has none.  *quoted: JSON needs quotes around it. */
const char *opt_value(const opt *option, char room[OPT_VALUE], bool *quoted);

/* The value that --help shows, "N" or "drop|pad", in room or the row's own;
 * NULL for a flag. */
enum { OPT_ARG = 256 };
const char *opt_arg(const opt *option, char room[OPT_ARG]);

/* x as it is shown: a NaN without its sign, which says nothing. */
double opt_shown(double x);

/* Seconds of the steady clock. */
double opt_seconds(void);

/* ------ Lists: "8,16,32" ------ */

/* Append to a list in a room of `size` bytes, with what stands between two
 * where it has one already; what does not fit is cut off. */
void opt_append(char *list, size_t size, const char *between,
                const char *format, ...)
    __attribute__((format(printf, 4, 5)));

typedef struct opt_list {
    const char *option;  /* "hidden" */
    char between;        /* the character between its numbers */
    int64_t high;        /* numbers are 1 to high */
    int least, most;     /* so many */
    const char *no_list; /* "is not a list of widths as 512,512" */
} opt_list;

/* Read a list; *n: how many numbers it has.  OPT_WRONG after a message that
 * tells a text that is no list from too large a number and from too many. */
int opt_numbers(const opt_list *list, const char *text, int64_t *out, int *n);

/* ------ --help, --version and hints, for opt_parse ------ */

/* model -1: all of them.  topic: a group, "all", or NULL for what most people
 * need, where the program has groups. */
int opt_help(const opt_program *program, int model, const char *topic);

/* Is a path longer than this end, ".npy", and has it? */
bool opt_ends_as(const char *text, const char *end);

/* Is a word of a command line what --help may be asked for? */
bool opt_is_topic(const opt_program *program, const char *word);
int opt_version(void);

/* A program without a MODEL word: its only model has no name. */
bool opt_is_bare(const opt_program *program);

/* "linear, mlp": the models that take an option; "" when all do. */
void opt_takers(const opt_program *program, const opt *option, size_t size,
                char *out);

/* OPT_WRONG after a message with the nearest known names, or with the spelling
 * of what is a part now; value: what follows it, or NULL. */
int opt_unknown_option(const opt_line *line, const char *name,
                       const char *value);
int opt_unknown_part(const opt_line *line, const opt *word, const char *name);
int opt_unknown_model(const opt_program *program, const char *name);

/* OPT_WRONG after a message, for an option of other models. */
int opt_foreign(const opt_line *line, const opt *option);

/* ------ Messages ------ */

/* "PROGRAM: message" on stderr; returns status.  The program's main file
 * defines the name. */
extern const char opt_program_name[];
const char *opt_said(void); /* the last message of this thread, or "" */
int opt_fail(int status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* OPT_FAILED after "no memory for WHAT", or "PATH: reason" of errno. */
int opt_no_memory(const char *what);
int opt_no_file(const char *path);

/* "note: message" on stderr, where opt_first_notes has not left it to the first
 * of several ranks. */
void opt_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void opt_first_notes(void);

/* Hold messages back from now on.  opt_show ends that: it prints the last one,
 * behind `who`, or drops it where `show` is false. */
void opt_hold(void);
void opt_show(bool show, const char *who);

/* Messages call a file by another name from now on; both are borrowed. */
void opt_call(const char *path, const char *name);

/* The width of the terminal on stderr; 80 where it does not say. */
int opt_columns(void);

/* OPT_GO, or the message of a library call that failed; it is wrong usage where
 * it says that what the command line asked for makes no sense. */
int opt_check(int status);
int opt_check_usage(int status);

/* Flush stdout and report, once, what did not get through: status, or
 * OPT_FAILED. */
int opt_end(int status);

/* "s", and "es", where n things are several. */
const char *opt_s(int64_t n);
const char *opt_es(int64_t n);

#endif
