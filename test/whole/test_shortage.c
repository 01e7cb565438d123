/* SPDX-License-Identifier: BSD-3-Clause */
/* Shortage of memory: opening all there is, shards, collectives, ls_pmap,
 * placement, saving, loading, checkpoints (over ranks too), images, tracing,
 * adapters, transcripts, records, with each of their allocations
 * failing in turn.  Each call fails with LS_ENOMEM, keeps nothing, and works
 * when asked again.  Steady steps allocate nothing at all.
 *
 * malloc's family is ours here (faults.h), before the C library's.  Sanitizers
 * bring their own, and then this program has nothing to do. */
#define _GNU_SOURCE
#include "golden/npz_files.h"
#include "picture_folder.h"
#include "small_model.h"

#include "faults.h"
#include "on_ranks.h"

#include <lockstep/files.h>
#include <lockstep/images.h>
#include <lockstep/record.h>
#include <lockstep/transcript.h>

#include <dlfcn.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#if OWN_MALLOC

enum { LAYERS = 32 };

/* ------ what is spared ------ */

static void *next(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);

    if (!f)
        abort();
    return f;
}

/* glibc's sorts without the room that it cannot have. */
VISIBLE void qsort(void *at, size_t n, size_t size,
                   int (*compare)(const void *, const void *))
{
    void (*real)(void *, size_t, size_t,
                 int (*)(const void *, const void *)) = next("qsort");
    bool before = spared;

    spared = true;
    real(at, n, size, compare);
    spared = before;
}

/* jansson's parser does not survive a shortage of its own (2.14: a string whose
 * buffer could not grow is read past its end): all of it fails, or nothing. */
static bool can_parse(json_error_t *error)
{
    if (fail_memory != ALL_MEMORY || granted())
        return true;
    if (error)
        *error = (json_error_t){.line = -1};
    return false;
}

VISIBLE json_t *json_loadb(const char *text, size_t n, size_t flags,
                           json_error_t *error)
{
    json_t *(*real)(const char *, size_t, size_t, json_error_t *) =
        next("json_loadb");
    bool before = spared;
    json_t *value;

    if (!can_parse(error))
        return NULL;
    spared = true;
    value = real(text, n, flags, error);
    spared = before;
    return value;
}

VISIBLE json_t *json_loads(const char *text, size_t flags, json_error_t *error)
{
    return json_loadb(text, strlen(text), flags, error);
}

/* ------ what is called ------ */

static ls_pool *pool;
static ls_trainer *trainer;
static ls_graph *graph;
static float numbers[4][16];
static void *buffer[] = {numbers[0], numbers[1], numbers[2], numbers[3]};

static int shard(void)
{
    static const ls_sharding four = {"data", 4, 1, 4};
    ls_array set[] = {{"a", LS_F32, 2, {7, 2}, numbers},
                      {"b", LS_U8, 1, {7}, numbers}};
    ls_shards *shards;
    int status = ls_shards_cut(&shards, &four, 2, set, LS_UNEVEN_PAD);

    if (status == 0)
        ls_shards_free(shards);
    return status;
}

static int reduce(void)
{
    ls_buffers b = {"b", LS_F32, 16, buffer, NULL};

    return ls_all_reduce(pool, NULL, LS_REDUCE_SUM, 1, &b);
}

static int nothing(void *user, int device, const void *const *in,
                   void *const *out)
{
    (void)user, (void)device, (void)in, (void)out;
    return 0;
}

static int pmap(void)
{
    ls_array a = {"a", LS_F32, 2, {4, 16}, numbers};

    return ls_pmap(pool, nothing, NULL, 1, &a, 1, &a);
}

static int place(void)
{
    return ls_state_place(trainer, LS_STATE_ALL, "out.bias=0,*=1");
}

static int open_checked(void)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_trainer *t;
    int status;

    o.check_divergence = true;
    status = ls_trainer_open(&t, pool, graph, &o);
    if (status == 0)
        ls_trainer_close(t);
    return status;
}

static int open_gradient(void)
{
    static const ls_array_spec in = {.name = "x", .dtype = LS_F32};
    static const ls_array_spec w = {.name = "w", .dtype = LS_F32, .rank = 1,
                                    .shape = {5}};
    ls_gradient g = {no_gradient, NULL, 1, 1, &in, &w};
    ls_trainer_options o = ls_trainer_defaults();
    ls_trainer *t;
    int status;

    o.optimizer = ls_adam(1);
    o.clip_norm = 1;
    o.accumulate = 2;
    status = ls_trainer_open_gradient(&t, pool, &g, &o);
    if (status == 0)
        ls_trainer_close(t);
    return status;
}

