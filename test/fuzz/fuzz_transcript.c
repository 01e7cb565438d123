/* SPDX-License-Identifier: BSD-3-Clause */
/* Transcripts, as they are and with their hashes made right.  Whatever says
 * something else than the training is refused when it is held against it. */
#define _GNU_SOURCE
#include "chained.h"

static void parse(const char *path)
{
    ls_transcript_facts facts;
    char root[65];

    if (ls_transcript_check(path, &facts) == 0)
        (void)ls_transcript_root_at(path, facts.batches, root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    chained_files(data, size, parse);
    return 0;
}

#ifndef FUZZING

/* Train with a transcript; 0: every line was written, or was the file's. */
static int train(const char *path, bool compare)
{
    ls_transcript_options o = ls_transcript_defaults();
    training t = training_open();
    ls_transcript *all = NULL;
    ls_result result;
    int status;

    o.path = path;
    o.compare = compare;
    o.program = "fuzz";
    o.every = 1;
    status = ls_transcript_open(&all, t.trainer, &o, 0, NULL);
    for (int i = 0; i < CHAIN_STEPS && status == 0; i++) {
        if (ls_step(t.trainer, t.batch, &result) < 0)
            abort();
        status = ls_transcript_step(all, i, &result);
        if (status == 0 && ls_transcript_is_due(all))
            status = ls_transcript_state(all, 0, NULL);
    }
    if (status == 0)
        status = ls_transcript_end(all, 0, NULL, NULL);
    ls_transcript_close(all);
    training_close(&t);
    return status;
}

/* Take out the version that wrote a transcript, which says nothing of the
 * training; returns how many bytes are left. */
static size_t strip(char *bytes, size_t n)
{
    static const char name[] = "\"lockstep\":";
    char *at = memmem(bytes, n, name, sizeof name - 1);
    char *end = at ? memchr(at, ',', (size_t)(bytes + n - at)) : NULL;

    if (!end)
        return n;
    memmove(at, end, (size_t)(bytes + n - end));
    return n - (size_t)(end - at);
}

static bool says_the_same(const uint8_t *a, size_t n, const uint8_t *b,
                          size_t m)
{
    char *x = copy_of(a, n), *y = copy_of(b, m);
    bool same;

    n = strip(x, n);
    m = strip(y, m);
    rechain(x, n);
    rechain(y, m);
    same = n == m && memcmp(x, y, n) == 0;
    free(x);
    free(y);
    return same;
}

/* Hold a training against a damaged transcript whose hashes are right. */
static int accepts(const uint8_t *data, size_t size)
{
    char *bytes = copy_of(data, size), path[32];
    int fd, status;

    rechain(bytes, size);
    fd = memory_file((uint8_t *)bytes, size, path);
    free(bytes);
    status = train(path, true);
    close(fd);
    return status == 0;
}

int main(void)
{
    enum { ROOM = 1 << 14 };
    static uint8_t file[ROOM], input[ROOM];
    const char *text = getenv("LS_LONG");
    int times = text && *text && *text != '0' ? 10000 : 1000, accepted = 0;
    char path[] = "/tmp/fuzz-transcript-XXXXXX";
    int fd = mkstemp(path);
    size_t n = 0;

    if (fd >= 0 && train(path, false) == 0)
        n = bytes_of(path, file, ROOM);
    close(fd);
    unlink(path);
    if (!n || !accepts(file, n))
        return 1;
    for (int i = 0; i < times; i++) {
        size_t m = n;

        memcpy(input, file, n);
        for (size_t k = 0; k <= below(4) && m > 0; k++)
            m = mutate(input, m, ROOM);
        LLVMFuzzerTestOneInput(input, m);
        if (!says_the_same(file, n, input, m) && accepts(input, m)) {
            fprintf(stderr, "%.*s\n", (int)m, (const char *)input);
            accepted++;
        }
    }
    fprintf(stderr, "%d damaged transcripts, %d accepted\n", times, accepted);
    return accepted ? 1 : 0;
}
#endif
