/* SPDX-License-Identifier: BSD-3-Clause */
/* See asked_record.h: what find.h asks of records, answered from memory.  The
 * place of a word is its address / 4. */
#include "asked_record.h"
#include "referee/operators.h"
#include "referee/step.h"
#include "referee/verdict.h"

#include <stdarg.h>
#include <stdlib.h>

/* Words of all parameters, which stand at their places. */
#define ANYWHERE INT64_MAX

enum { NODES = 16, ARRAYS = 64, TEXTS = 32, INPUTS = 4, ROOM = 1 << 25 };

static array all_arrays[ARRAYS];
static said all_nodes[NODES], all_slots[NODES * INPUTS];
static struct {
    int inputs, input[INPUTS];
    int param[INPUTS]; /* number of its slot, from 1 */
} of_node[NODES];
static struct {
    int node; /* -1: an option */
    char name[24], text[64];
} texts[TEXTS];
static char shapes[NODES][64], names[2 * NODES + ARRAYS][64];
static int text_count, name_count;
static int64_t rows, step;

/* ------ words and room ------ */

static uint32_t room[ROOM];
static int64_t used;

/* Arrays of which the referee makes the words that are read. */
static struct {
    array *of;
    uint32_t *x;
    bool *is_there;
} made[ARRAYS];
static int made_count;

static place place_of(const void *x) { return (place)((uintptr_t)x / 4); }

/* The maker of an element, as judge.c has it; a NaN is the contract's. */
static uint32_t make(void)
{
    uint32_t x = (*of->op                              ? operator_makes
                  : strcmp(of->phase, "gradient") == 0 ? sums_make
                  : strcmp(of->phase, "rule") == 0     ? rate_makes
                  : strcmp(of->phase, "before") == 0   ? start_makes
                                                       : update_makes)();

    return of->kind == 0 && f_nan(x) ? NAN32 : x;
}

static uint32_t ask(const array *a, int64_t at)
{
    const array *was = of;
    int64_t before = element, mark = used;
    uint32_t x;

    of = a;
    element = at;
    x = make();
    of = was;
    element = before;
    used = mark;
    return x;
}

uint32_t word(place p)
{
    uint32_t x;

    for (int i = 0; i < made_count; i++) {
        int64_t at = p - place_of(made[i].x);

        if (at < 0 || at >= made[i].of->n)
            continue;
        if (!made[i].is_there[at])
            made[i].x[at] = ask(made[i].of, at);
        made[i].is_there[at] = true;
    }
    memcpy(&x, (const void *)(uintptr_t)(p * 4), sizeof x);
    return x;
}

uint32_t *room_for(int64_t n)
{
    uint32_t *x = room + used;

    used += (n + 2) / 2 * 2;
    if (used > ROOM)
        unknown("more than there is room for");
    memset(x, 0, (size_t)n * sizeof *x);
    return x;
}

void spend(int64_t steps) { (void)steps; }

void *room_of(size_t bytes) { return room_for((int64_t)(bytes + 3) / 4); }

uint32_t *words(place x, int64_t n, int64_t stride)
{
    uint32_t *all = room_for(n);

    for (int64_t i = 0; i < n; i++)
        all[i] = word(x + i * stride);
    return all;
}

uint32_t unknown(const char *what)
{
    fprintf(stderr, "the referee does not know \"%s\"\n", what);
    abort();
}

/* ------ what the test says ------ */

char *text_of(const char *format, ...)
{
    static char text[8][512];
    static int next;
    va_list more;

    next = (next + 1) % 8;
    va_start(more, format);
    vsnprintf(text[next], sizeof text[next], format, more);
    va_end(more);
    return text[next];
}

void asked_begin(int64_t of_rows, int64_t of_step)
{
    for (; made_count > 0; made_count--) {
        free(made[made_count - 1].x);
        free(made[made_count - 1].is_there);
    }
    arrays = all_arrays;
    nodes = all_nodes;
    slots = all_slots;
    array_count = node_count = slot_count = text_count = name_count = 0;
    memset(of_node, 0, sizeof of_node);
    rows = of_rows;
    step = of_step;
}

static const char *name_of(const char *name)
{
    snprintf(names[name_count], sizeof *names, "%s", name);
    return names[name_count++];
}

int asked_node(const char *op, const char *shape, int inputs, const int *input,
               unsigned passes)
{
    int i = node_count++;

    snprintf(shapes[i], sizeof shapes[i], "%s", shape);
    all_nodes[i] = (said){.op = name_of(op), .shape = shapes[i], .node = i,
                          .passes = passes};
    all_nodes[i].name = all_nodes[i].op;
    of_node[i].inputs = inputs;
    for (int k = 0; k < inputs; k++)
        of_node[i].input[k] = input[k];
    return i;
}

static void add_text(int node, const char *name, const char *text)
{
    snprintf(texts[text_count].name, sizeof texts->name, "%s", name);
    snprintf(texts[text_count].text, sizeof texts->text, "%s", text);
    texts[text_count++].node = node;
}

void asked_attribute(int node, const char *name, const char *text)
{
    add_text(node, name, text);
}

