/* SPDX-License-Identifier: BSD-3-Clause */
/* One rule for NULL: every public function, called with NULL for each of its
 * pointers in turn, says which argument is NULL and crashes with none.  The
 * calls are made from the headers, so that no function is forgotten: a new one
 * is refused here until it follows the rule or is in a list below. */
#define _GNU_SOURCE /* fork */
#include "folder.h"
#include "small_model.h"
#include "thread_ranks.h"

#include <lockstep/columns.h>
#include <lockstep/onnx.h>
#include <lockstep/csource.h>
#include <lockstep/files.h>
#include <lockstep/images.h>
#include <lockstep/realmlp.h>
#include <lockstep/table.h>

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------ What is good where NULL is not ------ */

static struct {
    ls_mesh *mesh;
    ls_pool *pool;
    ls_graph *graph;
    ls_node *node, *nodes[3];
    ls_trainer *trainer;
    ls_batch *batch;
    ls_checkpoints *checkpoints;
    ls_checkpoints_options *checkpoints_options;
    ls_loader *loader;
    ls_archive *archive;
    ls_onnx *onnx;
    ls_shards *shards;
    ls_gradients *gradients;
    ls_gradients_fn *gradients_fn;
    ls_predictor *predictor;
    ls_context *context;
    ls_generator *generator;
    ls_save_options *save_options;
    ls_trace *trace;
    ls_transcript *transcript;
    ls_control *control;
    ls_record *record; /* which a refused end takes */
    ranks_here *ranks; /* of the transport */
    const ls_transport *transport;
    ls_table *table;
    ls_coding *coding;
    ls_table_data *table_data;
    ls_table_model *table_model;
    ls_table_context *table_context;
    ls_realmlp *realmlp;
    ls_source *source;
    ls_array *array;
    ls_buffers *buffers;
    ls_sharding *sharding;
    ls_gradient *gradient;
    ls_own_op *own_op;
    ls_pmap_fn *pmap_fn;
    char text[LS_TRANSCRIPT_NOTE]; /* no room that is asked for is larger */
    double room[4096];
} given;

/* What a call returned, in the member of its type. */
typedef struct answer {
    long long number;
    const void *pointer;
    double real;
} answer;

typedef struct row {
    const char *function, *argument, *type;
    bool node; /* a node of the graph, for which NULL gives NULL */
    void (*call)(answer *a);
} row;

#include "calls_with_null.h"

/* ------ The rule's lists ------ */

/* Where NULL means something: the comments of the headers say what. */
static const char *const means_something[] = {
    "ls_all_gather axis", "ls_all_reduce axis", "ls_avg_pool_with options",
    "ls_attention_with options", "ls_cross_attention_with options",
    "ls_cross_attention_with mask",
    "ls_max_pool_with options",
    "ls_backend_text backend", "ls_batch_norm_with options",
    "ls_batch_set_weights weights",
    "ls_broadcast axis", "ls_checkpoints_save notes", "ls_context_open pool",
    "ls_conv1d_with options", "ls_conv2d_with options",
    "ls_cross_attention mask", "ls_csource_save options",
    "ls_dense_with options",
    "ls_error text", "ls_gradients_between fn", "ls_graph_output name",
    "ls_graph_load_onnx options",
    "ls_group_frozen names", "ls_group_of names", /* ls_trainer_open says */
    "ls_group_norm_with options", "ls_gru_with options",
    "ls_input shape", "ls_loader_fill rows",
    "ls_layer_norm_with options", "ls_loader_open options",
    "ls_lstm_with options",
    "ls_mean_loss weights", "ls_measure_flops isa", "ls_mesh_open options",
    "ls_onnx_node name", "ls_npz_load name", "ls_npz_shape name",
    "ls_pool_open options",
    "ls_predictor_open_graph weights", "ls_reverse lengths",
    "ls_realmlp_new options",
    "ls_reduce_scatter axis",
    "ls_sharding_data_parallel data_axis", "ls_source_images options",
    "ls_source_pictures options",
    "ls_sparse_dense values", "ls_sparse_dense_with options",
    "ls_sparse_dense_with values",
    "ls_state_place placement",
    "ls_coding_window horizon", "ls_table_context_open pool",
    "ls_table_data_open options", "ls_table_data_take held",
    "ls_table_model_open options", "ls_table_predict_doubles best",
    "ls_table_predict_doubles number", "ls_table_predict_doubles word",
    "ls_table_predict_next best", "ls_table_predict_text best",
    "ls_trace_open options", "ls_trainer_load names",
    "ls_trainer_open options", "ls_trainer_open_gradient options",
    "ls_transcript_end model", "ls_transcript_states roots",
    "ls_transport_cpus cpus", "ls_transpose axes",
};

