/* SPDX-License-Identifier: BSD-3-Clause */
/* See format.h.  One table for all readers: a new format is a row. */
#include "file/format.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/pattern.h"
#include "base/utf8.h"
#include "file/file.h"

#include <stdio.h>
#include <string.h>

enum { HEAD = 512, MEMBER = 30 };

_Static_assert(HEAD >= 257 + 5, "tar's magic, the last of all");

/* The first bytes of a file, and a zero byte. */
typedef struct head {
    size_t n;
    char byte[HEAD + 1];
} head;

typedef struct format {
    const char *name, *advice;
    size_t n; /* bytes of magic, which stand at `at`; or */
    const char *magic;
    size_t at;
    bool (*looks)(const head *h);
    unsigned right; /* the readers of it */
    bool is_text;
} format;

/* ------ Formats without a magic of their own ------ */

static bool begins(const head *h, size_t at, const char *text)
{
    return ls__same_letters(h->byte + at, text, strlen(text));
}

/* The name of a ZIP archive's first member has `end` behind it. */
static bool has_member(const head *h, const char *end)
{
    size_t length = (uint8_t)h->byte[26] | (size_t)(uint8_t)h->byte[27] << 8;
    size_t n = strlen(end);

    return !memcmp(h->byte, "PK\3\4", 4) && length >= n &&
           MEMBER + length <= h->n &&
           !memcmp(h->byte + MEMBER + length - n, end, n);
}

static bool is_torch(const head *h)
{
    return has_member(h, "/data.pkl") ||
           !memcmp(h->byte, "\x80\2\x8a\x0al\xfc\x9c\x46\xf9", 9);
}

static bool is_sheet(const head *h)
{
    return has_member(h, "[Content_Types].xml") || has_member(h, ".rels") ||
           (has_member(h, ".xml") && (begins(h, MEMBER, "xl/") ||
                                      begins(h, MEMBER, "docProps/"))) ||
           (has_member(h, "mimetype") &&
            begins(h, MEMBER + 8, "application/v"));
}

static bool is_npz(const head *h)
{
    return has_member(h, ".npy");
}

static bool is_pickle(const head *h)
{
    return (uint8_t)h->byte[0] == 0x80 && h->byte[1] >= 2 && h->byte[1] <= 5;
}

static bool is_safetensors(const head *h)
{
    return h->n > 8 && !memcmp(h->byte + 4, "\0\0\0\0{", 5);
}

/* The version of its form, then a name, the graph or what it needs. */
static bool is_onnx(const head *h)
{
    return h->byte[0] == 8 && h->byte[1] > 0 && h->byte[1] < 32 &&
           h->byte[2] && strchr("\x12\x1a\x22\x3a\x42\x72", h->byte[2]);
}

static bool is_webp(const head *h)
{
    return begins(h, 0, "RIFF") && begins(h, 8, "WEBP");
}

static bool is_bitmap(const head *h)
{
    return begins(h, 0, "BM") && !memcmp(h->byte + 6, "\0\0\0\0", 4);
}

static bool is_idx(const head *h)
{
    return h->n > 4 && !memcmp(h->byte, "\0\0\x08", 3) && h->byte[3] > 0 &&
           h->byte[3] < 9;
}

static bool is_json(const head *h)
{
    static const char blank[] = " \t\r\n";
    const char *p = h->byte + strspn(h->byte, blank);
    char first = *p;

    p += first != 0;
    p += strspn(p, blank);
    return (first == '{' && *p && strchr("\"}", *p)) ||
           (first == '[' && *p && strchr("{[", *p));
}

/* Comments, and then its name. */
static bool is_arff(const head *h)
{
    const char *p = h->byte;

    while (*p == '%' || *p == '\n' || *p == '\r')
        p += strcspn(p, "\n") + (p[strcspn(p, "\n")] != 0);
    return ls__same_letters(p, "@relation", 9);
}

/* "1 3:0.5 7:-2", and so on. */
static bool is_libsvm(const head *h)
{
    static const char number[] = "+-.eE0123456789";
    const char *p = h->byte;
    size_t n = strspn(p, number);
    int pairs = 0;

    for (; n && p[n] == ' '; pairs++) {
        p += n + strspn(p + n, " ");
        n = strspn(p, "0123456789");
        if (!n || p[n] != ':')
            break;
        p += n + 1;
        n = strspn(p, number);
    }
    return pairs > 0 && n && (p[n] == '\n' || p[n] == '\r' || p[n] == ' ');
}

