/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of a step, as they are and with their hashes made right: compared
 * with themselves, a record that is accepted is the same; and evidence of what
 * is in it is given, or refused with a message. */
#define _GNU_SOURCE
#include "chained.h"
#include "record/record_compare.h"
#include "record/record_read.h"

enum { ASKED = 16 }; /* arrays of a record: each reads all of it again */

/* Ask for the first number of an array and for its last. */
static void judge(const char *path, const ls__entry *e)
{
    char place[LS_RECORD_TEXT];

    ls__where_text(&e->place, place);
    for (int last = 0; last < 2; last++)
        if (ls_record_evidence(path, place, last ? e->floats - 1 : 0, 0, 1,
                               "/dev/null") < 0 && !*ls_errmsg())
            abort();
}

static void parse(const char *path)
{
    ls_record_difference d;
    ls__record_reader r;
    ls__entry e = {0};
    int asked = 0;

    if (ls_record_compare(path, path, &d) == 0 && !d.same)
        abort();
    if (ls__record_open(&r, path) == 0)
        while (asked < ASKED && ls__record_next(&r, &e) == 0 &&
               e.kind != LS__CLOSE_ENTRY) {
            if (e.kind == LS__ARRAY_ENTRY) {
                judge(path, &e);
                asked++;
            }
            ls__entry_release(&e);
        }
    ls__entry_release(&e);
    ls__record_shut(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    chained_files(data, size, parse);
    return 0;
}

#ifndef FUZZING
int main(void)
{
    enum { ROOM = 1 << 16 };
    static uint8_t file[ROOM];
    char path[] = "/tmp/fuzz-record-XXXXXX";
    ls_record_options o = ls_record_defaults();
    training t = training_open();
    ls_result result;
    int fd = mkstemp(path);
    size_t n = 0;

    o.path = path;
    o.values = true;
    o.device = 1;
    if (fd >= 0 && ls_trainer_record(t.trainer, t.batch, &o, &result) == 0)
        n = bytes_of(path, file, ROOM);
    close(fd);
    unlink(path);
    training_close(&t);
    for (int i = 0; n && i < 1000; i++) {
        static uint8_t input[ROOM];
        size_t m = n;

        memcpy(input, file, n);
        for (size_t k = 0; k <= below(4) && m > 0; k++)
            m = mutate(input, m, ROOM);
        LLVMFuzzerTestOneInput(input, m);
    }
    return n ? 0 : 1;
}
#endif