/* Functions that return an int which is no status. */
static const char *const counts[] = {
    "ls_archive_entries", "ls_coding_width", "ls_coding_window",
    "ls_generator_length", "ls_generator_window",
    "ls_graph_nodes", "ls_mesh_axis_size",
    "ls_mesh_devices", "ls_mesh_usable_cores", "ls_mesh_workers",
    "ls_pool_devices", "ls_pool_workers",
    "ls_table_columns", "ls_table_data_rows",
    "ls_trainer_devices", "ls_trainer_params",
};

/* A number that fails as a status does, because 0 is one of something. */
static const char *const indices[] = {"ls_random_categorical",
                                      "ls_transcript_same",
                                      "ls_transcript_states"};

/* Those that return a factor, of which 1 does nothing. */
static const char *const factors[] = {"ls_plateau_take"};

/* Those that return a text which is never NULL. */
static const char *const texts[] = {
    "ls_mesh_cores_text", "ls_mesh_cpu", "ls_mesh_text",
};

#define IS_IN(list, text) is_in(list, sizeof(list) / sizeof *(list), text)

static bool is_in(const char *const *list, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], text))
            return true;
    return false;
}

/* Whatever ends something accepts NULL. */
static bool ends(const char *function)
{
    const char *last = strrchr(function, '_');

    return !strcmp(last, "_close") || !strcmp(last, "_free");
}

static bool may_be_null(const row *r)
{
    char pair[128];

    snprintf(pair, sizeof pair, "%s %s", r->function, r->argument);
    return ends(r->function) || IS_IN(means_something, pair) ||
           (!strcmp(r->type, "ls_node *") && !strcmp(r->argument, "name") &&
            strcmp(r->function, "ls_input") != 0 &&
            strcmp(r->function, "ls_buffer") != 0 &&
            strcmp(r->function, "ls_parameter") != 0); /* a layer without one */
}

static long long nothing(const row *r)
{
    if (!strcmp(r->type, "int") && !IS_IN(counts, r->function))
        return LS_EINVAL;
    return IS_IN(indices, r->function) ? LS_EINVAL : 0;
}

static bool is_nothing(const row *r, const answer *a)
{
    if (IS_IN(factors, r->function))
        return a->real == 1;
    if (!strchr(r->type, '*'))
        return !strcmp(r->type, "double") ? a->real == 0 || isnan(a->real)
                                          : a->number == nothing(r);
    return IS_IN(texts, r->function)
               ? a->pointer && !*(const char *)a->pointer
               : !a->pointer;
}

/* "ls_step: batch is NULL", for the function as programs write it. */
static bool says_so(const row *r)
{
    size_t n = strlen(r->function);
    char text[160];

    if (n > 6 && !strcmp(r->function + n - 6, "_bytes"))
        n -= 6;
    snprintf(text, sizeof text, "%.*s: %s is NULL", (int)n, r->function,
             r->argument);
    return !strcmp(ls_errmsg(), text);
}

/* ------ The calls ------ */

enum { RIGHT, SILENT, ANSWERED, REFUSED };

static const char *const wrong[] = {
    "", "does not say which argument is NULL", "does not return nothing",
    "refuses NULL though it may be NULL",
};