static bool is_page(const head *h)
{
    return begins(h, 0, "<!doctype") || begins(h, 0, "<html") ||
           begins(h, 0, "<?xml");
}

/* Its last character may be cut. */
static bool is_text(const head *h)
{
    head t = *h;

    if (t.n == 0 || strlen(t.byte) != t.n)
        return false;
    for (size_t i = 0; i < t.n; i++)
        if ((uint8_t)t.byte[i] < ' ' && !strchr("\t\n\r\f", t.byte[i]))
            return false;
    for (int i = 1; i < 4 && t.n == HEAD && !ls__utf8_is(t.byte); i++)
        t.byte[HEAD - i] = 0;
    return ls__utf8_is(t.byte);
}

/* ------ All of them ------ */

#define TO_CSV "write it as CSV there, in UTF-8"
#define IN_PYTHON "in Python, numpy.save writes an array that is read, and " \
    "safetensors.numpy.save_file weights"
#define TO_PNG "make a PNG of each, as magick mogrify -format png does"
#define SWAPPED "is each file in its place?"

/* The first that fits counts. */
/* clang-format off */
static const format formats[] = {
    {"a safetensors file", SWAPPED, .looks = is_safetensors,
     .right = LS__SAFETENSORS},
    {"a .npy array", SWAPPED,
     .n = 6, .magic = "\x93NUMPY", .right = LS__NPY | LS__PIXELS},
    {"a PNG picture", SWAPPED, .n = 8, .magic = "\x89PNG\r\n\x1a\n",
     .right = LS__PICTURES},
    {"a JPEG picture", SWAPPED,
     .n = 3, .magic = "\xff\xd8\xff", .right = LS__PICTURES},
    {"an IDX file", SWAPPED, .looks = is_idx, .right = LS__PIXELS},
    {"a checkpoint of PyTorch", "in Python, safetensors.torch.save_file(torch."
     "load(FILE), NEW) writes its weights as they are read", .looks = is_torch},
    {"an .npz archive", "its name ends in .npz, and NAME.npz:ARRAY is one of "
     "its arrays", .looks = is_npz, .right = LS__NPZ},
    {"a workbook of a spreadsheet program", "save it as CSV there, in UTF-8",
     .looks = is_sheet},
    {"a ZIP archive", "unzip unpacks it",
     .n = 4, .magic = "PK\3\4", .right = LS__NPZ},
    {"a pickle of Python", IN_PYTHON, .looks = is_pickle},
    {"a GGUF model", "models are read as safetensors: take the file of that "
     "kind", .n = 4, .magic = "GGUF"},
    {"an HDF5 file", IN_PYTHON, .n = 8, .magic = "\x89HDF\r\n\x1a\n"},
    {"a MATLAB file", IN_PYTHON, .n = 10, .magic = "MATLAB 5.0"},
    {"an ONNX model", "weights are read as safetensors", .looks = is_onnx},
    {"Parquet", "in Python, pandas.read_parquet(FILE).to_csv(NEW, index=False) "
     "makes CSV of it", .n = 4, .magic = "PAR1"},
    {"a Feather or Arrow table", "in Python, pandas.read_feather(FILE).to_csv("
     "NEW, index=False) makes CSV of it", .n = 6, .magic = "ARROW1"},
    {"a Feather table", "in Python, pandas.read_feather(FILE).to_csv(NEW, "
     "index=False) makes CSV of it", .n = 4, .magic = "FEA1"},
    {"an SQLite database", "sqlite3 -header -csv FILE 'select ..' makes CSV of "
     "it", .n = 15, .magic = "SQLite format 3"},
    {"packed by gzip", "gunzip unpacks it", .n = 2, .magic = "\x1f\x8b",
     .right = LS__TEXT_TABLE | LS__PIXELS},
    {"packed by bzip2", "bunzip2 unpacks it", .n = 3, .magic = "BZh"},
    {"packed by xz", "unxz unpacks it", .n = 6, .magic = "\xfd" "7zXZ\0"},
    {"packed by zstd", "unzstd unpacks it",
     .n = 4, .magic = "\x28\xb5\x2f\xfd"},
    {"a 7z archive", "7z x unpacks it", .n = 4, .magic = "7z\xbc\xaf"},
    {"a tar archive", "tar xf unpacks it", .n = 5, .magic = "ustar", .at = 257},
    {"a WebP picture", TO_PNG, .looks = is_webp},
    {"a GIF picture", TO_PNG, .n = 4, .magic = "GIF8"},
    {"a BMP picture", TO_PNG, .looks = is_bitmap},
    {"a TIFF picture", TO_PNG, .n = 4, .magic = "II*\0"},
    {"a TIFF picture", TO_PNG, .n = 4, .magic = "MM\0*"},
    {"a HEIC or AVIF picture, or a film", TO_PNG,
     .n = 4, .magic = "ftyp", .at = 4},
    {"a PDF", TO_CSV, .n = 5, .magic = "%PDF-"},
    {"a program", SWAPPED, .n = 4, .magic = "\x7f" "ELF"},
    {"a text in UTF-16", "iconv -f utf-16 -t utf-8 makes one that is read",
     .n = 2, .magic = "\xff\xfe"},
    {"a text in UTF-16", "iconv -f utf-16 -t utf-8 makes one that is read",
     .n = 2, .magic = "\xfe\xff"},
    {"a pointer of git-lfs", "git lfs pull brings the file itself",
     .n = 23, .magic = "version https://git-lfs", .is_text = true},
    {"a page of the web", "take the link to the file itself",
     .looks = is_page, .is_text = true},
    {"a record of a step of lockstep", "lockstep-inspect FILE OTHER compares "
     "two", .n = 16, .magic = "lockstep record\n"},
    {"a transcript of lockstep", "lockstep-verify FILE checks it", .n = 8,
     .magic = "{\"bits\":", .right = LS__LINES, .is_text = true},
    {"JSON", "in Python, pandas.read_json(FILE).to_csv(NEW, index=False) makes "
     "CSV of a table", .looks = is_json, .right = LS__LINES, .is_text = true},
    {"ARFF", "write it as CSV: the names in the first line, then what is below "
     "@data", .looks = is_arff, .is_text = true},
    {"LIBSVM's sparse form", "in Python, sklearn.datasets.load_svmlight_file "
     "and numpy.save(NEW, x.toarray()) make arrays of it", .looks = is_libsvm,
     .is_text = true},
    {"a text", SWAPPED, .looks = is_text, .right = LS__TEXT_TABLE},
};
/* clang-format on */

