/* SPDX-License-Identifier: BSD-3-Clause */
/* See text.h. */
#include "data/text.h"
#include "opt/opt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 16, SOME = 4096, STARTS = 64 };

bool text_is(const text_data *t)
{
    return t->file.file != NULL;
}

const char *text_unit(const text_file *f)
{
    return f->width == 2 ? "token" : "byte";
}

/* ------ Reading ------ */

/* Fewer bytes than there were: somebody cut the file off. */
static int read_at(const text_file *f, int64_t at, unsigned char *to, size_t n)
{
    char words[LS_TEXT];

    while (n > 0) {
        ssize_t got = pread(fileno(f->file), to, n, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            snprintf(words, sizeof words, "%.200s: %s", f->path,
                     got < 0 ? strerror(errno) : "became shorter");
            return ls_error(LS_EIO, words);
        }
        to += got;
        at += got;
        n -= (size_t)got;
    }
    return 0;
}

static int token_at(const unsigned char *byte, int width)
{
    return width == 2 ? byte[0] | byte[1] << 8 : byte[0];
}

int text_each(const text_part *part,
              void (*take)(void *user, const unsigned char *bytes, size_t n),
              void *user)
{
    unsigned char *some = malloc(PIECE);
    int status = some ? 0 : ls_error(LS_ENOMEM, "out of memory: a text");
    int64_t width = part->in->width, size = part->size * width;

    for (int64_t i = 0; i < size && status == 0; i += PIECE) {
        size_t n = size - i < PIECE ? (size_t)(size - i) : (size_t)PIECE;

        if ((status = read_at(part->in, part->first * width + i, some, n)) == 0)
            take(user, some, n);
    }
    free(some);
    return opt_check(status);
}

/* A pipe that nobody writes to would be waited for without end. */
static int open_text(text_file *f, const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), status = OPT_GO;
    struct stat info;

    if (fd < 0 || fstat(fd, &info) < 0)
        status = opt_no_file(path);
    else if (!S_ISREG(info.st_mode))
        status = opt_fail(OPT_FAILED, "%s: is not a regular file%s", path,
                          S_ISFIFO(info.st_mode)
                              ? ": write what the pipe gives to a file" : "");
    else if (!(f->file = fdopen(fd, "rb")))
        status = opt_no_file(path);
    if (status != OPT_GO && fd >= 0)
        close(fd);
    if (status == OPT_GO)
        *f = (text_file){f->file, path, (int64_t)info.st_size, 1};
    return status;
}

/* Tokens of 16 bits, the lower byte first, as nanoGPT's .bin files hold them,
 * have bytes of 0 among the first, as no text has.  Those of a text's bytes or
 * characters have nothing else in each second place; else --vocab tells. */
static int find_width(text_file *f, int64_t vocab)
{
    unsigned char some[SOME], high = 0;
    size_t n = f->size < SOME ? (size_t)f->size : SOME;
    int status = opt_check(read_at(f, 0, some, n));

    if (status != OPT_GO || !memchr(some, 0, n))
        return status;
    for (size_t i = 1; i < n; i += 2)
        high |= some[i];
    if (n > 1 && (!memcmp(some, "\xff\xfe", 2) || !memcmp(some, "\xfe\xff", 2)))
        return opt_fail(OPT_FAILED, "%s: is a text in UTF-16; iconv -f utf-16 "
                        "-t utf-8 makes one that is read", f->path);
    if (high && vocab <= UINT8_MAX + 1) {
        opt_note("%s: has bytes of 0, and is read as bytes all the same; of "
                 "tokens of 16 bits, as nanoGPT's, --vocab says how many there "
                 "are (GPT-2: --vocab 50257)", f->path);
        return OPT_GO;
    }
    if (f->size % 2)
        return opt_fail(OPT_WRONG, "%s: tokens of 16 bits, and the last one is "
                        "cut off", f->path);
    opt_note("%s: tokens of 16 bits", f->path);
    f->width = 2;
    f->size /= 2;
    return OPT_GO;
}

