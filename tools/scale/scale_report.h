/* SPDX-License-Identifier: BSD-3-Clause */
/* A report of speed: one JSON with all that a reader elsewhere needs, to be
 * pasted into an issue. */
#ifndef TOOLS_SCALE_REPORT_H
#define TOOLS_SCALE_REPORT_H

#include "scale/scale_findings.h"

#include <jansson.h>

/* A text, or null: a command line may hold bytes that are none. */
json_t *scale_text(const char *text);

/* The findings of a model, as --json writes them; NULL: no memory. */
json_t *findings_json(const findings *r);

/* Write an object, which is gone afterwards (NULL: one that could not be made);
 * OPT_GO, or OPT_FAILED after a message. */
int scale_put_json(json_t *o, const char *path);

/* Write the report of this machine, its processors `cpus` (NULL: all), and of
 * the findings of the models. */
int scale_report(json_t *models, const char *command, const char *cpus,
                 const char *path);

#endif