/* Judge a call in a child: what is wrong with it. */
static int judge(const row *r)
{
    answer a = {-77, &a, -77};

    ls_error(0, "");
    r->call(&a);
    if (may_be_null(r))
        return strstr(ls_errmsg(), "is NULL") ? REFUSED : RIGHT;
    if (r->node) /* a message would be that of what made no node */
        return a.pointer ? ANSWERED : RIGHT;
    if (!says_so(r))
        return SILENT;
    return !strcmp(r->type, "void") || !strcmp(r->type, "ls_mark") ||
           !strcmp(r->type, "ls_optimizer") || is_nothing(r, &a)
               ? RIGHT : ANSWERED;
}

/* Whether a call is right; prints what is not. */
static bool is_right(const row *r)
{
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        /* A call that waits for ever is wrong as well. */
        alarm(getenv("LS_EMULATED") ? 300 : 10);
        _exit(judge(r));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == RIGHT)
        return true;
    printf("%s(.. %s NULL ..) %s\n", r->function, r->argument,
           WIFEXITED(status) && WEXITSTATUS(status) <= REFUSED
               ? wrong[WEXITSTATUS(status)]
               : "crashes");
    return false;
}

static int nothing_mapped(void *user, int device, const void *const *in,
                          void *const *out)
{
    (void)user, (void)device, (void)in, (void)out;
    return 0;
}

static int no_forward(void *user, const ls_own_run *run)
{
    (void)user, (void)run;
    return 0;
}

static void give_plain(void)
{
    static float numbers[96];
    static void *buffer[2] = {numbers, numbers + 16};
    static void *out[2] = {numbers + 32, numbers + 64};
    static const ls_array_spec spec = {"x", LS_F32, 1, {IN}};
    static ls_array array = {"x", LS_F32, 2, {ROWS, IN}, numbers};
    static ls_buffers buffers = {"x", LS_F32, 16, buffer, out};
    static ls_gradient gradient = {no_gradient, NULL, 1, 1, &spec, &spec};
    static ls_own_op own = {"own", 1, NULL, NULL, 0, no_forward, no_forward};

    snprintf(given.text, sizeof given.text, "x");
    given.array = &array;
    given.buffers = &buffers;
    given.gradient = &gradient;
    given.own_op = &own;
    given.pmap_fn = nothing_mapped;
}

static void give_graph(void)
{
    given.graph = small_graph();
    given.node = ls_input(given.graph, "z", LS_F32, 1, (int64_t[]){IN});
    for (int i = 0; i < 3; i++)
        given.nodes[i] = given.node;
}

static void give_trainer(void)
{
    ls_graph *g = empty_graph();

    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){OUT});
    ls_node *out = ls_dense(x, OUT, "out");
    OK(ls_output(g, out, "y"));
    OK(ls_loss(g, ls_mean_squared_error(out, y)));
    OK(ls_trainer_open(&given.trainer, given.pool, g, NULL));
    ls_graph_free(g);
    given.batch = small_batch(given.trainer);
    OK(ls_gradients_open(&given.gradients, given.trainer, 1));
    OK(ls_predictor_open(&given.predictor, given.trainer));
    OK(ls_context_open(&given.context, given.predictor, NULL));
}

/* A generator of a model of tokens. */
static void give_generator(void)
{
    ls_predictor *p;
    ls_trainer *t;
    ls_node *x;
    ls_graph *g = empty_graph();

    x = ls_input(g, "tokens", LS_I32, 1, (int64_t[]){4});
    x = ls_dense(ls_embed(x, 5, 3, "embed"), 5, "out");
    OK(ls_output(g, x, "y"));
    OK(ls_loss(g, ls_mean_loss(x, NULL)));
    OK(ls_trainer_open(&t, given.pool, g, NULL));
    OK(ls_predictor_open(&p, t));
    OK(ls_generator_open(&given.generator, p, "y"));
    ls_predictor_close(p);
    ls_trainer_close(t);
    ls_graph_free(g);
}

