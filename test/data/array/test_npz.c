/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in .npz files: numpy's own archives, and those archives cut, altered
 * and lying.  Meant to be run under the sanitizers as well. */
#define _GNU_SOURCE
#include "folder.h"
#include "golden/npz_files.h"
#include "support.h"

#include <lockstep/files.h>

#include <zlib.h>

enum { MOST = 1024, X = 12, ZIP64 = sizeof golden_npz_zip64_far };

static void put(const void *bytes, size_t n)
{
    FILE *f = fopen(in_folder("a.npz"), "wb");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static void put_number(uint8_t *p, int bytes, uint32_t x)
{
    for (; bytes-- > 0; x >>= 8)
        *p++ = (uint8_t)x;
}

static uint32_t get_number(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

/* Entry i of the directory of bytes that end without a comment. */
static uint8_t *entry(uint8_t *bytes, size_t n, int i)
{
    uint8_t *e = bytes + get_number(bytes + n - 6);

    while (i-- > 0)
        e += 46 + e[28] + e[30] + e[32];
    return e;
}

/* x as it was written, or a status. */
static int load_x(void)
{
    ls_array t;
    int status = ls_npz_load(&t, in_folder("a.npz"), "x", LS_F32);

    if (status < 0)
        return status;
    ck_assert(t.rank == 2 && t.shape[0] == 4 && t.shape[1] == 3);
    for (int i = 0; i < X; i++)
        ck_assert(((float *)t.data)[i] == (float)i);
    ls_array_free(&t);
    return 0;
}

/* Proves that stored, deflated and streamed members are read, by name with and
 * without .npy, as either type. */
TEST(reads)
{
    static const int32_t want[] = {3, 1, 2, 0};
    int64_t shape[LS_MAX_RANK];
    ls_array t;

    put(golden_npz_streamed, sizeof golden_npz_streamed);
    OK(load_x());
    OK(ls_npz_load(&t, in_folder("a.npz"), NULL, LS_I32)); /* the only one */
    ls_array_free(&t);
    put(golden_npz_stored, sizeof golden_npz_stored);
    OK(load_x());
    put(golden_npz_deflated, sizeof golden_npz_deflated);
    OK(load_x());
    OK(ls_npz_load(&t, in_folder("a.npz"), "y.npy", LS_I32));
    ck_assert(t.rank == 1 && t.shape[0] == 4);
    ck_assert_mem_eq(t.data, want, sizeof want);
    ls_array_free(&t);
    ck_assert_int_eq(ls_npz_shape(in_folder("a.npz"), "zeros", shape), 2);
    ck_assert(shape[0] == 50 && shape[1] == 8);
    FAILS(ls_npz_load(&t, in_folder("a.npz"), "z", LS_F32), LS_ENOTFOUND,
          "has no array called \"z\"");
    FAILS(ls_npz_load(&t, in_folder("a.npz"), NULL, LS_F32), LS_ENOTFOUND,
          "has 3 arrays; name the one that is wanted, as ");
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "a.npz:x"));
    FAILS(ls_npz_load(&t, in_folder("a.npz"), "x", (ls_dtype)9), LS_EINVAL,
          "neither LS_F32 nor LS_I32");
    FAILS(ls_npz_load(&t, in_folder("none.npz"), "x", LS_F32), LS_EIO, "none");
}

/* Proves that the same arrays are read where all sizes and places are those of
 * ZIP64: with the short end true, and with all its bits set. */
TEST(reads_zip64)
{
    const uint8_t *const bytes[] = {golden_npz_zip64, golden_npz_zip64_far};
    int64_t shape[LS_MAX_RANK];

    for (int k = 0; k < 2; k++) {
        put(bytes[k], ZIP64);
        OK(load_x());
        ck_assert_int_eq(ls_npz_shape(in_folder("a.npz"), "y", shape), 1);
        ck_assert(shape[0] == 4);
    }
}

/* Proves that a file that ends early is refused, wherever it ends. */
TEST(cut_short)
{
    for (size_t n = 0; n < sizeof golden_npz_deflated; n++) {
        put(golden_npz_deflated, n);
        ck_assert_int_eq(load_x(), LS_EFORMAT);
    }
    for (size_t n = 0; n < ZIP64; n++) {
        put(golden_npz_zip64_far, n);
        ck_assert_int_eq(load_x(), LS_EFORMAT);
    }
    put(golden_npz_deflated, 0);
    FAILS(load_x(), LS_EFORMAT, "no ZIP archive: it has no end at byte 0");
}

/* Proves that with any byte changed to any of some values the array is what it
 * was or is refused. */
