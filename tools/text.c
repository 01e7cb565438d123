/* Reading text, and the cutting of windows. */
#include "text.h"
#include "opt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------ Reading ------ */

/* What is left of a file, in memory that doubles; windows start below 2^31. */
static int read_all(FILE *file, const char *path, unsigned char **out,
                    int64_t *size)
{
    size_t room = 1 << 16, n = 0;
    unsigned char *bytes = NULL, *more;

    for (;;) {
        more = realloc(bytes, room);
        if (!more || room > INT32_MAX) {
            free(more ? more : bytes);
            return opt_fail(OPT_FAILED, more ? "%s: is longer than 1 GiB"
                                             : "%s: out of memory", path);
        }
        bytes = more;
        n += fread(bytes + n, 1, room - n, file);
        if (n < room)
            break;
        room *= 2;
    }
    *out = bytes;
    *size = (int64_t)n;
    return ferror(file)
               ? opt_fail(OPT_FAILED, "%s: %s", path, strerror(errno))
               : OPT_GO;
}

static int check_bytes(const char *path, const unsigned char *bytes,
                       int64_t size, int64_t vocab)
{
    for (int64_t i = 0; i < size; i++)
        if (bytes[i] >= vocab)
            return opt_fail(OPT_FAILED,
                            "%s: byte %lld is %d; --vocab %lld needs "
                            "bytes below that",
                            path, (long long)i, bytes[i], (long long)vocab);
    return OPT_GO;
}

/* A pipe that nobody writes to would be waited for without end. */
static FILE *open_text(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat info;
    FILE *file = NULL;

    if (fd < 0 || fstat(fd, &info) < 0)
        opt_fail(OPT_FAILED, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        opt_fail(OPT_FAILED, "%s: is not a regular file", path);
    else if (!(file = fdopen(fd, "rb")))
        opt_fail(OPT_FAILED, "%s: %s", path, strerror(errno));
    if (!file && fd >= 0)
        close(fd);
    return file;
}

static int read_text(const char *path, int64_t vocab, unsigned char **bytes,
                     int64_t *size)
{
    FILE *file = open_text(path);
    int status;

    if (!file)
        return OPT_FAILED;
    status = read_all(file, path, bytes, size);
    fclose(file);
    return status == OPT_GO ? check_bytes(path, *bytes, *size, vocab) : status;
}

int text_load(text_data *t, const char *path, const char *evaluation,
              int64_t window, int64_t vocab, ls_key key)
{
    int status = read_text(path, vocab, &t->bytes, &t->size);

    t->window = window;
    t->key = key;
    t->train = t->size - t->size / 10;
    t->held = t->bytes + t->train;
    t->held_size = t->size / 10;
    if (status == OPT_GO && evaluation) {
        status = read_text(evaluation, vocab, &t->other, &t->held_size);
        t->train = t->size;
        t->held = t->other;
    }
    if (status == OPT_GO && window < 2)
        return opt_fail(OPT_WRONG, "--seq-len 1 leaves nothing to predict");
    if (status == OPT_GO && t->train < window)
        return opt_fail(OPT_FAILED,
                        "%s: %lld bytes to train on are fewer than "
                        "--seq-len %lld",
                        path, (long long)t->train, (long long)window);
    return status;
}

void text_free(text_data *t)
{
    free(t->bytes);
    free(t->other);
    free(t->start);
    free(t->tokens);
    free(t->weights);
    *t = (text_data){0};
}

/* ------ Windows ------ */

int text_plan(text_data *t, int64_t batch, int devices)
{
    t->batch = batch;
    t->rows = (batch + devices - 1) / devices * devices;
    t->start = calloc((size_t)t->rows, sizeof *t->start);
    t->weights = calloc((size_t)t->rows, sizeof *t->weights);
    t->tokens = calloc((size_t)t->rows, (size_t)t->window * sizeof *t->tokens);
    if (!t->start || !t->weights || !t->tokens)
        return opt_fail(OPT_FAILED, "windows of text: out of memory");
    return OPT_GO;
}

/* Give the batch its n windows of a text from `start`; what is missing to
 * t->rows repeats the first with weight 0. */
static int set_windows(text_data *t, const unsigned char *bytes, int64_t n,
                       ls_batch *batch)
{
    int32_t *to = t->tokens;
    int status;

    for (int64_t i = 0; i < t->rows; i++) {
        const unsigned char *from = bytes + t->start[i < n ? i : 0];

        for (int64_t j = 0; j < t->window; j++)
            *to++ = from[j];
        if (i >= n)
            t->weights[i] = 0;
    }
    status = ls_batch_set(batch, "tokens", LS_I32, t->tokens, t->rows);
    if (status == 0)
        status = ls_batch_set_weights(batch, t->weights, t->rows);
    return opt_check(status);
}

int text_fill(text_data *t, int64_t step, ls_batch *batch)
{
    ls_random_randint(ls_key_fold_in(t->key, (uint32_t)step), 0, t->batch, 0,
                      (int32_t)(t->train - t->window + 1), t->start);
    for (int64_t i = 0; i < t->batch; i++)
        t->weights[i] = 1;
    return set_windows(t, t->bytes, t->batch, batch);
}

/* ------ Evaluation ------ */

static int64_t eval_windows(const text_data *t)
{
    int64_t new = t->window - 1;

    return t->held_size < t->window ? 0 : (t->held_size - 1 + new - 1) / new;
}

int64_t text_eval_batches(const text_data *t)
{
    return (eval_windows(t) + t->rows - 1) / t->rows;
}

int text_eval_fill(text_data *t, int64_t i, ls_batch *batch)
{
    int64_t windows = eval_windows(t), first = i * t->rows, n = 0;
    int64_t new = t->window - 1, last = t->held_size - t->window;

    for (; n < t->rows && first + n < windows; n++) {
        int64_t at = (first + n) * new;

        t->start[n] = (int32_t)(at < last ? at : last);
        t->weights[n] =
            at < last ? 1 : (float)(t->held_size - 1 - at) / (float)new;
    }
    return set_windows(t, t->held, n, batch);
}
