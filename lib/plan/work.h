/* SPDX-License-Identifier: BSD-3-Clause */
/* A chunk of rows at work: its places while instructions run, and the running
 * of one of them.  Executors (exec.c) choose what to run in which order. */
#ifndef LS_PLAN_WORK_H
#define LS_PLAN_WORK_H

#include "base/assert.h"
#include "plan/exec.h"
#include "pool/barrier.h"

struct ls__context {
    const ls__plan *plan;
    float *memory;
    float *twin;  /* of a second chunk at the same time; NULL: there is none */
    float *more;  /* of the other chunks of a shard, where all of them are at
                     work at the same time; NULL: there are none */
    int64_t chunks; /* that there is memory for, with the first */
    double *own;  /* findings of this run's surveys; NULL: they are shared */
    double *found;  /* findings, survey after survey, in each device after
                       device */
    const double *joined; /* of the devices together; NULL: a device's own */
    int devices, device;
    float *stays; /* from run to run; NULL: nothing does */
    ls__failure failure; /* of the present or last run */
    ls__after_fn *after; /* is told of each backward; NULL: nobody is */
    void *user;
    const ls__touched *touched; /* of the gradients; NULL: none are kept */
    ls__team *team; /* that may run it; NULL: one worker does */
    int mates;      /* its other members */
    float **mate;   /* [member - 1] a chunk's memory for each of them */
};

/* The memory of a chunk of the member of its team with this number. */
static inline float *ls__context_memory(const ls__context *c, int number)
{
    LS__ASSERT(number >= 0 && number <= c->mates);
    return number == 0 ? c->memory : c->mate[number - 1];
}

typedef struct ls__work {
    ls__context *context;
    const ls__plan *plan;
    const ls__weights *weights;
    const ls_shard *shard;
    float *const *grads; /* NULL: forward alone */
    int64_t rows;
    ls__chunk of;        /* the operators' arguments */
    float *scratch;
    ls__barrier *fence;  /* barrier of the workers among whom the chunk's rows
                            are cut; NULL: one has all of them */
    int parts, number;   /* the number of these, and this one's; 0 leads: it
                            runs what is not cut */
    int64_t part_rows;   /* its rows, */
    ls__chunk part;      /* and the operators' arguments then */
} ls__work;

/* The work on a shard before its first chunk, which is the next one.  grads and
 * sums: NULL, for an output. */
ls__work ls__work_begin(ls__context *c, const ls__weights *w,
                        const ls_shard *shard, float *const *grads,
                        ls_sums *sums);

/* Cut the shard into chunks: the next one, or false at the end. */
bool ls__work_next(ls__work *c);

/* The number of turns of a chunk, each a sum that goes on in the next, where an
 * operator takes no more than `most`. */
unsigned ls__work_turns(const ls__work *c, unsigned most);

/* Look at a chunk before an instruction runs on any, forward or back. */
void ls__work_survey(const ls__work *c, const ls__instr *in, bool back);

/* Run an instruction, if anything is wanted of it backward; before the loss,
 * add what the graph's metrics sum. */
void ls__work_forward(const ls__work *c, const ls__instr *in);
void ls__work_backward(const ls__work *c, const ls__instr *in);

/* Wait for those among whom the chunk is cut. */
static inline void ls__work_meet(const ls__work *c)
{
    if (c->fence)
        ls__barrier_wait(c->fence, 0); /* in no groups */
}

/* Cut a chunk: part `part` of `parts` is this worker's. */
void ls__work_cut(ls__work *c, ls__barrier *fence, int parts, int part);

static inline float *ls__work_at(const ls__work *c, int64_t offset)
{
    return offset < 0 ? NULL : c->of.memory + offset;
}

static inline bool ls__work_goes_on(const ls__work *c)
{
    return c->context->failure.status == 0;
}

static inline bool ls__work_is_last(const ls__work *c)
{
    return c->of.left == c->rows;
}

static inline int64_t ls__work_number(const ls__work *c, const ls__instr *in)
{
    return in - c->plan->instr;
}

#endif