static const struct {
    ls__wanted is;
    const char *name;
} wants[] = {
    {LS__SAFETENSORS, "a safetensors file"},
    {LS__NPY, "a .npy array"},
    {LS__NPZ, "an .npz archive"},
    {LS__TEXT_TABLE, "a table as text"},
    {LS__PICTURES, "a PNG or JPEG picture"},
    {LS__PIXELS, "images as .npy or IDX"},
    {LS__LINES, "a transcript"},
};

/* ------ */

static bool fits(const format *f, const head *h)
{
    return f->looks ? f->looks(h)
                    : h->n >= f->at + f->n &&
                          !memcmp(h->byte + f->at, f->magic, f->n);
}

static const format *find(const char *path, head *h)
{
    ls__file file;

    *h = (head){0};
    if (ls__file_open(&file, path) < 0)
        return NULL;
    h->n = file.size < HEAD ? (size_t)file.size : HEAD;
    if (ls__file_read(&file, h->byte, h->n, 0) < 0)
        h->n = 0;
    ls__file_close(&file);
    for (size_t i = 0; h->n && i < sizeof formats / sizeof *formats; i++)
        if (fits(&formats[i], h))
            return &formats[i];
    return NULL;
}

static int name_it(const format *f, const char *path, ls__wanted wanted)
{
    size_t i = 0;

    while (i < sizeof wants / sizeof *wants && wants[i].is != wanted)
        i++;
    LS__ASSERT(i < sizeof wants / sizeof *wants);
    return ls__fail(LS_EFORMAT, "%s: is %s, and not %s; %s", path, f->name,
                    wants[i].name, f->advice);
}

bool ls__format_is_picture(const char *path)
{
    head h;
    const format *f = find(path, &h);

    return f && (f->right == LS__PICTURES || strcmp(f->advice, TO_PNG) == 0);
}

int ls__format_tell(int status, const char *path, ls__wanted wanted)
{
    char said[LS__MESSAGE];
    const format *f;
    head h;

    if (status != LS_EFORMAT && status != LS_ENOTSUP)
        return status;
    snprintf(said, sizeof said, "%s", ls_errmsg());
    f = find(path, &h);
    if (f && !(f->right & wanted))
        (void)name_it(f, path, wanted);
    else
        (void)ls__fail(status, "%s", said);
    return status;
}

int ls__format_check(const char *path, ls__wanted wanted)
{
    head h;
    const format *f = find(path, &h);
    bool is = f && !(f->right & wanted) && (f->is_text || !is_text(&h));

    return is ? name_it(f, path, wanted) : 0;
}
