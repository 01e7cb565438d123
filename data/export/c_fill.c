/* SPDX-License-Identifier: BSD-3-Clause */
/* Templates of C: text with words in braces (writer.h has what they mean). */
#include "base/assert.h"
#include "export/writer.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = 64 };

/* What a template is filled with. */
typedef struct filling {
    ls__writer *w;
    const ls__cnode *n;
    const char *const *v;
    const int64_t *i;
} filling;

/* ------ numbers ------ */

static const ls__cnode *input_of(const filling *f, int k)
{
    return &f->w->node[f->n->of->in[k]->id];
}

static int64_t second_last(const ls__net_node *n)
{
    return n->rank > 1 ? n->shape[n->rank - 2] : 1;
}

/* A word that is a number; `usual`: that of an attribute that is not there. */
static int64_t number_of(const filling *f, const char *word, int64_t usual)
{
    static const char *const window[] = {"dy", "dx", "kh", "kw", "sy", "sx",
                                         "top", "left"};
    const ls__cnode *n = f->n;
    int64_t of[LS__WINDOW];
    bool digit = word[1] >= '0' && word[1] <= '9';

    if (*word >= '0' && *word <= '9')
        return strtoll(word, NULL, 10);
    if (*word == 'i' && digit)
        return f->i[word[1] - '0'];
    if (*word == 'x') {
        filling in = {f->w, input_of(f, digit ? word[1] - '0' : 0), NULL, NULL};

        return number_of(&in, word + 1 + digit, usual);
    }
    for (int k = 0; k < 8; k++)
        if (!strcmp(word, window[k])) {
            ls__net_window(n->of, of);
            return of[k];
        }
    return !strcmp(word, "size")        ? n->size
           : !strcmp(word, "width")     ? ls__net_width(n->of)
           : !strcmp(word, "height")    ? second_last(n->of)
           : !strcmp(word, "vectors")   ? ls__net_vectors(n->of)
           : !strcmp(word, "panels")    ? ls__panels(ls__net_width(n->of))
           : !strcmp(word, "ROWS")      ? LS__ROWS
           : !strncmp(word, "shape", 5) ? n->of->shape[word[5] - '0']
                                : ls__net_integer_or(n->of, word, usual);
}

/* The word at *at, and behind it. */
static int64_t factor(const filling *f, const char **at)
{
    size_t n = strspn(*at, LS__LETTERS);
    char word[WORD], *end;
    int64_t usual = 0;

    LS__ASSERT(n < sizeof word);
    memcpy(word, *at, n);
    word[n] = 0;
    *at += n;
    if (**at == '=') {
        usual = strtoll(*at + 1, &end, 10);
        *at = end;
    }
    return number_of(f, word, usual);
}

static int64_t sum(const filling *f, const char *at)
{
    int64_t all = 0;

    for (char sign = '+'; sign; sign = *at ? *at++ : 0) {
        int64_t product = factor(f, &at);

        while (*at == '*' || *at == '/')
            if (*at++ == '*')
                product *= factor(f, &at);
            else
                product /= factor(f, &at);
        all += sign == '-' ? -product : product;
    }
    return all;
}

int64_t ls__cnumber(ls__writer *w, int node, const char *text)
{
    return sum(&(filling){w, &w->node[node], NULL, NULL}, text);
}

/* ------ words ------ */

static void put_name(const filling *f, ls__text *to)
{
    ls__text_put(to, "%s", f->w->name);
}

static void put_upper(const filling *f, ls__text *to)
{
    ls__text_put(to, "%s", f->w->upper);
}

static void put_type(const filling *f, ls__text *to)
{
    ls__text_put(to, f->n->of->is_i32 ? "int32_t" : "float");
}

/* The argument that an input is. */
static void put_argument(const filling *f, ls__text *to)
{
    ls__text_put(to, f->w->inputs > 1 ? "x%d" : "x", f->n->number);
}

/* The macro of its size, and of several inputs its name in the model. */
static void put_macro(const filling *f, ls__text *to)
{
    ls__text_put(to, f->w->inputs > 1 ? "%s_INPUTS_%d" : "%s_INPUTS",
                 f->w->upper, f->n->number);
}

