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

int text_each(const text_part *part,
              void (*take)(void *user, const unsigned char *bytes, size_t n),
              void *user)
{
    static const unsigned char none;
    unsigned char *some = malloc(PIECE);
    int status = some ? 0 : ls_error(LS_ENOMEM, "out of memory: a text");

    for (int64_t i = 0; i < part->size && status == 0; i += PIECE) {
        int64_t left = part->size - i;
        size_t n = left < PIECE ? (size_t)left : (size_t)PIECE;

        if ((status = read_at(part->in, part->first + i, some, n)) == 0)
            take(user, some, n);
    }
    if (status == 0 && part->size == 0)
        take(user, &none, 0);
    free(some);
    return opt_check(status);
}

/* A pipe that nobody writes to would be waited for without end; windows start
 * below 2^31. */
static int open_text(text_file *f, const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), status = OPT_GO;
    struct stat info;

    if (fd < 0 || fstat(fd, &info) < 0)
        status = opt_fail(OPT_FAILED, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        status = opt_fail(OPT_FAILED, "%s: is not a regular file", path);
    else if (info.st_size > INT32_MAX)
        status = opt_fail(OPT_FAILED, "%s: is longer than 2 GiB", path);
    else if (!(f->file = fdopen(fd, "rb")))
        status = opt_fail(OPT_FAILED, "%s: %s", path, strerror(errno));
    if (status != OPT_GO && fd >= 0)
        close(fd);
    if (status == OPT_GO)
        *f = (text_file){f->file, path, (int64_t)info.st_size};
    return status;
}

/* The first byte that is no token. */
typedef struct look {
    int64_t at, vocab;
    int64_t wrong; /* -1: none so far */
    int byte;
} look;

static void look_at(void *user, const unsigned char *bytes, size_t n)
{
    look *l = user;

    for (size_t i = 0; i < n && l->wrong < 0; i++)
        if (bytes[i] >= l->vocab) {
            l->wrong = l->at + (int64_t)i;
            l->byte = bytes[i];
        }
    l->at += (int64_t)n;
}

/* All bytes are read only where some may not do. */
static int check_bytes(const text_file *f, int64_t vocab)
{
    text_part all = {f, 0, f->size};
    look l = {.vocab = vocab, .wrong = -1};
    int status = vocab > UINT8_MAX ? OPT_GO : text_each(&all, look_at, &l);

    if (status != OPT_GO || l.wrong < 0)
        return status;
    return opt_fail(OPT_WRONG, "%s: byte %lld is %d; --vocab %lld needs bytes "
                    "below that", f->path, (long long)l.wrong, l.byte,
                    (long long)vocab);
}

static int take_text(text_file *f, const char *path, int64_t vocab)
{
    int status = open_text(f, path);

    return status == OPT_GO ? check_bytes(f, vocab) : status;
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
    if (status == OPT_GO && t->train.size < window)
        return opt_fail(OPT_WRONG, "%s: %lld bytes to train on are fewer than "
                        "--seq-len %lld", path, (long long)t->train.size,
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
    t->spec = (ls_array_spec){"tokens", LS_I32, 1, {t->window}};
}

static int read_window(const text_data *t, const text_part *part, int64_t start,
                       int32_t *to)
{
    unsigned char bytes[SOME];

    for (int64_t i = 0; i < t->window; i += SOME) {
        int64_t left = t->window - i, n = left < SOME ? left : SOME;
        int status = read_at(part->in, part->first + start + i, bytes,
                             (size_t)n);

        if (status < 0)
            return status;
        for (int64_t j = 0; j < n; j++)
            to[i + j] = bytes[j];
    }
    return 0;
}

/* How many of n rows follow the first one within its step. */
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

/* ------ Bytes ------ */

/* Read as many at once as follow each other. */
static int fill_bytes(void *user, int64_t n, const int64_t *index,
                      void *const *out)
{
    const text_data *t = user;
    unsigned char bytes[SOME];
    int32_t *to = out[0];
    int status = 0;
    int64_t k;

    for (int64_t i = 0; i < n && status == 0; i += k) {
        for (k = 1; k < SOME && i + k < n && index[i + k] == index[i] + k;)
            k++;
        status = read_at(t->train.in, t->train.first + index[i], bytes,
                         (size_t)k);
        for (int64_t j = 0; j < k && status == 0; j++)
            to[i + j] = bytes[j];
    }
    return status;
}

ls_source text_bytes(const text_data *t, ls_array_spec *spec)
{
    *spec = (ls_array_spec){"tokens", LS_I32, 0, {0}};
    return (ls_source){.rows = t->train.size, .n_arrays = 1, .arrays = spec,
                       .fill = fill_bytes, .user = (void *)(uintptr_t)t};
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

/* What is missing to a whole batch repeats its first window with weight 0. */
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
