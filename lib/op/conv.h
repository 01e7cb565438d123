/* What a convolution multiplies: windows over x for y and dw, windows over dy
 * for dx; weights packed; and who does it. */
#ifndef LS_OP_CONV_H
#define LS_OP_CONV_H

#include "graph/op.h"

/* The attributes of a convolution. */
typedef struct ls__conv_of {
    ls__window window;
    int64_t features, groups;
    bool bias;
} ls__conv_of;

static inline int64_t ls__conv_groups(const ls_node *n)
{
    const ls__conv_of *of = n->of;

    return of->groups;
}

/* Windows over x with y's columns, and over dy with those of dx; of the first
 * group of channels. */
ls__conv ls__conv_of_x(const ls_node *n);
ls__conv ls__conv_of_dy(const ls_node *n);

/* The same operands of group g. */
ls__conv ls__conv_group(const ls__conv *v, int64_t g);

/* Each channel has a group of its own, and one output. */
bool ls__conv_is_depthwise(const ls_node *n);

/* Its windows have no gaps, and see all channels. */
bool ls__conv_is_plain(const ls_node *n);

/* Who reads patches from the image for this node; NULL: nobody, they are
 * written out, or it is depthwise. */
const ls__convs *ls__conv_reader(const ls_node *n, const ls__backend *b);

/* Its weights as the reader packs them. */
ls__conv_weights ls__conv_weights_of(const ls_node *n, bool rotated);

static inline int64_t ls__whole_vectors(int64_t floats)
{
    return (floats + 15) / 16 * 16;
}

/* ------ each channel by itself (conv_depthwise.c) ------ */

int64_t ls__depthwise_scratch(const ls_node *n);

/* y, or dx with the taps in reverse order; v->x is `image`, or what needs no
 * zeros around it. */
void ls__depthwise_product(const ls__run *r, const ls__conv *v, bool rotated,
                           float *image, float *scratch);

/* dw and dbias. */
void ls__depthwise_grad(const ls__run *r, const ls__conv *v, const float *d,
                        float *image, float *scratch);

/* ------ by patches that are written out (conv_patches.c) ------ */

/* Floats of scratch that a product of windows needs. */
int64_t ls__patches_scratch(const ls__conv *v, const ls__backend *backend);

/* y, or dx, of one group: out.b is the weights; rotated: their transpose with
 * the taps in reverse order is the operand. */
void ls__patches_product(const ls__run *r, const ls__conv *v, bool rotated,
                         float *scratch);

/* dw (+)= patches^T d, dbias (+)= sums of d. */
void ls__patches_grad(const ls__run *r, const ls__conv *v, float *dbias,
                      float *scratch);

#endif
