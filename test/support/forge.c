/* SPDX-License-Identifier: BSD-3-Clause */
/* A forger of records and transcripts, whose hashes are made anew:
 *
 *     forge words IN OUT PHASE OP WHAT ELEMENT XOR   one word is another
 *     forge head IN OUT FROM TO                      the head says otherwise
 *     forge chain IN OUT                             lines are chained again
 *
 * OP is "-" of what is no operator's.  ELEMENT counts through all such arrays.
 */
#include "referee/sha.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *file;
static size_t bytes;

static void give_up(const char *why)
{
    fprintf(stderr, "forge: %s\n", why);
    exit(1);
}

static void read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t room = 1 << 16;
    int c;

    if (!f || !(file = malloc(room)))
        give_up(path);
    while ((c = getc(f)) != EOF) {
        if (bytes + 1 == room && !(file = realloc(file, room *= 2)))
            give_up("no memory");
        file[bytes++] = (unsigned char)c;
    }
    fclose(f);
}

static void write_part(FILE *f, const void *part, size_t n)
{
    if (fwrite(part, 1, n, f) != n)
        give_up("cannot write");
}

static unsigned long long little(const unsigned char *p, int n)
{
    unsigned long long x = 0;

    while (n-- > 0)
        x = x << 8 | p[n];
    return x;
}

static void put(unsigned char *p, unsigned long long x, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = (unsigned char)(x >> 8 * i);
}

static void seal(unsigned char to[32], const void *middle, size_t n)
{
    sha s;

    sha_begin(&s);
    sha_add(&s, file, 64);
    sha_add(&s, middle, n);
    sha_end(&s, to);
}

/* ------ records ------ */

enum { ENTRY = 96, LEAF_BYTES = 4 * LEAF };

static void hash_leaf(unsigned char *at, unsigned long long words,
                      unsigned long long leaf)
{
    unsigned long long leaves = (words + LEAF - 1) / LEAF;
    unsigned long long n = words - leaf * LEAF;
    const unsigned char *x = at + 32 * leaves + leaf * LEAF_BYTES;
    sha s;

    sha_begin(&s);
    sha_add(&s, x, 4 * (n < LEAF ? n : LEAF));
    sha_add(&s, "", 1);
    sha_end(&s, at + 32 * leaf);
}

static int is_array(const unsigned char *e, const char *names,
                    char *const text[3])
{
    static const char *const phases[] = {
        "start", "before", "batch", "rows", "forward", "backward", "gradient",
        "mean", "rule", "after"};
    const char *op = names + little(e + 16, 4);

    return strcmp(phases[little(e, 4)], text[0]) == 0 &&
           strcmp(*op ? op : "-", text[1]) == 0 &&
           strcmp(names + little(e + 8, 4), text[2]) == 0;
}

static void change_word(char *const text[5])
{
    unsigned long long tail = little(file + 24, 8), head = little(file + 32, 8);
    unsigned long long n = little(file + 40, 8), element;
    const unsigned char *index = file + tail + head;
    const char *names = (const char *)index + n * ENTRY;

    element = strtoull(text[3], NULL, 10);
    for (unsigned long long i = 0; i < n; i++) {
        const unsigned char *e = index + i * ENTRY;
        unsigned long long words = little(e + 56, 8);
        unsigned char *at = file + little(e + 64, 8), *x;

        if (!is_array(e, names, text))
            continue;
        if (element >= words) {
            element -= words;
            continue;
        }
        x = at + 32 * ((words + LEAF - 1) / LEAF) + 4 * element;
        put(x, little(x, 4) ^ strtoull(text[4], NULL, 16), 4);
        hash_leaf(at, words, element / LEAF);
        return;
    }
    give_up("there is no such element");
}

static void write_words(const char *path, char *const text[5])
{
    FILE *f = fopen(path, "wb");
    unsigned long long tail = little(file + 24, 8);

    change_word(text);
    seal(file + bytes - 32, file + tail, bytes - 32 - tail);
    if (!f)
        give_up(path);
    write_part(f, file, bytes);
    fclose(f);
}

static void write_head(const char *path, const char *from, const char *to)
{
    unsigned long long tail = little(file + 24, 8), head = little(file + 32, 8);
    char *text = calloc(bytes + strlen(to) + 1, 1), *at;
    size_t rest = bytes - 32 - tail - head, n;
    unsigned char digest[32];
    FILE *f = fopen(path, "wb");

    if (!text || !f)
        give_up(path);
    memcpy(text, file + tail, head);
    at = strstr(text, from);
    if (!at)
        give_up("the head has no such text");
    n = head - (size_t)(at - text) - strlen(from);
    memmove(at + strlen(to), at + strlen(from), n);
    memcpy(at, to, strlen(to));
    n = head + strlen(to) - strlen(from);
    put(file + 32, n, 8);
    memcpy(text + n, file + tail + head, rest);
    seal(digest, text, n + rest);
    write_part(f, file, tail);
    write_part(f, text, n + rest);
    write_part(f, digest, 32);
    fclose(f);
    free(text);
}

/* ------ transcripts ------ */

static void write_chain(const char *path)
{
    FILE *f = fopen(path, "wb");
    char prev[65];
    size_t end;

    memset(prev, '0', 64);
    prev[64] = 0;
    if (!f)
        give_up(path);
    for (size_t at = 0; at < bytes; at = end) {
        uint8_t hash[HASH];
        char *key;
        sha s;

        for (end = at; end < bytes && file[end] != '\n';)
            end++;
        if (end++ == bytes)
            give_up("a line without an end");
        file[end - 1] = 0;
        key = strstr((char *)file + at, "\"prev\":\"");
        if (!key || strlen(key) < 8 + 64)
            give_up("a line without prev");
        memcpy(key + 8, prev, 64);
        file[end - 1] = '\n';
        sha_begin(&s);
        sha_add(&s, file + at, end - at);
        sha_end(&s, hash);
        sha_hex(hash, prev);
        write_part(f, file + at, end - at);
    }
    fclose(f);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        give_up("words, head or chain");
    read_file(argv[2]);
    if (strcmp(argv[1], "words") == 0 && argc == 9)
        write_words(argv[3], argv + 4);
    else if (strcmp(argv[1], "head") == 0 && argc == 6)
        write_head(argv[3], argv[4], argv[5]);
    else if (strcmp(argv[1], "chain") == 0)
        write_chain(argv[3]);
    else
        give_up("words, head or chain");
    free(file);
    return 0;
}
