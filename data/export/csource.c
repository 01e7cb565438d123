/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame of a model's C source. */
#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "export/writer.h"

#include <lockstep/csource.h>
#include <lockstep/predictor.h>

#include <stdlib.h>
#include <string.h>

LS__DEFAULTS(ls_csource_options, ls_csource_defaults_bytes)

/* ------ reading ------ */

/* The library reads the file first and checks all that it says; its arrays lie
 * as the graph has them. */
static int read_model(ls__writer *w)
{
    const char *note;
    ls_predictor *p;
    int status = ls_predictor_load(&p, w->path);

    if (status < 0)
        return status;
    status = ls_archive_of_predictor(&w->archive, p);
    ls_predictor_close(p);
    if (status == 0)
        status = ls_archive_open(&w->file, w->path);
    if (status < 0)
        return status;
    if (!ls__net_note(w->file, "lockstep.graph"))
        return ls__fail(LS_EFORMAT, "%s: it has no graph", w->path);
    note = ls__net_note(w->file, LS_CODING_NOTE);
    if ((status = ls__cgraph_read(w)) == 0 && note)
        status = ls_coding_read(&w->coding, note, w->path);
    return status;
}

/* ------ writing ------ */

/* A digest is 64 hexadecimal digits, or it is not shown. */
static void put_digest(const ls__writer *w, ls__text *t, const char *what,
                       const char *note)
{
    const char *value = ls__net_note(w->file, note);

    if (value && strlen(value) == 64 &&
        strspn(value, "0123456789abcdef") == 64)
        ls__text_put(t, " * %s %s\n", what, value);
}

static void put_title(const ls__writer *w, ls__text *t, const char *end)
{
    ls__text_put(t, "/* %s.%s: a model, written by lockstep %s.\n", w->name,
                 end, ls_version());
    put_digest(w, t, "weights   ", "sha256");
    put_digest(w, t, "transcript", "lockstep.transcript");
    if (w->int8)
        ls__text_put(t, " * Weights and products are of 8 bits (docs/csource.md"
                        ").\n");
    ls__text_put(t, " * Compile it without -ffast-math. */\n");
}

static const char header_text[] =
    "#ifndef {NAME}_H\n#define {NAME}_H\n\n#include <stdint.h>\n\n"
    "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
    "<<#define {INPUTS} {size}{note}\n>>#define {NAME}_OUTPUTS {size}\n\n"
    "/* Bytes that scratch must have, aligned as floats are: of one row, of "
    "rows. */\n"
    "#define {NAME}_SCRATCH {i0}\n#define {NAME}_SCRATCH_ROWS {i1}\n\n"
    "/* y[{NAME}_OUTPUTS] = what the model makes of a row, whose numbers must "
    "be finite; the\n"
    " * same of rows, one after the other. */\n"
    "void {name}_predict(<<const {type} *{argument}, >>float *y, void "
    "*scratch);\n"
    "void {name}_predict_rows(long rows, <<const {type} *{argument}, >>float "
    "*y,\n    void *scratch);\n\n";

