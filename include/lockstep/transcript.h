/* SPDX-License-Identifier: BSD-3-Clause */
/* Transcripts: a file of hashes that commits a training to its bits, so that
 * anybody can train again and compare.  A transcript is JSON lines; each holds
 * the SHA-256 of the line before.  docs/transcript.md describes the format,
 * lockstep-verify checks one.
 *
 * Without a signature by somebody whom you trust a transcript proves only that
 * it agrees with itself. */
#ifndef LOCKSTEP_TRANSCRIPT_H
#define LOCKSTEP_TRANSCRIPT_H

#include <lockstep/trainer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the contract of bits (docs/contract.md).  It is raised by the
 * change that makes any training end in other bytes; transcripts hold it. */
#define LS_BITS 1

/* ------ The root of a state ------ */

/* A number of the program's own that a resumed run reads, such as its place in
 * the data.  `bits` is an int64_t, or a double's representation. */
typedef struct ls_control {
    const char *name;
    uint64_t bits;
} ls_control;

/* Store the root of the state as 64 hex digits: one hash over the parameters,
 * every moment and the average of the weights (a Merkle tree each, of leaves of
 * 4096 floats), the updates made, the batches taken, the peak learning rate and
 * the program's own numbers.  It is a function of the state alone: of no number
 * of workers or ranks, and of no option of a transcript.  Over ranks all call
 * it, and all get it.  Allocates memory.  LS_EINVAL names a control that is
 * NULL, or a negative count; LS_EBUSY; LS_ENOMEM; LS_EIO of ranks. */
LS_API int ls_trainer_root(ls_trainer *trainer, int64_t batches, int n_controls,
                           const ls_control *controls, char root[65]);

/* ------ A transcript ------ */

/* Opaque; made by ls_transcript_open. */
typedef struct ls_transcript ls_transcript;

/* A file that a run reads. */
typedef struct ls_data_file {
    const char *name;   /* without folders; it may be called otherwise later */
    int64_t bytes;
    const char *sha256; /* 64 hex digits */
    const char *role;   /* its purpose, as "--data"; no two files have the
                           same.  NULL: its name */
} ls_data_file;

/* Store the SHA-256 of bytes as 64 hex digits. */
LS_API void ls_digest(const void *data, size_t bytes, char sha256[65]);

/* Store the size of a file and its SHA-256.  LS_EIO names the path. */
LS_API int ls_file_digest(const char *path, int64_t *bytes, char sha256[65]);

/* Store the SHA-256 of what a model file holds: its tensors and its texts, but
 * for the version that wrote it and the checksums (docs/transcript.md).  A
 * later version that saves the same model gives the same.  LS_EIO, LS_EFORMAT,
 * LS_ENOTSUP, LS_ENOMEM. */
LS_API int ls_model_contents(const char *path, char sha256[65]);

typedef struct ls_transcript_options {
    size_t size; /* set by ls_transcript_defaults */
    const char *path; /* to write, or with `compare` to read */
    bool compare;     /* hold the run against the file; write nothing */
    int64_t from;     /* compare: begin at the state line after this many
                         batches; -1: at the first line */
    int64_t every;    /* batches from one state line to the next; 0: what
                         ls_transcript_every says */
    const char *program;         /* "my-trainer 1.2"; not NULL */
    int n_settings;              /* other settings that must be the same */
    const ls_setting *settings;
    int n_files;                 /* files that the run reads */
    const ls_data_file *files;
    const char *sum;    /* a checksum of what the model is given; or NULL */
    double step_flops;  /* of a batch; 0: not known */
    const char *resume; /* go on: what ls_transcript_note gave; NULL: begin */
    bool rows;     /* each step has the root of its batch's rows: true by
                      default, as nothing else says what a program's were */
    bool gradient; /* and of its mean gradient, before it is clipped */
    const char *source; /* the root of the rows (ls_source_root), to judge a
                           batch; NULL: it is not judged */
} ls_transcript_options;

LS_API void ls_transcript_defaults_bytes(ls_transcript_options *options,
                                         size_t size);
static inline ls_transcript_options ls_transcript_defaults(void)
{
    ls_transcript_options o;
    ls_transcript_defaults_bytes(&o, sizeof o);
    return o;
}

/* Returns the interval between state lines, in batches, that costs at most 0.25
 * % of the time: the power of two at or above 100,000 x (bytes of the state +
 * 8192) / (FLOP of a batch + 400,000), 1 to 2^20, the bytes times four where
 * layers are not computed in f32; 256 where the FLOP are not known.  Computed
 * from sizes, never from a clock, so that two machines write the same file. */
LS_API int64_t ls_transcript_every(const ls_trainer *trainer,
                                   double step_flops);

/* Begin a transcript of a trainer, which must outlive it: write its head
 * (format and version, bits, graph, layout, devices, settings, files), and the
 * state line of the beginning; or read them and compare.  Options and all that
 * they point to are borrowed until this returns.  Over ranks all call each
 * function below alike, with the same arguments, and the first rank has the
 * file.  LS_EDIFFERS: the file says something else (see ls_transcript_step);
 * LS_EFORMAT: it is no transcript; LS_EINVAL, LS_EIO, LS_ENOMEM. */
LS_API int ls_transcript_open(ls_transcript **transcript, ls_trainer *trainer,
                              const ls_transcript_options *options,
                              int n_controls, const ls_control *controls);

