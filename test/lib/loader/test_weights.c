/* SPDX-License-Identifier: BSD-3-Clause */
/* Safetensors in: what is read, what is refused, and what a trainer takes of
 * it.  Foreign files are made here byte by byte; ours are what a trainer
 * saves.  Meant to be run under the sanitizers as well. */
#define _GNU_SOURCE
#include "calls.h"
#include "file/safetensors.h"
#include "folder.h"
#include "models.h"

#include <sys/resource.h>

#include <math.h>

/* ------ Foreign files ------ */

enum { ROOM = 4096 };

/* A file of a header's text and data; returns its size. */
static size_t make(char out[ROOM], const char *header, const void *data,
                   size_t bytes)
{
    uint64_t length = strlen(header);

    memcpy(out, &length, 8);
    memcpy(out + 8, header, length);
    memcpy(out + 8 + length, data, bytes);
    return 8 + length + bytes;
}

static int parse(ls__safetensors *file, const char *bytes, size_t n)
{
    put_file(in_folder("F"), bytes, n);
    return ls__safetensors_read(file, in_folder("F"));
}

static const float six[] = {1, -2, 3.5f, 1e-40f, -0.0f, 6};

#define ENTRY(type, shape, offsets) \
    "{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define GOOD ENTRY("F32", "[2,3]", "[0,24]")

/* Entries come in the order of the data, whatever the order of the header. */
TEST(reads)
{
    char bytes[ROOM];
    size_t n = make(bytes, "{\"b\":" ENTRY("F32", "[2]", "[16,24]")
                    ",\"__metadata__\":{\"format\":\"pt\"},\"e\":"
                    ENTRY("I64", "[0,5]", "[16,16]") ",\"a\":"
                    ENTRY("F32", "[2,2]", "[0,16]") "}  ", six, 24);
    ls_archive *a;
    ls_entry e;
    float out[4];
    const char *name, *value;

    put_file(in_folder("f"), bytes, n);
    OK(ls_archive_open(&a, in_folder("f")));
    ck_assert_int_eq(ls_archive_entries(a), 3);
    ck_assert(ls_archive_entry(a, 0, &e));
    ck_assert_str_eq(e.name, "a");
    ck_assert_int_eq(e.elements, 4);
    ck_assert(ls_archive_entry(a, 2, &e));
    ck_assert_str_eq(e.name, "b");
    ck_assert_str_eq(e.dtype, "F32");
    ck_assert_mem_eq(e.data, six + 4, 8);
    OK(ls_archive_read(a, 0, 4, out));
    ck_assert_mem_eq(out, six, sizeof out);
    FAILS(ls_archive_read(a, 0, 3, out), LS_ESHAPE, "has 4 elements, not 3");
    FAILS(ls_archive_read(a, 1, 0, out), LS_ENOTSUP, "\"e\" is of type I64");
    ck_assert(!ls_archive_entry(a, 3, &e));
    FAILS(ls_archive_read(a, 3, 1, out), LS_EINVAL, "no array 3 of 3");
    ck_assert(ls_archive_note(a, 0, &name, &value));
    ck_assert_str_eq(name, "format");
    ck_assert_str_eq(value, "pt");
    ck_assert(!ls_archive_note(a, 1, &name, &value));
    ls_archive_close(a);
    ls_archive_close(NULL);
    FAILS(ls_archive_open(&a, in_folder("none")), LS_EIO, "No such file");
    FAILS(ls_archive_open(&a, folder), LS_EFORMAT, "no complete checkpoint");
}

/* An empty file of the format holds nothing and is none the worse for it. */
TEST(reads_nothing)
{
    char bytes[ROOM];
    ls__safetensors f;

    OK(parse(&f, bytes, make(bytes, "{}", six, 0)));
    ck_assert_int_eq(f.count, 0);
    ls__safetensors_free(&f);
}

