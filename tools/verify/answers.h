/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers of lockstep-verify to its four questions, and its words on the
 * referee. */
#ifndef TOOLS_ANSWERS_H
#define TOOLS_ANSWERS_H

#include "verify/retrain.h"

#include <stdbool.h>

/* The questions, in the order of the exit statuses that say what differs. */
enum { FILES, STATE, REPLAY, MODEL, QUESTIONS, FIRST_STATUS = 3 };

/* The status of what is the same, but not all that the transcript names. */
enum { INCOMPLETE = FIRST_STATUS + QUESTIONS };

enum { ANSWER_TEXT = 700 };

typedef struct answer {
    bool is_asked, same;
    char text[ANSWER_TEXT];
} answer;

typedef struct answers {
    answer of[QUESTIONS];
    bool trained;
    bool whole; /* the transcript has its end */
    char unknown[REPLAY_NAMES]; /* to the referee, of what was trained */
} answers;

/* Print them, as text or as one object of JSON; source: the root of the rows
 * that the transcript has, or NULL.  OPT_FAILED after a message. */
int answers_give(answers *a, const char *source, bool json);

#endif
