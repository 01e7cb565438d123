/* SPDX-License-Identifier: BSD-3-Clause */
/* A locale with a decimal comma, whether or not the machine has one. */
#ifndef TEST_COMMA_H
#define TEST_COMMA_H

#include <locale.h>
#include <stdbool.h>

#include "folder.h"

/* Make it, of a file of our own in the test's folder, and set it; false, with
 * a line that says so: it cannot be made here. */
static inline bool set_comma(void)
{
    static const char text[] = "escape_char /\nLC_NUMERIC\ndecimal_point "
                               "\",\"\nthousands_sep \"\"\ngrouping -1\n"
                               "END LC_NUMERIC\n";
    char command[512];

    put_file(in_folder("comma"), text, sizeof text - 1);
    snprintf(command, sizeof command, "localedef -c -i %s %s 2>/dev/null >&2",
             in_folder("comma"), in_folder("xx_XX"));
    if (system(command) >= 0 && setenv("LOCPATH", folder, 1) == 0 &&
        setlocale(LC_NUMERIC, "xx_XX"))
        return true;
    printf("skipped, it cannot be made here: a locale with a comma\n");
    return false;
}

static inline void unset_comma(void)
{
    setlocale(LC_NUMERIC, "C");
    unsetenv("LOCPATH");
}

#endif
