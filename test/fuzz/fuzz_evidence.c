/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence for the referee, which ends the program where it refuses some: here
 * that is a way back. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdlib.h>

static jmp_buf refused;

static _Noreturn void go_back(int status)
{
    (void)status;
    longjmp(refused, 1);
}

#define exit go_back
#define REFEREE_IS_TESTED
#include "../../referee/referee.c"
#undef exit

#include "mutate.h"

static void forget(void)
{
    (void)print_rules; /* its main's own */
    for (int i = 0; i < LISTS; i++)
        free(lists[i].x);
    memset(lists, 0, sizeof lists);
    count = 0;
}

static void read_all(FILE *f)
{
    char op[32];

    read_evidence(f, op);
    (void)make(op);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;

    if (!f)
        return 0;
    if (setjmp(refused) == 0)
        read_all(f);
    fclose(f);
    forget();
    return 0;
}

/* Two numbers of an array of 40, with their proof. */
#define OPENED \
    "lockstep evidence 1\n" \
    "op column\n" \
    "claim 40000000 3f800001\n" \
    "a 3f800011 3f800025\n" \
    "a@ 00000000 00000011 00000014 00000002\n" \
    "@ 00000028 ce71b1ae 577205c9 99a37c91 c551fd8c 6a8e05fa 73dd5764 " \
    "4bb63df9 3b452bbc\n" \
    "@proof 624ff996 e4f9d6a4 019edfeb 59a0de17 a33f7102 253b6fe0 " \
    "04bb895d 2659765a 3f800010 3f800011 3f800012 3f800013 3f800014 " \
    "3f800015 3f800016 3f800017 3f800018 3f800019 3f80001a 3f80001b " \
    "3f80001c 3f80001d 3f80001e 3f80001f 3f800020 3f800021 3f800022 " \
    "3f800023 3f800024 3f800025 3f800026 3f800027\n"

#ifndef FUZZING
int main(void)
{
    static const char *const good[] = {
        "lockstep evidence 1\nop product\nclaim 3f800000 3f800001\n"
        "a 3f800000 40000000\nb 3f000000 3e800000\nparts 00000001 00000001\n",
        "lockstep evidence 1\nop norm.back\nclaim 00000000 3f800001\n"
        "x 3f800000 40000000\ndy 3f000000 3e800000\n"
        "scale 3f800000 3f800000\nat 00000001\nadd 3f800000\n",
        "lockstep evidence 1\nop column\nclaim 3f800000 3f800001\n"
        "a 3f800000 40000000 3f800000\nparts 00000002 00000001\n",
        "lockstep evidence 1\nop update.adam\nclaim 3f800000 3f800001\n"
        "g 3f000000\nlr 3dcccccd\np 3f800000\nma 00000000\nmb 00000000\n"
        "ba 3feccccc cccccccd\nbb 3feff7ce d916872b\n"
        "eps 3e45798e e2308c3a\nn 00000001\nat 00000000\n",
        OPENED};

    if (!freopen("/dev/null", "w", stderr)) /* a line for each refusal */
        return 1;
    for (int i = 0; i < 5; i++)
        feed(good[i], strlen(good[i]), 2500);
    return 0;
}
#endif
