/* lockstep-predict: what a model file makes of rows, as lines of text. */
#include "opt.h"
#include "table.h"

#include <lockstep.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char opt_program_name[] = "lockstep-predict";

enum { CHUNK = 256 }; /* rows at a time */

typedef struct settings {
    const char *output, *onnx;
} settings;

static const opt options[] = {
    {OPT_ROW("output", "F.csv", OPT_TEXT, offsetof(settings, output), NULL, "",
             "where the lines go; -o F.csv too (standard output)")},
    {OPT_ROW("onnx", "F.onnx", OPT_TEXT, offsetof(settings, onnx), NULL, "",
             "write the model for ONNX; INPUT may be left out then")},
};

static const opt_model only = {
    .name = "",
    .about = "Write what a model file predicts for each row of INPUT, an array "
             "in a .npy file:\na header line, then a line a row.",
};
static const opt_model *const models[] = {&only};

typedef struct run {
    opt_program program;
    settings set;
    opt_line line;
    ls_graph *graph;
    ls_predictor *predictor;
    ls_context *context;
    ls_array_spec in, out;
    ls_array x;
    int64_t rows, in_size;
    float *y;
    table table;
} run;

/* ------ opening ------ */

static int open_model(run *r)
{
    const char *path = r->line.path[0];
    ls_array_spec second;
    int status;

    if (r->line.paths < (r->set.onnx ? 1 : 2))
        return opt_fail(OPT_WRONG, "which model and which input?  see %s "
                        "--help", opt_program_name);
    if ((status = opt_check(ls_graph_load(&r->graph, path))) != OPT_GO ||
        (status = opt_check(ls_predictor_load(&r->predictor, path))) != OPT_GO)
        return status;
    ls_predictor_input(r->predictor, 0, &r->in);
    ls_predictor_output(r->predictor, 0, &r->out);
    if (ls_predictor_input(r->predictor, 1, &second))
        return opt_fail(OPT_FAILED, "%s: the model has more than one input, "
                        "\"%s\" and \"%s\"", path, r->in.name, second.name);
    return opt_check(ls_context_open(&r->context, r->predictor, NULL));
}

static void shape_text(int rank, const int64_t *shape, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "(");

    for (int i = 0; i < rank && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? "," : "",
                              (long long)shape[i]);
    if (n < size)
        snprintf(text + n, size - n, ")");
}

/* Rows of the input's shape, or one such row alone. */
static int read_input(run *r)
{
    const char *path = r->line.path[1];
    const int64_t *want = r->in.shape;
    size_t bytes = (size_t)r->in.rank * sizeof *want;
    char is[128], should[128];
    int status = opt_check(ls_npy_load(&r->x, path, r->in.dtype));

    if (status != OPT_GO)
        return status;
    r->in_size = 1;
    for (int i = 0; i < r->in.rank; i++)
        r->in_size *= want[i];
    r->rows = r->x.rank > r->in.rank ? r->x.shape[0] : 1;
    if ((r->x.rank == r->in.rank + 1 &&
         !memcmp(r->x.shape + 1, want, bytes)) ||
        (r->x.rank == r->in.rank && !memcmp(r->x.shape, want, bytes)))
        return OPT_GO;
    shape_text(r->x.rank, r->x.shape, is, sizeof is);
    shape_text(r->in.rank, want, should, sizeof should);
    return opt_fail(OPT_FAILED, "%s: its shape is %s; the model takes rows of "
                    "%s", path, is, should);
}

static int open_output(run *r)
{
    FILE *file = stdout;
    int64_t size = 1;

    if (r->set.output && !(file = fopen(r->set.output, "w")))
        return opt_fail(OPT_FAILED, "%s: %s", r->set.output, strerror(errno));
    r->table = table_new(file, r->graph);
    for (int i = 0; i < r->out.rank; i++)
        size *= r->out.shape[i];
    r->y = malloc((size_t)(CHUNK * size) * sizeof *r->y);
    return r->y ? OPT_GO : opt_fail(OPT_FAILED, "no memory for the output");
}

/* OPT_DONE when that is all. */
static int save_onnx(run *r)
{
    int status = OPT_GO;

    if (r->set.onnx)
        status = opt_check(ls_predictor_save_onnx(r->predictor, r->set.onnx));
    return status == OPT_GO && r->line.paths < 2 ? OPT_DONE : status;
}

/* ------ predicting ------ */

static int predict(run *r)
{
    int status = OPT_GO;

    table_head(&r->table);
    for (int64_t i = 0; i < r->rows && status == OPT_GO; i += CHUNK) {
        int64_t n = r->rows - i < CHUNK ? r->rows - i : CHUNK;
        const char *x = (const char *)r->x.data + 4 * i * r->in_size;

        status = opt_check(ls_context_set(r->context, r->in.name, r->in.dtype,
                                          x, n));
        if (status == OPT_GO)
            status = opt_check(ls_context_predict(r->context, r->out.name,
                                                  n * r->table.size, r->y));
        if (status == OPT_GO)
            table_rows(&r->table, n, r->y);
    }
    return status;
}

/* What did not get through is a failure. */
static int close_output(run *r, int status)
{
    FILE *file = r->table.file;
    bool bad;

    if (!file || file == stdout)
        return opt_end(status);
    bad = ferror(file) != 0;
    bad = fclose(file) != 0 || bad;
    return bad ? opt_fail(OPT_FAILED, "%s: %s", r->set.output, strerror(errno))
               : status;
}

/* -o is the one short option: to the parser it is --output. */
static void spell_out(int argc, char **argv)
{
    static char output[] = "--output";

    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-o"))
            argv[i] = output;
}

int main(int argc, char **argv)
{
    run r = {0};
    int status;

    spell_out(argc, argv);
    r.program = (opt_program){.models = models, .model_count = 1, .paths = 2,
                              .args = "MODEL INPUT"};
    opt_add(&r.program, sizeof options / sizeof *options, options);
    status = opt_parse(&r.program, argc, argv, &r.set, &r.line);
    if (status == OPT_GO)
        status = open_model(&r);
    if (status == OPT_GO)
        status = save_onnx(&r);
    if (status == OPT_GO)
        status = read_input(&r);
    if (status == OPT_GO)
        status = open_output(&r);
    if (status == OPT_GO)
        status = predict(&r);
    status = close_output(&r, status);
    ls_context_close(r.context);
    ls_predictor_close(r.predictor);
    ls_graph_free(r.graph);
    ls_array_free(&r.x);
    free(r.y);
    return status == OPT_DONE ? 0 : status;
}
