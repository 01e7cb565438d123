/* SPDX-License-Identifier: BSD-3-Clause */
/* The referee: two sides claim different bits for one number of a training
 * step.  This program reads the records of both, finds the first number in
 * which they differ, makes it once more from what both say it was made of, and
 * says who is right.
 *
 * It shares no line with the library: C99, the C library, and whole numbers, so
 * that any compiler, any flags and any machine give the same verdict.
 * docs/contract.md says in words what it computes, docs/transcript.md what it
 * reads.
 *
 *     cc -O2 -std=c99 *.c -o referee
 *     ./referee A.lsr B.lsr [A.lst B.lst]
 *
 * With transcripts each side is bound to its own: who hands in a record that
 * does not agree with it loses.  Exit status: 0 a is right, 1 b, 2 neither, 3
 * refused (a file that cannot be read, two trainings, no rule), 4 they are the
 * same.  `referee --rules` lists what it judges. */
#include "step.h"
#include "verdict.h"

#include <stdio.h>

static void print_rules(void)
{
    static const struct {
        const char *kind, *(*name)(int i);
    } rules[] = {{"", operator_name}, {"update.", update_name},
                 {"schedule.", rate_name}};

    for (int k = 0; k < 3; k++)
        for (int i = 0; rules[k].name(i); i++)
            printf("%s%s\n", rules[k].kind, rules[k].name(i));
}

int main(int argc, char **argv)
{
    const char *const record[2] = {argc > 2 ? argv[1] : NULL, argv[argc > 2
                                                                   ? 2 : 0]};
    const char *const transcript[2] = {argc == 5 ? argv[3] : NULL,
                                       argc == 5 ? argv[4] : NULL};
    int status;

    if (argc == 2 && !strcmp(argv[1], "--rules"))
        return print_rules(), 0;
    if (argc != 3 && argc != 5) {
        fputs("referee A.lsr B.lsr [A.lst B.lst], or referee --rules\n",
              stderr);
        return REFUSED;
    }
    status = judge_files(record, argc == 5 ? transcript : NULL);
    if (status == REFUSED)
        fprintf(stderr, "referee: %s\n", judge_why());
    return status;
}
