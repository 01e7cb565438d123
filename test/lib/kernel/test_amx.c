/* SPDX-License-Identifier: BSD-3-Clause */
/* AMX: a process that the kernel refuses it goes on with the next best products
 * and says so.  (That AMX gives the bytes of all others: test_bf16_layers.c.)
 *
 * This process is refused, since a thread of it has an alternate signal stack
 * that is too small for the state of the tiles. */
#include "backends.h"
#include "kernel/amx.h"
#include "models.h"

#include <signal.h>

enum { SMALL_STACK = 8192 };

static int refuse_amx(void)
{
    static char room[SMALL_STACK];
    const stack_t small = {.ss_sp = room, .ss_size = sizeof room};

    return sigaltstack(&small, NULL);
}

/* Proves that a refusal shows in the text, and that products and a step are
 * there all the same. */
TEST(refused)
{
    ls_trainer_options o = ls_trainer_defaults();
    const float x[6] = {1, 2, 3, 4, 5, 6}, y[4] = {1, 2, 3, 4};
    char text[LS_TEXT];
    run r;

    OK(ls_backend_text(text, NULL, LS_BF16_LAYERS));
    ck_assert_ptr_nonnull(maker(LS_BF16_LAYERS, 0));
    for (int i = 0; maker(LS_BF16_LAYERS, i); i++)
        ck_assert_str_ne(maker(LS_BF16_LAYERS, i)->text, "AMX products");
    if (ls__amx_answer() < 0)
        printf("skipped: this CPU has no AMX that could be refused\n");
    else
        ck_assert_msg(strstr(text, "(AMX: the kernel refuses it: "), "%s",
                      text);
    o.precision = LS_BF16_LAYERS;
    r = open_run_on(2, 1, linear_graph(3, 2), &o);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, 2));
    OK(ls_batch_set(r.batch, "y", LS_F32, y, 2));
    ck_assert(step(&r).loss > 0);
    close_run(&r);
}

int main(void)
{
    if (refuse_amx()) {
        perror("sigaltstack");
        return 1;
    }
    return RUN_TESTS();
}