static void put_header(ls__writer *w, ls__text *h)
{
    const int64_t scratch[] = {4 * (w->rows_floats + w->floats),
                               4 * (LS__ROWS * w->rows_floats + w->floats)};

    put_title(w, h, "h");
    ls__cfill(w, h, w->output, header_text, NULL, scratch);
    ls__ctable_declare(w, h);
    if (strcmp(w->name, w->upper))
        ls__text_put(h, "#define %s_SCRATCH %s_SCRATCH\n\n", w->name, w->upper);
    ls__text_put(h, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

/* The calls of all nodes that are needed. */
static int make_calls(ls__writer *w)
{
    for (int i = 0; i <= w->output && w->status == 0; i++)
        if (w->node[i].needed && w->node[i].of->op)
            ls__crow_put(w, i);
    return w->status;
}

/* The pointers to the values of m rows, and what is in those of inputs; indices
 * stay where they are. */
static void put_values(ls__writer *w, ls__text *c)
{
    for (int i = 0; i <= w->output; i++) {
        const ls__cnode *n = &w->node[i];

        if (n->needed && n->as == i && !n->of->is_i32)
            ls__text_put(c, "    float *n%d = s + m * %lld;\n", i,
                         (long long)n->at);
    }
    if (w->floats)
        ls__text_put(c, "    float *t = s + m * %lld;\n",
                     (long long)w->rows_floats);
    ls__text_put(c, "    int64_t i;\n\n");
    EACH_INPUT(w, in)
        if (!in->of->is_i32)
            ls__cfill(w, c, in->of->id, "    for (i = 0; i < m * {size}; i++)\n"
                      "        {y}[i] = flush({argument}[i]);\n", NULL, NULL);
}

/* What a user defines, as c99.h calls it. */
static const char switches_text[] =
    "#if defined {NAME}_LIBM\n#define MODEL_LIBM\n#endif\n"
    "#if defined {NAME}_SOFT\n#define MODEL_SOFT\n#endif\n\n";

static const char begin_text[] =
    "\n/* m rows, at most {ROWS}. */\n"
    "OUT_OF_LINE void predict(int64_t m, <<const {type} *{argument}, >>float "
    "*y,\n                    float *s)\n{\n";

static const char end_text[] =
    "    for (i = 0; i < m * {size}; i++)\n        y[i] = {y}[i];\n}\n\n"
    "void {name}_predict_rows(long rows, <<const {type} *{argument}, >>float "
    "*y,\n    void *scratch)\n{\n"
    "    fp_mode old = mode_set();\n    long i;\n\n"
    "    for (i = 0; i < rows; i += {ROWS})\n"
    "        predict(rows - i < {ROWS} ? rows - i : {ROWS},\n"
    "<<                {argument} + i * {INPUTS},\n>>"
    "                y + i * {NAME}_OUTPUTS, (float *)scratch);\n"
    "    mode_restore(old);\n}\n\n"
    "void {name}_predict(<<const {type} *{argument}, >>float *y, void "
    "*scratch)\n{\n"
    "    fp_mode old = mode_set();\n\n"
    "    predict(1, <<{argument}, >>y, (float *)scratch);\n"
    "    mode_restore(old);\n}\n";

static int put_source(ls__writer *w, ls__text *c)
{
    const char *slash = strrchr(w->header, '/');
    int status;

    put_title(w, c, "c");
    ls__text_put(c, "#include \"%s\"\n\n", slash ? slash + 1 : w->header);
    ls__cfill(w, c, w->output, switches_text, NULL, NULL);
    if ((status = ls__parts_write(w, c)) < 0)
        return status;
    ls__text_put(c, "\n/* ------ the model ------ */\n");
    ls__bytes_add(c, w->weights.bytes, w->weights.size);
    ls__cfill(w, c, w->output, begin_text, NULL, NULL);
    put_values(w, c);
    ls__bytes_add(c, w->calls.bytes, w->calls.size);
    ls__cfill(w, c, w->output, end_text, NULL, NULL);
    ls__ctable_write(w, c);
    return 0;
}

static int write_files(ls__writer *w, const char *path, ls__text *c,
                       ls__text *h)
{
    int status = make_calls(w);

    if (status < 0 || (status = put_source(w, c)) < 0)
        return status;
    put_header(w, h);
    if (w->calls.failed || w->weights.failed || c->failed || h->failed)
        return ls__no_memory("C source", c->size);
    status = ls__bytes_save(w->header, h->bytes, h->size);
    return status < 0 ? status : ls__bytes_save(path, c->bytes, c->size);
}

/* ------ names ------ */

/* "net" of "out/net.c". */
static int name_of(ls__writer *w, const char *path, const char *given)
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t n = strlen(base);
    char stem[LS__NAME] = "";

    if (n < 3 || strcmp(base + n - 2, ".c"))
        return ls__fail(LS_EINVAL, "%s: the file's name does not end in .c",
                        path);
    if (strspn(base, LS__LETTERS ".+-") != n)
        return ls__fail(LS_EINVAL, "%s: a file that C includes has a name of "
                        "letters, digits and _.+-", path);
    snprintf(stem, sizeof stem, "%.*s", (int)n - 2, base);
    ls__text_name(w->name, given ? given : stem);
    if (given && strcmp(given, w->name))
        return ls__fail(LS_EINVAL, "\"%s\" is no name in C of at most %d "
                        "letters", given, LS__NAME - 8);
    if (!*w->name || (*w->name >= '0' && *w->name <= '9'))
        return ls__fail(LS_EINVAL, "\"%s\" is no name in C: it begins with no "
                        "letter", given ? given : stem);
    for (int i = 0; w->name[i]; i++)
        w->upper[i] = w->name[i] >= 'a' && w->name[i] <= 'z'
                          ? (char)(w->name[i] - 'a' + 'A') : w->name[i];
    if (!(w->header = ls__text_copy(path)))
        return LS_ENOMEM;
    w->header[strlen(path) - 1] = 'h';
    return 0;
}

static void free_writer(ls__writer *w)
{
    ls__net_close(&w->net);
    ls_archive_close(w->archive);
    ls_archive_close(w->file);
    ls_coding_free(w->coding);
    free(w->node);
    free(w->header);
    ls__bytes_free(&w->calls);
    ls__bytes_free(&w->weights);
}

int ls_csource_save(const char *model, const char *path,
                    const ls_csource_options *options)
{
    LS__NEED(model);
    LS__NEED(path);

    ls_csource_options o = ls_csource_defaults();
    ls__writer w = {.path = model};
    ls__text c = {0}, h = {0};
    int status = ls__sized_take("C source", &o, sizeof o, options);

    w.int8 = o.int8;
    if (status == 0)
        status = name_of(&w, path, o.name);
    if (status == 0)
        status = read_model(&w);
    if (status == 0) {
        ls__cgraph_place(&w);
        status = write_files(&w, path, &c, &h);
    }
    ls__bytes_free(&c);
    ls__bytes_free(&h);
    free_writer(&w);
    return status;
}
