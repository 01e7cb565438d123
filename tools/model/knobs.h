/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of the library's optimizers and schedules as options of the
 * tools: rows made from what the library tells of them, so that a new optimizer
 * or schedule needs nothing here.  (Options whose values are whole numbers have
 * rows of their own.) */
#ifndef TOOLS_KNOBS_H
#define TOOLS_KNOBS_H

#include "opt/opt.h"

#include <lockstep.h>

typedef enum knobs_of { KNOBS_OPTIMIZER, KNOBS_SCHEDULE } knobs_of;

/* Values by the option's place among the distinct ones of all optimizers, or of
 * all schedules. */
enum { KNOBS = 16 };
typedef double knobs[KNOBS];

/* The words of --optimizer and --schedule, by kind; NULL past the last. */
const char *knobs_optimizer(int64_t kind);
const char *knobs_schedule(int64_t kind);

/* Does a kind have an option?  (opt.fits; name as in "--decay-rate".) */
bool knobs_optimizer_has(int64_t kind, const char *name);
bool knobs_schedule_has(int64_t kind, const char *name);

/* Add a row for each option, whose values are stored in these knobs. */
void knobs_add(opt_program *program, knobs_of of, knobs values);

/* Give the options that are not on the command line the defaults of the chosen
 * kind. */
void knobs_settle(double *values, knobs_of of, int64_t kind,
                  const opt_line *line);

/* Set the options of an ls_optimizer or ls_schedule, whose kind is given. */
int knobs_set(const double *values, knobs_of of, int64_t kind, void *chosen);

#endif