TEST(altered)
{
    static const uint8_t by[] = {1, 0x80, 0xff, 0x55};
    const struct {
        const uint8_t *bytes;
        size_t n;
    } from[] = {{golden_npz_stored, sizeof golden_npz_stored},
                {golden_npz_deflated, sizeof golden_npz_deflated},
                {golden_npz_streamed, sizeof golden_npz_streamed},
                {golden_npz_zip64, ZIP64},
                {golden_npz_zip64_far, ZIP64}};
    int refused = 0;

    for (int k = 0; k < 5; k++)
        for (size_t i = 0; i < from[k].n; i++)
            for (size_t v = 0; v < sizeof by; v++) {
                uint8_t bytes[MOST];
                int status;

                memcpy(bytes, from[k].bytes, from[k].n);
                bytes[i] ^= by[v];
                put(bytes, from[k].n);
                status = load_x();
                ck_assert_msg(status == 0 || status == LS_EFORMAT ||
                                  status == LS_ENOTFOUND,
                              "byte %zu ^ %d: %s", i, by[v], ls_errmsg());
                refused += status < 0;
            }
    ck_assert_int_gt(refused, 1000);
}

/* Proves that what an archive says of itself is not believed. */
TEST(lies)
{
    static const struct {
        int entry, at, bytes;
        uint32_t value;
        const char *words;
    } row[] = {
        {0, 8, 2, 1, "member \"x.npy\" is encrypted"},
        {0, 10, 2, 12, "is neither stored nor deflated"},
        {0, 24, 4, 0xfffffffe, "is smaller than it says"}, /* a bomb */
        {0, 24, 4, 1000, "824 bytes too many"},
        {0, 24, 4, 0xffffffff, "is larger than 4 GB"},
        {0, 20, 4, 600, "is longer than the file"},
        {0, 20, 4, 10, "has damaged data"},
        {0, 16, 4, 7, "has another checksum than it says"},
        {0, 42, 4, 0x7fffffff, "is longer than the file"},
        {0, 42, 4, 4, "has not the header that its entry says"},
        {1, 42, 4, 20, "lies where another one does"},
        {1, 42, 4, 0, "lies where another one does"},
        {0, 28, 2, 4000, "an entry of the directory is cut short"},
    };
    uint8_t bytes[MOST];
    const size_t n = sizeof golden_npz_deflated;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        memcpy(bytes, golden_npz_deflated, n);
        put_number(entry(bytes, n, row[i].entry) + row[i].at, row[i].bytes,
                   row[i].value);
        put(bytes, n);
        FAILS(load_x(), LS_EFORMAT, row[i].words);
    }
}

/* Proves that the end is not believed either: parts, members, the directory. */
TEST(lying_end)
{
    static const struct {
        int at, bytes;
        uint32_t value;
        const char *words;
    } row[] = {
        {4, 2, 1, "an archive in several parts"},
        {10, 2, 0xffff, "more than 4 GB or 65534 members"},
        {8, 4, 0x00020002, "a directory that is longer than its entries"},
        {8, 4, 0x00040004, "is cut short or none"},
        {16, 4, 0, "does not end where the end begins"},
        {12, 4, 0xfffffffe, "does not end where the end begins"},
    };
    uint8_t bytes[MOST];
    const size_t n = sizeof golden_npz_deflated;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        memcpy(bytes, golden_npz_deflated, n);
        put_number(bytes + n - 22 + row[i].at, row[i].bytes, row[i].value);
        put(bytes, n);
        FAILS(load_x(), LS_EFORMAT, row[i].words);
    }
}

/* The first place of a signature. */
static uint8_t *place_of(uint8_t *bytes, const char *signature)
{
    uint8_t *p = memmem(bytes, ZIP64, signature, 4);

    ck_assert_ptr_nonnull(p);
    return p;
}

/* Proves that the numbers of ZIP64 are not believed, up to those that no file
 * can have: of the first entry's field (its sizes, its place), of the end's
 * record and of what says where that is. */
