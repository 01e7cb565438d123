/* Command lines of the form  PROGRAM MODEL --name VALUE --name=VALUE ...
 * or, where the table of models is one without a name, without MODEL; and a
 * program that asks for paths takes them among the options.
 *
 * One table says everything about an option: its name, what its value looks
 * like, where the value is stored, which models take it, its default, and its
 * line of --help.  The table is the only list there is: parsing, --help and the
 * header of --metrics all read it.  A model may list defaults of its own. */
#ifndef TOOLS_OPT_H
#define TOOLS_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPT_MAX = 128, OPT_VALUE = 64, OPT_PATHS = 2 };

typedef enum opt_type {
    OPT_FLAG,    /* bool: no value */
    OPT_DEVICES, /* int64_t: 1 to 65536, or "auto", stored as 0 */
    OPT_WORKERS, /* int64_t: 1 to 65536 */
    OPT_COUNT,   /* int64_t: 1 to 2^31 - 1 */
    OPT_NUMBER,  /* int64_t: 0 to 10^15 */
    OPT_SEED,    /* int64_t: any */
    OPT_SEED32,  /* int64_t: 0 to 2^32 - 1 */
    OPT_REAL,    /* double: finite, not negative */
    OPT_DECAY,   /* double: 0 <= x < 1 */
    OPT_CHOICE,  /* int64_t: which of the words of arg, "a|b|c", from 0 */
    OPT_WORD,    /* const char *: one of the words of arg */
    OPT_TEXT,    /* const char *: not empty, borrowed from argv */
} opt_type;

typedef struct opt {
    const char *name; /* without the dashes */
    const char *arg;  /* as --help shows the value */
    opt_type type;
    size_t at;         /* offset in the program's settings */
    unsigned models;   /* that take it: bits, by their positions in the table */
    const char *start; /* the default, "": none */
    const char *help;  /* one line */
} opt;

#define OPT_ALL (~0u) /* models */

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
} opt_model;

typedef struct opt_program {
    const char *about; /* one line */
    const opt_model *models;
    int model_count;
    const opt *options;
    int option_count;
    int paths;        /* the most it takes beside options, to OPT_PATHS */
    const char *args; /* as --help shows them: "FILE [FILE2]"; NULL: none */
    /* A program that shares another one's table: what it leaves out of it, the
     * names between blanks, " save metrics ", and what it adds to it. */
    const char *without;
    const opt *more;
    int more_count;
} opt_program;

/* What was on the command line, beside the values in the settings. */
typedef struct opt_line {
    int model;
    /* By the option's position in the table, then in more. */
    bool given[OPT_MAX];
    int paths;
    const char *path[OPT_PATHS]; /* borrowed from argv */
} opt_line;

/* What the functions of a tool return: go on, or end with exit status 1 or 2,
 * or, after --help or --version, with 0. */
enum { OPT_GO = 0, OPT_FAILED = 1, OPT_WRONG = 2, OPT_DONE = 3 };

/* Fill settings (all zero bytes at first) and line.  OPT_GO; OPT_DONE after
 * --help or --version; OPT_WRONG after a message on stderr. */
int opt_parse(const opt_program *program, int argc, char **argv, void *settings,
              opt_line *line);

/* Was this option on the command line?  false where the program has none of
 * that name. */
bool opt_given(const opt_program *program, const opt_line *line,
               const char *name);

/* Does a model, by its position, take this option? */
bool opt_takes(const opt *option, int model);

/* Store a value (true for a flag); OPT_WRONG after a message. */
int opt_store(const opt *option, const char *text, void *settings);

/* The value of an option as text, in room or the settings' own; NULL when it
 * has none.  *quoted: JSON needs quotes around it. */
const char *opt_value(const opt *option, const void *settings,
                      char room[OPT_VALUE], bool *quoted);

/* The whole numbers from 1 to high in a text as "8,16,32", `between` standing
 * between them: how many; 0 when it is no such list, or one of more than
 * most. */
int opt_numbers(const char *text, char between, int64_t high, int most,
                int64_t *out);

/* x as it is shown: a NaN without its sign, which says nothing. */
double opt_shown(double x);

/* "PROGRAM: message" on stderr; returns status.  The program's main file
 * defines the name. */
extern const char opt_program_name[];
int opt_fail(int status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* OPT_GO, or the message of a library call that failed. */
int opt_check(int status);

/* Flush stdout and report what did not get through: status, or OPT_FAILED. */
int opt_end(int status);

#endif
