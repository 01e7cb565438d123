/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder of its own for each test, in memory where there is such a place,
 * and the files of a few KB that tests write into it.  Asserts with Check. */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include <lockstep.h>

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static inline void folder_open(void)
{
    snprintf(folder, sizeof folder, "%s/lockstep-test-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static inline int folder_remove(const char *name, const struct stat *info,
                                int flag, struct FTW *at)
{
    (void)info, (void)flag, (void)at;
    return remove(name);
}

static inline void folder_close(void)
{
    nftw(folder, folder_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* "FOLDER/NAME", valid until it is asked for eight more. */
static inline const char *in_folder(const char *name)
{
    static char room[8][256];
    static int at;

    at = (at + 1) % 8;
    snprintf(room[at], sizeof room[at], "%s/%s", folder, name);
    return room[at];
}

static inline void put_file(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(name, "wb");

    ck_assert_msg(f != NULL, "%s", name);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

/* All of it, to be freed. */
static inline char *get_file(const char *name, size_t *n)
{
    FILE *f = fopen(name, "rb");
    char *bytes;

    ck_assert_msg(f != NULL, "%s", name);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    bytes = malloc(*n + 1);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

static inline int save_noted(ls_save_kind kind, const ls_trainer *t,
                             const char *path, int n, const ls_setting *notes)
{
    ls_save_options o = ls_save_defaults();

    o.kind = kind;
    o.n_notes = n;
    o.notes = notes;
    return ls_trainer_save_with(t, path, &o);
}

static inline int save_as(ls_save_kind kind, const ls_trainer *t,
                          const char *path)
{
    return save_noted(kind, t, path, 0, NULL);
}

#endif