static int open_batch(void)
{
    ls_batch *b;
    int status = ls_batch_open(&b, trainer);

    if (status == 0)
        ls_batch_close(b);
    return status;
}

static int build(void)
{
    ls_init orthogonal = ls_init_orthogonal(1);
    int64_t one = 1;
    ls_trainer *t = NULL;
    ls_graph *g;
    int status = ls_graph_new(&g);

    if (status < 0)
        return status;
    ls_node *x = ls_input(g, "x", LS_F32, 1, &one);
    ls_node *h = ls_dense(ls_layer_norm(ls_gelu(x), "norm"), 1, "out");
    ls_output(g, h, "h");
    ls_loss(g, ls_mean_squared_error(h, ls_input(g, "y", LS_F32, 1, &one)));
    ls_init_params(g, "*kernel", &orthogonal);
    status = ls_trainer_open(&t, pool, g, NULL);
    ls_trainer_close(t);
    ls_graph_free(g);
    return status;
}

/* Two layers of which "out" has an adapter, and its trainer. */
static int open_adapted(ls_graph **g, ls_trainer **t, bool saved)
{
    int64_t three = 3;
    int status = ls_graph_new(g);

    *t = NULL;
    if (status < 0)
        return status;
    ls_node *x = ls_input(*g, "x", LS_F32, 1, &three);
    ls_node *h = ls_dense(ls_dense(x, 4, "fc"), 3, "out");
    ls_output(*g, h, "h");
    ls_loss(*g, ls_mean_squared_error(h, x));
    status = saved ? ls_lora_add_saved(*g, in_folder("adapters"))
                   : ls_lora_add(*g, "out.*", 2, 4);
    if (status == 0)
        status = ls_trainer_open(t, pool, *g, NULL);
    if (status < 0)
        ls_graph_free(*g);
    return status;
}

static int with_adapters(bool saved, int (*call)(ls_trainer *t))
{
    ls_trainer *t;
    ls_graph *g;
    int status = open_adapted(&g, &t, saved);

    if (status < 0)
        return status;
    status = call(t);
    ls_trainer_close(t);
    ls_graph_free(g);
    return status;
}

static int save_adapters(ls_trainer *t)
{
    return save_as(LS_SAVE_ADAPTERS, t, in_folder("adapters"));
}

static int save_merged(ls_trainer *t)
{
    return save_as(LS_SAVE_MERGED, t, in_folder("merged"));
}

static int load_adapters(ls_trainer *t)
{
    return ls_lora_load(t, in_folder("adapters"));
}

static int adapt(void)
{
    return with_adapters(false, save_adapters);
}

static int adapt_again(void)
{
    return with_adapters(true, load_adapters);
}

static int merge(void)
{
    return with_adapters(false, save_merged);
}

static int save(void)
{
    int status = ls_trainer_save(trainer, "shortage.tmp");

    unlink("shortage.tmp");
    return status;
}

static int save_model(void)
{
    return ls_trainer_save_model(trainer, in_folder("model"));
}

static int load(void)
{
    ls_array t;
    int status = ls_npy_load(&t, in_folder("shortage.npy"), LS_F32);

    if (status == 0)
        ls_array_free(&t);
    return status;
}

static int load_member(void)
{
    ls_array t;
    int status = ls_npz_load(&t, in_folder("shortage.npz"), "x", LS_F32);

    if (status == 0)
        ls_array_free(&t);
    return status;
}

static int trace(void)
{
    ls_trace_options o = {.size = sizeof o, .level = 1, .events = 16};
    ls_trace *t;
    int status = ls_trace_open(&t, pool, &o);

    if (status < 0)
        return status;
    ls_mark_end(pool, ls_mark_begin(pool, "mark"));
    status = pmap(); /* phases, and waiting */
    ls_trace_counter(pool, "counter", 1);
    if (status == 0)
        status = ls_trace_write(t, "shortage.json");
    unlink("shortage.json");
    ls_trace_close(t);
    return status;
}

static int mesh(void)
{
    ls_mesh *m;
    ls_pool *p;
    int status = ls_mesh_open(&m, NULL);

    if (status < 0)
        return status;
    status = ls_pool_open(&p, m, NULL);
    if (status == 0)
        ls_pool_close(p);
    ls_mesh_close(m);
    return status;
}

