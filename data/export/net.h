/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph as an archive tells it (docs/model-file.md): the JSON of its nodes,
 * linked, and the arrays that they have as parameters.  Readers that write a
 * model in another form, or fill it from one, know no more of the engine. */
#ifndef LS_EXPORT_NET_H
#define LS_EXPORT_NET_H

#include "base/memory.h"

#include <jansson.h>
#include <lockstep/archive.h>

enum { LS__NET_INPUTS = 4, LS__NET_PARAMS = 5 };

/* A parameter, which several nodes may have. */
typedef struct ls__net_param {
    int id; /* index in the archive */
    ls_entry of;
} ls__net_param;

typedef struct ls__net_node ls__net_node;

struct ls__net_node {
    int id;         /* index in net->node */
    const char *op; /* NULL: an input of the graph */
    const char *name;
    const json_t *attributes;
    int inputs, params;
    const ls__net_node *in[LS__NET_INPUTS];
    const ls__net_param *param[LS__NET_PARAMS];
    bool is_i32;
    bool is_transposed; /* parameter 0 is the weights' transpose */
    int rank;
    int64_t shape[LS_MAX_RANK]; /* of a row */
};

typedef struct ls__net_output {
    const char *name;
    const ls__net_node *node;
} ls__net_output;

typedef struct ls__net {
    ls__arena arena;
    json_t *text;
    int nodes, params, outputs;
    ls__net_node *node;   /* each behind those that it reads */
    ls__net_param *param; /* in the archive's order */
    ls__net_output *output;
} ls__net;

/* Read the graph of an archive that stays open.  LS_ENOTFOUND: it has none;
 * LS_EFORMAT: it is no graph; LS_ENOMEM.  ls__net_close also after that. */
int ls__net_open(ls__net *net, const ls_archive *archive);
void ls__net_close(ls__net *net);

/* A note of an archive; NULL: it has none of that name. */
const char *ls__net_note(const ls_archive *archive, const char *name);

/* Returns whether an operator is one of these words; whether a node's is. */
bool ls__net_word(const char *op, const char *words);
bool ls__net_is(const ls__net_node *node, const char *words);

/* Returns whether it is a recurrent layer's. */
bool ls__net_is_recurrent(const ls__net_node *node);

/* An attribute; 0 where there is none.  Yes is 1. */
int64_t ls__net_integer(const ls__net_node *node, const char *name);
int64_t ls__net_integer_or(const ls__net_node *node, const char *name,
                           int64_t usual); /* where there is none */
double ls__net_number(const ls__net_node *node, const char *name);

/* The epsilon of a norm: 1e-6 where the archive says no other. */
float ls__net_epsilon(const ls__net_node *node);

/* Size i of a list of sizes. */
int64_t ls__net_size(const ls__net_node *node, const char *name, int i);

/* A window over an image, y before x: dilations, taps, strides, and the pixels
 * of padding before and behind. */
enum { LS__GAPS = 0, LS__TAPS = 2, LS__STRIDES = 4, LS__PADS = 6,
       LS__WINDOW = 10 };
void ls__net_window(const ls__net_node *node, int64_t of[LS__WINDOW]);

/* Returns the last extent, or 1, and how many of those a row has. */
int64_t ls__net_width(const ls__net_node *node);
int64_t ls__net_vectors(const ls__net_node *node);

#endif