/* Write, after each batch that ls_step took, its number, loss, learning rate,
 * weight and norm, and what options.rows and .gradient ask for.  `batch` counts
 * from 0, and is the step but where masks leave batches out.  Allocates nothing
 * and asks the system for nothing but to write.  LS_ENOTSUP: with rows, the
 * step took several batches.  LS_EDIFFERS, when comparing: ls_errmsg() names
 * the line, the field and both values.  It sticks: what follows is not
 * compared.  LS_EIO: the file cannot be written, which the first of several
 * ranks knows alone: it has to end the others (ls_transport.abort). */
LS_API int ls_transcript_step(ls_transcript *transcript, int64_t batch,
                              const ls_result *result);

/* Something that is no step, in this order in every run: an evaluation, options
 * that changed, parameters that were set.  `what` is a word of yours; values
 * are texts.  LS_EDIFFERS. */
LS_API int ls_transcript_event(ls_transcript *transcript, const char *what,
                               int n_values, const ls_setting *values);

/* Write an event "saved" with the root of the weights as they stand (while it
 * is in use, their average): these are the run's result. */
LS_API int ls_transcript_saved(ls_transcript *transcript);

/* Store the SHA-256 of the first line: a model file can name its run by it.  On
 * other ranks than the first it is "". */
LS_API void ls_transcript_head(const ls_transcript *transcript,
                               char sha256[65]);

/* Once a batch is over, with all that belongs to it (its evaluation, say): true
 * when a state line is due, which ls_transcript_state then writes. */
LS_API bool ls_transcript_is_due(const ls_transcript *transcript);
LS_API int ls_transcript_state(ls_transcript *transcript, int n_controls,
                               const ls_control *controls);

/* The run is over: a state line if the last one is of another batch, and the
 * end, with the state hash and, where `model` is not NULL, the SHA-256 of that
 * file and of what it holds.  Comparing, these two are ls_transcript_model's.
 * LS_EDIFFERS. */
LS_API int ls_transcript_end(ls_transcript *transcript, int n_controls,
                             const ls_control *controls, const char *model);

/* Comparing: batches at the last state that was the same; -1: none was yet. */
LS_API int64_t ls_transcript_same(const ls_transcript *transcript);

/* A text for a checkpoint's notes, with which a transcript goes on from here
 * (ls_transcript_options.resume): what a run that was killed wrote after its
 * checkpoint is cut off, and written again.  What was written is on disk when
 * this returns.  LS_EIO. */
enum { LS_TRANSCRIPT_NOTE = 640 };
LS_API int ls_transcript_note(ls_transcript *transcript,
                              char note[LS_TRANSCRIPT_NOTE]);

/* Close the file; NULL is accepted.  Not all lines are on disk: LS_EIO, or the
 * status of the line that failed first. */
LS_API int ls_transcript_close(ls_transcript *transcript);

/* ------ A transcript alone ------ */

/* The contents of a transcript, read without training. */
typedef struct ls_transcript_facts {
    int64_t lines;
    int64_t batches; /* of which it has lines */
    bool is_whole;   /* it has its end */
    int64_t every;
    char file[65];   /* SHA-256 of the file */
    char root[65];   /* of the last state */
    char model[65];  /* of the saved model; "" where there is none */
    char contents[65]; /* of what it holds */
    char lockstep[32]; /* the version that wrote it */
} ls_transcript_facts;

/* Read a transcript: every line is canonical, has the fields of its kind and no
 * others, and the hash of the line before.  LS_EFORMAT names the line and what
 * is wrong. */
LS_API int ls_transcript_check_bytes(const char *path,
                                     ls_transcript_facts *facts, size_t size);
static inline int ls_transcript_check(const char *path,
                                      ls_transcript_facts *facts)
{
    return ls_transcript_check_bytes(path, facts, sizeof *facts);
}

/* Hold a model file against the end of a transcript: what it holds, and where
 * this version wrote the transcript each byte.  LS_EDIFFERS names the field and
 * both values; LS_ENOTFOUND: the transcript names no model; and as
 * ls_transcript_check and ls_model_contents. */
LS_API int ls_transcript_model(const char *path, const char *model);

/* The root on the state line after `batches` batches.  LS_ENOTFOUND: there is
 * no such line. */
LS_API int ls_transcript_root_at(const char *path, int64_t batches,
                                 char root[65]);

/* The contents of a state line. */
typedef struct ls_state_root {
    int64_t batches;
    char root[65];
} ls_state_root;

/* Store what the first `room` state lines say, in their order, in roots, which
 * the caller owns (NULL where room is 0).  Returns how many there are in all.
 * LS_EFORMAT names a line that is wrong; LS_EIO, LS_ENOMEM; LS_EINVAL: room is
 * negative, or there are no roots. */
LS_API int64_t ls_transcript_states(const char *path, int64_t room,
                                    ls_state_root *roots);

/* ------ Two transcripts ------ */

enum { LS_TRANSCRIPT_TEXT = 512 };

typedef struct ls_transcript_difference {
    bool same;
    int64_t line; /* the first that differs, from 1; how many there are if all
                     are the same */
    char text[LS_TRANSCRIPT_TEXT]; /* that line, its field and both values; ""
                                      if same */
} ls_transcript_difference;

/* Find the first line, and in it the first field, in which two transcripts
 * differ.  What says who wrote a file, or that something before it differs,
 * does not count (docs/transcript.md, "What may differ").  LS_EFORMAT: a
 * line before it is not as it must be, or does not have the hash of the one
 * before; LS_EIO, LS_ENOMEM. */
LS_API int ls_transcript_compare_bytes(const char *a, const char *b,
                                       ls_transcript_difference *difference,
                                       size_t size);
static inline int ls_transcript_compare(const char *a, const char *b,
                                        ls_transcript_difference *difference)
{
    return ls_transcript_compare_bytes(a, b, difference, sizeof *difference);
}

#ifdef __cplusplus
}
#endif

#endif
