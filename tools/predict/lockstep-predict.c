/* SPDX-License-Identifier: BSD-3-Clause */
/* lockstep-predict: what a model file makes of rows, as lines of text, or the
 * text that it generates. */
#include "data/onnx_file.h"
#include "opt/opt.h"
#include "predict/ask.h"
#include "predict/choose.h"
#include "predict/feed.h"
#include "predict/insight.h"
#include "predict/keep.h"
#include "predict/report.h"
#include "predict/settings.h"
#include "predict/table.h"
#include "run/apart.h"
#include "run/output.h"
#include "run/sample.h"

#include <lockstep.h>
#include <lockstep/csource.h>
#include <lockstep/onnx.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char opt_program_name[] = "lockstep-predict";

typedef struct run {
    opt_program program;
    settings set;
    opt_line line;
    onnx_file network; /* where MODEL is one */
    ls_graph *graph;
    ls_predictor *predictor;
    ls_context *context;
    ls_array_spec in, out;
    int of;        /* the number of that output */
    ask ask;       /* rows of a table, where the model is of one */
    keep keep;
    normal images; /* or of images */
    feed feed;     /* or of others */
    float *y;
    table table;
    output out_file; /* --output, or not open */
    FILE *file;      /* for the lines; NULL: not open yet */
} run;

/* ------ opening ------ */

static int64_t elements(const ls_array_spec *spec)
{
    int64_t size = 1;

    for (int i = 0; i < spec->rank; i++)
        size *= spec->shape[i];
    return size;
}

/* Reads a text of the file that tells of the rows. */
static int read_note(run *r, const char *path, const char *name,
                     const char *value)
{
    ask *a = &r->ask;
    int status;

    if (!strcmp(name, NORMAL_KEY))
        return normal_load(&r->images, value, path);
    if (strcmp(name, LS_CODING_NOTE) || a->coding)
        return OPT_GO;
    status = opt_check(ls_coding_read(&a->coding, value, path));
    if (status == OPT_GO &&
        ls_table_model_of(&a->model, r->predictor, a->coding) < 0)
        return opt_fail(OPT_FAILED, "%s: %s", path, ls_errmsg());
    return status;
}

static int read_file_notes(run *r, const char *path)
{
    const char *name, *value;
    ls_archive *a;
    int status = opt_check(ls_archive_open(&a, path));

    if (status != OPT_GO)
        return status;
    for (int i = 0; status == OPT_GO && ls_archive_note(a, i, &name, &value);
         i++)
        status = read_note(r, path, name, value);
    ls_archive_close(a);
    return status;
}

/* Adapters may have seen other rows than their base: theirs are the rows. */
static int read_notes(run *r, const char *path)
{
    int status = r->set.lora ? read_file_notes(r, r->set.lora) : OPT_GO;

    return status == OPT_GO && !r->ask.model && !r->images.is
               ? read_file_notes(r, path) : status;
}

static int check_files(const run *r)
{
    int count = r->line.paths, status;
    apart_file *word = calloc((size_t)count, sizeof *word);

    if (!word)
        return opt_no_memory("the names of files");
    for (int i = 0; i < count; i++)
        word[i] = (apart_file){i ? "INPUT" : "MODEL", r->line.path[i],
                               OPT_READ};
    status = apart_check(&r->line, count, word, NULL);
    free(word);
    return status;
}

static int check_paths(const run *r)
{
    bool alone = r->set.onnx || r->set.c || r->set.generate;
    int status;

    if (r->line.paths < (alone ? 1 : 2))
        return opt_fail(OPT_WRONG, "which model and which input?  see %s "
                        "--help", opt_program_name);
    if (r->set.generate && r->line.paths > 1)
        return opt_fail(OPT_WRONG, "--generate takes no INPUT, as \"%s\"",
                        r->line.path[1]);
    status = opt_check_together(&r->line);
    if (status == OPT_GO && r->line.paths < 2 && !r->set.generate)
        status = opt_refuse(&r->line, OF_ROWS, " needs an INPUT");
    return status == OPT_GO ? check_files(r) : status;
}

