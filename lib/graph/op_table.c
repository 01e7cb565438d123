/* The list of all operators, and what they share. */
#include "graph/op.h"

const ls__op *const ls__ops[] = {
    &ls__op_dense, &ls__op_embed, &ls__op_position, &ls__op_layer_norm,
    &ls__op_attention, &ls__op_gelu, &ls__op_relu, &ls__op_tanh,
    &ls__op_sigmoid, &ls__op_add, &ls__op_conv, &ls__op_max_pool,
    &ls__op_avg_pool, &ls__op_flatten, &ls__op_group_norm,
    &ls__op_squared_error, &ls__op_cross_entropy, &ls__op_next_token,
    &ls__op_dropout, &ls__op_round_bf16, NULL};

int64_t ls__width(const ls_node *node)
{
    return node->rank ? node->shape[node->rank - 1] : 1;
}

int64_t ls__vectors(const ls_node *node)
{
    return node->size / ls__width(node);
}

int ls__want(const ls_node *node, int k, ls_dtype dtype, int rank)
{
    const ls_node *x = node->in[k];
    char text[LS__SHAPE_TEXT];

    if (x->dtype == dtype && x->rank >= rank)
        return 0;
    return ls__fail(LS_ESHAPE, "%s \"%s\": input %d is %s %s a row; it must "
                    "be %s of rank %d or more", node->op->name, node->name, k,
                    x->dtype == LS_F32 ? "LS_F32" : "LS_I32",
                    ls__shape_text(text, x->rank, x->shape),
                    dtype == LS_F32 ? "LS_F32" : "LS_I32", rank);
}

int ls__same_shape(ls_node *n)
{
    if (ls__want(n, 0, LS_F32, 0) < 0)
        return LS_ESHAPE;
    return ls__node_set_shape(n, LS_F32, n->in[0]->rank, n->in[0]->shape);
}
