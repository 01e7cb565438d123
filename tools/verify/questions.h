/* SPDX-License-Identifier: BSD-3-Clause */
/* The four questions of lockstep-verify, and what they share. */
#ifndef TOOLS_QUESTIONS_H
#define TOOLS_QUESTIONS_H

#include "opt/opt.h"
#include "verify/answers.h"
#include "verify/attest.h"
#include "verify/bundle.h"
#include "verify/files.h"

typedef struct settings {
    const char *data, *weights, *checkpoint, *beacon, *attest, *workers;
    const char *trainer, *record;
    int64_t from, sample;
    bool only_bytes, only_state, explain, json;
} settings;

typedef struct run {
    opt_program program;
    settings set;
    opt_line line;
    bundle from;
    published of;
    files files;
    answers answers;
    char model[REPLAY_TEXT]; /* the trainer's words on it */
    attested how;
    int differs; /* the exit status that says what does; 0: nothing */
} run;

/* Each fills its answer.  OPT_FAILED after a message: it could not be asked.
 * The model is asked for after a replay that was the same. */
int ask_files(run *r);
int ask_state(run *r);
int ask_replay(run *r);
int ask_model(run *r);

#endif
