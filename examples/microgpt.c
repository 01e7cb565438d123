/* SPDX-License-Identifier: BSD-3-Clause */
/* A GPT as small as Andrej Karpathy's microgpt: one layer of width 16, four
 * heads, windows of 16 letters, trained on names one at a time with Adam, and
 * then made to say names of its own.
 *
 *     microgpt [NAMES.txt]
 *
 * The file has a name a line; without one a few names below are learned.
 * Prints the loss as it falls and ten names; exits 1 when nothing was
 * learned. */
#include <lockstep.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LETTERS = 26,
    END = LETTERS, /* before a name and behind it */
    TOKENS = LETTERS + 1,
    LENGTH = 16,
    WIDTH = 16,
    HEADS = 4,
    STEPS = 1000,
    NAMES = 65536
};

static const char few[] =
    "emma\nolivia\nava\nisabella\nsophia\ncharlotte\nmia\namelia\nharper\n"
    "evelyn\nabigail\nemily\nelizabeth\nmila\nella\navery\nsofia\ncamila\n"
    "aria\nscarlett\nvictoria\nmadison\nluna\ngrace\nchloe\npenelope\n"
    "layla\nriley\n"
    "zoey\nnora\nlily\neleanor\nhannah\nlillian\naddison\naubrey\nellie\n"
    "stella\nnatalie\nzoe\nleah\nhazel\nviolet\naurora\nsavannah\naudrey\n"
    "brooklyn\nbella\nclaire\nskylar\n";

/* A name as a row: END and its letters are read, and its letters and END are
 * what follows; behind that nothing is asked. */
typedef struct row {
    int32_t read[LENGTH], next[LENGTH];
} row;

static row names[NAMES];

static row row_of(const char *name, size_t n)
{
    row r;

    for (size_t t = 0; t < LENGTH; t++) {
        r.read[t] = t == 0 || t > n ? END : name[t - 1] - 'a';
        r.next[t] = t > n ? -1 : t == n ? END : name[t] - 'a';
    }
    return r;
}

/* Take the lines that are names; returns how many. */
static int read_names(const char *text)
{
    int n = 0;

    while (*text && n < NAMES) {
        size_t letters = strspn(text, "abcdefghijklmnopqrstuvwxyz");
        size_t line = strcspn(text, "\n");

        if (letters > 0 && letters == line)
            names[n++] = row_of(text, letters);
        text += line + (text[line] == '\n');
    }
    return n;
}

/* The file, of which 1 MiB is enough; NULL after a message. */
static char *read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = f ? calloc(1, (1 << 20) + 1) : NULL;

    if (text)
        (void)!fread(text, 1, 1 << 20, f);
    else
        perror(path);
    if (f)
        fclose(f);
    return text;
}

/* ------ The model ------ */

static ls_node *matrix(ls_node *x, int64_t n, const char *name)
{
    ls_dense_options o = ls_dense_defaults();

    o.no_bias = true;
    return ls_dense_with(x, n, &o, name);
}

static void build(ls_graph *g)
{
    ls_node *read = ls_input(g, "read", LS_I32, 1, (int64_t[]){LENGTH});
    ls_node *next = ls_input(g, "next", LS_I32, 1, (int64_t[]){LENGTH});
    ls_node *x = ls_position(ls_embed(read, TOKENS, WIDTH, "token"), "place");
    ls_node *h;

    x = ls_rms_norm(x, 1e-5, "norm");
    h = ls_rms_norm(x, 1e-5, "norm_1");
    x = ls_add(x, ls_self_attention(h, HEADS, true, "attention"));
    h = ls_relu(matrix(ls_rms_norm(x, 1e-5, "norm_2"), 4 * WIDTH, "up"));
    x = matrix(ls_add(x, matrix(h, WIDTH, "down")), TOKENS, "head");
    ls_output(g, x, "logits");
    ls_loss(g, ls_cross_entropy(x, next));
}

/* ------ Training, and saying names ------ */

/* One name a step; the mean loss of the last fiftieth, or -1. */
static float train(ls_trainer *t, ls_batch *b, int n)
{
    float sum = 0, mean = -1;
    ls_result r;

    for (int step = 0; step < STEPS; step++) {
        const row *name = &names[step % n];

        if (ls_batch_set(b, "read", LS_I32, name->read, 1) < 0 ||
            ls_batch_set(b, "next", LS_I32, name->next, 1) < 0 ||
            ls_step(t, b, &r) < 0)
            return -1;
        sum += r.loss;
        if (step % 50 < 49)
            continue;
        mean = sum / 50;
        sum = 0;
        if (step % 200 == 199)
            printf("step %4d  loss %.4f\n", step + 1, (double)mean);
    }
    return mean;
}

/* Letters are drawn as likely as the model says, at half the temperature. */
static int say(ls_trainer *t, ls_batch *b, int which)
{
    static float logits[LENGTH * TOKENS];
    row r = row_of("", 0);

    for (int at = 0; at < LENGTH; at++) {
        uint32_t draw = (uint32_t)(which * 64 + at);
        ls_key key = ls_key_fold_in(ls_key_new(42), draw);
        int64_t next;

        if (ls_batch_set(b, "read", LS_I32, r.read, 1) < 0 ||
            ls_batch_set(b, "next", LS_I32, r.next, 1) < 0 ||
            ls_predict(t, b, "logits", LENGTH * TOKENS, logits) < 0)
            return -1;
        next = ls_random_categorical(key, TOKENS, logits + at * TOKENS, 0.5);
        if (next == END)
            break;
        putchar('a' + (int)next);
        if (at + 1 < LENGTH)
            r.read[at + 1] = (int32_t)next;
    }
    putchar('\n');
    return 0;
}

static int learn(ls_pool *pool, ls_graph *g, int n, float *loss)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    int status;

    o.optimizer = ls_adam(0.01);
    o.optimizer.b1 = 0.85;
    o.optimizer.b2 = 0.99;
    o.schedule = ls_schedule_defaults(LS_LINEAR);
    o.schedule.decay_steps = STEPS;
    status = ls_trainer_open(&t, pool, g, &o);
    if (status == 0)
        status = ls_batch_open(&b, t);
    if (status == 0) {
        *loss = train(t, b, n);
        status = *loss < 0 ? -1 : 0;
    }
    for (int i = 0; i < 10 && status == 0; i++)
        status = say(t, b, i);
    ls_batch_close(b);
    ls_trainer_close(t);
    return status;
}

int main(int argc, char **argv)
{
    char *text = argc > 1 ? read_file(argv[1]) : NULL;
    ls_mesh_options m = ls_mesh_defaults();
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    ls_graph *g = NULL;
    float loss = 9;
    int n, status;

    if (argc > 1 && !text)
        return 1;
    n = read_names(text ? text : few);
    free(text);
    if (n == 0) {
        fprintf(stderr, "no line is a name of letters from a to z\n");
        return 1;
    }
    m.devices = 1; /* a single row a step */
    status = ls_mesh_open(&mesh, &m);
    if (status == 0)
        status = ls_pool_open(&pool, mesh, NULL);
    if (status == 0)
        status = ls_graph_new(&g);
    if (status == 0) {
        build(g);
        status = learn(pool, g, n, &loss);
    }
    if (status < 0)
        puts(ls_errmsg());
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return status == 0 && loss < 2.5f ? 0 : 1;
}
