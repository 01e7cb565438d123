/* SPDX-License-Identifier: BSD-3-Clause */
/* A table's columns in C (one-hot, z-score): rows of numbers and texts become
 * inputs, outputs the target. */
#include "export/writer.h"

#include <string.h>

static void put_words(ls__text *c, const char *name, const ls_column *of)
{
    ls__text_put(c, "\n%s[%d] = {", name, of->words);
    for (int i = 0; i < of->words; i++) {
        ls__text_put(c, "\n    ");
        ls__text_string(c, of->word[i]);
        ls__text_put(c, ",");
    }
    ls__text_put(c, "\n};\n");
}

static void put_classes(ls__writer *w, const ls_column *target, ls__text *c,
                        ls__text *h)
{
    char name[2 * LS__NAME];

    ls__text_put(h, "/* The names of the outputs, by number. */\n"
                    "#define %s_CLASSES %d\n"
                    "extern const char *const %s_class[%s_CLASSES];\n\n",
                 w->upper, target->words, w->name, w->upper);
    snprintf(name, sizeof name, "const char *const %s_class", w->name);
    put_words(c, name, target);
}

/* Column i of what a row has, of a series its target behind the others. */
static bool column_of(const ls__writer *w, int i, ls_column *one)
{
    ls_column before;

    if (ls_coding_column(w->coding, i, one))
        return true;
    if (!ls_coding_window(w->coding, NULL) ||
        (i > 0 && !ls_coding_column(w->coding, i - 1, &before)))
        return false;
    return ls_coding_target(w->coding, one);
}

/* The words of the columns of text. */
static void put_columns(ls__writer *w, ls__text *c)
{
    ls_column one;
    char name[64];

    for (int i = 0; column_of(w, i, &one); i++)
        if (one.words) {
            snprintf(name, sizeof name, "static const char *const words_%d", i);
            put_words(c, name, &one);
        }
    ls__text_put(c, "\nstatic const struct column {\n"
                    "    int words; /* 0: a number, (x - mean) / scale */\n"
                    "    const char *const *word;\n"
                    "    double mean, scale;\n} columns[] = {\n");
    for (int i = 0; column_of(w, i, &one); i++) {
        ls__text_put(c, "    {%d, ", one.words);
        if (one.words)
            ls__text_put(c, "words_%d, 0, 1", i);
        else {
            ls__text_put(c, "0, ");
            ls__text_double(c, one.mean);
            ls__text_put(c, ", ");
            ls__text_double(c, one.scale);
        }
        ls__text_put(c, "},\n");
    }
    ls__text_put(c, "};\n");
}

static const char inputs_text[] =
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
    "}\n";

/* Macros of a series: how many rows the model sees, how far its target is. */
static void put_window(const ls__writer *w, ls__text *h)
{
    int64_t horizon, window = ls_coding_window(w->coding, &horizon);

    if (window)
        ls__text_put(h, "/* A series: x is so many rows, the target among "
                        "them; what is predicted stands so\n"
                        " * many rows after the last. */\n"
                        "#define %s_WINDOW %lld\n#define %s_HORIZON %lld\n\n",
                     w->upper, (long long)window, w->upper,
                     (long long)horizon);
}

static void put_inputs(ls__writer *w, ls__text *c, ls__text *h)
{
    bool impute = strstr(ls_coding_note(w->coding), "\"missing\":\"mean\"");
    ls_column one;
    int columns = 0, needed = -1;

    while (column_of(w, columns, &one))
        columns++;
    if (ls_coding_window(w->coding, NULL))
        needed = columns - 1;
    put_window(w, h);
    ls__text_put(h, "/* A row of the table as inputs, in the order of the "
                    "columns:\n *\n");
    for (int i = 0; column_of(w, i, &one); i++) {
        char name[LS__NAME];

        ls__text_name(name, one.name);
        ls__text_put(h, " *     %3d %s %s%s%s\n", i,
                     one.words ? "word[]  " : "number[]", name,
                     one.date ? ", a date: " : "", one.date ? one.date : "");
    }
    ls__text_put(h, " *\n * number[%d], NaN where there is none, and word[%d] "
                    "(may be NULL).  0, or the\n * number of the column, from "
                    "1 on, whose value cannot be taken. */\n"
                    "int %s_inputs(const double *number, const char *const "
                    "*word, float *x);\n\n", columns, columns, w->name);
    put_columns(w, c);
    ls__text_put(c, "\nenum {\n    TABLE_COLUMNS = %d,\n"
                    "    TABLE_IMPUTE = %d,\n    TABLE_NEEDED = %d\n};\n\n",
                 columns, impute, needed);
    ls__text_put(c, "static int is_same(const char *a, const char *b)\n{\n"
                    "    for (; *a && *a == *b; a++)\n        b++;\n"
                    "    return *a == *b;\n}\n\n");
    ls__text_put(c, "int %s_inputs(const double *number, const char *const "
                    "*word, float *x)\n", w->name);
    ls__text_add(c, inputs_text, sizeof inputs_text - 1);
}

static void put_value(ls__writer *w, const ls_column *target, ls__text *c,
                      ls__text *h)
{
    ls__text_put(h, "/* The target in its own unit, of an output. */\n"
                    "double %s_value(const float *y);\n\n", w->name);
    ls__text_put(c, "\ndouble %s_value(const float *y)\n{\n"
                    "    volatile double scaled = (double)*y * ", w->name);
    ls__text_double(c, target->scale);
    ls__text_put(c, ";\n\n    return scaled + ");
    ls__text_double(c, target->mean);
    ls__text_put(c, ";\n}\n");
}

void ls__ctable_write(ls__writer *w, ls__text *c, ls__text *h)
{
    ls_column target;

    if (!w->coding)
        return;
    ls_coding_target(w->coding, &target);
    put_inputs(w, c, h);
    if (target.words)
        put_classes(w, &target, c, h);
    else
        put_value(w, &target, c, h);
}