/* clang-format off */
static const struct {
    const char *header;
    int bytes, status;
    const char *message;
} lies[] = {
    { "", 0, LS_EFORMAT, "header of 0 bytes" },
    { " {\"a\":" GOOD "}", 24, LS_EFORMAT, "begin with {" },
    { "[]", 0, LS_EFORMAT, "begin with {" },
    { "{\"a\":" GOOD, 24, LS_EFORMAT, "no JSON" },
    { "{\"a\":" GOOD "} x", 24, LS_EFORMAT, "no JSON" },
    { "{\"a\":" GOOD ",\"a\":" GOOD "}", 24, LS_EFORMAT, "duplicate" },
    { "{\"a\\u0000b\":" GOOD "}", 24, LS_EFORMAT, "no JSON" },
    { "{\"a\":7}", 0, LS_EFORMAT, "\"a\": is not described" },
    { "{\"a\":{}}", 0, LS_EFORMAT, "not described" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offset\":[0,24]}}", 24,
      LS_EFORMAT, "no pair" },
    { "{\"a\":" ENTRY("F32", "6", "[0,24]") "}", 24, LS_EFORMAT, "no list" },
    { "{\"a\":" ENTRY("F32", "[-6]", "[0,24]") "}", 24, LS_EFORMAT,
      "no size" },
    { "{\"a\":" ENTRY("F32", "[6.0]", "[0,24]") "}", 24, LS_EFORMAT,
      "no size" },
    { "{\"a\":" ENTRY("F32", "[99999999999999999999]", "[0,24]") "}", 24,
      LS_EFORMAT, "no JSON" },
    { "{\"a\":" ENTRY("F32", "[4611686018427387904,4]", "[0,0]") "}", 0,
      LS_EFORMAT, "too large" },
    { "{\"a\":" ENTRY("F32", "[4611686018427387904]", "[0,0]") "}", 0,
      LS_EFORMAT, "too large" },
    { "{\"a\":" ENTRY("F32", "[0,4611686018427387904,4]", "[0,0]") "}", 0,
      LS_EFORMAT, "too large" },
    { "{\"a\":" ENTRY("F32", "[4611686018427387904,4,0]", "[0,0]") "}", 0,
      LS_EFORMAT, "too large" },
    { "{\"a\":" ENTRY("F32", "[1,1,1,1,1,1,1,1,6]", "[0,24]") "}", 24,
      LS_ENOTSUP, "9 axes" },
    { "{\"a\":" ENTRY("F33", "[6]", "[0,24]") "}", 24, LS_ENOTSUP, "\"F33\"" },
    { "{\"a\":{\"dtype\":7,\"shape\":[6],\"data_offsets\":[0,24]}}", 24,
      LS_EFORMAT, "no text" },
    { "{\"a\":" ENTRY("F32", "[6]", "[0]") "}", 24, LS_EFORMAT, "no pair" },
    { "{\"a\":" ENTRY("F32", "[6]", "[0,24.0]") "}", 24, LS_EFORMAT,
      "no pair" },
    { "{\"a\":" ENTRY("F32", "[6]", "[24,0]") "}", 24, LS_EFORMAT,
      "do not lie" },
    { "{\"a\":" ENTRY("F32", "[6]", "[-24,0]") "}", 24, LS_EFORMAT,
      "do not lie" },
    { "{\"a\":" ENTRY("F32", "[6]", "[0,25]") "}", 24, LS_EFORMAT,
      "do not lie in 24 bytes" },
    { "{\"a\":" ENTRY("F32", "[7]", "[0,24]") "}", 24, LS_EFORMAT,
      "its shape needs 28" },
    { "{\"a\":" ENTRY("F32", "[2]", "[0,8]") ",\"b\":"
      ENTRY("F32", "[3]", "[12,24]") "}", 24, LS_EFORMAT, "\"b\": there is a" },
    { "{\"a\":" ENTRY("F32", "[4]", "[0,16]") ",\"b\":"
      ENTRY("F32", "[4]", "[8,24]") "}", 24, LS_EFORMAT, "gap or an overlap" },
    { "{\"a\":" ENTRY("F32", "[5]", "[4,24]") "}", 24, LS_EFORMAT, "gap" },
    { "{\"a\":" ENTRY("F32", "[5]", "[0,20]") "}", 24, LS_EFORMAT,
      "4 bytes at the end" },
    { "{\"__metadata__\":7}", 0, LS_EFORMAT, "no object" },
    { "{\"__metadata__\":{\"a\":7}}", 0, LS_EFORMAT, "\"a\" is no text" },
    { "{\"__metadata__\":{\"lockstep\":\"1\"}}", 0, LS_EFORMAT, "damaged" },
    { "{\"__metadata__\":{\"lockstep.crc32\":\"0\"}}", 0, LS_EFORMAT,
      "damaged" },
};
/* clang-format on */
enum { LIES = sizeof lies / sizeof *lies };