TEST(lying_zip64)
{
    enum { FIELD = 46 + 5, NEXT = FIELD + 28 };
    static const struct {
        const char *of;
        int at;
        uint32_t low, high;
        const char *words;
    } row[] = {
        {"PK\1\2", FIELD + 4, 0xffffffff, 0xffffffff,
         "is smaller than it says"},
        {"PK\1\2", FIELD + 4, 0, 1, "is smaller than it says"},
        {"PK\1\2", FIELD + 4, 1000, 0, "824 bytes too many"},
        {"PK\1\2", FIELD + 4, 175, 0, "need more than the 47 bytes"},
        {"PK\1\2", FIELD + 12, 0xffffffff, 0xffffffff, "longer than the file"},
        {"PK\1\2", FIELD + 12, 0xffffffe2, 0x7fffffff, "longer than the file"},
        {"PK\1\2", FIELD + 12, 0, 1, "longer than the file"},
        {"PK\1\2", FIELD + 12, 100, 0, "has damaged data"},
        {"PK\1\2", FIELD + 20, 0xffffffff, 0xffffffff, "longer than the file"},
        {"PK\1\2", FIELD + 20, 0xffffffe2, 0x7fffffff, "longer than the file"},
        {"PK\1\2", FIELD + 20, 0, 1, "longer than the file"},
        {"PK\1\2", NEXT + FIELD + 20, 20, 0, "lies where another one does"},
        {"PK\1\2", NEXT + FIELD, 0x00180002, 160,
         "\"y.npy\" is larger than 4 GB"},
        {"PK\1\2", FIELD, 0x00180002, 176, "has no field of ZIP64"},
        {"PK\1\2", FIELD, 0x00190001, 176, "has no field of ZIP64"},
        {"PK\1\2", FIELD, 0x00140001, 176, "has no field of ZIP64"},
        {"PK\1\2", FIELD, 0xffff0007, 176, "has no field of ZIP64"},
        {"PK\6\6", 4, 45, 0, "without an end of ZIP64"},
        {"PK\6\6", 4, 0xfffffff4, 0xffffffff, "without an end of ZIP64"},
        {"PK\6\6", 16, 1, 0, "an archive in several parts"},
        {"PK\6\6", 20, 1, 2, "an archive in several parts"},
        {"PK\6\6", 24, 1, 0, "an archive in several parts"},
        {"PK\6\6", 32, 2, 1, "an archive in several parts"},
        {"PK\6\6", 40, 0xffffffff, 0xffffffff, "does not end where the end"},
        {"PK\6\6", 48, 0xffffffff, 0xffffffff, "does not end where the end"},
        {"PK\6\6", 48, 0, 1, "does not end where the end"},
        {"PK\6\7", 8, 0xffffffff, 0xffffffff, "without an end of ZIP64"},
        {"PK\6\7", 8, 0xffffffc8, 0xffffffff, "without an end of ZIP64"},
        {"PK\6\7", 8, 0, 0, "without an end of ZIP64"},
        {"PK\6\7", 4, 1, 530, "without an end of ZIP64"},
        {"PK\6\7", 12, 0, 2, "without an end of ZIP64"},
        {"PK\6\7", 0, 0, 0, "without an end of ZIP64"},
        {"PK\6\6", 0, 0, 0, "without an end of ZIP64"},
    };
    uint8_t bytes[ZIP64], *p;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        memcpy(bytes, golden_npz_zip64_far, ZIP64);
        p = place_of(bytes, row[i].of) + row[i].at;
        put_number(p, 4, row[i].low);
        put_number(p + 4, 4, row[i].high);
        put(bytes, ZIP64);
        FAILS(load_x(), LS_EFORMAT, row[i].words);
    }
}

/* Proves that neither a count of members nor a short end that says something
 * else is believed. */
TEST(lying_ends)
{
    uint8_t bytes[ZIP64], *p;

    memcpy(bytes, golden_npz_zip64_far, ZIP64);
    p = place_of(bytes, "PK\6\6");
    p[24] = p[32] = 1;
    put(bytes, ZIP64);
    FAILS(load_x(), LS_EFORMAT, "that is longer than its entries");
    p[24] = p[32] = 3;
    put(bytes, ZIP64);
    FAILS(load_x(), LS_EFORMAT, "is cut short or none");
    p[31] = p[39] = 0x3f;
    put(bytes, ZIP64);
    FAILS(load_x(), LS_EFORMAT, "is cut short or none");
    for (int i = 4; i < 20; i += 2) {
        memcpy(bytes, golden_npz_zip64, ZIP64);
        bytes[ZIP64 - 22 + i] ^= 4;
        put(bytes, ZIP64);
        FAILS(load_x(), LS_EFORMAT, "two ends that contradict each other");
    }
}

/* Proves that two arrays of one name are refused, and that an array's own
 * mistakes are told with its name. */