static void put_note(const filling *f, ls__text *to)
{
    char name[LS__NAME];

    ls__text_name(name, f->n->of->name);
    if (f->w->inputs > 1)
        ls__text_put(to, " /* x%d: %s */", f->n->number, name);
}

static void put_epsilon(const filling *f, ls__text *to)
{
    ls__text_number(to, (double)ls__net_epsilon(f->n->of), "f");
}

static const struct word {
    const char *of;
    void (*put)(const filling *f, ls__text *to);
} words[] = {{"name", put_name},     {"NAME", put_upper},
             {"type", put_type},     {"argument", put_argument},
             {"INPUTS", put_macro},  {"note", put_note},
             {"epsilon", put_epsilon}};

static void put_value(const ls__cnode *n, bool row, ls__text *to)
{
    ls__text_put(to, "n%d", n->as);
    if (row)
        ls__text_put(to, " + i * %lld", (long long)n->size);
}

static void put_param(const filling *f, char kind, int k, ls__text *to)
{
    const ls__net_node *n = f->n->of;

    if (k >= n->params)
        ls__text_put(to, "0");
    else if (kind == 'p')
        ls__text_put(to, "%s", ls__weights_plain(f->w, n->param[k]));
    else
        ls__text_put(to, "%s", ls__weights_table(f->w, n->param[k],
                                                 ls__net_width(n)));
}

/* Writes "x1@" and the like; false: it is another word. */
static bool put_place(const filling *f, const char *word, ls__text *to)
{
    char *end;
    int k = (int)strtol(word + 1, &end, 10);

    if (strcmp(end, "@") && *end)
        return false;
    switch (*word) {
    case 'y': put_value(f->n, *end, to); return true;
    case 'x': put_value(input_of(f, k), *end, to); return true;
    case 'a':
        put_argument(&(filling){f->w, input_of(f, k), NULL, NULL}, to);
        return true;
    case 'p': case 't': put_param(f, *word, k, to); return true;
    case 'v':
        ls__cfill(f->w, to, f->n->of->id, f->v[k], f->v, f->i);
        return true;
    default: return false;
    }
}

static void put_word(const filling *f, const char *word, ls__text *to)
{
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (!strcmp(word, words[k].of)) {
            words[k].put(f, to);
            return;
        }
    if (!put_place(f, word, to))
        ls__text_put(to, "%lld", (long long)sum(f, word));
}

/* ------ templates ------ */

/* Fill in text up to its end. */
static void fill(const filling *f, const char *at, const char *end,
                 ls__text *to)
{
    static const char inside[] = LS__LETTERS "@=+-*/";
    char word[WORD];

    while (at < end) {
        size_t n = *at == '{' ? strspn(at + 1, inside) : 0;

        if (n && n < sizeof word && at[n + 1] == '}' &&
            (at[1] < '0' || at[1] > '9')) {
            memcpy(word, at + 1, n);
            word[n] = 0;
            put_word(f, word, to);
            at += n + 2;
        } else if (!strncmp(at, "<<", 2)) {
            const char *close = strstr(at, ">>");

            EACH_INPUT(f->w, in)
                fill(&(filling){f->w, in, f->v, f->i}, at + 2, close, to);
            at = close + 2;
        } else {
            ls__bytes_add(to, at++, 1);
        }
    }
}

void ls__cfill(ls__writer *w, ls__text *to, int node, const char *text,
               const char *const *v, const int64_t *i)
{
    fill(&(filling){w, &w->node[node], v, i}, text, text + strlen(text), to);
}

void ls__call(ls__writer *w, int node, const char *text, const char *const *v,
              const int64_t *i)
{
    ls__text lines = {0};

    ls__cfill(w, &lines, node, text, v, i);
    if (lines.failed)
        w->calls.failed = true;
    for (const char *at = lines.bytes, *end; at && *at; at = end) {
        end = strchr(at, '\n') ? strchr(at, '\n') + 1 : at + strlen(at);
        ls__text_put(&w->calls, "%s%.*s", *at == '\n' ? "" : "    ",
                     (int)(end - at), at);
    }
    ls__text_put(&w->calls, "\n");
    ls__bytes_free(&lines);
}