/* A header that is malformed, or says what the file does not hold, is refused
 * with a message of its own. */
LOOP_TEST(refuses_lies, 0, LIES)
{
    char bytes[ROOM];
    size_t n = make(bytes, lies[_i].header, six, (size_t)lies[_i].bytes);
    ls__safetensors f;

    FAILS(parse(&f, bytes, n), lies[_i].status, lies[_i].message);
    ck_assert(strstr(ls_errmsg(), "/F: ") != NULL);
}

/* A parameter that could not be saved under its name is refused when the
 * trainer is opened, not when the training is over. */
TEST(refuses_names)
{
    static const char *const names[][2] = {
        {"__metadata__", "has that name for its own texts"},
        {"\xff\xfe", "the name is no UTF-8"},
        {"\xe2\x82", "the name is no UTF-8"},
        {"\xf4\x90\x80\x80", "the name is no UTF-8"},
    };
    ls_pool *pool = open_pool(2, 1);

    for (int i = 0; i < 4; i++) {
        ls_array_spec x = {"x", LS_F32, 1, {1}};
        ls_array_spec w = {names[i][0], LS_F32, 1, {1}};
        ls_gradient g = {no_gradient, NULL, 1, 1, &x, &w};
        ls_trainer *t;

        FAILS(ls_trainer_open_gradient(&t, pool, &g, NULL), LS_EINVAL,
              names[i][1]);
    }
    ls_pool_close(pool);
}

/* A file of another kind costs no memory, however large it is: 20 GB of zeros,
 * and 20 GB behind what begins as ours does. */
TEST(refuses_large)
{
    static const struct {
        const char *lead, *message;
    } kind[] = {
        {"\0\0\0\0\0\0\0\0", "a header of 0 bytes"},
        {"\377\0\0\0\0\0\0\0", "does not begin with {"},
        {"\377\0\0\0\0\0\0\0{\"a", "no JSON"},
        {"\2\0\0\0\0\0\0\0{}", "20000000000 bytes at the end belong"},
    };
    struct rlimit old, limit;
    ls_archive *a;

    getrlimit(RLIMIT_AS, &old);
    limit = (struct rlimit){(rlim_t)4 << 30, old.rlim_max};
    for (int i = 0; i < 4; i++) {
        put_file(in_folder("f"), kind[i].lead, i < 2 ? 8 : 11 - (i == 3));
        ck_assert_int_eq(truncate(in_folder("f"), 20000000010), 0);
        if (!UNDER_SANITIZER)
            setrlimit(RLIMIT_AS, &limit);
        FAILS(ls_archive_open(&a, in_folder("f")), LS_EFORMAT,
              kind[i].message);
        setrlimit(RLIMIT_AS, &old);
    }
}

