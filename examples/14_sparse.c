/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows that are mostly zeros: a network of the shape that chess programs train
 * learns which side has more men on the board, and by how much.
 *
 *     us    about 30 of 41,024 -> 256 \
 *                                      512 -> 32 -> 1, clipped relu between
 *     them  about 30 of 41,024 -> 256 /
 *
 * An input is 1 for the square of a side's own king, a kind of man, whose it is
 * and its square, all as that side sees the board; so both sides share their
 * weights (ls_tie).  A row is the list of the inputs that are 1, made of CSR.
 * Lazy Adam leaves alone the weights of inputs that no row of a batch names.
 *
 * Each step has new positions, so that what is printed is the error on
 * positions never seen.  Exits 1 when the last is above a pawn. */
#include <lockstep.h>

#include <math.h>
#include <stdio.h>

enum { INPUTS = 64 * 641 }; /* of a king's 641 the first stands for nothing */
enum { MEN = 30, ROWS = 2048, STEPS = 40 };
enum { SCALE = 10 }; /* so many pawns are 1 to the network */

/* Rows of our side and of theirs in the form of CSR, with the same offsets for
 * both: what is 1 in row r are index[..][offset[r]] .. [offset[r + 1] - 1]. */
typedef struct positions {
    int64_t offset[ROWS + 1];
    int32_t index[2][ROWS * MEN];
    float worth[ROWS]; /* of our men, less that of theirs */
} positions;

static int32_t input(int king, int kind, int theirs, int square)
{
    return king * 641 + 1 + (2 * kind + theirs) * 64 + square;
}

/* Draw a position: each king has castled, to file c or g, and of eight men
 * about seven are left, on ranks 2 to 7.  Our rank 1 is their rank 8. */
static int draw(ls_key key, int64_t row, positions *p)
{
    static const char man[] = "000000001122334"; /* pawns, knights, .. queen */
    static const int pawns[5] = {1, 3, 3, 5, 9}; /* that each is worth */
    int32_t square[48], king[2];
    uint8_t left[MEN];
    int64_t n = p->offset[row];
    int sum = 0;

    ls_random_randint(ls_key_split(key, 0), 0, 2, 0, 2, king);
    ls_random_bernoulli(ls_key_split(key, 1), 0, MEN, 0.875f, left);
    if (ls_random_permutation(ls_key_split(key, 2), 48, square) < 0)
        return -1;
    for (int i = 0; i < MEN; i++) {
        int kind = man[i / 2] - '0', theirs = i % 2, at = 8 + square[i];

        if (!left[i])
            continue;
        p->index[0][n] = input(2 + 4 * king[0], kind, theirs, at);
        p->index[1][n++] = input(2 + 4 * king[1], kind, !theirs, at ^ 56);
        sum += theirs ? -pawns[kind] : pawns[kind];
    }
    p->offset[row + 1] = n;
    p->worth[row] = (float)sum / SCALE;
    return 0;
}

static int set_positions(ls_batch *b, ls_key key)
{
    static const char *const side[2] = {"us", "them"};
    static positions p;
    static int32_t list[2][ROWS * MEN]; /* which the batch borrows */

    for (int64_t r = 0; r < ROWS; r++)
        if (draw(ls_key_split(key, (uint64_t)r), r, &p) < 0)
            return -1;
    for (int s = 0; s < 2; s++)
        if (ls_sparse_rows(ROWS, p.offset, p.index[s], NULL, INPUTS, MEN,
                           list[s], NULL) < 0 ||
            ls_batch_set(b, side[s], LS_I32, list[s], ROWS) < 0)
            return -1;
    return ls_batch_set(b, "worth", LS_F32, p.worth, ROWS);
}

static ls_node *units(ls_graph *g, const char *side, const char *layer)
{
    ls_node *lists = ls_input(g, side, LS_I32, 1, (int64_t[]){MEN});

    return ls_sparse_dense(lists, NULL, INPUTS, 256, layer);
}

static int build(ls_graph *g)
{
    ls_node *worth = ls_input(g, "worth", LS_F32, 1, (int64_t[]){1});
    ls_node *both[2], *x;

    both[0] = units(g, "us", "side");
    if (ls_tie(g, "other.kernel", "side.kernel", false) < 0 ||
        ls_tie(g, "other.bias", "side.bias", false) < 0)
        return -1;
    both[1] = units(g, "them", "other");
    x = ls_clamp(ls_concat(both, 2, 0), 0, 1);
    x = ls_clamp(ls_dense(x, 32, "hidden"), 0, 1);
    return ls_loss(g, ls_mean_squared_error(ls_dense(x, 1, "out"), worth));
}

/* 0, 1 when the network has not learned, or below 0. */
static int train(ls_trainer *t, ls_batch *b)
{
    double error = 0;

    for (int step = 0; step < STEPS; step++) {
        ls_result r;

        if (set_positions(b, ls_key_new(step)) < 0 || ls_step(t, b, &r) < 0)
            return -1;
        error = SCALE * sqrt((double)r.loss);
        if (step % 10 == 0 || step == STEPS - 1)
            printf("step %2d: wrong by %.2f pawns\n", step, error);
    }
    return error > 1;
}

int main(void)
{
    ls_mesh_options m = ls_mesh_defaults();
    ls_trainer_options o = ls_trainer_defaults();
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    ls_graph *g = NULL;
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    int status = -1;

    m.devices = 2; /* each has a gradient of its own, 42 MB */
    o.optimizer = ls_adam(0.003);
    o.optimizer.lazy = 1;
    if (ls_mesh_open(&mesh, &m) == 0 && ls_pool_open(&pool, mesh, NULL) == 0 &&
        ls_graph_new(&g) == 0 && build(g) == 0 &&
        ls_trainer_open(&t, pool, g, &o) == 0 && ls_batch_open(&b, t) == 0)
        status = train(t, b);
    if (status < 0)
        puts(ls_errmsg());
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return status != 0;
}