/* The first token that is none of the vocabulary. */
typedef struct look {
    const text_file *file;
    int64_t at, vocab;
    int64_t wrong; /* -1: none so far */
    int token;
} look;

static void look_at(void *user, const unsigned char *bytes, size_t n)
{
    look *l = user;
    size_t width = (size_t)l->file->width;

    for (size_t i = 0; i < n && l->wrong < 0; i += width) {
        l->token = token_at(bytes + i, l->file->width);
        if (l->token >= l->vocab)
            l->wrong = l->at + (int64_t)(i / width);
    }
    l->at += (int64_t)(n / width);
}

/* All are read only where some may not do. */
static int check_tokens(const text_file *f, int64_t vocab)
{
    text_part all = {f, 0, f->size};
    look l = {.file = f, .vocab = vocab, .wrong = -1};
    bool any = vocab > (f->width == 2 ? UINT16_MAX : UINT8_MAX);
    int status = any ? OPT_GO : text_each(&all, look_at, &l);

    if (status != OPT_GO || l.wrong < 0)
        return status;
    return opt_fail(OPT_WRONG, "%s: %s %lld is %d; --vocab %lld needs %ss "
                    "below that", f->path, text_unit(f), (long long)l.wrong,
                    l.token, (long long)vocab, text_unit(f));
}

static int take_text(text_file *f, const char *path, int64_t vocab)
{
    int status = open_text(f, path);

    if (status == OPT_GO)
        status = find_width(f, vocab);
    if (status == OPT_GO && f->size > INT32_MAX)
        status = opt_fail(OPT_FAILED, "%s: has more than 2^31 %ss", path,
                          text_unit(f));
    return status == OPT_GO ? check_tokens(f, vocab) : status;
}

int text_load(text_data *t, const char *path, const char *evaluation,
              int64_t window, int64_t vocab, ls_key key)
{
    int status = take_text(&t->file, path, vocab);
    int64_t size = t->file.size, tenth = size / 10;

    t->window = window;
    t->key = key;
    t->train = (text_part){&t->file, 0, size - tenth};
    t->held = (text_part){&t->file, size - tenth, tenth};
    if (status == OPT_GO && evaluation) {
        status = take_text(&t->other, evaluation, vocab);
        t->train.size = size;
        t->held = (text_part){&t->other, 0, t->other.size};
    }
    if (status == OPT_GO && window < 2)
        return opt_fail(OPT_WRONG, "--seq-len 1 leaves nothing to predict");
    if (status == OPT_GO && evaluation && t->other.width != t->file.width)
        return opt_fail(OPT_WRONG, "%s and %s: one has tokens of 16 bits, the "
                        "other bytes", path, evaluation);
    if (status == OPT_GO && t->train.size < window)
        return opt_fail(OPT_WRONG, "%s: %lld %s%s to train on %s fewer than "
                        "--seq-len %lld", path, (long long)t->train.size,
                        text_unit(&t->file), opt_s(t->train.size),
                        t->train.size == 1 ? "is" : "are",
                        (long long)window);
    return status;
}

void text_free(text_data *t)
{
    if (t->file.file)
        fclose(t->file.file);
    if (t->other.file)
        fclose(t->other.file);
    *t = (text_data){.window = 0};
}

/* ------ Windows ------ */

void text_plan(text_data *t, int64_t batch, int devices)
{
    t->batch = batch;
    t->rows = (batch + devices - 1) / devices * devices;
    t->spec = (ls_array_spec){t->name ? t->name : "tokens", LS_I32, 1,
                              {t->window}};
}

/* n tokens from number `at` of the file on. */
static int read_tokens(const text_file *f, int64_t at, int64_t n, int32_t *to)
{
    unsigned char bytes[SOME];
    int status = 0;

    for (int64_t i = 0, k; i < n && status == 0; i += k) {
        k = n - i < SOME / 2 ? n - i : SOME / 2;
        status = read_at(f, (at + i) * f->width, bytes,
                         (size_t)(k * f->width));
        for (int64_t j = 0; j < k && status == 0; j++)
            to[i + j] = token_at(bytes + j * f->width, f->width);
    }
    return status;
}

