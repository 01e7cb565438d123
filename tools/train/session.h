/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of lockstep-train: what its stages share. */
#ifndef TOOLS_SESSION_H
#define TOOLS_SESSION_H

#include "run/launch.h"
#include "run/progress.h"
#include "run/run.h"
#include "train/step_recorder.h"
#include "train/curve.h"
#include "train/evaluate.h"
#include "train/healing.h"
#include "train/held.h"
#include "train/keeper.h"
#include "train/printing.h"
#include "train/metrics.h"
#include "train/transcriber.h"
#include "train/stall.h"

typedef struct session {
    launch launch;
    run run;
    train_settings set;
    metrics metrics;
    progress bar;
    lines lines;
    ls_trace *trace;
    stall watchdog;
    keeper keeper;
    transcriber transcriber;
    healing healing;
    position at;
    evaluation eval;
    held held;
    int64_t held_at; /* the step of the best weights that are saved */
    step_recorder look;
    curve curve;
    bool of_old;     /* it goes on with a transcript that kept the last weights,
                        or is compared with one */
    bool saves;      /* --save: the first rank writes, all prepare it */
    bool saved;      /* since the run began, or went on */
    bool told_empty; /* of a batch whose weights are all 0 */
    search search;   /* for options, before */
    int stopped;     /* the signal that ends the run, on whichever rank */
} session;

/* session_steps.c: take the steps, then keep what the run needs to go on. */
int session_train(session *s);

/* Open the transcript where the run begins or goes on. */
int session_record(session *s);

/* session_end.c: save the weights, with --ema the average, where --save says
 * so. */
int session_save(session *s);

/* Save the weights that are held, if any are. */
int session_save_held(session *s);

/* Leave after a failure, which gives the status: the trainer is as the last
 * good step left it, and hours of training are not thrown away; but neither
 * what no update has changed nor what is no number replaces what was saved
 * before. */
int session_leave(session *s, int status);

/* Save, write and say what the run ends with. */
int session_finish(session *s);

#endif
