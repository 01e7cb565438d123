/* What lockstep-scale found, and the four forms it is shown in.  Everything
 * that is shown is computed before (report_make.c); a form only lays it out. */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include <lockstep.h>

enum { REPORT_OPS = 32, REPORT_GUESSES = 2 };

/* All operators of a kind together, FLOP a row. */
typedef struct report_op {
    const char *name;
    double forward, backward;
} report_op;

/* What follows from a point alone. */
typedef struct report_rate {
    double steps, rows, tokens; /* a second; tokens NaN: there are none */
    double spread; /* between the runs, per cent of their median */
} report_rate;

typedef struct report {
    const ls_scaling *scaling;
    ls_scaling_info info;
    int points;
    ls_scaling_point *point; /* in the order of the workers */
    report_rate *rate;       /* of each point */
    const char *model, *command, *cpu, *mesh, *isa;
    const char *products; /* as run.h has it: "" where they are f32's own, which
                             the roof of the cores is the roof of */
    struct {
        const char *name; /* "ms" */
        double scale;     /* of seconds */
    } unit;               /* of times that are shown */
    double others; /* processors that other programs used */
    int cores;     /* usable */
    bool weak;
    int64_t tokens; /* of a row; 0: rows are no sequences */
    int ops;
    report_op op[REPORT_OPS];
    double serial; /* share; NaN: too few counts */
    int most;      /* workers of a point or a guess */
    int from;      /* the last point with a core for each worker */
    int guesses;   /* the model, for more workers than there */
    int guess_workers[REPORT_GUESSES];
    ls_scaling_guess guess[REPORT_GUESSES];
} report;

/* Take the operators from one of the trainers that are measured. */
void report_count(report *r, const ls_trainer *t);

/* Compute what follows from the measurement, which must live as long; texts,
 * cores, weak and tokens are set already.  OPT_FAILED after a message. */
int report_make(report *r, const ls_scaling *scaling);

void report_free(report *r);

/* On stdout. */
void report_text(const report *r);

/* To a file; OPT_GO, or OPT_FAILED after a message. */
int report_json(const report *r, const char *path);
int report_csv(const report *r, const char *path);
int report_plot(const report *r, const char *path);

#endif
