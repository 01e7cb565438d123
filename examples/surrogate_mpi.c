/* SPDX-License-Identifier: BSD-3-Clause */
/* A solver on many ranks trains a surrogate of itself while it runs.
 *
 * Every other rank computes; the rest learn from what it found, over a
 * communicator of their own.  The learners share eight devices, so that the
 * state they end in is the same on 1, 2, 4 or 8 of them.
 *
 *     mpicc surrogate_mpi.c $(pkg-config --cflags --libs lockstep_mpi)
 *     mpirun -n 4 ./a.out
 */
#include <lockstep.h>
#include <lockstep/mpi.h>

#include <stdio.h>

enum { DEVICES = 8, ROWS = 64, STEPS = 50 };

/* What the solver computes: y = x0 x1 at points of a grid that moves. */
static void solve(int step, float *x, float *y)
{
    for (int i = 0; i < ROWS; i++) {
        x[2 * i] = (float)(i % 8) / 8 + (float)step / 1000;
        x[2 * i + 1] = (float)(i / 8) / 8;
        y[i] = x[2 * i] * x[2 * i + 1];
    }
}

static ls_graph *surrogate(void)
{
    ls_graph *g = NULL;
    ls_node *x, *y;

    if (ls_graph_new(&g) < 0)
        return NULL;
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){2});
    y = ls_input(g, "y", LS_F32, 1, (int64_t[]){1});
    x = ls_gelu(ls_dense(x, 32, "hidden"));
    ls_loss(g, ls_mean_squared_error(ls_dense(x, 1, "out"), y));
    return g;
}

/* The trainer of this learner, who has some of the devices. */
static int open_trainer(ls_trainer **trainer, ls_pool **pool,
                        const ls_transport *transport)
{
    ls_mesh_options m = ls_mesh_defaults();
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = surrogate();
    ls_mesh *mesh = NULL;
    int status;

    m.devices = DEVICES;
    m.workers = 1; /* the other cores are the solver's */
    o.optimizer = ls_adam(1e-2);
    o.transport = transport;
    if ((status = ls_mesh_open(&mesh, &m)) == 0 &&
        (status = ls_pool_open(pool, mesh, NULL)) == 0)
        status = ls_trainer_open(trainer, *pool, g, &o);
    ls_mesh_close(mesh);
    ls_graph_free(g);
    return status;
}

static int learn(ls_trainer *t, ls_batch *b, ls_result *r)
{
    float x[2 * ROWS], y[ROWS];
    int status = 0;

    for (int step = 0; step < STEPS && status == 0; step++) {
        solve(step, x, y); /* in a real one it comes from the solver's ranks */
        if ((status = ls_batch_set(b, "x", LS_F32, x, ROWS)) == 0 &&
            (status = ls_batch_set(b, "y", LS_F32, y, ROWS)) == 0)
            status = ls_step(t, b, r);
    }
    return status;
}

/* Returns 0, or a status that this rank has told. */
static int run_learner(const ls_transport *transport)
{
    ls_trainer *t = NULL;
    ls_pool *pool = NULL;
    ls_batch *b = NULL;
    ls_result r;
    char hash[65];
    int status = open_trainer(&t, &pool, transport);

    if (status == 0 && (status = ls_batch_open(&b, t)) == 0)
        status = learn(t, b, &r);
    if (status == 0)
        status = ls_trainer_hash(t, hash);
    if (status < 0)
        fprintf(stderr, "rank %d: %s\n", transport->rank, ls_errmsg());
    else if (transport->rank == 0)
        printf("loss %.6f\nstate %s\n", (double)r.loss, hash);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
    return status;
}

int main(int argc, char **argv)
{
    int level, rank, status = 0;
    ls_mpi *mpi = NULL;
    MPI_Comm mine;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &mine);
    if (rank % 2 == 0) { /* a learner */
        if ((status = ls_mpi_open(&mpi, mine)) < 0)
            fprintf(stderr, "rank %d: %s\n", rank, ls_errmsg());
        else
            status = run_learner(ls_mpi_transport(mpi));
    }
    if (status < 0)
        MPI_Abort(MPI_COMM_WORLD, 1); /* the other learners may wait */
    ls_mpi_close(mpi);
    MPI_Comm_free(&mine);
    MPI_Finalize();
    return 0;
}
