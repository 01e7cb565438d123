/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of the library's optimizers and schedules as options of the
 * tools: rows made from what the library tells of them, so that a new optimizer
 * or schedule needs nothing here.  (Options with whole numbers as values have
 * rows of their own.) */
#ifndef TOOLS_OPTIM_SETTINGS_H
#define TOOLS_OPTIM_SETTINGS_H

#include "opt/opt.h"

#include <lockstep.h>

typedef enum optim_settings_of {
    SETTINGS_OPTIMIZER,
    SETTINGS_SCHEDULE
} optim_settings_of;

/* Values by the option's place among the distinct ones of all optimizers, or of
 * all schedules. */
enum { SETTINGS = 16 };
typedef double optim_settings[SETTINGS];

/* The words of --optimizer and --schedule, by kind; NULL past the last. */
const char *optim_settings_optimizer(int64_t kind);
const char *optim_settings_schedule(int64_t kind);

/* Does a kind have an option?  (opt.fits; name as in "schedule:decay-rate".) */
bool optim_settings_optimizer_has(int64_t kind, const char *name);
bool optim_settings_schedule_has(int64_t kind, const char *name);

/* Add a row for each option, with its value stored in these optim_settings. */
void optim_settings_add(opt_program *program, optim_settings_of of,
                        optim_settings values);

/* Give the options that are not on the command line the defaults of the chosen
 * kind. */
void optim_settings_settle(double *values, optim_settings_of of, int64_t kind,
                           const opt_line *line);

/* Set the options of an ls_optimizer or ls_schedule of a given kind. */
int optim_settings_set(const double *values, optim_settings_of of,
                       int64_t kind, void *chosen);

#endif