static int load_params(void)
{
    return ls_trainer_load(trainer, in_folder("params"), "hidden.*");
}

static int look_at(const char *path)
{
    ls_archive *a;
    int status = ls_archive_open(&a, path);

    if (status == 0)
        ls_archive_close(a);
    return status;
}

static int look(void)
{
    return look_at(in_folder("c/step-000000000000"));
}

static const ls_setting setting = {"name", "value"};

/* Open, save and wait; where the second save comes before the first is on disk,
 * it waits for it. */
static int keep_of(ls_trainer *t, const ls_checkpoints_options *o)
{
    ls_checkpoints *c;
    int status = ls_checkpoints_open(&c, t, o);

    if (status < 0)
        return status;
    status = ls_checkpoints_save(c, 1, &setting);
    if (status == 0)
        status = ls_checkpoints_save(c, 0, NULL);
    if (status == 0)
        status = ls_checkpoints_wait(c);
    ls_checkpoints_close(c);
    return status;
}

static ls_checkpoints_options options_in(const char *name)
{
    return (ls_checkpoints_options){.size = sizeof(ls_checkpoints_options),
                                    .folder = name, .keep = 1, .n_settings = 1,
                                    .settings = &setting};
}

static int keep(void)
{
    ls_checkpoints_options o = options_in(in_folder("k"));

    return keep_of(trainer, &o);
}

static int resume_of(ls_trainer *t, const ls_checkpoints_options *o)
{
    ls_checkpoints *c;
    int64_t step;
    int status = ls_checkpoints_open(&c, t, o);

    if (status < 0)
        return status;
    status = ls_checkpoints_load(c, &step);
    if (status == 0 && step < 0)
        status = LS_ENOTFOUND; /* nothing but memory may be missing */
    if (status == 0 && ls_checkpoints_skipped(c))
        status = LS_EFORMAT;
    ls_checkpoints_close(c);
    return status;
}

static int resume_from(const char *name)
{
    ls_checkpoints_options o = options_in(in_folder(name));

    return resume_of(trainer, &o);
}

static int resume(void)
{
    return resume_from("c");
}

/* ------ a trainer whose names and options fill blocks of memory ------ */

static ls_trainer *rich; /* many layers, all options, a rate that was set */

/* A path as long as there may be one. */
static const char *long_path(const char *name)
{
    static char path[4000];
    size_t n = (size_t)snprintf(path, sizeof path, "%s", folder);

    while (n + strlen(name) + 8 < sizeof path)
        n += (size_t)snprintf(path + n, sizeof path - n, "/.");
    snprintf(path + n, sizeof path - n, "/%s", name);
    return path;
}

/* Patterns of which the last one matches all. */
static const char *many_patterns(void)
{
    static char text[20000];

    memset(text, ',', sizeof text - 2);
    text[sizeof text - 2] = '*';
    return text;
}

static int open_long(void)
{
    ls_checkpoints_options o = options_in(long_path("r"));
    ls_checkpoints *c;
    int status;

    o.may_change = many_patterns();
    status = ls_checkpoints_open(&c, rich, &o);
    if (status == 0)
        ls_checkpoints_close(c);
    return status;
}

/* What a trainer of other options saved. */
static int resume_rich(void)
{
    ls_checkpoints_options o = options_in(in_folder("plain"));

    o.may_change = "*";
    return resume_of(rich, &o);
}

static int look_rich(void)
{
    return look_at(in_folder("plain/step-000000000000.1"));
}

/* ------ ranks, of which one is short of memory ------ */

static ls_pool *pools[2];
static const char *shared_path;
static int short_rank;

static int count_and_hash(ls_checkpoints *c, ls_trainer *t)
{
    int n = ls_checkpoints_count(c);
    char hex[65];

    if (n < 0)
        return n;
    ls_trainer_hash(t, hex);
    return *hex ? 0 : LS_ENOMEM;
}

static int keep_spread(ls_trainer *t)
{
    ls_checkpoints_options o = options_in(shared_path);
    ls_checkpoints *c;
    int64_t step;
    int status = ls_checkpoints_open(&c, t, &o);

    if (status < 0)
        return status;
    status = ls_checkpoints_save(c, 1, &setting);
    if (status == 0)
        status = ls_checkpoints_wait(c);
    if (status == 0)
        status = ls_checkpoints_load(c, &step);
    if (status == 0)
        status = count_and_hash(c, t);
    ls_checkpoints_close(c);
    return status;
}

