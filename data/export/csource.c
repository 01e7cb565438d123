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

static const char *note_of(const ls__writer *w, const char *want)
{
    const char *name, *value;

    for (int i = 0; ls_archive_note(w->file, i, &name, &value); i++)
        if (!strcmp(name, want))
            return value;
    return NULL;
}

static int read_coding(ls__writer *w)
{
    const char *note = note_of(w, LS_CODING_NOTE);

    return note ? ls_coding_read(&w->coding, note, w->path) : 0;
}

/* The library reads the file first and checks all that it says; its arrays lie
 * as the graph has them. */
static int read_model(ls__writer *w)
{
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
    if (!note_of(w, "lockstep.graph"))
        return ls__fail(LS_EFORMAT, "%s: it has no graph", w->path);
    status = ls__cgraph_read(w);
    return status < 0 ? status : read_coding(w);
}

/* ------ writing ------ */

static const char *type_of(const ls__cnode *input)
{
    return input->of->is_i32 ? "int32_t" : "float";
}

#define EACH_INPUT(w, in) \
    for (const ls__cnode *in = ls__cinput(w, 0); in; \
         in = ls__cinput(w, in->of->id + 1))

/* "const float *x, ", or of each input. */
static void put_arguments(const ls__writer *w, ls__text *t)
{
    char name[LS__ARGUMENT];

    EACH_INPUT(w, in)
        ls__text_put(t, "const %s *%s, ", type_of(in),
                     ls__cargument(w, in, name));
}

/* The macro of an input's size. */
static void put_size(const ls__writer *w, const ls__cnode *in, ls__text *t)
{
    ls__text_put(t, w->inputs > 1 ? "%s_INPUTS_%d" : "%s_INPUTS", w->upper,
                 in->number);
}

