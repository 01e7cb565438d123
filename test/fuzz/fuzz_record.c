/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of a step, as they are and with their seal made right: what is
 * accepted is the same as itself, and can be read to the last word. */
#define _GNU_SOURCE
#include "chained.h"
#include "audit/record_read.h"
#include "record_bytes.h"

/* Read all that it says it has. */
static void read_all(const ls__record *r)
{
    static uint32_t word[LS__LEAF];
    char text[LS_RECORD_TEXT];

    for (int64_t i = 0; i < r->entries; i++) {
        const ls__record_entry *e = &r->entry[i];
        ls__where w = ls__record_where(r, e);
        int64_t leaves = r->values ? ls__merkle_leaves(e->words) : 0;

        ls__where_text(&w, text);
        for (int64_t leaf = 0; leaf < leaves; leaf++)
            if (ls__record_words_of(r, e, leaf, word) < 0 && !*ls_errmsg())
                abort();
    }
}

static void parse(const char *path)
{
    ls_record_difference d;
    ls__record r;

    if (ls__record_open(&r, path) == 0) {
        read_all(&r);
        if (ls_record_compare(path, path, &d) < 0 || !d.same)
            abort();
    } else if (!*ls_errmsg()) {
        abort();
    }
    ls__record_shut(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int sealed = 0; sealed < 2; sealed++) {
        char *bytes = copy_of(data, size), path[32];
        int fd = -1;

        if (!sealed || reseal_record((uint8_t *)bytes, size))
            fd = memory_file((uint8_t *)bytes, size, path);
        free(bytes);
        if (fd >= 0) {
            parse(path);
            close(fd);
        }
    }
    return 0;
}

#ifndef FUZZING

/* Damage most where most is said: in the tail, and the header. */
static size_t damage(uint8_t *file, size_t n, size_t room)
{
    size_t tail = (size_t)header_of(file).tail_at;

    if (below(4) == 0 || tail > n)
        return mutate(file, n, room);
    if (below(8) == 0) {
        file[below(sizeof(ls__record_header))] ^= (uint8_t)(1 << below(8));
        return n;
    }
    return tail + mutate(file + tail, n - tail, room - tail);
}

int main(void)
{
    enum { ROOM = 1 << 16 };
    static uint8_t file[ROOM], input[ROOM];
    char path[] = "/tmp/fuzz-record-XXXXXX";
    ls_record_options o = ls_record_defaults();
    training t = training_open();
    ls_result result;
    int fd = mkstemp(path);
    size_t n = 0;

    o.path = path;
    o.values = true;
    o.device = 1;
    o.batches = 0;
    if (fd >= 0 && ls_trainer_record(t.trainer, t.batch, &o, &result) == 0)
        n = bytes_of(path, file, ROOM);
    close(fd);
    unlink(path);
    training_close(&t);
    LLVMFuzzerTestOneInput(file, n);
    for (int i = 0; n && i < 4000; i++) {
        size_t m = n;

        memcpy(input, file, n);
        for (size_t k = 0; k <= below(4) && m > sizeof(ls__record_header); k++)
            m = damage(input, m, ROOM);
        LLVMFuzzerTestOneInput(input, m);
    }
    return n ? 0 : 1;
}
#endif