static int read_window(const text_data *t, const text_part *part, int64_t start,
                       int32_t *to)
{
    return read_tokens(part->in, part->first + start, t->window, to);
}

/* The number of n rows that follow the first one within its step. */
static int run_of(const text_data *t, const int64_t *index, int64_t n)
{
    int k = 1;

    while (k < n && k < STARTS && index[k] == index[k - 1] + 1 &&
           index[k] % t->batch != 0)
        k++;
    return k;
}

/* An ls_source's fill. */
static int fill(void *user, int64_t n, const int64_t *index, void *const *out)
{
    const text_data *t = user;
    int32_t start[STARTS], *to = out[0];
    int status = 0, k;

    for (int64_t i = 0; i < n; i += k) {
        int64_t step = index[i] / t->batch;

        k = run_of(t, index + i, n - i);
        ls_random_randint(ls_key_fold_in(t->key, (uint32_t)step),
                          (uint64_t)(index[i] % t->batch), k, 0,
                          (int32_t)(t->train.size - t->window + 1), start);
        for (int j = 0; j < k && status == 0; j++)
            status = read_window(t, &t->train, start[j],
                                 to + (i + j) * t->window);
        if (status < 0)
            return status;
    }
    for (int64_t i = 0; i < n; i++)
        ((float *)out[1])[i] = 1;
    return 0;
}

ls_source text_source(text_data *t)
{
    return (ls_source){.rows = t->batch << 31,
                       .n_arrays = 1, .arrays = &t->spec,
                       .weighted = true, .fill = fill, .user = t};
}

/* ------ Tokens ------ */

/* Read as many at once as follow each other. */
static int fill_tokens(void *user, int64_t n, const int64_t *index,
                       void *const *out)
{
    const text_data *t = user;
    int32_t *to = out[0];
    int status = 0;
    int64_t k;

    for (int64_t i = 0; i < n && status == 0; i += k) {
        for (k = 1; i + k < n && index[i + k] == index[i] + k;)
            k++;
        status = read_tokens(t->train.in, t->train.first + index[i], k, to + i);
    }
    return status;
}

ls_source text_tokens(const text_data *t, ls_array_spec *spec)
{
    *spec = (ls_array_spec){"tokens", LS_I32, 0, {0}};
    return (ls_source){.rows = t->train.size, .n_arrays = 1, .arrays = spec,
                       .fill = fill_tokens, .user = (void *)(uintptr_t)t};
}

/* ------ Evaluation ------ */

static int64_t eval_windows(const text_data *t)
{
    int64_t new = t->window - 1, size = t->held.size;

    return size < t->window ? 0 : (size - 1 + new - 1) / new;
}

int64_t text_eval_batches(const text_data *t)
{
    return (eval_windows(t) + t->rows - 1) / t->rows;
}

/* Fills a batch; rows missing to it repeat its first window, of weight 0. */
static int fill_eval(void *user, int64_t n, const int64_t *index,
                     void *const *out)
{
    const text_data *t = user;
    int64_t windows = eval_windows(t), new = t->window - 1;
    int64_t last = t->held.size - t->window;
    int32_t *to = out[0];
    float *weight = out[1];
    int status = 0;

    for (int64_t i = 0; i < n && status == 0; i++, to += t->window) {
        bool is = index[i] < windows;
        int64_t row = is ? index[i] : index[i] / t->rows * t->rows;
        int64_t at = row * new;

        weight[i] = at < last ? 1 : (float)(t->held.size - 1 - at) / (float)new;
        weight[i] = is ? weight[i] : 0;
        status = read_window(t, &t->held, at < last ? at : last, to);
    }
    return status;
}

ls_source text_eval_source(text_data *t)
{
    return (ls_source){.rows = text_eval_batches(t) * t->rows, .n_arrays = 1,
                       .arrays = &t->spec, .weighted = true, .fill = fill_eval,
                       .user = t};
}