/* Opening is spared; who is short tells the other one at last. */
static int run_rank(const ls_transport *link, void *user)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_trainer *t = NULL;
    int status;

    (void)user;
    spared = true;
    o.optimizer = ls_adam(0.1);
    o.transport = link;
    status = ls_trainer_open(&t, pools[link->rank], graph, &o);
    spared = link->rank != short_rank;
    if (status == 0)
        status = keep_spread(t);
    spared = true;
    if (status < 0 && link->rank == short_rank)
        link->abort(link->user, ls_errmsg());
    ls_trainer_close(t);
    return status;
}

static int run_ranks(int which)
{
    const ranks_options o = {.patience = 30};
    rank_body out[RANKS];
    ranks_here *all;
    int status;

    short_rank = which;
    shared_path = in_folder("s");
    spared = true;
    nftw(shared_path, folder_remove, 8, FTW_DEPTH | FTW_PHYS);
    status = ranks_open(&all, 2, &o);
    on_ranks(all, 2, run_rank, NULL, out);
    ranks_close(all);
    spared = false;
    if (status == 0 && out[!which].status < 0)
        status = ls_error(out[!which].status, out[!which].message);
    if (status == 0 || out[which].status < 0)
        status = out[which].status < 0
                     ? ls_error(out[which].status, out[which].message) : status;
    return status;
}

static int first_short(void)
{
    return run_ranks(0);
}

static int second_short(void)
{
    return run_ranks(1);
}

static ls_graph *deep_graph(void)
{
    int64_t wide = 2;
    ls_graph *g = empty_graph();
    ls_node *x, *h;

    h = x = ls_input(g, "x", LS_F32, 1, &wide);
    for (int i = 0; i < LAYERS; i++) {
        char name[256];

        snprintf(name, sizeof name, "%0*d", 200, i);
        h = ls_dense(h, wide, name);
    }
    OK(ls_loss(g, ls_mean_squared_error(h, x)));
    return g;
}

static void open_rich(void)
{
    static const ls_boundary boundary = {7, 0.5};
    ls_group group = ls_group_of("*kernel");
    ls_checkpoints_options plain = options_in(in_folder("plain"));
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = deep_graph();

    o.optimizer = ls_adam(0.1);
    o.average = 0.9;
    OK(ls_trainer_open(&rich, pool, g, &o));
    OK(keep_of(rich, &plain));
    ls_trainer_close(rich);
    group.rate = 0.5;
    o.schedule = (ls_schedule){.kind = LS_PIECEWISE, .n_boundaries = 1,
                               .boundaries = &boundary};
    o.n_groups = 1;
    o.groups = &group;
    o.clip_value = 1;
    OK(ls_trainer_open(&rich, pool, g, &o));
    OK(ls_trainer_set_lr(rich, 0.3));
    ls_graph_free(g);
}

static int read_images(const char *name)
{
    ls_source s;
    int status = ls_source_images(&s, in_folder(name), NULL);

    if (status == 0)
        ls_source_close(&s);
    return status;
}

static int images(void)
{
    return read_images("idx-images");
}

static int zipped(void)
{
    return read_images("gz-images.gz");
}

static int pictures(void)
{
#ifdef WITH_PICTURES
    return use_pictures(1);
#else
    return images();
#endif
}

/* ------ proofs ------ */

static ls_trainer *proved;
static ls_batch *rows;

static int transcribe_to(const char *name)
{
    ls_transcript_options o = ls_transcript_defaults();
    ls_transcript *t;
    ls_result r;
    int status, closed;

    o.path = in_folder(name);
    o.program = "test";
    o.every = 1;
    o.settings = &setting;
    o.n_settings = 1;
    status = ls_transcript_open(&t, proved, &o, 0, NULL);
    if (status < 0)
        return status;
    status = ls_step(proved, rows, &r);
    if (status == 0)
        status = ls_transcript_step(t, 0, &r);
    if (status == 0)
        status = ls_transcript_event(t, "word", 1, &setting);
    if (status == 0)
        status = ls_transcript_end(t, 0, NULL, NULL);
    closed = ls_transcript_close(t);
    return status < 0 ? status : closed;
}

static int transcribe(void)
{
    return transcribe_to("shortage.lst");
}

static int read_transcripts(void)
{
    ls_transcript_difference d;
    ls_transcript_facts facts;
    int status = ls_transcript_check(in_folder("a.lst"), &facts);

    if (status == 0)
        status = ls_transcript_compare(in_folder("a.lst"), in_folder("b.lst"),
                                       &d);
    return status == 0 && (!facts.is_whole || d.same) ? LS_EFORMAT : status;
}