/* Very many tensors are read, and a name that comes twice among them found. */
TEST(reads_many)
{
    enum { MANY = 100000, EACH = 80 };
    char *bytes = malloc(8 + (size_t)MANY * EACH);
    uint64_t n = 0;
    ls_archive *a;
    ls_entry e;

    ck_assert_ptr_nonnull(bytes);
    for (int i = 0; i < MANY; i++)
        n += (uint64_t)snprintf(bytes + 8 + n, EACH, "%c\"t%d\":"
                                ENTRY("F32", "[0]", "[0,0]"), i ? ',' : '{',
                                i);
    bytes[8 + n++] = '}';
    memcpy(bytes, &n, 8);
    put_file(in_folder("f"), bytes, 8 + n);
    OK(ls_archive_open(&a, in_folder("f")));
    ck_assert_int_eq(ls_archive_entries(a), MANY);
    ck_assert(ls_archive_entry(a, MANY - 1, &e));
    ck_assert_int_eq(e.elements, 0);
    ls_archive_close(a);
    memcpy(strstr(bytes + 8, "t99999"), "t99998", 6);
    put_file(in_folder("f"), bytes, 8 + n);
    FAILS(ls_archive_open(&a, in_folder("f")), LS_EFORMAT, "duplicate");
    free(bytes);
}

/* Deep nesting ends in a message, not in the stack. */
TEST(refuses_depth)
{
    enum { DEEP = 1 << 20 };
    char *bytes = malloc(8 + DEEP);
    uint64_t length = DEEP;
    ls__safetensors f;

    ck_assert_ptr_nonnull(bytes);
    memset(bytes + 8, '[', DEEP);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, "{\"a\":", 5);
    FAILS(parse(&f, bytes, 8 + DEEP), LS_EFORMAT, "no JSON");
    free(bytes);
}

/* A foreign file cut anywhere is refused, and so is one with bytes too many. */
TEST(refuses_cut)
{
    char bytes[ROOM];
    size_t n = make(bytes, "{\"a\":" GOOD "}", six, 24);
    ls__safetensors f;

    bytes[n] = 0;
    for (size_t cut = 0; cut <= n + 1; cut++) {
        int status = parse(&f, bytes, cut);

        ck_assert_int_eq(status, cut == n ? 0 : LS_EFORMAT);
        if (status == 0)
            ls__safetensors_free(&f);
    }
}

static uint64_t state = 1;

static size_t below(size_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
}

/* Damage to a foreign file: in the header it is refused or leaves the shape of
 * each array as it was; in the data nothing but values changes. */
TEST(foreign_flips)
{
    char bytes[ROOM];
    size_t n = make(bytes, "{\"a\":" GOOD ",\"b\":"
                    ENTRY("BF16", "[3,1]", "[24,30]") "}", six, 24);
    size_t head = n - 24;
    ls__safetensors f;
    int read = 0;

    memset(bytes + n, 7, 6);
    n += 6;
    for (int i = 0; i < 10000; i++) {
        size_t at = below(n), bit = below(8);

        bytes[at] ^= (char)(1 << bit);
        if (parse(&f, bytes, n) == 0) {
            ck_assert_int_eq(f.count, 2);
            ck_assert_int_eq(f.entry[0].bytes, 24);
            ck_assert_int_eq(f.entry[1].bytes, 6);
            read++;
            ls__safetensors_free(&f);
        } else {
            ck_assert_msg(at < head, "a flip at %zu of the data", at - head);
        }
        bytes[at] ^= (char)(1 << bit);
    }
    ck_assert_int_gt(read, 1000);
}

/* ------ Element types ------ */

