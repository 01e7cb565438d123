/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of any bytes: read or refused, the same on a second pass, every field
 * ended within the record and UTF-8. */
#define _GNU_SOURCE
#include "base/utf8.h"
#include "lockstep.h"
#include "memory_file.h"
#include "mutate.h"

#include <lockstep/table.h>

#include <string.h>

/* A number for all that a pass finds. */
static uint64_t pass(ls_table *t)
{
    uint64_t sum = 0;
    int status;

    while ((status = ls_table_next(t)) > 0)
        for (int i = 0; i < ls_table_columns(t); i++) {
            const char *text = ls_table_text(t, i);
            double x = 0;

            if (!ls__utf8_is(text))
                abort();
            if (ls_table_number(t, i, &x) == 0 && x - x != 0)
                abort();
            sum = 31 * sum + strlen(text) + ls_table_missing(t, i) +
                  (uint64_t)ls_table_line(t) + (x > 0);
        }
    return 31 * sum + (uint64_t)(status + 100);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ls_table *t = NULL;
    char path[32];
    int fd = memory_file(data, size, path);
    uint64_t first;

    if (ls_table_open(&t, path) == 0) {
        first = pass(t);
        if (ls_table_rewind(t) < 0 || pass(t) != first)
            abort();
        ls_table_close(t);
    } else if (t) {
        abort();
    }
    close(fd);
    return 0;
}

#ifndef FUZZING
int main(void)
{
    static const char *const seed[] = {
        "a,b,c\n1,2.5,x\n-3e4,,\"y \"\"z\"\"\"\r\n",
        "\xef\xbb\xbfname;price\nH\xc3\xa4user;1,25\n\"a\nb\";NA\n",
        "x\ty\n\n1\t2\r3\t4",
    };

    for (size_t i = 0; i < sizeof seed / sizeof *seed; i++)
        feed(seed[i], strlen(seed[i]), 2000);
    return 0;
}
#endif
