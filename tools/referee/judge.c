/* SPDX-License-Identifier: BSD-3-Clause */
/* The referee's way: who is not bound to what it published loses; else the
 * first number in which two records differ is made once more. */
#include "record.h"
#include "step.h"
#include "transcript.h"
#include "verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

/* ------ how it ends ------ */

static jmp_buf end;
static int status_at_end;

/* Rooms until then. */
typedef struct room {
    struct room *next;
    double bytes[]; /* aligned for all */
} room;

static room *last_room;

void *room_of(size_t bytes)
{
    room *r = calloc(1, sizeof *r + bytes);

    if (!r)
        refuse("no memory for %lu bytes", (unsigned long)bytes);
    r->next = last_room;
    last_room = r;
    return r->bytes;
}

void *rooms(void) { return last_room; }

void leave_rooms(const void *since)
{
    while (last_room != since) {
        room *next = last_room->next;

        free(last_room);
        last_room = next;
    }
}

char *text_of(const char *format, ...)
{
    va_list list;
    char *text;
    int n;

    va_start(list, format);
    n = vsnprintf(NULL, 0, format, list);
    va_end(list);
    text = room_of((size_t)(n < 0 ? 0 : n) + 1);
    va_start(list, format);
    vsnprintf(text, (size_t)(n < 0 ? 0 : n) + 1, format, list);
    va_end(list);
    return text;
}

void decide(int status)
{
    status_at_end = status;
    longjmp(end, 1);
}

static char why_refused[512];

/* Takes what would steer a terminal out of a text that files have. */
static const char *shown(char *text)
{
    for (char *c = text; *c; c++) {
        bool pair = *c == '\xc2' && c[1] && (unsigned char)c[1] < 0xa0;

        if (pair)
            *c++ = '?';
        if (pair || (unsigned char)*c < 32 || *c == 127)
            *c = '?';
    }
    return text;
}

const char *judge_why(void) { return why_refused; }

void refuse(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(why_refused, sizeof why_refused, format, list);
    va_end(list);
    shown(why_refused);
    decide(REFUSED);
}

uint32_t unknown(const char *what)
{
    refuse("step %lld, %s: %s: known, and not judged: the referee does not "
           "know \"%s\", or not in this form", (long long)number_of_step(),
           place_text(of), element_text(of, element), what);
    return 0;
}

static const char *const verdicts[] = {"a is right", "b is right",
                                       "neither is right"};

/* ------ who does not agree with itself ------ */

/* Say why sides lose, if one does. */
static void settle(const char *const why[2])
{
    int verdict = why[0] ? why[1] ? NEITHER_IS_RIGHT : B_IS_RIGHT : A_IS_RIGHT;

    if (!why[0] && !why[1])
        return;
    for (int side = 0; side < 2; side++)
        if (why[side])
            printf("%c: %s\n", 'a' + side, shown(text_of("%s", why[side])));
    puts(verdicts[verdict]);
    decide(verdict);
}

static void read_transcripts(const char *const path[2])
{
    const char *why[2];

    for (int side = 0; side < 2; side++) {
        transcript_read(&transcripts[side], path[side],
                        batches_of(&records[side]));
        why[side] = head_differs(&transcripts[side], &records[side]);
    }
    if (!transcripts_match(&transcripts[0], &transcripts[1]))
        refuse("%s and %s are of two trainings: their heads differ", path[0],
               path[1]);
    settle(why);
}

/* Names what of a head does not agree with itself; NULL: nothing. */
static const char *head_is_odd(const record *r)
{
    int64_t more = updates_in(r);

    if (json_whole(r->head, "step", -1) != said_of(r, "before", "updates") ||
        more < 0 || more > 1 || batches_of(r) < 0 ||
        (has_controls(r, "after") &&
         said_of(r, "after", "batches") != batches_of(r) + 1))
        return "the batches and updates of its record are not those of a step";
    return slots_differ(r);
}

