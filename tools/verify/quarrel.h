/* SPDX-License-Identifier: BSD-3-Clause */
/* A dispute under way: what its five questions share. */
#ifndef TOOLS_QUARREL_H
#define TOOLS_QUARREL_H

#include "verify/dispute.h"
#include "verify/mail.h"

#include <lockstep/record.h>

enum { ROOT = 64 }; /* digits */

typedef struct quarrel {
    const dispute *d;
    mail x;
    int64_t first, last; /* states: the last equal, the first that differs */
    char root[2][2][ROOT + 1]; /* [a, b][of first, of last] */
    ls_record_difference found;
    char *record[2];     /* of a, of b */
    char *values;        /* this side's, with numbers */
    char *past;          /* this side's of the step before, where that made what
                            differs; or NULL */
    char verdict[2 * MAIL_TEXT + 2 * LS_RECORD_TEXT];
    bool same, settled;
} quarrel;

/* False once it is settled, or one side has lost. */
bool quarrel_goes_on(const quarrel *q);

/* Settle it, in words. */
__attribute__((format(printf, 2, 3)))
void quarrel_settle(quarrel *q, const char *format, ...);

/* Both answers in the order of sides. */
void quarrel_in_order(const quarrel *q, char *mine, char *theirs, char *to[2]);

/* The first two questions: OPT_GO, or the status after a message. */
int quarrel_states(quarrel *q);
int quarrel_steps(quarrel *q);

#endif
