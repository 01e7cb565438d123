/* SPDX-License-Identifier: BSD-3-Clause */
/* A model of the atmosphere in small that learns its closure while it runs.
 *
 * Lorenz's two-scale model of 1996 has COLUMNS slow variables X on a circle of
 * latitude, each with J fast ones Y:
 *
 *     X_k'  = -X_{k-1} (X_{k-2} - X_{k+1}) - X_k + F - h c/b sum_j Y_{j,k}
 *     Y_j'  = -c b Y_{j+1} (Y_{j+2} - Y_{j-1}) - c Y_j + h c/b X_k
 *
 * The columns are cut over ranks, which exchange two at each side.  While the
 * model runs, a network learns the last term of X_k', what the Y do to a
 * column, from X_{k-1}, X_k and X_{k+1}; each rank gives the rows of its own
 * columns (LS_ROWS_MOVED), so that the network's bytes are the same however the
 * columns are cut.  Then the X go on alone, with the network in the Y's place,
 * beside the truth, and the errors are drawn.
 *
 *     mpicc lorenz96_mpi.c $(pkg-config --cflags --libs lockstep_mpi)
 *     mpirun -n 4 ./a.out [errors.svg]
 */
#include <lockstep.h>
#include <lockstep/mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef BATCHES /* -DBATCHES=50: a short run */
#define BATCHES 3000
#endif
enum {
    COLUMNS = 32, J = 8, COLUMN = 1 + J, /* X and its Y */
    HALO = 2,       /* columns */
    SPIN_UP = BATCHES / 2, /* time steps before anything is learnt */
    TRAIN = BATCHES,
    EVERY = 4,      /* time steps between batches */
    LEAD = BATCHES < 50 ? 4 : BATCHES < 1000 ? 40 : 400, /* of a forecast */
    STARTS = BATCHES < 1000 ? 1 : 8, /* forecasts */
    APART = BATCHES / 6 /* time steps between them */
};
static const double F = 18, H = 1, C = 10, B = 10, DT = 0.005;

/* This rank's columns, with a halo at each side. */
typedef struct part {
    int rank, ranks, first, count;
    double (*at)[COLUMN]; /* [count + 2 HALO] */
    double (*rate)[COLUMN], (*was)[COLUMN], (*sum)[COLUMN]; /* [count] */
} part;

/* What stands for the Y. */
typedef enum closure { TRUTH, NOTHING, NETWORK } closure;

typedef struct network {
    ls_pool *pool;
    ls_trainer *trainer;
    ls_batch *batch;
    ls_predictor *predictor;
    ls_context *context;
    float *x, *y; /* (columns here, 3) and (columns here, 1) */
} network;

/* A message of the library's ends the run on all ranks. */
static void need(int status)
{
    if (status >= 0)
        return;
    fprintf(stderr, "lorenz96: %s\n", ls_errmsg());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ------ the model ------ */

static void *zeros(size_t n, size_t size)
{
    void *p = calloc(n, size);

    if (!p)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return p;
}

static void part_open(part *p)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &p->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p->ranks);
    p->first = COLUMNS * p->rank / p->ranks;
    p->count = COLUMNS * (p->rank + 1) / p->ranks - p->first;
    p->at = zeros((size_t)p->count + 2 * HALO, sizeof *p->at);
    p->rate = zeros((size_t)p->count, sizeof *p->rate);
    p->was = zeros((size_t)p->count, sizeof *p->was);
    p->sum = zeros((size_t)p->count, sizeof *p->sum);
    for (int k = 0; k < p->count; k++) {
        double *c = p->at[HALO + k];

        c[0] = F * ((p->first + k) * 7 % 11) / 11;
        for (int j = 1; j <= J; j++)
            c[j] = 0.01 * (((p->first + k) * J + j) * 5 % 13 - 6);
    }
}

static void part_close(part *p)
{
    free(p->at);
    free(p->rate);
    free(p->was);
    free(p->sum);
}