TEST(arrays)
{
    uint8_t bytes[MOST];
    const size_t n = sizeof golden_npz_stored;
    uint8_t *x, *y, *data;

    memcpy(bytes, golden_npz_stored, n);
    y = entry(bytes, n, 1);
    y[46] = 'x';
    put(bytes, n);
    FAILS(load_x(), LS_EFORMAT, "has more than one array called \"x\"");
    memcpy(bytes, golden_npz_stored, n);
    x = entry(bytes, n, 0);
    data = bytes + 30 + bytes[26] + bytes[28];
    data[6] = 9; /* the version of .npy */
    put_number(x + 16, 4, (uint32_t)crc32(0, data, get_number(x + 20)));
    put(bytes, n);
    FAILS(load_x(), LS_EFORMAT, "a.npz: x.npy: an unknown version");
}

/* ------ Arrays that are much larger than their file ------ */

static size_t had, most_had; /* from calloc, in all and at once */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
    had += n * size;
    most_had = n * size > most_had ? n * size : most_had;
    return __real_calloc(n, size);
}

enum { ZEROS = 1 << 24, HEAD = 128 };

/* A .npy file of ZEROS bytes that are 0. */
static uint8_t *make_zeros(void)
{
    uint8_t *npy = calloc(1, HEAD + ZEROS);

    ck_assert_ptr_nonnull(npy);
    memset(npy, ' ', HEAD);
    memcpy(npy, "\x93NUMPY\1\0v\0", 10);
    npy[10 + snprintf((char *)npy + 10, HEAD - 10,
                      "{'descr': '|u1', 'fortran_order': False, "
                      "'shape': (%d,), }", ZEROS)] = ' ';
    npy[HEAD - 1] = '\n';
    return npy;
}

/* Deflated bytes of n; their number. */
static size_t deflated(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
    z_stream s = {.next_in = (uint8_t *)(uintptr_t)from, .avail_in = (uInt)n,
                  .next_out = to, .avail_out = (uInt)room};

    ck_assert_int_eq(deflateInit2(&s, 9, Z_DEFLATED, -MAX_WBITS, 9, 0), Z_OK);
    ck_assert_int_eq(deflate(&s, Z_FINISH), Z_STREAM_END);
    deflateEnd(&s);
    return room - s.avail_out;
}

/* What a header and an entry of the directory have alike, from p on. */
static void put_member(uint8_t *p, uint32_t crc, size_t packed)
{
    put_number(p, 2, 20);
    put_number(p + 4, 2, Z_DEFLATED);
    put_number(p + 10, 4, crc);
    put_number(p + 14, 4, (uint32_t)packed);
    put_number(p + 18, 4, HEAD + ZEROS);
    put_number(p + 22, 2, 1);
}

/* "z" in a.npz, whose checksum is `more` too large. */
static void put_zeros(uint32_t more)
{
    static uint8_t bytes[1 << 17];
    uint8_t *npy = make_zeros(), *p;
    uint32_t crc = (uint32_t)crc32(0, npy, HEAD + ZEROS) + more;
    size_t n = deflated(npy, HEAD + ZEROS, bytes + 31, sizeof bytes - 128);

    free(npy);
    memcpy(bytes, "PK\3\4", 4);
    put_member(bytes + 4, crc, n);
    bytes[30] = 'z';
    p = bytes + 31 + n;
    memset(p, 0, 47 + 22);
    memcpy(p, "PK\1\2\24", 5);
    put_member(p + 6, crc, n);
    p[46] = 'z';
    memcpy(p + 47, "PK\5\6", 4);
    p[47 + 8] = p[47 + 10] = 1;
    put_number(p + 47 + 12, 4, 47);
    put_number(p + 47 + 16, 4, (uint32_t)(31 + n));
    put(bytes, 31 + n + 47 + 22);
}

/* Proves that a file which unpacks to much is read a piece at a time: its shape
 * costs no memory, and its array no more than it has itself. */
TEST(pieces)
{
    int64_t shape[LS_MAX_RANK];
    ls_array t;

    put_zeros(0);
    had = most_had = 0;
    ck_assert_int_eq(ls_npz_shape(in_folder("a.npz"), "z", shape), 1);
    ck_assert(shape[0] == ZEROS);
    ck_assert_uint_lt(had, 1 << 20);
    had = most_had = 0;
    OK(ls_npz_load(&t, in_folder("a.npz"), "z", LS_F32));
    ck_assert_uint_eq(most_had, (size_t)ZEROS * sizeof(float));
    ck_assert_uint_lt(had - most_had, 1 << 20);
    for (int i = 0; i < ZEROS; i += 4097)
        ck_assert(((float *)t.data)[i] == 0);
    ls_array_free(&t);
    put_zeros(1);
    FAILS(ls_npz_load(&t, in_folder("a.npz"), "z", LS_F32), LS_EFORMAT,
          "has another checksum");
}

MAIN(.setup = folder_open, .teardown = folder_close)
