/* SPDX-License-Identifier: BSD-3-Clause */
/* An ONNX model (om) as its file tells it: nodes, tensors, inputs and outputs.
 * All that is kept points into the file's bytes; texts are copied.  It is
 * walked through as a whole when it is opened, so that reading it later cannot
 * fail.  The numbers of fields are those of onnx.proto3. */
#ifndef LS_IMPORT_OM_H
#define LS_IMPORT_OM_H

#include "base/memory.h"
#include "import/wire.h"

#include <lockstep/base.h>

/* Types of elements, of TensorProto. */
typedef enum ls__om_type {
    LS__OM_FLOAT = 1, LS__OM_INT32 = 6, LS__OM_INT64 = 7, LS__OM_BOOL = 9,
    LS__OM_FLOAT16 = 10, LS__OM_DOUBLE = 11, LS__OM_BFLOAT16 = 16
} ls__om_type;

typedef struct ls__om_tensor {
    const char *name;
    int64_t type; /* ls__om_type, or one that is not known here */
    int rank;
    int64_t shape[LS_MAX_RANK];
    int64_t elements;
    int width;         /* bytes of one; 0: varints */
    ls__wire bytes;    /* its elements: in the file, or in `beside` */
    const char *where; /* the file beside that has them; NULL: this one */
} ls__om_tensor;

typedef struct ls__om_node {
    const char *op, *name, *domain; /* "" for none */
    int inputs, outputs;
    const char **input, **output; /* "": none is given */
    ls__wire all;                 /* the message, for its attributes */
} ls__om_node;

/* An input or an output. */
typedef struct ls__om_value {
    const char *name;
    int64_t type;
    int rank; /* -1: not told */
    int64_t shape[LS_MAX_RANK];   /* 0: a symbol */
    const char *symbol[LS_MAX_RANK]; /* "": none */
} ls__om_value;

/* A file beside that holds tensors. */
typedef struct ls__om_beside {
    const char *name;
    uint8_t *bytes;
    size_t size;
} ls__om_beside;

typedef struct ls__om {
    ls__arena arena;
    const char *path; /* "" for memory */
    uint8_t *bytes;
    size_t size;
    int64_t version, opset;
    int nodes, tensors, inputs, outputs, besides;
    ls__om_node *node;
    ls__om_tensor *tensor; /* the initializers */
    ls__om_value *input, *output;
    ls__om_beside *beside;
} ls__om;

/* Read a model from a file, or of bytes (path NULL), which are copied.
 * LS_EFORMAT: it is none; LS_ENOTSUP: a version that is not read; LS_EIO: a
 * file beside it that is missing, a link or elsewhere.  ls__om_close also after
 * that. */
int ls__om_open(ls__om *om, const char *path, const void *bytes, size_t size);
void ls__om_close(ls__om *om);

/* Is a node's operator one of these words? */
bool ls__om_is(const ls__om_node *node, const char *words);

/* Are a type's elements floats? */
static inline bool ls__om_is_real(int64_t type)
{
    return type == LS__OM_FLOAT || type == LS__OM_DOUBLE ||
           type == LS__OM_FLOAT16 || type == LS__OM_BFLOAT16;
}

/* Read a TensorProto. */
int ls__om_tensor_of(ls__om *om, ls__wire message, ls__om_tensor *tensor);

/* Bytes of an element of a type; 0: it is not known. */
int ls__om_width(int64_t type);

/* Element i as a number, of the types above. */
double ls__om_element(const ls__om_tensor *tensor, int64_t i);

/* All elements.  False: the type is another, or there are more elements than
 * bytes. */
bool ls__om_elements(const ls__om_tensor *tensor, double *out);

/* The attribute of that name, its message; false: it has none. */
bool ls__om_attribute(const ls__om_node *node, const char *name, ls__wire *at);

/* Its value; `usual` where it has none. */
int64_t ls__om_integer(const ls__om_node *node, const char *name,
                       int64_t usual);
double ls__om_real(const ls__om_node *node, const char *name, double usual);

/* Stores its integers, `most` at most, and returns how many there are; -1: it
 * has none of that name. */
int ls__om_integers(const ls__om_node *node, const char *name, int most,
                    int64_t *out);

/* The same of its floats. */
enum { LS__OM_REALS = 64 };
int ls__om_reals(const ls__om_node *node, const char *name,
                 double out[LS__OM_REALS]);

/* Is a text that one; where there is none: no, and yes. */
bool ls__om_says(const ls__om_node *node, const char *name, const char *text);
bool ls__om_may_say(const ls__om_node *node, const char *name,
                    const char *text);

#endif
