/* Values that only products read, which multiply them as numbers of bf16: the
 * operator that makes such a value writes it as bf16 (c_words in
 * kernel/product.h).  So half the bytes are written and read, and no reader
 * rounds and copies them again.  Results have the same bytes. */
#include "op/op_table.h"
#include "plan/planner.h"

/* Of attention each head is a product. */
static bool is_whole(const ls_node *n)
{
    int64_t heads = n->op == &ls__op_attention
                        ? ls__attribute_integer(n, "heads") : 1;

    return ls__vectors(n) % LS__BF16_STEP == 0 &&
           ls__width(n) / heads % LS__BF16_STEP == 0;
}

/* A layer norm, attention, or a product whose epilogue has nothing but an
 * activation. */
static bool may_write(const ls_node *n)
{
    return n->op == &ls__op_layer_norm || n->op == &ls__op_attention ||
           (n->op == &ls__op_dense && !n->residual);
}

/* How many read node n as the operand of a product; -1 if one reads it
 * otherwise. */
static int readers(const ls__plan *plan, const ls_node *n)
{
    int count = 0;

    for (int i = 0; i < plan->count; i++) {
        const ls__instr *in = &plan->instr[i];

        for (int k = 0; k < in->inputs; k++) {
            if (in->node->in[k] != n)
                continue;
            if (k > 0 || in->node->op != &ls__op_dense ||
                ls__is_transposed(in->node))
                return -1;
            count++;
        }
    }
    return count;
}

/* Outputs and metrics are among the consumers, but no readers. */
void ls__plan_words(ls__planner *p)
{
    ls__plan *plan = p->plan;

    if (!plan->backend.products->words)
        return;
    for (int i = 0; i < plan->count; i++) {
        const ls_node *n = plan->instr[i].node;

        plan->instr[i].y_words =
            may_write(n) && is_whole(n) &&
            readers(plan, n) == p->consumers[n->id];
        if (!plan->instr[i].y_words)
            continue;
        for (int j = 0; j < plan->count; j++)
            if (plan->instr[j].node->in[0] == n)
                plan->instr[j].x_words = true;
    }
}