/* F16 and BF16 have few enough values to look at each one. */
TEST(halves)
{
    static uint16_t all[65536];
    static float out[65536];
    static char bytes[ROOM + sizeof all];
    char header[256];
    ls_archive *a;

    for (int i = 0; i < 65536; i++)
        all[i] = (uint16_t)i;
    for (int b = 0; b < 2; b++) {
        uint64_t n = (uint64_t)snprintf(
            header, sizeof header, "{\"a\":" ENTRY("%s", "[65536]",
            "[0,131072]") "}", b ? "BF16" : "F16");

        memcpy(bytes, &n, 8);
        memcpy(bytes + 8, header, n);
        memcpy(bytes + 8 + n, all, sizeof all);
        put_file(in_folder("h"), bytes, 8 + n + sizeof all);
        OK(ls_archive_open(&a, in_folder("h")));
        OK(ls_archive_read(a, 0, 65536, out));
        for (int i = 0; i < 65536; i++) {
            int bits = b ? 7 : 10, top = b ? 255 : 31, bias = b ? 127 : 15;
            int e = i >> bits & top, m = i & ((1 << bits) - 1);
            double want = e ? ldexp((1 << bits) + m, e - bias - bits)
                            : ldexp(m, 1 - bias - bits);

            want = e < top ? want : m ? (double)NAN : (double)INFINITY;
            ck_assert_int_eq(signbit(out[i]) != 0, i >> 15);
            ck_assert((double)fabsf(out[i]) == want ||
                      (isnan(want) && isnan(out[i])));
        }
        ls_archive_close(a);
    }
}

/* F64 rounds to nearest; what no float can hold is refused by place. */
TEST(doubles_to_floats)
{
    double in[] = {1 + 0x1p-24, 1 + 0x1p-23, -1e-50, 0x1.fffffep127,
                   (double)INFINITY, 1e300};
    char bytes[ROOM];
    float out[6];
    ls_archive *a;

    for (int n = 5; n <= 6; n++) {
        char header[128];

        snprintf(header, sizeof header, "{\"a\":" ENTRY("F64", "[%d]",
                 "[0,%d]") "}", n, 8 * n);
        put_file(in_folder("d"), bytes,
                 make(bytes, header, in, (size_t)n * sizeof *in));
        OK(ls_archive_open(&a, in_folder("d")));
        if (n == 6)
            FAILS(ls_archive_read(a, 0, n, out), LS_ERANGE, "element 5");
        else
            OK(ls_archive_read(a, 0, n, out));
        ls_archive_close(a);
    }
    for (int i = 0; i < 5; i++)
        ck_assert(out[i] == (float)in[i]);
}

/* ------ Into a trainer ------ */

static ls_pool *pool;

static run trainer(int64_t seed)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.seed = seed;
    o.optimizer = ls_adam(1e-3);
    return open_run(pool, mlp_graph(), &o);
}

static void hash(const run *r, char hex[65])
{
    ls_trainer_hash(r->trainer, hex);
}

/* Refused in these words, and nothing changed. */
static void keeps(run *r, const char *name, const char *names, int status,
                  const char *words)
{
    char before[65], after[65];

    hash(r, before);
    FAILS(ls_trainer_load(r->trainer, in_folder(name), names), status, words);
    hash(r, after);
    ck_assert_str_eq(before, after);
}

/* What one trainer saves, another loads: the same parameters. */
TEST(loads)
{
    char want[65], got[65];

    pool = open_pool(2, 1);
    run a = trainer(1), b = trainer(2);

    hash(&a, want);
    OK(ls_trainer_save(a.trainer, in_folder("p")));
    OK(ls_trainer_load(b.trainer, in_folder("p"), NULL));
    hash(&b, got);
    ck_assert_str_eq(got, want);
    close_run(&a);
    close_run(&b);
    ls_pool_close(pool);
}

/* A pattern loads what it matches and leaves the rest, here and there. */
TEST(loads_parts)
{
    float a_out[33 * 5], b_out[33 * 5], was[9 * 33], is[9 * 33];

    pool = open_pool(2, 1);
    run a = trainer(1), b = trainer(2);

    OK(ls_trainer_get(b.trainer, "hidden.kernel", 9 * 33, was));
    OK(ls_trainer_save(a.trainer, in_folder("p")));
    OK(ls_trainer_load(b.trainer, in_folder("p"), "out.*"));
    OK(ls_trainer_get(a.trainer, "out.kernel", 33 * 5, a_out));
    OK(ls_trainer_get(b.trainer, "out.kernel", 33 * 5, b_out));
    OK(ls_trainer_get(b.trainer, "hidden.kernel", 9 * 33, is));
    ck_assert_mem_eq(a_out, b_out, sizeof a_out);
    ck_assert_mem_eq(was, is, sizeof was);
    keeps(&b, "p", "head.*", LS_ENOTFOUND, "\"head.*\" matches no parameter");
#ifdef __GLIBC__
    OK(ls_trainer_load(b.trainer, in_folder("p"), "!(out.*)"));
    OK(ls_trainer_get(a.trainer, "hidden.kernel", 9 * 33, is));
    OK(ls_trainer_get(b.trainer, "hidden.kernel", 9 * 33, was));
    ck_assert_mem_eq(was, is, sizeof was);
#endif
    close_run(&a);
    close_run(&b);
    ls_pool_close(pool);
}