static const char *golden_model(void)
{
    static char path[4096];
    const char *top = getenv("top_srcdir");

    snprintf(path, sizeof path, "%s/test/golden/import_terms.onnx",
             top ? top : "..");
    return path;
}

static void give_files(void)
{
    static ls_checkpoints_options o;
    const char *path = in_folder("file");

    o = ls_checkpoints_defaults();
    o.folder = folder;
    given.checkpoints_options = &o;
    OK(ls_checkpoints_open(&given.checkpoints, given.trainer, &o));
    OK(ls_trainer_save(given.trainer, path));
    OK(ls_archive_open(&given.archive, path));
    OK(ls_onnx_open(&given.onnx, golden_model()));
    put_file(in_folder("table"), "a,b\n1,2\n", 8);
    OK(ls_table_open(&given.table, in_folder("table")));
    OK(ls_table_data_open(&given.table_data, in_folder("table"), NULL));
}

/* What the model's table would have been. */
static void give_table_model(void)
{
    static const char note[] =
        "{\"version\":1,\"missing\":\"refused\",\"inputs\":["
        "{\"name\":\"a\",\"mean\":0,\"scale\":1},"
        "{\"name\":\"b\",\"mean\":0,\"scale\":1},"
        "{\"name\":\"c\",\"mean\":0,\"scale\":1}],"
        "\"target\":{\"name\":\"d\",\"words\":[\"no\",\"yes\"]}}";

    OK(ls_coding_read(&given.coding, note, "note"));
    OK(ls_table_model_of(&given.table_model, given.predictor, given.coding));
    OK(ls_realmlp_new(&given.realmlp, given.coding, NULL));
    OK(ls_table_context_open(&given.table_context, given.table_model, NULL));
}

static void give_save(void)
{
    static ls_save_options o;

    o = ls_save_defaults();
    given.save_options = &o;
}

static void give_transcript(void)
{
    static ls_control control = {"cursor", 1};
    ls_transcript_options o = ls_transcript_defaults();

    given.control = &control;
    o.path = in_folder("transcript");
    o.program = "test_null";
    OK(ls_transcript_open(&given.transcript, given.trainer, &o, 0, NULL));
}

static void give_record(void)
{
    ls_record_options o = ls_record_defaults();
    ls_result result;

    o.path = in_folder("record.lsr");
    o.record = &given.record;
    OK(ls_trainer_record(given.trainer, given.batch, &o, &result));
}

static void give_rest(void)
{
    static ls_sharding sharding;
    static ls_source source;
    static float x[ROWS * IN], y[ROWS * OUT];
    ls_array arrays[] = {{"x", LS_F32, 2, {ROWS, IN}, x},
                         {"y", LS_F32, 2, {ROWS, OUT}, y}};
    ls_loader_options o = ls_loader_defaults();

    OK(ls_sharding_data_parallel(&sharding, given.mesh, NULL));
    given.sharding = &sharding;
    OK(ls_shards_cut(&given.shards, &sharding, 1, given.array,
                      LS_UNEVEN_PAD));
    OK(ls_source_arrays(&source, 2, arrays));
    o.no_thread = true;
    OK(ls_loader_open(&given.loader, given.trainer, &source, &o));
    OK(ls_source_arrays(&source, 2, arrays));
    given.source = &source;
    OK(ls_trace_open(&given.trace, given.pool, NULL));
    give_transcript();
    give_record();
    OK(ranks_open(&given.ranks, 1, NULL));
    given.transport = ranks_transport(given.ranks, 0);
}

