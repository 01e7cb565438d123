/* SPDX-License-Identifier: BSD-3-Clause */
/* A transcript that is being written or compared: an append-only log, each line
 * with the hash of the one before. */
#ifndef LS_AUDIT_TRANSCRIPT_H
#define LS_AUDIT_TRANSCRIPT_H

#include "base/sha.h"
#include "file/lines.h"
#include "state/details.h"
#include "state/root.h"
#include "audit/head.h"
#include <lockstep/transcript.h>

/* The words of a short step: rate, loss, the two of the weight, norm, and
 * whether it updated anything. */
enum { LS__RECORD_WORDS = 6 };

struct ls_transcript {
    ls_trainer *trainer;
    ls__chain chain;   /* of the first rank; closed on the others */
    bool is_first;
    ls__extent has;
    ls__details details;
    ls__root_room room;
    int64_t sets;      /* of the trainer, when a line last told */
    json_t *options;   /* of the first rank: before those of now */
    int64_t batches;   /* taken */
    int64_t stated;    /* at the last state line; -1: there was none */
    char root[LS__HEX]; /* on it */
    int64_t same;      /* comparing: at the last state that was equal */
    bool is_short;     /* a step, which may share its line with others */
    int64_t first;     /* of them */
    ls__sha256 records; /* of their records, one after the other */
    uint32_t before[LS__RECORD_WORDS]; /* the words of the last step */
};

/* The state line of now, of all ranks. */
int ls__transcript_state(ls_transcript *r, int n, const ls_control *control);

/* The event "change", and behind it the state from which on options are others:
 * of all ranks, *change is the first one's. */
int ls__transcript_change(ls_transcript *r, json_t *change, int n,
                          const ls_control *control);

/* LS_EINVAL says what is wrong with the texts that a function was given. */
int ls__values_check(const char *function, const char *called, int n,
                     const ls_setting *value);

#endif
