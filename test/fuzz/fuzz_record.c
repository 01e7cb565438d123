/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of a step, as they are and with their hashes made right: compared
 * with themselves, a record that is accepted is the same. */
#define _GNU_SOURCE
#include "chained.h"

static void parse(const char *path)
{
    ls_record_difference d;

    if (ls_record_compare(path, path, &d) == 0 && !d.same)
        abort();
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