void asked_option(const char *name, const char *text)
{
    add_text(-1, name, text);
}

void asked_param(int node, int k, int64_t floats, const float *x)
{
    all_slots[slot_count] = (said){.name = "", .floats = floats,
                                   .at = place_of(x)};
    of_node[node].param[k] = ++slot_count;
    if (!whole("before", "parameters"))
        all_arrays[array_count++] = (array){
            .phase = "before", .what = "parameters", .name = "", .op = "",
            .n = ANYWHERE};
}

/* A name that stays. */
static const char *phase_of(const char *name)
{
    static const char *const phases[] = {"start", "before", "rows", "forward",
                                         "backward", "gradient", "mean",
                                         "rule", "after"};

    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (strcmp(phases[i], name) == 0)
            return phases[i];
    return unknown(name), NULL;
}

void asked_slot(const char *name, int64_t floats)
{
    all_slots[slot_count++] = (said){.name = name_of(name),
                                     .shape = text_of("%lld",
                                                      (long long)floats),
                                     .floats = floats};
}

void asked_array(const char *phase, const char *what, int node, int index,
                 int64_t n, const float *x)
{
    array *a = &all_arrays[array_count++];

    if (!x) {
        made[made_count].of = a;
        made[made_count].x = malloc((size_t)n * sizeof *made->x);
        made[made_count].is_there = calloc((size_t)n, sizeof(bool));
        x = (const float *)(const void *)made[made_count++].x;
    }
    *a = (array){.phase = phase_of(phase), .what = name_of(what), .name = "",
                 .op = node < 0 ? "" : nodes[node].op, .node = node,
                 .index = index, .rows = rows, .x = place_of(x), .n = n};
}

void asked_input(int node, const char *name, int64_t n, const float *x)
{
    all_nodes[node].name = name_of(name);
    asked_array("rows", name, -1, 0, n, x);
}

/* ------ what is asked ------ */

/* The last of an array that is not there, for as long. */
uint32_t asked_element(const char *phase, const char *what, int node, int index,
                       int64_t n, int64_t at)
{
    array *a = &all_arrays[array_count];

    *a = (array){.phase = phase, .what = what, .name = "",
                 .op = node < 0 ? "" : nodes[node].op, .node = node,
                 .index = index, .rows = rows, .n = n,
                 .kind = strcmp(phase, "gradient") == 0 ? 2 : 0};
    return ask(a, at);
}

uint32_t asked_slope(uint32_t d, float slope)
{
    return times_slope(d, f_of(slope));
}

float asked_word(uint32_t x)
{
    float f;

    memcpy(&f, &x, sizeof f);
    return f;
}

/* ------ what the referee asks ------ */

int64_t devices_of_step(void) { return 1; }
int64_t micro_of_step(void) { return 1; }
int64_t number_of_step(void) { return step; }

int64_t input(const said *n, int k)
{
    return k < of_node[n->node].inputs ? of_node[n->node].input[k] : -1;
}

const said *param(const said *n, int k)
{
    int slot = of_node[n->node].param[k];

    return slot ? &slots[slot - 1] : NULL;
}

/* The last node's is given as "dx" of no node. */
place gradient(int64_t node, int64_t above)
{
    const array *k = array_of("backward", "dx", -1, 0);

    if (above > node)
        return 0;
    for (int i = node_count - 1; i > node; i--)
        for (int j = 0; j < of_node[i].inputs; j++)
            if (of_node[i].input[j] == node)
                return nodes[i].passes >> j & 1
                           ? gradient(i, i)
                           : array_of("backward", "dx", i, j)->x;
    return k ? k->x : 0;
}

static const char *text_at(int64_t node, const char *name)
{
    for (int i = 0; i < text_count; i++)
        if (texts[i].node == node && strcmp(texts[i].name, name) == 0)
            return texts[i].text;
    return NULL;
}

const char *attribute(const said *n, const char *name)
{
    return text_at(n->node, name);
}

const char *option(const char *name) { return text_at(-1, name); }

size_t options_called(const char *begin, const char **name, size_t most)
{
    size_t n = 0;

    for (int i = 0; i < text_count && n < most; i++)
        if (!strncmp(texts[i].name, begin, strlen(begin)))
            name[n++] = texts[i].name + strlen(begin);
    return n;
}

/* ------ vectors ------ */

static void write_words(FILE *f, int64_t n, place x)
{
    for (int64_t i = 0; i < n; i++)
        fprintf(f, "%s%08x", i % 8 ? " " : "\n ", (unsigned)word(x + i));
    fputc('\n', f);
}

static bool is_made(const array *a)
{
    for (int i = 0; i < made_count; i++)
        if (made[i].of == a)
            return true;
    return false;
}

static void write_node(FILE *f, int i)
{
    fprintf(f, "node %d %s %d", (int)nodes[i].passes,
            *nodes[i].shape ? nodes[i].shape : ".", of_node[i].inputs);
    for (int k = 0; k < of_node[i].inputs; k++)
        fprintf(f, " %d", of_node[i].input[k]);
    fprintf(f, " %s\n", nodes[i].op);
    if (nodes[i].name != nodes[i].op)
        fprintf(f, "name %s\n", nodes[i].name);
    for (int k = 0; k < INPUTS; k++)
        if (of_node[i].param[k]) {
            const said *s = &slots[of_node[i].param[k] - 1];

            fprintf(f, "param %d %lld", k, (long long)s->floats);
            write_words(f, s->floats, s->at);
        }
}