static int open_predictor(run *r, const char *path)
{
    int status;

    if (onnx_file_is(path) && (r->set.lora || r->set.onnx || r->set.c))
        return opt_fail(OPT_WRONG, "%s: --%s is for a model file: "
                        "lockstep-train onnx --save F.safetensors writes one",
                        path, r->set.lora ? "lora" : r->set.c ? "c" : "onnx");
    if (onnx_file_is(path))
        return onnx_file_predictor(&r->network, path, &r->graph, &r->predictor);
    if ((status = opt_check(ls_graph_load(&r->graph, path))) != OPT_GO)
        return status;
    if (r->set.lora)
        return opt_check(ls_predictor_load_lora(&r->predictor, path,
                                                r->set.lora));
    return opt_check(ls_predictor_load(&r->predictor, path));
}

static int open_model(run *r)
{
    const char *path = r->line.path[0];
    choice chosen;
    int status;

    if ((status = check_paths(r)) != OPT_GO)
        return status;
    status = open_predictor(r, path);
    if (status == OPT_GO && !onnx_file_is(path))
        status = read_notes(r, path);
    if (status != OPT_GO || (r->line.paths < 2 && !r->set.generate))
        return status; /* it is only written in other forms */
    status = choose_output(&chosen, r->graph, r->predictor, r->set.of, path);
    if (status != OPT_GO)
        return status;
    r->in = chosen.in;
    r->out = chosen.out;
    r->of = chosen.output;
    return opt_check(ls_context_open(&r->context, r->predictor, NULL));
}

/* An array, for a model that knows no columns. */
static int open_array(run *r, const char *path)
{
    if (opt_ends_as(path, ".csv") || opt_ends_as(path, ".tsv"))
        return opt_fail(OPT_WRONG, "%s: %s was trained on no table: it takes "
                        "an array, a .npy file", path, r->line.path[0]);
    return feed_array(&r->feed, path, &r->in, false);
}

static int open_input(run *r)
{
    const char *path = r->line.path[1];
    int inputs = r->line.paths - 1;

    if (inputs > 1 && !r->images.is)
        return opt_fail(OPT_WRONG, "unexpected argument \"%s\": several inputs "
                        "are for a model of images", r->line.path[2]);
    if (r->ask.model)
        return ask_open(&r->ask, path);
    if (inputs > 1 || (r->images.is && feed_is_picture(path)))
        return r->set.score ? feed_no_labels(path)
                            : feed_pictures(&r->feed, inputs, r->line.path + 1,
                                            &r->in, &r->images,
                                            r->set.skip_broken);
    if (r->images.is && !feed_is_flat(path, &r->in))
        return feed_images(&r->feed, path, &r->in, &r->images,
                           r->set.skip_broken,
                           r->set.score ? elements(&r->out) : 0);
    if (r->images.is && r->set.score)
        return feed_no_labels(path);
    return open_array(r, path);
}

static int open_output(run *r)
{
    int status = OPT_GO;

    if (r->set.output)
        status = output_open(&r->out_file, r->set.output);
    r->file = r->set.output ? r->out_file.file : stdout;
    return status;
}

static int open_table(run *r)
{
    ls_column target = {0};
    int status = open_output(r);

    if (status != OPT_GO)
        return status;
    if (r->ask.model)
        ls_coding_target(r->ask.coding, &target);
    r->table = table_new(r->file, r->graph, r->of, target);
    r->table.keep = r->set.keep ? &r->keep : NULL;
    if (r->images.classes == r->table.columns)
        r->table.class_name = r->images.class_name;
    if (ls_images_file(&r->feed.images, 0))
        r->table.files = &r->feed.images;
    r->y = malloc((size_t)(FEED_ROWS * elements(&r->out)) * sizeof *r->y);
    return r->y ? OPT_GO : opt_no_memory("the output");
}