/* A digest is 64 hexadecimal digits, or it is not shown. */
static void put_digest(const ls__writer *w, ls__text *t, const char *what,
                       const char *note)
{
    const char *value = note_of(w, note);

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

/* Floats of memory for that many rows. */
static long long floats_for(const ls__writer *w, int rows)
{
    return (long long)(rows * w->rows_floats + w->floats);
}

static void put_functions(const ls__writer *w, ls__text *h)
{
    ls__text_put(h, "/* y[%s_OUTPUTS] = what the model makes of a row, whose "
                    "numbers must be finite; the\n"
                    " * same of rows, one after the other. */\n", w->upper);
    ls__text_put(h, "void %s_predict(", w->name);
    put_arguments(w, h);
    ls__text_put(h, "float *y, void *scratch);\n"
                    "void %s_predict_rows(long rows, ", w->name);
    put_arguments(w, h);
    ls__text_put(h, "float *y,\n    void *scratch);\n\n");
}

/* Writes the size of each input, of several with their names. */
static void put_sizes(const ls__writer *w, ls__text *h)
{
    char name[LS__NAME];

    EACH_INPUT(w, in) {
        ls__text_put(h, "#define ");
        put_size(w, in, h);
        ls__text_put(h, " %lld", (long long)in->size);
        ls__text_name(name, in->of->name);
        if (w->inputs > 1)
            ls__text_put(h, " /* x%d: %s */", in->number, name);
        ls__text_put(h, "\n");
    }
    ls__text_put(h, "#define %s_OUTPUTS %lld\n\n", w->upper,
                 (long long)w->node[w->output].size);
}

static void put_header(ls__writer *w, ls__text *h)
{
    put_title(w, h, "h");
    ls__text_put(h, "#ifndef %s_H\n#define %s_H\n\n#include <stdint.h>\n\n"
                    "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", w->upper,
                 w->upper);
    put_sizes(w, h);
    ls__text_put(h, "/* Bytes that scratch must have, aligned as floats are: "
                    "of one row, of rows. */\n"
                    "#define %s_SCRATCH %lld\n#define %s_SCRATCH_ROWS %lld\n\n",
                 w->upper, 4 * floats_for(w, 1), w->upper,
                 4 * floats_for(w, LS__ROWS));
    put_functions(w, h);
}

static void end_header(ls__writer *w, ls__text *h)
{
    if (strcmp(w->name, w->upper))
        ls__text_put(h, "#define %s_SCRATCH %s_SCRATCH\n\n", w->name, w->upper);
    ls__text_put(h, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

/* The calls of all nodes that are needed. */
static int make_calls(ls__writer *w)
{
    int status = 0;

    for (int i = 0; i <= w->output && status == 0; i++)
        if (w->node[i].needed && w->node[i].of->op)
            status = ls__crow_put(w, i);
    if (w->calls.failed || w->weights.failed)
        return LS_ENOMEM;
    return status;
}

/* Writes the pointers to the values of m rows. */
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
}

/* Inputs in the memory of values; indices stay where they are. */
static void put_flushes(const ls__writer *w, ls__text *c)
{
    char name[LS__ARGUMENT];

    EACH_INPUT(w, in)
        if (!in->of->is_i32)
            ls__text_put(c, "    for (i = 0; i < m * %lld; i++)\n"
                            "        n%d[i] = flush(%s[i]);\n",
                         (long long)in->size, in->of->id,
                         ls__cargument(w, in, name));
}

/* The function that programs call for a row, or for rows. */
static void put_one(const ls__writer *w, ls__text *c)
{
    char name[LS__ARGUMENT];

    ls__text_put(c, "\nvoid %s_predict(", w->name);
    put_arguments(w, c);
    ls__text_put(c, "float *y, void *scratch)\n{\n"
                    "    fp_mode old = mode_set();\n\n    predict(1, ");
    EACH_INPUT(w, in)
        ls__text_put(c, "%s, ", ls__cargument(w, in, name));
    ls__text_put(c, "y, (float *)scratch);\n    mode_restore(old);\n}\n");
}

static void put_rows(const ls__writer *w, ls__text *c)
{
    char name[LS__ARGUMENT];

    ls__text_put(c, "\nvoid %s_predict_rows(long rows, ", w->name);
    put_arguments(w, c);
    ls__text_put(c, "float *y,\n    void *scratch)\n{\n"
                    "    fp_mode old = mode_set();\n    long i;\n\n"
                    "    for (i = 0; i < rows; i += %d)\n"
                    "        predict(rows - i < %d ? rows - i : %d,\n",
                 LS__ROWS, LS__ROWS, LS__ROWS);
    EACH_INPUT(w, in) {
        ls__text_put(c, "                %s + i * ",
                     ls__cargument(w, in, name));
        put_size(w, in, c);
        ls__text_put(c, ",\n");
    }
    ls__text_put(c, "                y + i * %s_OUTPUTS, (float *)scratch);\n"
                    "    mode_restore(old);\n}\n", w->upper);
}

static void put_predict(ls__writer *w, ls__text *c)
{
    const ls__cnode *out = &w->node[w->output];

    ls__text_put(c, "\n/* m rows, at most %d. */\n"
                    "OUT_OF_LINE void predict(int64_t m, ", LS__ROWS);
    put_arguments(w, c);
    ls__text_put(c, "float *y,\n                    float *s)\n{\n");
    put_values(w, c);
    put_flushes(w, c);
    ls__text_add(c, w->calls.bytes ? w->calls.bytes : "", w->calls.size);
    ls__text_put(c, "    for (i = 0; i < m * %lld; i++)\n"
                    "        y[i] = n%d[i];\n}\n", (long long)out->size,
                 out->as);
    put_one(w, c);
    put_rows(w, c);
}

static int write_files(ls__writer *w, ls__text *c, ls__text *h)
{
    int status = make_calls(w);

    if (status < 0)
        return status;
    put_title(w, c, "c");
    ls__text_put(c, "#include \"%s\"\n\n", strrchr(w->header, '/') ?
                 strrchr(w->header, '/') + 1 : w->header);
    if ((status = ls__parts_write(w, c)) < 0)
        return status;
    ls__text_put(c, "\n/* ------ the model ------ */\n");
    ls__text_add(c, w->weights.bytes ? w->weights.bytes : "", w->weights.size);
    put_predict(w, c);
    put_header(w, h);
    ls__ctable_write(w, c, h);
    end_header(w, h);
    status = ls__text_finish(h);
    return status < 0 ? status : ls__text_finish(c);
}

/* ------ names ------ */

static const char file_letters[] = "abcdefghijklmnopqrstuvwxyz"
                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789_.+-";

/* "net" of "out/net.c". */
static int name_of(ls__writer *w, const char *path, const char *given)
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t n = strlen(base);
    char stem[LS__NAME] = "";

    if (n < 3 || strcmp(base + n - 2, ".c"))
        return ls__fail(LS_EINVAL, "%s: the file's name does not end in .c",
                        path);
    if (strspn(base, file_letters) != n)
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
    return 0;
}

/* "net.h" of "net.c". */
static int open_files(ls__writer *w, const char *path, ls__text *c, ls__text *h)
{
    int status;

    if (!(w->header = ls__text_copy(path)))
        return LS_ENOMEM;
    w->header[strlen(path) - 1] = 'h';
    status = ls__text_open(c, path);
    return status < 0 ? status : ls__text_open(h, w->header);
}

static void free_writer(ls__writer *w)
{
    ls__net_close(&w->net);
    ls_archive_close(w->archive);
    ls_archive_close(w->file);
    ls_coding_free(w->coding);
    free(w->node);
    free(w->header);
    ls__text_close(&w->calls);
    ls__text_close(&w->weights);
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
    if (status == 0)
        ls__cgraph_place(&w);
    if (status == 0)
        status = open_files(&w, path, &c, &h);
    if (status == 0)
        status = write_files(&w, &c, &h);
    ls__text_close(&c);
    ls__text_close(&h);
    free_writer(&w);
    return status;
}