void asked_write(FILE *f, const char *name, const char *phase, const char *what,
                 int node, int index, int64_t n, int64_t at)
{
    fprintf(f, "vector %s\nrows %lld %lld\n", name, (long long)rows,
            (long long)step);
    for (int i = 0; i < node_count; i++)
        write_node(f, i);
    for (int i = 0; i < text_count; i++)
        if (*texts[i].text)
            fprintf(f, "text %d %s: %s\n", texts[i].node,
                    texts[i].name, texts[i].text);
    for (int i = 0; !node_count && i < slot_count; i++)
        fprintf(f, "slot %lld %s\n", (long long)slots[i].floats, slots[i].name);
    for (int i = 0; i < array_count; i++) {
        const array *a = &arrays[i];

        if (a->n == ANYWHERE)
            continue;
        fprintf(f, "array %d %d %lld %s %s", (int)a->node, (int)a->index,
                is_made(a) ? (long long)-a->n : (long long)a->n, a->phase,
                a->what);
        if (is_made(a))
            fputc('\n', f);
        else
            write_words(f, a->n, a->x);
    }
    fprintf(f, "is %08x %d %d %lld %lld %s %s\n\n",
            (unsigned)asked_element(phase, what, node, index, n, at), node,
            index, (long long)n, (long long)at, phase, what);
}

/* The numbers of the vector that was read last. */
static uint32_t numbers[1 << 16];
static int64_t number_count;

static const float *read_words(FILE *f, int64_t n)
{
    uint32_t *x = numbers + number_count;

    number_count += n;
    if (number_count > (int64_t)(sizeof numbers / sizeof *numbers))
        unknown("a vector that is longer");
    for (int64_t i = 0; i < n; i++)
        if (fscanf(f, "%x", &x[i]) != 1)
            unknown("a word of a vector");
    return (const float *)(const void *)x;
}

static void read_node(FILE *f)
{
    char shape[64], op[64];
    int inputs, input[INPUTS];
    unsigned passes;

    if (fscanf(f, "%u %63s %d", &passes, shape, &inputs) != 3 ||
        inputs > INPUTS)
        unknown("a node of a vector");
    for (int k = 0; k < inputs; k++)
        if (fscanf(f, "%d", &input[k]) != 1)
            unknown("an input of a vector");
    if (fscanf(f, " %63[^\n]", op) != 1)
        unknown("an operator of a vector");
    asked_node(op, strcmp(shape, ".") ? shape : "", inputs, input, passes);
}

static void read_text(FILE *f)
{
    char name[24], text[64];
    int node;

    if (fscanf(f, "%d %23[^:]: %63[^\n]", &node, name, text) != 3)
        unknown("a text of a vector");
    add_text(node, name, text);
}

static void read_array(FILE *f)
{
    char phase[16], what[64];
    int node, index;
    long long n;

    if (fscanf(f, "%d %d %lld %15s %63[^\n]", &node, &index, &n, phase,
               what) != 5)
        unknown("an array of a vector");
    asked_array(phase, what, node, index, n < 0 ? -n : n,
                n < 0 ? NULL : read_words(f, n));
}

static void read_line(FILE *f, const char *kind)
{
    char name[64];
    long long n, k;

    if (!strcmp(kind, "rows") && fscanf(f, "%lld %lld", &n, &k) == 2)
        asked_begin(n, k);
    else if (!strcmp(kind, "node"))
        read_node(f);
    else if (!strcmp(kind, "name") && fscanf(f, " %63[^\n]", name) == 1)
        all_nodes[node_count - 1].name = name_of(name);
    else if (!strcmp(kind, "param") && fscanf(f, "%lld %lld", &k, &n) == 2)
        asked_param(node_count - 1, (int)k, n, read_words(f, n));
    else if (!strcmp(kind, "slot") &&
             fscanf(f, "%lld %63[^\n]", &n, name) == 2)
        asked_slot(name, n);
    else if (!strcmp(kind, "text"))
        read_text(f);
    else if (!strcmp(kind, "array"))
        read_array(f);
    else
        unknown(kind);
}

bool asked_read(FILE *f, char name[80], uint32_t *is, uint32_t *wanted)
{
    char kind[16], phase[16], what[64];
    int node, index;
    long long n, at;

    number_count = 0;
    if (fscanf(f, " vector %79[^\n]", name) != 1)
        return false;
    while (fscanf(f, "%15s", kind) == 1 && strcmp(kind, "is"))
        read_line(f, kind);
    if (fscanf(f, "%x %d %d %lld %lld %15s %63[^\n]", wanted, &node, &index, &n,
               &at, phase, what) != 7)
        unknown(name);
    *is = asked_element(phase, what, node, index, n, at);
    return true;
}
