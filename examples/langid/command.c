/* SPDX-License-Identifier: BSD-3-Clause */
/* langid [TEXT ..]: a line for each text, or for each line of standard input:
 * "de 0.998".  With --test each line is "language<tab>sentence", and what is
 * written is how many are right. */
#include "langid.h"

#include <stdio.h>
#include <string.h>

static void say(const char *text, size_t n)
{
    float likely = 0;
    int i = langid_detect(text, n, &likely);

    printf("%s %.3f\n", i < 0 ? "-" : langid_name(i), (double)likely);
}

static int test(void)
{
    long right = 0, all = 0;
    char line[1024];

    while (fgets(line, sizeof line, stdin)) {
        char *tab = strchr(line, '\t');
        int i;

        if (!tab)
            continue;
        *tab = 0;
        i = langid_detect(tab + 1, strcspn(tab + 1, "\n"), NULL);
        right += i >= 0 && !strcmp(langid_name(i), line);
        all++;
    }
    printf("%ld of %ld right, %.2f %%\n", right, all,
           all ? 100.0 * (double)right / (double)all : 0);
    return all == 0;
}

int main(int argc, char **argv)
{
    char line[4096];

    if (argc == 2 && !strcmp(argv[1], "--test"))
        return test();
    if (argc == 2 && !strcmp(argv[1], "--help")) {
        printf("langid [TEXT ..]: the language of each text, or of each line "
               "of standard input\n");
        return 0;
    }
    for (int i = 1; i < argc; i++)
        say(argv[i], strlen(argv[i]));
    while (argc < 2 && fgets(line, sizeof line, stdin))
        say(line, strcspn(line, "\n"));
    return 0;
}