static void take_back(void)
{
    ls_trace_close(given.trace);
    ls_transcript_close(given.transcript);
    ranks_close(given.ranks);
    ls_source_close(given.source);
    ls_loader_close(given.loader);
    ls_shards_free(given.shards);
    ls_table_close(given.table);
    ls_table_data_close(given.table_data);
    ls_table_context_close(given.table_context);
    ls_table_model_close(given.table_model);
    ls_realmlp_free(given.realmlp);
    ls_coding_free(given.coding);
    ls_archive_close(given.archive);
    ls_onnx_close(given.onnx);
    ls_checkpoints_close(given.checkpoints);
    ls_generator_close(given.generator);
    ls_context_close(given.context);
    ls_predictor_close(given.predictor);
    ls_gradients_close(given.gradients);
    ls_batch_close(given.batch);
    ls_trainer_close(given.trainer);
    ls_pool_close(given.pool);
    ls_graph_free(given.graph);
    ls_mesh_close(given.mesh);
    folder_close();
}

TEST(test_every_function)
{
    ls_mesh_options o = ls_mesh_defaults();
    int bad = 0;

    o.devices = 2;
    o.workers = 1;
    folder_open();
    OK(ls_mesh_open(&given.mesh, &o));
    give_plain();
    give_save();
    given.pool = open_pool(2, 1); /* no thread: a fork loses none */
    give_trainer();
    give_generator();
    give_files();
    give_table_model();
    give_rest();
    give_graph();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        bad += !is_right(&table[i]);
    take_back();
    ck_assert_msg(bad == 0, "%d of %zu calls with NULL are not refused as "
                  "they should be", bad, sizeof table / sizeof *table);
}

/* A node that is NULL where no builder failed does not pass unseen. */
TEST(test_missing_input)
{
    ls_graph *g = empty_graph();
    ls_trainer *t = NULL;
    ls_pool *pool = open_pool(1, 1);

    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    ls_node *y = ls_dense(x, OUT, "out");
    ck_assert_ptr_null(ls_relu(NULL));
    ck_assert_ptr_null(ls_relu(ls_add(y, ls_relu(NULL))));
    ck_assert_ptr_null(ls_concat(&y, 0, 0));
    ck_assert_str_eq(ls_errmsg(), "ls_concat: 0 nodes; there must be 1 or "
                     "more");
    FAILS(ls_loss(g, NULL), LS_EINVAL, "add: input 1 is NULL");
    FAILS(ls_output(g, NULL, "y"), LS_EINVAL, "add: input 1 is NULL");
    FAILS(ls_trainer_open(&t, pool, g, NULL), LS_EINVAL,
          "add: input 1 is NULL");
    ls_graph_free(g);
    ls_pool_close(pool);
}

/* Nor does a list in options of which there is nothing but the count. */
TEST(test_missing_list)
{
    ls_checkpoints_options o = ls_checkpoints_defaults();
    ls_array_spec x = {"x", LS_F32, 1, {IN}};
    ls_gradient own = {no_gradient, NULL, 1, 1, &x, NULL};
    ls_pool *pool = open_pool(2, 1);
    ls_graph *g = small_graph();
    ls_checkpoints *saved;
    ls_trainer *t, *other;

    folder_open();
    OK(ls_trainer_open(&t, pool, g, NULL));
    o.folder = in_folder("saved");
    o.n_settings = 2;
    FAILS(ls_checkpoints_open(&saved, t, &o), LS_EINVAL,
          "2 settings: settings is NULL");
    o.n_settings = -1;
    FAILS(ls_checkpoints_open(&saved, t, &o), LS_EINVAL, "-1 settings");
    o.n_settings = 0;
    OK(ls_checkpoints_open(&saved, t, &o));
    FAILS(ls_checkpoints_save(saved, 1, NULL), LS_EINVAL, "NULL");
    FAILS(ls_checkpoints_save(saved, -1, NULL), LS_EINVAL, "-1 settings");
    FAILS(ls_trainer_open_gradient(&other, pool, &own, NULL), LS_EINVAL,
          "an input and a parameter");
    own.inputs = NULL;
    own.params = &x;
    FAILS(ls_trainer_open_gradient(&other, pool, &own, NULL), LS_EINVAL,
          "an input and a parameter");
    ls_checkpoints_close(saved);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    folder_close();
}

MAIN()