static ls_source drawn_from; /* which a record's batch is said to be of */

static int record_to(const char *name)
{
    ls_record_options o = ls_record_defaults();
    const ls_control control = {"cursor", 1};
    ls_result r;

    o.path = in_folder(name);
    o.values = true;
    o.batches = 0;
    o.controls = &control;
    o.n_controls = 1;
    o.source = &drawn_from;
    o.batch = ROWS;
    o.epoch = 2;
    o.shuffle = true;
    return ls_trainer_record(proved, rows, &o, &r);
}

static int record(void)
{
    return record_to("shortage.lsr");
}

/* Has a file that was written all the same the bytes of another? */
static bool same_bytes(const char *name, const char *as)
{
    char command[512];

    snprintf(command, sizeof command, "cmp -s %s %s", in_folder(name),
             in_folder(as));
    return system(command) == 0;
}

static int compare_records(void)
{
    ls_record_difference d;
    int status = ls_record_compare(in_folder("a.lsr"), in_folder("a.lsr"), &d);

    return status == 0 && !d.same ? LS_EFORMAT : status;
}

/* A trainer of no step yet, so that what is written of its first is known. */
static void begin_proofs(void)
{
    ls_batch_close(rows);
    ls_trainer_close(proved);
    OK(ls_trainer_open(&proved, pools[0], graph, NULL));
    rows = small_batch(proved);
}

/* Two transcripts and a record. */
static void write_proofs(void)
{
    static float x[2 * ROWS * IN], y[2 * ROWS * OUT];
    const ls_array arrays[] = {{"x", LS_F32, 2, {2 * ROWS, IN}, x},
                               {"y", LS_F32, 2, {2 * ROWS, OUT}, y}};

    OK(ls_source_arrays(&drawn_from, 2, arrays));
    rows = NULL;
    proved = NULL;
    begin_proofs();
    OK(record_to("a.lsr"));
    begin_proofs();
    OK(transcribe_to("a.lst"));
    OK(transcribe_to("b.lst"));
}

static int (*const calls[])(void) = {
    shard, reduce, pmap, place, open_checked, open_gradient, open_batch,
    build, save, load, load_member, trace, mesh, load_params, look, keep,
    pictures, resume, images, zipped, adapt, adapt_again, merge,
    save_model, open_long, resume_rich, look_rich, first_short,
    second_short, transcribe, read_transcripts, record, compare_records,
};
enum { CALLS = sizeof calls / sizeof *calls };

/* hwloc does not survive a shortage of its own. */
static bool spares_libraries(int i)
{
    return calls[i] == mesh;
}

/* What the C library was refused is a failure of a file or a thread, or of
 * nothing when all it wanted was a buffer; libjpeg asks again for less. */
static bool says_so(int i, int status)
{
    if (status == LS_EFORMAT && calls[i] == compare_records)
        return true; /* json_unpack cannot say why it refuses */
    if (status == 0)
        return calls[i] == load || calls[i] == trace ||
               calls[i] == pictures || calls[i] == read_transcripts ||
               calls[i] == compare_records ||
               (calls[i] == transcribe &&
                same_bytes("shortage.lst", "a.lst")) ||
               (calls[i] == record && same_bytes("shortage.lsr", "a.lsr"));
    return status == LS_ENOMEM || status == LS_ETHREAD ||
           (status == LS_EIO && strstr(ls_errmsg(), strerror(ENOMEM)));
}

/* The call with allocation number n refused; asserts come afterwards, because
 * Check allocates too. */
static int call_with(int i, int n)
{
    int status;

    if (calls[i] == transcribe || calls[i] == record)
        begin_proofs();
    fail_memory = spares_libraries(i) ? OUR_MEMORY : ALL_MEMORY;
    watch_from(n);
    status = calls[i]();
    atomic_store(&watching, false);
    return status;
}

/* [[1 2], [3 4]] as a .npy file of bytes. */
static void write_npy(void)
{
    FILE *file = fopen(in_folder("shortage.npy"), "wb");

    ck_assert_ptr_nonnull(file);
    fprintf(file, "\x93NUMPY%c%c%c%c%-117s\n", 1, 0, 118, 0,
            "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2), }");
    fwrite("\1\2\3\4", 1, 4, file);
    fclose(file);
    put_file(in_folder("shortage.npz"), golden_npz_deflated,
             sizeof golden_npz_deflated);
}