/* The model in other forms; OPT_DONE when that is all. */
static int save_model(run *r)
{
    ls_csource_options o = ls_csource_defaults();
    int status = OPT_GO;

    o.int8 = r->set.int8;
    if (r->set.onnx)
        status = opt_check(
            r->ask.model ? ls_table_model_save_onnx(r->ask.model, r->set.onnx)
                         : ls_predictor_save_onnx(r->predictor, r->set.onnx));
    if (status == OPT_GO && r->set.c)
        status = opt_check(ls_csource_save(r->line.path[0], r->set.c, &o));
    return status == OPT_GO && r->line.paths < 2 && !r->set.generate
               ? OPT_DONE : status;
}

/* ------ predicting ------ */

/* The next rows, and in y what becomes of them; 0: that was all. */
static int predict_next(run *r, int64_t *n)
{
    const void *x;
    int status = feed_next(&r->feed, &x, n);

    if (status != OPT_GO || *n == 0)
        return status;
    status = opt_check(ls_context_set(r->context, r->in.name, r->in.dtype, x,
                                      *n));
    return status == OPT_GO
               ? opt_check(ls_context_predict(r->context, r->out.name,
                                              *n * r->table.size, r->y))
               : status;
}

static int predict(run *r)
{
    int64_t n = 0;
    int status = predict_next(r, &n);

    if (status == OPT_GO)
        table_head(&r->table);
    for (; status == OPT_GO && n > 0; status = predict_next(r, &n))
        table_rows(&r->table, n, r->y);
    return status;
}

/* --score of images */
static int score_images(run *r)
{
    tally t = {.rows = 0};
    int64_t n = 0;
    bool classes = r->table.label && r->table.columns == r->table.size;
    int status = classes ? worth_check_top(r->set.top_k, r->table.size)
                         : opt_fail(OPT_WRONG, "--score: %s: output \"%s\" is "
                                    "not of classes", r->line.path[0],
                                    r->out.name);

    while (status == OPT_GO && (status = predict_next(r, &n)) == OPT_GO && n)
        status = tally_add(&t, &r->feed, n, r->table.size, r->y, r->set.top_k);
    if (status == OPT_GO)
        tally_print(&t, r->set.top_k, r->file);
    return status;
}

/* The same of a model of a table. */
static int predict_target(run *r)
{
    int64_t n = 0;
    int status = ask_next(&r->ask, &n);

    if (status == OPT_GO)
        table_head(&r->table);
    for (; status == OPT_GO && n > 0;
         status = status == OPT_GO ? ask_next(&r->ask, &n) : status) {
        table_lines(&r->table, n, r->ask.out, r->ask.best);
        status = r->keep.status;
    }
    return status;
}

/* --score, --explain */
static int judge(run *r)
{
    insight in = {.columns = 0};
    judged j;
    int status = judge_open(&j, &r->ask, r->line.path[1], r->set.explain,
                            r->set.top_k);

    if (status == OPT_GO && r->set.explain)
        status = insight_open(&in, &j);
    if (status == OPT_GO)
        judge_print(&j, r->file);
    if (status == OPT_GO && r->set.score)
        status = report_print(&j, r->file);
    if (status == OPT_GO && r->set.explain)
        insight_print(&in, r->file);
    if (status == OPT_GO && r->set.plot)
        status = r->set.explain ? insight_draw(&in, r->set.plot)
                                : report_draw(&j, r->set.plot);
    insight_close(&in);
    judge_close(&j);
    return status;
}

