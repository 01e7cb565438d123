/* SPDX-License-Identifier: BSD-3-Clause */
/* See embed.h.  A 1 among zeros times a table is the table's row: so the input
 * is the one that it is without embeddings, of floats alone, and whoever reads
 * the model file needs to know nothing of them. */
#include "model/embed.h"
#include "model/model_parts.h"
#include "opt/opt.h"

#include <stdio.h>
#include <string.h>

enum { WIDEST = 1024, WIDEST_BY_WORDS = 50 };

/* ------ The option ------ */

int embed_read(const char *text, embedding *e)
{
    const opt_list list = {.option = "text-columns",
                           .between = ',',
                           .high = WIDEST,
                           .least = 1,
                           .most = 1,
                           .no_list = "has no width, as embed:8 has"};
    int n;

    *e = (embedding){.is = !strncmp(text, "embed", 5)};
    if (!strcmp(text, "onehot") || !strcmp(text, "embed"))
        return OPT_GO;
    if (e->is && text[5] == ':')
        return opt_numbers(&list, text + 6, &e->width, &n);
    return opt_fail(OPT_WRONG, "--text-columns: \"%s\" is none of "
                    "onehot|embed|embed:WIDTH", text);
}

int embed_check(const ls_coding *c, const char *path)
{
    ls_column column;

    for (int i = 0; ls_coding_column(c, i, &column); i++)
        if (column.words)
            return OPT_GO;
    return opt_fail(OPT_WRONG, "--text-columns: %s has no column of text to "
                    "embed", path);
}

/* ------ The graph ------ */

typedef struct builder {
    ls_node *x;
    const ls_coding *coding;
    int64_t width;
    int tables; /* so far */
} builder;

static ls_node *table_of(builder *b, const ls_column *column)
{
    int64_t words = column->words, width = b->width;
    char name[32];

    if (!width)
        width = words < 2 * WIDEST_BY_WORDS ? (words + 1) / 2 : WIDEST_BY_WORDS;
    snprintf(name, sizeof name, "embed.%d", b->tables++);
    return model_product(ls_slice(b->x, 0, column->at, words), width, name);
}

/* The first input of column i, or behind the last one. */
static int64_t place(const builder *b, int i)
{
    ls_column column;

    return ls_coding_column(b->coding, i, &column) ? column.at
                                                   : ls_coding_width(b->coding);
}

/* Columns first to below end: those of numbers as they are. */
static ls_node *columns(builder *b, int first, int end)
{
    int64_t at = place(b, first), after = place(b, end);
    int middle = first + (end - first) / 2;
    ls_column column = {0};
    bool words = false;
    ls_node *half[2];

    for (int i = first; i < end; i++)
        words |= ls_coding_column(b->coding, i, &column) && column.words;
    if (!words)
        return ls_slice(b->x, 0, at, after - at);
    if (end - first == 1)
        return table_of(b, &column);
    half[0] = columns(b, first, middle);
    half[1] = columns(b, middle, end);
    return ls_concat(half, 2, 0);
}

ls_node *embed_words(ls_graph *g, ls_node *x, const ls_coding *c,
                     const embedding *e)
{
    ls_init as_embed = ls_init_variance(LS_NORMAL, LS_FAN_OUT, 1);
    builder b = {.x = x, .coding = c, .width = e->width};
    ls_column column;
    int count = 0;

    while (ls_coding_column(c, count, &column))
        count++;
    x = columns(&b, 0, count);
    ls_init_params(g, "embed.*", &as_embed);
    return x;
}