/* Four images of 2x2 and their labels, plain and gzip'd. */
static void write_images(void)
{
    static const unsigned char image[16 + 16] = {0, 0, 8, 3, 0, 0, 0, 4,
                                                 0, 0, 0, 2, 0, 0, 0, 2};
    static const unsigned char label[8 + 4] = {0, 0, 8, 1, 0, 0, 0, 4};
    const char *const name[] = {"idx-images", "idx-labels"};
    const char *const zip[] = {"gz-images.gz", "gz-labels.gz"};

    for (int i = 0; i < 2; i++) {
        const void *data = i ? label : image;
        size_t n = i ? sizeof label : sizeof image;
        gzFile file = gzopen(in_folder(zip[i]), "wb");

        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(gzwrite(file, data, (unsigned)n), n);
        gzclose(file);
        put_file(in_folder(name[i]), data, n);
    }
}

/* What is read by some of the calls: the parameters, a checkpoint. */
static void write_state(void)
{
    ls_checkpoints_options o = {.size = sizeof o,
                                .folder = in_folder("c"), .keep = 0,
                                .n_settings = 1, .settings = &setting};
    ls_checkpoints *c;

    OK(ls_trainer_save(trainer, in_folder("params")));
    OK(ls_checkpoints_open(&c, trainer, &o));
    OK(ls_checkpoints_save(c, 1, &setting));
    OK(ls_checkpoints_wait(c));
    ls_checkpoints_close(c);
}

/* Every allocation is checked, and nothing is kept after a failure. */
LOOP_TEST(test_each_fails, 0, CALLS)
{
    bool refused = true;
    int expected;

    write_npy();
    pool = open_axes("data:2,model:2", 2);
    graph = small_graph();
    OK(ls_trainer_open(&trainer, pool, graph, NULL));
    OK(ls_trainer_set_lr(trainer, 0.25)); /* which checkpoints note */
    for (int r = 0; r < 2; r++)
        pools[r] = open_axes("data:2", 1);
    write_state();
    write_proofs();
    open_rich();
    OK(first_short()); /* threads that end leave stacks for later ones */
    write_images();
    write_picture_folder();
    OK(adapt()); /* a file of adapters */
    /* "hidden.bias" has no axis 1: a failure of another kind. */
    expected = calls[_i] == place ? LS_EINVAL : 0;
    ck_assert_int_eq(call_with(_i, 0), expected);
    ck_assert_int_gt(atomic_load(&count), 0);
    ck_assert_int_eq(atomic_load(&live), 0);
    for (int n = 1; refused; n++) {
        int status = call_with(_i, n);

        refused = atomic_load(&count) >= n;
        ck_assert_msg(refused ? says_so(_i, status) : status == expected,
                      "call %d, allocation %d: %d, %s", _i, n, status,
                      ls_errmsg());
        ck_assert_msg(atomic_load(&live) == 0, "call %d, allocation %d: left",
                      _i, n);
        if (calls[_i] == keep) /* whatever happened, the newest is whole */
            OK(resume_from("k"));
    }
    ck_assert_int_eq(call_with(_i, 0), expected);
    ls_batch_close(rows);
    ls_trainer_close(proved);
    ls_trainer_close(rich);
    ls_trainer_close(trainer);
    ls_graph_free(graph);
    for (int r = 0; r < 2; r++)
        ls_pool_close(pools[r]);
    ls_pool_close(pool);
}

/* A step allocates nothing while it is checked, however state is placed. */
TEST(test_step)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_result r;
    ls_batch *b;
    int status = 0;

    o.check_divergence = true;
    o.state = LS_SHARD;
    pool = open_axes("data:4", 2);
    graph = small_graph();
    OK(ls_trainer_open(&trainer, pool, graph, &o));
    b = small_batch(trainer);
    OK(ls_step(trainer, b, &r));
    fail_memory = ALL_MEMORY;
    watch_from(0);
    for (int i = 0; i < 5 && status == 0; i++)
        status = ls_step(trainer, b, &r);
    atomic_store(&watching, false);
    OK(status);
    ck_assert_int_eq(atomic_load(&count), 0);
    ls_batch_close(b);
    ls_trainer_close(trainer);
    ls_graph_free(graph);
    ls_pool_close(pool);
}

MAIN(.setup = folder_open, .teardown = folder_close)

#else

/* Skipped: malloc is the sanitizer's, or not glibc's. */
int main(void)
{
    return 77;
}

#endif
