/* SPDX-License-Identifier: BSD-3-Clause */
/* A table's columns in C (one-hot, z-score): rows of numbers and texts become
 * inputs, outputs the target. */
#include "export/writer.h"
#include "table/coding.h"

/* ------ the header ------ */

/* Which column is what, in a comment. */
static void put_columns(const ls__writer *w, ls__text *h)
{
    ls__text_put(h, "/* A row of the table as inputs, in the order of the "
                    "columns:\n *\n");
    for (int i = 0; i < ls__coding_columns(w->coding); i++) {
        const ls__column *one = ls__coding_input(w->coding, i);
        char name[LS__NAME];

        ls__text_name(name, one->name);
        ls__text_put(h, " *     %3d %s %s%s%s\n", i,
                     one->words.count ? "word[]  " : "number[]", name,
                     one->date ? ", a date: " : "",
                     one->date ? ls__date_name[one->date] : "");
    }
}

void ls__ctable_declare(ls__writer *w, ls__text *h)
{
    const ls_coding *k = w->coding;
    int64_t of[4];

    if (!k)
        return;
    of[0] = k->window;
    of[1] = k->horizon;
    of[2] = ls__coding_columns(k);
    of[3] = k->target.words.count;
    if (k->window)
        ls__cfill(w, h, w->output,
                  "/* A series: x is so many rows, the target among them; what "
                  "is predicted stands so\n * many rows after the last. */\n"
                  "#define {NAME}_WINDOW {i0}\n#define {NAME}_HORIZON {i1}\n\n",
                  NULL, of);
    put_columns(w, h);
    ls__cfill(w, h, w->output,
              " *\n * number[{i2}], NaN where there is none, and word[{i2}] "
              "(may be NULL).  0, or the\n * number of the column, from 1 on, "
              "whose value cannot be taken. */\n"
              "int {name}_inputs(const double *number, const char *const "
              "*word, float *x);\n\n", NULL, of);
    ls__cfill(w, h, w->output, of[3]
              ? "/* The names of the outputs, by number. */\n"
                "#define {NAME}_CLASSES {i3}\n"
                "extern const char *const {name}_class[{NAME}_CLASSES];\n\n"
              : "/* The target in its own unit, of an output. */\n"
                "double {name}_value(const float *y);\n\n", NULL, of);
}

/* ------ the source ------ */

static void put_words(ls__text *c, const ls__words *of)
{
    ls__text_put(c, "[%d] = {", of->count);
    for (int i = 0; i < of->count; i++) {
        ls__text_put(c, "\n    ");
        ls__text_string(c, of->word[i]);
        ls__text_put(c, ",");
    }
    ls__text_put(c, "\n};\n");
}

/* The columns, and the words of those of text. */
static void put_table(const ls_coding *k, ls__text *c)
{
    int n = ls__coding_columns(k);

    for (int i = 0; i < n; i++)
        if (ls__coding_input(k, i)->words.count) {
            ls__text_put(c, "\nstatic const char *const words_%d", i);
            put_words(c, &ls__coding_input(k, i)->words);
        }
    ls__text_put(c, "\nstatic const struct column {\n"
                    "    int words; /* 0: a number, (x - mean) / scale */\n"
                    "    const char *const *word;\n"
                    "    double mean, scale;\n} columns[] = {\n");
    for (int i = 0; i < n; i++) {
        const ls__column *one = ls__coding_input(k, i);

        if (one->words.count) {
            ls__text_put(c, "    {%d, words_%d, 0, 1},\n", one->words.count, i);
            continue;
        }
        ls__text_put(c, "    {0, 0, ");
        ls__text_number(c, one->mean, "");
        ls__text_put(c, ", ");
        ls__text_number(c, one->scale, "");
        ls__text_put(c, "},\n");
    }
    ls__text_put(c, "};\n\n");
}

static const char inputs_text[] =
    "enum {\n    TABLE_COLUMNS = {i0},\n    TABLE_IMPUTE = {i1},\n"
    "    TABLE_NEEDED = {i2}\n};\n\n"
    "static int is_same(const char *a, const char *b)\n{\n"
    "    for (; *a && *a == *b; a++)\n        b++;\n"
    "    return *a == *b;\n}\n\n"
    "int {name}_inputs(const double *number, const char *const *word, "
    "float *x)\n"
    "{\n"
    "    int i, k, at;\n"
    "\n"
    "    for (i = 0; i < TABLE_COLUMNS; i++) {\n"
    "        const struct column *c = columns + i;\n"
    "        volatile double less;\n"
    "\n"
    "        if (!c->words) {\n"
    "            if (number[i] != number[i] &&\n"
    "                (!TABLE_IMPUTE || i == TABLE_NEEDED))\n"
    "                return i + 1;\n"
    "            less = number[i] - c->mean;\n"
    "            less = less / c->scale;\n"
    "            *x++ = number[i] != number[i] ? 0 : (float)less;\n"
    "            if (!(x[-1] - x[-1] == 0))\n"
    "                return i + 1;\n"
    "            continue;\n"
    "        }\n"
    "        for (k = 0, at = -1; word && word[i] && k < c->words; k++)\n"
    "            at = is_same(c->word[k], word[i]) ? k : at;\n"
    "        if (at < 0 && !TABLE_IMPUTE)\n"
    "            return i + 1;\n"
    "        for (k = 0; k < c->words; k++)\n"
    "            *x++ = k == at;\n"
    "    }\n"
    "    return 0;\n"
    "}\n\n";

void ls__ctable_write(ls__writer *w, ls__text *c)
{
    const ls_coding *k = w->coding;
    int64_t of[3];

    if (!k)
        return;
    of[0] = ls__coding_columns(k);
    of[1] = k->impute;
    of[2] = k->window ? of[0] - 1 : -1;
    put_table(k, c);
    ls__cfill(w, c, w->output, inputs_text, NULL, of);
    if (k->target.words.count) {
        ls__text_put(c, "const char *const %s_class", w->name);
        put_words(c, &k->target.words);
        return;
    }
    ls__text_put(c, "double %s_value(const float *y)\n{\n"
                    "    volatile double scaled = (double)*y * ", w->name);
    ls__text_number(c, k->target.scale, "");
    ls__text_put(c, ";\n\n    return scaled + ");
    ls__text_number(c, k->target.mean, "");
    ls__text_put(c, ";\n}\n");
}