static void put_foreign(const char *name, const char *header, size_t bytes)
{
    static const char zeros[2048];
    char file[ROOM];

    put_file(in_folder(name), file, make(file, header, zeros, bytes));
}

/* Missing, unknown and misshapen tensors are named, both shapes too, before
 * anything changed. */
TEST(refuses_strangers)
{
    pool = open_pool(2, 1);
    run r = trainer(1);

    put_foreign("missing", "{\"hidden.bias\":" ENTRY("F32", "[33]", "[0,132]")
                "}", 132);
    keeps(&r, "missing", NULL, LS_ENOTFOUND, "has no tensor \"hidden.kernel\"; "
          "the nearest is \"hidden.bias\"");
    put_foreign("unknown", "{\"hiden.bias\":" ENTRY("F32", "[33]", "[0,132]")
                "}", 132);
    keeps(&r, "unknown", NULL, LS_ENOTFOUND, "\"hiden.bias\" is none of the 6 "
          "parameters; the nearest is \"hidden.bias\"");
    put_foreign("shape", "{\"hidden.bias\":" ENTRY("F32", "[11,3]", "[0,132]")
                "}", 132);
    keeps(&r, "shape", "hidden.bias", LS_ESHAPE,
          "\"hidden.bias\" is (11,3), the parameter (33)");
    put_foreign("type", "{\"hidden.bias\":" ENTRY("I32", "[33]", "[0,132]")
                "}", 132);
    keeps(&r, "type", "hidden.bias", LS_ENOTSUP, "type I32");
    OK(ls_trainer_load(r.trainer, (put_foreign("half",
        "{\"x\":" ENTRY("I8", "[1]", "[0,1]") ",\"hidden.bias\":"
        ENTRY("F16", "[33]", "[1,67]") "}", 67), in_folder("half")),
        "hidden.*s"));
    keeps(&r, "none", NULL, LS_EIO, "No such file");
    close_run(&r);
    ls_pool_close(pool);
}

/* Ours: cut at every 512 bytes, or with any bit flipped, it is refused. */
TEST(refuses_damage)
{
    pool = open_pool(2, 1);
    run r = trainer(1);
    ls__safetensors f;
    size_t n;

    OK(ls_trainer_save(r.trainer, in_folder("p")));
    char *bytes = get_file(in_folder("p"), &n);

    for (size_t cut = 0; cut < n; cut += 512)
        ck_assert_int_eq(parse(&f, bytes, cut), LS_EFORMAT);
    for (int i = 0; i < 10000; i++) {
        size_t at = below(n), bit = below(8);
        int status;

        bytes[at] ^= (char)(1 << bit);
        status = parse(&f, bytes, n);
        ck_assert_msg(status == LS_EFORMAT || status == LS_ENOTSUP,
                      "bit %zu of byte %zu: %d", bit, at, status);
        bytes[at] ^= (char)(1 << bit);
    }
    bytes[n / 2] ^= 1;
    put_file(in_folder("damaged"), bytes, n);
    keeps(&r, "damaged", NULL, LS_EFORMAT, "the checksum does not match");
    free(bytes);
    close_run(&r);
    ls_pool_close(pool);
}

MAIN(.setup = folder_open, .teardown = folder_close)