static void check_heads(void)
{
    static const char *const of_both[] = {
        "bits", "device", "devices", "graph", "layout", "maker", "micro",
        "options", "plan", "rows", "step"};
    const json *a = records[0].head, *b = records[1].head;
    const char *why[2];

    for (int side = 1; side >= 0; side--) /* slots are a's in the end */
        why[side] = head_is_odd(&records[side]);
    settle(why);
    for (size_t i = 0; i < sizeof of_both / sizeof *of_both; i++)
        if (!json_same(json_get(a, of_both[i]), json_get(b, of_both[i])))
            refuse("%s and %s are not of one step: \"%s\" differs",
                   records[0].path, records[1].path, of_both[i]);
    if (batches_of(&records[0]) != batches_of(&records[1]))
        refuse("%s and %s are not of one step: another batch",
               records[0].path, records[1].path);
    if (micro_of_step() < 1 || micro_of_step() > 1 << 16 ||
        devices_of_step() < 1 || devices_of_step() > 1 << 16)
        refuse("%s: a step of more than 65536 devices or micro-batches",
               records[0].path);
}

/* Comparisons that could not be made, told after the verdict. */
static const char *missing;

static void check_sides(int published)
{
    const char *why[2] = {NULL, NULL}, *root, *not_here = NULL;

    for (int side = 0; side < 2; side++) {
        if (published)
            why[side] = transcript_differs(&transcripts[side], &records[side],
                                           &not_here);
        root = published ? json_text(transcripts[side].head, "source") : NULL;
        if (!why[side])
            why[side] = batch_differs(&records[side], root);
    }
    if (published && not_here)
        missing = text_of("not compared: %s", not_here);
    settle(why);
}

static void print_missing(void)
{
    if (missing)
        puts(shown(text_of("%s", missing)));
}

/* ------ the first difference ------ */

static bool is_same_place(const array *a, const array *b)
{
    return !strcmp(a->phase, b->phase) && !strcmp(a->what, b->what) &&
           !strcmp(a->name, b->name) && !strcmp(a->op, b->op) &&
           !strcmp(a->shape, b->shape) && a->device == b->device &&
           a->micro == b->micro && a->node == b->node &&
           a->index == b->index && a->first == b->first &&
           a->rows == b->rows && a->n == b->n && a->kind == b->kind &&
           a->x == b->x;
}

enum { AT_ONCE = 1024 };

/* The first leaf in which an array differs; -1: none. */
static int64_t first_leaf(const array *a, const array *b)
{
    static uint8_t hash[2][AT_ONCE * 32];
    int64_t n = leaves_of(a);

    for (int64_t i = 0; i < n; i += AT_ONCE) {
        int64_t some = n - i < AT_ONCE ? n - i : AT_ONCE;

        record_hashes(&records[0], a, i, some, hash[0]);
        record_hashes(&records[1], b, i, some, hash[1]);
        for (int64_t k = 0; k < some; k++)
            if (memcmp(hash[0] + 32 * k, hash[1] + 32 * k, 32))
                return i + k;
    }
    return -1;
}

static uint32_t claim[2];

/* Set `of` and `element`, and both claims. */
static void find_difference(void)
{
    const record *a = &records[0], *b = &records[1];
    uint32_t x[2][LEAF_WORDS];
    int64_t i = 0, leaf = -1, n;

    for (; i < a->entries && i < b->entries; i++) {
        if (!is_same_place(&a->arrays[i], &b->arrays[i]))
            refuse("the records do not have the same arrays: a has \"%s\", b "
                   "has \"%s\"", place_text(&a->arrays[i]),
                   place_text(&b->arrays[i]));
        leaf = first_leaf(&a->arrays[i], &b->arrays[i]);
        if (leaf >= 0)
            break;
    }
    if (leaf < 0 && a->entries != b->entries)
        refuse("%s ends before %s", a->entries < b->entries ? a->path : b->path,
               a->entries < b->entries ? b->path : a->path);
    if (leaf < 0) {
        puts("the records are the same");
        print_missing();
        decide(SAME);
    }
    of = &a->arrays[i];
    arrays = a->arrays;
    array_count = i + 1;
    if (!a->values || !b->values)
        refuse("%s: one of elements %lld to %lld: records with values tell "
               "which", place_text(of), (long long)leaf * LEAF_WORDS,
               (long long)((leaf + 1) * LEAF_WORDS < of->n
                               ? (leaf + 1) * LEAF_WORDS : of->n) - 1);
    n = record_leaf(&records[0], &a->arrays[i], leaf, x[0]);
    record_leaf(&records[1], &b->arrays[i], leaf, x[1]);
    for (element = 0; element < n && x[0][element] == x[1][element];)
        element++;
    claim[0] = x[0][element % LEAF_WORDS];
    claim[1] = x[1][element % LEAF_WORDS];
    element += leaf * LEAF_WORDS;
}