/* Options of models of tables. */
static int check_table(const run *r)
{
    const settings *s = &r->set;
    const char *option = s->keep ? "keep" : s->threshold > 0 ? "threshold"
                         : s->plot ? "plot" : NULL;
    ls_column target = {0};

    if (option && !r->ask.model)
        return opt_fail(OPT_WRONG, "--%s is for models of a table", option);
    if (r->ask.model)
        ls_coding_target(r->ask.coding, &target);
    if (s->threshold > 0 && target.words != 2)
        return opt_fail(OPT_WRONG, "--threshold is for two classes, and here "
                        "%s", target.words ? "there are others"
                                           : "numbers are predicted");
    if (s->keep && s->explain)
        return opt_fail(OPT_WRONG, "--keep is for lines of predictions, and "
                        "--explain writes none");
    if (s->plot && !s->explain && target.words)
        return opt_fail(OPT_WRONG, "--plot: --score draws the residuals of "
                        "numbers, and here classes are predicted; --explain "
                        "draws what they come from");
    return OPT_GO;
}

/* Options that are for other models and inputs. */
static int check_kind(const run *r)
{
    if (r->ask.model && r->of)
        return opt_fail(OPT_WRONG, "--of: a model of a table predicts its "
                        "target, which is no output \"%s\"", r->out.name);
    return check_table(r);
}

static int predict_rows(run *r)
{
    int status = check_kind(r);

    r->ask.threshold = r->set.threshold;
    if (status == OPT_GO)
        status = open_input(r);
    if (status == OPT_GO && r->set.keep)
        status = keep_open(&r->keep, &r->ask, r->line.path[1], r->set.keep);
    if (status == OPT_GO && !r->ask.model && r->set.explain)
        status = opt_fail(OPT_WRONG, "--explain is for models of a table");
    if (status == OPT_GO && !r->ask.model && r->set.score && !r->images.is)
        status = opt_fail(OPT_WRONG, "--score is for models of a table or of "
                          "images");
    if (status == OPT_GO && r->set.skip_broken &&
        !ls_images_file(&r->feed.images, 0))
        status = opt_fail(OPT_WRONG, "--skip-broken is for pictures");
    if (status == OPT_GO)
        status = open_table(r);
    if (status != OPT_GO)
        return status;
    if (!r->ask.model)
        return r->set.score ? score_images(r) : predict(r);
    return r->set.score || r->set.explain ? judge(r) : predict_target(r);
}

/* ------ generating ------ */

/* The prompt and what follows, then a newline. */
static int generate(run *r)
{
    const settings *s = &r->set;
    sample want = {.predictor = r->predictor,
                   .model = r->line.path[0],
                   .prompt = s->prompt,
                   .key = sample_key(s->seed),
                   .temperature = s->temperature,
                   .top_k = s->top_k,
                   .count = s->generate};
    sampler *writer;
    int status = sample_open(&writer, &want);

    if (status == OPT_GO)
        status = open_output(r);
    if (status == OPT_GO)
        status = sample_print(writer, r->file);
    sample_close(writer);
    return status;
}

/* Closes the output; what did not get through is a failure. */
static int close_output(run *r, int status)
{
    return r->out_file.file ? output_close(&r->out_file, status)
                            : opt_end(status);
}

/* -o is the one short option: to the parser it is --output. */
static void spell_out(int argc, char **argv)
{
    static char long_one[] = "--output";

    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-o"))
            argv[i] = long_one;
}

int main(int argc, char **argv)
{
    static run r; /* not of a small stack (ulimit -s) */
    int status;

    spell_out(argc, argv);
    r.program = (opt_program){.models = settings_models, .model_count = 1,
                              .paths = INT_MAX, .args = "MODEL INPUT.."};
    opt_add(&r.program, settings_rows, &r.set);
    status = opt_parse(&r.program, argc, argv, &r.line);
    if (status == OPT_GO)
        status = open_model(&r);
    if (status == OPT_GO)
        status = save_model(&r);
    if (status == OPT_GO)
        status = r.set.generate ? generate(&r) : predict_rows(&r);
    status = close_output(&r, status);
    keep_close(&r.keep);
    ask_close(&r.ask);
    ls_context_close(r.context);
    ls_predictor_close(r.predictor);
    ls_graph_free(r.graph);
    onnx_file_close(&r.network);
    feed_close(&r.feed);
    normal_free(&r.images);
    free(r.y);
    return status == OPT_DONE ? 0 : status;
}