/* The two columns at each side come from the neighbours. */
static void exchange(part *p)
{
    int left = (p->rank + p->ranks - 1) % p->ranks;
    int right = (p->rank + 1) % p->ranks, n = HALO * COLUMN;

    MPI_Sendrecv(p->at[p->count], n, MPI_DOUBLE, right, 0, p->at[0], n,
                 MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(p->at[HALO], n, MPI_DOUBLE, left, 1, p->at[HALO + p->count], n,
                 MPI_DOUBLE, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Y j = -1 .. J + 1 of a column, those beyond it being the neighbours'. */
static double fast(const part *p, int k, int j)
{
    if (j < 0)
        return p->at[k - 1][J + 1 + j];
    return j < J ? p->at[k][1 + j] : p->at[k + 1][1 + j - J];
}

/* What the Y do to a column. */
static double forcing(const double *column)
{
    double sum = 0;

    for (int j = 1; j <= J; j++)
        sum += column[j];
    return -H * C / B * sum;
}

static void features(const part *p, float *x)
{
    for (int k = 0; k < p->count; k++)
        for (int i = 0; i < 3; i++)
            x[3 * k + i] = (float)(p->at[HALO + k + i - 1][0] / 10);
}

static void predict(const part *p, const network *n)
{
    features(p, n->x);
    need(ls_context_set(n->context, "x", LS_F32, n->x, p->count));
    need(ls_context_predict(n->context, "closure", p->count, n->y));
}

static void rates(part *p, closure how, const network *n)
{
    exchange(p);
    if (how == NETWORK)
        predict(p, n);
    for (int k = HALO; k < HALO + p->count; k++) {
        double *rate = p->rate[k - HALO];
        double by = how == TRUTH     ? forcing(p->at[k])
                    : how == NETWORK ? (double)n->y[k - HALO] * 10
                                     : 0;

        rate[0] = -p->at[k - 1][0] * (p->at[k - 2][0] - p->at[k + 1][0]) -
                  p->at[k][0] + F + by;
        for (int j = 0; j < J && how == TRUTH; j++)
            rate[1 + j] = -C * B * fast(p, k, j + 1) *
                              (fast(p, k, j + 2) - fast(p, k, j - 1)) -
                          C * fast(p, k, j) + H * C / B * p->at[k][0];
    }
}

/* One time step, by Runge and Kutta's fourth order. */
static void move(part *p, closure how, const network *n)
{
    static const double weight[] = {1, 2, 2, 1}, next[] = {0.5, 0.5, 1, 0};
    int vars = how == TRUTH ? COLUMN : 1;

    for (int s = 0; s < 4; s++) {
        rates(p, how, n);
        for (int k = 0; k < p->count; k++)
            for (int v = 0; v < vars; v++) {
                double *at = &p->at[HALO + k][v], rate = p->rate[k][v];

                p->was[k][v] = s ? p->was[k][v] : *at;
                p->sum[k][v] = (s ? p->sum[k][v] : 0) + weight[s] * rate;
                *at = s < 3 ? p->was[k][v] + DT * next[s] * rate
                            : p->was[k][v] + DT / 6 * p->sum[k][v];
            }
    }
}

/* ------ the network ------ */

static ls_graph *closure_graph(void)
{
    ls_graph *g = NULL;
    ls_node *x, *y;

    need(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){3});
    y = ls_input(g, "y", LS_F32, 1, (int64_t[]){1});
    x = ls_tanh(ls_dense(x, 32, "first"));
    x = ls_dense(ls_tanh(ls_dense(x, 32, "second")), 1, "out");
    need(ls_output(g, x, "closure"));
    need(ls_loss(g, ls_mean_squared_error(x, y)));
    return g;
}

static void network_open(network *n, const part *p, ls_mpi *mpi)
{
    ls_mesh_options m = ls_mesh_defaults();
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = closure_graph();
    ls_mesh *mesh;

    m.workers = 1; /* 8 devices, by this rank's core */
    o.optimizer = ls_adam(5e-3);
    o.schedule = ls_schedule_defaults(LS_COSINE);
    o.schedule.decay_steps = TRAIN;
    o.transport = ls_mpi_transport(mpi);
    o.rows = LS_ROWS_MOVED;
    need(ls_mesh_open(&mesh, &m));
    need(ls_pool_open(&n->pool, mesh, NULL));
    need(ls_trainer_open(&n->trainer, n->pool, g, &o));
    need(ls_batch_open(&n->batch, n->trainer));
    ls_mesh_close(mesh);
    ls_graph_free(g);
    n->x = zeros((size_t)p->count * 3, sizeof *n->x);
    n->y = zeros((size_t)p->count, sizeof *n->y);
}

static void network_close(network *n)
{
    ls_context_close(n->context);
    ls_predictor_close(n->predictor);
    ls_batch_close(n->batch);
    ls_trainer_close(n->trainer);
    ls_pool_close(n->pool);
    free(n->x);
    free(n->y);
}

/* The model runs, and the network learns from what it does. */
static float learn(part *p, network *n)
{
    ls_result r = {0};

    for (int i = 0; i < TRAIN; i++) {
        for (int s = 0; s < EVERY; s++)
            move(p, TRUTH, NULL);
        exchange(p);
        features(p, n->x);
        for (int k = 0; k < p->count; k++)
            n->y[k] = (float)(forcing(p->at[HALO + k]) / 10);
        need(ls_batch_set(n->batch, "x", LS_F32, n->x, p->count));
        need(ls_batch_set(n->batch, "y", LS_F32, n->y, p->count));
        need(ls_step(n->trainer, n->batch, &r));
    }
    need(ls_predictor_open(&n->predictor, n->trainer));
    need(ls_context_open(&n->context, n->predictor, NULL));
    return r.loss;
}

/* ------ forecasts ------ */

/* All X on the first rank, in order, so that no sum depends on the cut. */
static void collect(const part *p, double all[COLUMNS])
{
    int count[COLUMNS], first[COLUMNS];
    double own[COLUMNS];

    for (int r = 0; r < p->ranks; r++) {
        first[r] = COLUMNS * r / p->ranks;
        count[r] = COLUMNS * (r + 1) / p->ranks - first[r];
    }
    for (int k = 0; k < p->count; k++)
        own[k] = p->at[HALO + k][0];
    MPI_Gatherv(own, p->count, MPI_DOUBLE, all, count, first, MPI_DOUBLE, 0,
                MPI_COMM_WORLD);
}

/* X after each time step of a run that begins where the part stands. */
static void run(part *p, closure how, const network *n,
                double x[LEAD][COLUMNS])
{
    for (int s = 0; s < LEAD; s++) {
        move(p, how, n);
        collect(p, x[s]);
    }
}

/* Add the mean of squares of what a forecast is off by. */
static void add_error(double error[LEAD], double x[LEAD][COLUMNS],
                      double truth[LEAD][COLUMNS])
{
    for (int s = 0; s < LEAD; s++)
        for (int k = 0; k < COLUMNS; k++) {
            double off = x[s][k] - truth[s][k];

            error[s] += off * off / COLUMNS / STARTS;
        }
}

static void forecast(part *p, const network *n, double error[2][LEAD])
{
    static double truth[LEAD][COLUMNS], x[LEAD][COLUMNS];
    size_t bytes = ((size_t)p->count + 2 * HALO) * sizeof *p->at;
    void *start = zeros(1, bytes);

    for (int i = 0; i < STARTS; i++) {
        for (int s = 0; s < APART; s++)
            move(p, TRUTH, NULL);
        memcpy(start, p->at, bytes);
        run(p, TRUTH, NULL, truth);
        for (int how = 0; how < 2; how++) {
            memcpy(p->at, start, bytes);
            run(p, how ? NETWORK : NOTHING, n, x);
            add_error(error[how], x, truth);
        }
        memcpy(p->at, start, bytes);
    }
    free(start);
}

/* ------ what comes out ------ */

static void draw_line(FILE *f, const double *error, const char *colour)
{
    fprintf(f, "<polyline fill='none' stroke='%s' stroke-width='2' points='",
            colour);
    for (int s = 0; s < LEAD; s += 4)
        fprintf(f, "%d,%.1f ", 60 + s, 260 - (error[s] > 120 ? 120 : error[s]) *
                                              2);
    fprintf(f, "'/>\n");
}

/* Both errors over time, as a picture of SVG's. */
static void draw(const char *path, double error[2][LEAD])
{
    FILE *f = fopen(path, "w");

    if (!f) {
        perror(path);
        return;
    }
    fprintf(f, "<svg xmlns='http://www.w3.org/2000/svg' width='500' "
            "height='310' font-family='sans-serif' font-size='12'>\n"
            "<rect width='500' height='310' fill='white'/>\n"
            "<path d='M60,20 V260 H470' fill='none' stroke='black'/>\n"
            "<text x='250' y='295'>time units (0 to %g)</text>\n"
            "<text x='8' y='16'>mean square error of X</text>\n"
            "<text x='34' y='264'>0</text><text x='30' y='64'>100</text>\n"
            "<text x='300' y='36' fill='#b03030'>without the Y</text>\n"
            "<text x='300' y='54' fill='#3050b0'>the network in their place"
            "</text>\n", LEAD * DT);
    draw_line(f, error[0], "#b03030");
    draw_line(f, error[1], "#3050b0");
    fprintf(f, "</svg>\n");
    if (fclose(f))
        perror(path);
}

int main(int argc, char **argv)
{
    static double error[2][LEAD];
    network n = {0};
    ls_mpi *mpi;
    char hash[65];
    part p = {0};
    float loss;
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    need(ls_mpi_open(&mpi, MPI_COMM_WORLD));
    part_open(&p);
    if (p.count < HALO) {
        fprintf(stderr, "lorenz96: at most %d ranks\n", COLUMNS / HALO);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    network_open(&n, &p, mpi);
    for (int s = 0; s < SPIN_UP; s++)
        move(&p, TRUTH, NULL);
    loss = learn(&p, &n);
    forecast(&p, &n, error);
    need(ls_trainer_hash(n.trainer, hash));
    if (p.rank == 0) {
        printf("loss %.5f\n", (double)loss);
        for (int s = LEAD < 40 ? LEAD - 1 : 39; s < LEAD; s += 120)
            printf("after %.1f: error %6.2f without the Y, %6.2f with the "
                   "network\n", (s + 1) * DT, error[0][s], error[1][s]);
        printf("state %s\n", hash);
        if (argc > 1)
            draw(argv[1], error);
    }
    network_close(&n);
    part_close(&p);
    ls_mpi_close(mpi);
    MPI_Finalize();
    return 0;
}
