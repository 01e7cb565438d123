/* SPDX-License-Identifier: BSD-3-Clause */
/* What lockstep-verify answers to its three questions, and what it says of the
 * referee. */
#ifndef TOOLS_ANSWERS_H
#define TOOLS_ANSWERS_H

#include "verify/retrain.h"

#include <stdbool.h>

/* The questions, in the order of the exit statuses that say what differs. */
enum { FILES, STATE, REPLAY, QUESTIONS, FIRST_STATUS = 3 };

enum { ANSWER_TEXT = 700 };

typedef struct answer {
    bool is_asked, same;
    char text[ANSWER_TEXT];
} answer;

typedef struct answers {
    answer of[QUESTIONS];
    bool trained;
    char unknown[REPLAY_NAMES]; /* to the referee, of what was trained */
} answers;

/* Print them, as text or as one object of JSON; source: the root of the rows
 * that the transcript has, or NULL. */
void answers_give(answers *a, const char *source, bool json);

#endif
