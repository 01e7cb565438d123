/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers of the other side in a dispute: whatever is not of the form that was
 * asked for is refused, with words. */
#define _GNU_SOURCE
#include "mutate.h"
#include "verify/mail.h"

#include <lockstep.h>

const char opt_program_name[] = "fuzz_answer";

enum { LEAST = 8, MOST = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mail x = {.side = 'a', .number = 3};
    char why[MAIL_TEXT] = "", *bytes = copy_of(data, size), *answer;

    memset(x.prev, '0', MAIL_HEX - 1);
    answer = mail_read(bytes, size, &x, 2, "record", LEAST, MOST, why);
    if (answer && (strlen(answer) < LEAST || strlen(answer) > MOST ||
                   strspn(answer, "0123456789abcdef") != strlen(answer)))
        abort();
    if (!answer && !*why)
        abort();
    free(answer);
    free(bytes);
    return 0;
}

#ifndef FUZZING
int main(void)
{
    static const char good[] =
        "{\"answer\":\"0123456789abcdef\",\"level\":2,\"number\":3,\"prev\":"
        "\"0000000000000000000000000000000000000000000000000000000000000000\","
        "\"side\":\"b\",\"what\":\"record\"}\n";
    mail x = {.side = 'a', .number = 3};
    char why[MAIL_TEXT], *answer;

    memset(x.prev, '0', MAIL_HEX - 1);
    answer = mail_read(good, sizeof good - 1, &x, 2, "record", LEAST, MOST,
                           why);
    if (!answer)
        return 1;
    free(answer);
    feed(good, sizeof good - 1, 10000);
    return 0;
}
#endif