/* ------ the verdict ------ */

static f32 make(void)
{
    const char *phase = of->phase;

    words_begin(&records[0]);
    if (*of->op) {
        const char *maker = json_text(records[0].head, "maker");

        if (!maker || strcmp(maker, "any"))
            return unknown("products whose bits are their maker's own");
        return operator_makes();
    }
    if (!strcmp(phase, "before"))
        return start_makes();
    if (!strcmp(phase, "batch") || !strcmp(phase, "rows"))
        return batch_makes();
    if (!strcmp(phase, "after"))
        return update_makes();
    if (!strcmp(of->what, "loss") || !strcmp(of->what, "weight"))
        return sums_make();
    if (!strcmp(of->what, "-lr") || !strncmp(of->what, "share of", 8))
        return rate_makes();
    return mean_makes();
}

static f32 made(int tiny)
{
    f32 x;

    soft_tiny = tiny;
    soft_corner = 0;
    x = make();
    return of->kind ? x : f_recorded(x);
}

static void print_claims(f32 is, int verdict)
{
    float x[3];

    memcpy(x, claim, 8);
    memcpy(x + 2, &is, 4);
    if (of->kind)
        printf("  a %08x, b %08x, it is %08x", (unsigned)claim[0],
               (unsigned)claim[1], (unsigned)is);
    else
        printf("  a %08x %.9g, b %08x %.9g, it is %08x %.9g",
               (unsigned)claim[0], (double)x[0], (unsigned)claim[1],
               (double)x[1], (unsigned)is, (double)x[2]);
    printf(": %s", verdicts[verdict]);
}

/* arm64's number too, where it differs from x86-64's. */
static void print_corner(f32 is)
{
    f32 other = made(TINY_BEFORE);

    printf("; a result near 2^-126 that x86-64 and arm64 round otherwise took "
           "part");
    if (other != is)
        printf(": on arm64 it is %08x", (unsigned)other);
}

static jmp_buf again;

void judge_instead(int64_t at, uint32_t a, uint32_t b)
{
    if (at < element)
        refuse("an element before the first difference that differs");
    element = at;
    claim[0] = a;
    claim[1] = b;
    longjmp(again, 1);
}

static void judge(void)
{
    int verdict;
    f32 is;

    find_difference();
    (void)setjmp(again);
    is = made(TINY_AFTER);
    printf("step %lld, %s\n", (long long)number_of_step(),
           shown(text_of("%s: %s", place_text(of), element_text(of, element))));
    verdict = is == claim[0] ? A_IS_RIGHT : is == claim[1] ? B_IS_RIGHT
                                                           : NEITHER_IS_RIGHT;
    print_claims(is, verdict);
    if (soft_corner)
        print_corner(is);
    putchar('\n');
    print_missing();
    decide(verdict);
}

static void close_all(void)
{
    for (int side = 0; side < 2; side++) {
        record_close(&records[side]);
        transcript_close(&transcripts[side]);
    }
    leave_rooms(NULL);
}

static void open_all(const char *const path[2],
                     const char *const published[2])
{
    for (int side = 0; side < 2; side++)
        record_open(&records[side], path[side]);
    if (published)
        read_transcripts(published);
    check_heads();
    graph_read();
}

int judge_files(const char *const path[2], const char *const published[2])
{
    missing = NULL;
    if (setjmp(end) == 0) {
        open_all(path, published);
        check_sides(published != NULL);
        judge();
    }
    if (status_at_end == REFUSED)
        print_missing();
    close_all();
    return status_at_end;
}

int judge_element(const char *path, int64_t entry, int64_t at, uint32_t *is)
{
    if (setjmp(end) == 0) {
        open_all((const char *const[]){path, path}, NULL);
        if (entry >= records[0].entries)
            refuse("there is no array %lld", (long long)entry);
        arrays = records[0].arrays;
        of = arrays + entry;
        array_count = entry + 1;
        element = at;
        *is = made(TINY_AFTER);
        decide(SAME);
    }
    close_all();
    return status_at_end;
}
