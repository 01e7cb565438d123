/* Graphs for ONNX: every operator of the library has its row; a file is written
 * whole, of the same bytes each time; what cannot be written is refused and
 * leaves nothing; and a shortage of memory at any place is a status.  What ONNX
 * makes of the files is tried by make interop. */
#define _GNU_SOURCE /* nftw */
#include "faults.h"
#include "exchange/onnx.h"
#include "folder.h"
#include "op/op_table.h"
#include "output_models.h"

START_TEST(test_rows)
{
    for (int i = 0; ls__ops[i]; i++)
        if (!ls__ops[i]->is_loss)
            ck_assert_msg(ls__onnx_knows(ls__ops[i]->name),
                          "%s has no row for ONNX", ls__ops[i]->name);
}
END_TEST

static ls_predictor *predictor_of(int i)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(1, 1);
    ls_predictor *p;
    ls_graph *g;
    run r;

    OK(ls_graph_new(&g));
    models[i].build(g, true);
    r = open_run(pool, g, &o);
    OK(ls_predictor_open(&p, r.trainer));
    close_run(&r);
    ls_pool_close(pool);
    return p;
}

/* "lockstep" and the names of an input and of the output are in it. */
START_TEST(test_file)
{
    ls_predictor *p = predictor_of(_i);
    char *bytes, *again;
    size_t n, m;

    folder_open();
    OK(ls_predictor_save_onnx(p, in_folder("a")));
    OK(ls_predictor_save_onnx(p, in_folder("b")));
    bytes = get_file(in_folder("a"), &n);
    again = get_file(in_folder("b"), &m);
    ck_assert_uint_eq(n, m);
    ck_assert_mem_eq(bytes, again, n);
    ck_assert_ptr_nonnull(memmem(bytes, n, "lockstep", 8));
    ck_assert_ptr_nonnull(memmem(bytes, n, "\1y", 2));
    ck_assert_ptr_null(memmem(bytes, n, "target", 6)); /* the loss's alone */
    free(bytes);
    free(again);
    ls_predictor_close(p);
    folder_close();
}
END_TEST

/* Integers by the examples of the definition of the encoding: 150 is 96 01. */
START_TEST(test_encoding)
{
    static const char want[] = "\x08\x96\x01\x12\x02hi\x1a\x05\x25\0\0\x80?";
    ls__proto p = {0}, inner = {0};

    ls__proto_int(&p, 1, 150);
    ls__proto_text(&p, 2, "hi");
    ls__proto_float(&inner, 4, 1);
    ls__proto_message(&p, 3, &inner);
    ck_assert_uint_eq(p.size, sizeof want - 1);
    ck_assert_mem_eq(p.bytes, want, sizeof want - 1);
    ls__proto_free(&p);
}
END_TEST

static int nothing(void *user, const ls_own_run *r)
{
    (void)user, (void)r;
    return 0;
}

START_TEST(test_refused)
{
    ls_own_op op = {.name = "mine", .inputs = 1, .forward = nothing,
                    .backward = nothing};
    float w[12] = {0};
    const float *values[] = {w};
    ls_graph *g;
    ls_node *x;

    folder_open();
    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){4});
    x = ls_dense_no_bias(x, 3, "fc");
    OK(ls_output(g, x, "x"));
    FAILS(ls__onnx_write(g, values, in_folder("m")), LS_EINVAL, "two names");
    ls_graph_free(g);
    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){4});
    x = ls_own(&op, (ls_node *[]){ls_dense_no_bias(x, 3, "fc")});
    OK(ls_output(g, x, "y"));
    FAILS(ls__onnx_write(g, values, in_folder("m")), LS_ENOTSUP, "mine");
    ls_graph_free(g);
    FAILS(ls_predictor_save_onnx(NULL, "m"), LS_EINVAL, "predictor");
    ck_assert_int_ne(access(in_folder("m"), F_OK), 0);
    folder_close();
}
END_TEST

#if OWN_MALLOC

/* Every allocation fails in turn, with a status. */
START_TEST(test_shortage)
{
    ls_predictor *p;
    int status = -1;

    p = predictor_of(_i);
    folder_open();
    for (int n = 1; status < 0; n++) {
        const char *path = in_folder("m");

        fail_memory = OUR_MEMORY;
        watch_from(n);
        status = ls_predictor_save_onnx(p, path);
        atomic_store(&watching, false);
        fail_memory = NO_MEMORY;
        ck_assert(status == 0 || status == LS_ENOMEM);
        ck_assert(status < 0 || access(path, F_OK) == 0);
        ck_assert_int_lt(n, 2000);
    }
    ls_predictor_close(p);
    folder_close();
}
END_TEST

#endif

static Suite *suite(void)
{
    Suite *s = suite_create("onnx");
    TCase *t = tcase_create("onnx");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_rows);
    tcase_add_loop_test(t, test_file, 0, 3);
    tcase_add_test(t, test_encoding);
    tcase_add_test(t, test_refused);
#if OWN_MALLOC
    tcase_add_loop_test(t, test_shortage, 0, 3);
#endif
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
