/* SPDX-License-Identifier: BSD-3-Clause */
/* A program for test/lib/mpi/mpi.sh: each rank proves one thing about the
 * transport over MPI, named by the first argument, and rank 0 prints "ok".
 * MPI's messages go in pieces of LS_MPI_PIECE bytes here. */
#include <lockstep/mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const ls_transport *t;

static void stop(const char *what)
{
    fprintf(stderr, "rank %d: %s: %s\n", t ? t->rank : -1, what, ls_errmsg());
    if (t)
        t->abort(t->user, what);
    exit(1);
}

static void need(bool good, const char *what)
{
    if (!good)
        stop(what);
}

/* Test until all is done; the status of what failed. */
static int finish(int *rank)
{
    int status;

    while ((status = t->test(t->user, rank)) == 0)
        ;
    return status < 0 ? status : 0;
}

/* Many messages of all sizes around a ring, twice as many as fit at first. */
static void ring(void)
{
    enum { MESSAGES = 200, LONGEST = 5000 };
    static unsigned char out[MESSAGES][LONGEST], in[MESSAGES][LONGEST];
    int to = (t->rank + 1) % t->ranks, rank;
    int from = (t->rank + t->ranks - 1) % t->ranks;

    for (int i = 0; i < MESSAGES; i++) {
        int64_t n = 1 + i * (LONGEST - 1) / (MESSAGES - 1);

        memset(out[i], t->rank + i, (size_t)n);
        need(t->receive(t->user, from, n, in[i]) == 0, "receive");
        need(t->send(t->user, to, n, out[i]) == 0, "send");
    }
    need(finish(&rank) == 0, "test");
    for (int i = 0; i < MESSAGES; i++) {
        int64_t n = 1 + i * (LONGEST - 1) / (MESSAGES - 1);

        for (int64_t k = 0; k < n; k++)
            need(in[i][k] == (unsigned char)(from + i), "bytes");
    }
}

/* Counts of missing messages: back from the last one, in pieces or not, and
 * nothing once all is there. */
static void counts(void)
{
    enum { MESSAGES = 5, BYTES = 2500 };
    static char out[BYTES], in[MESSAGES][BYTES];
    int other = 1 - t->rank, rank, left = MESSAGES, before;

    for (int i = 0; i < MESSAGES; i++)
        need(t->receive(t->user, other, BYTES, in[i]) == 0, "receive");
    if (t->rank == 0)
        need(t->left(t->user, 1) == MESSAGES, "something came early");
    for (int i = 0; i < MESSAGES; i++) {
        need(t->send(t->user, other, BYTES, out) == 0, "send");
        while (t->rank == 0 && left > MESSAGES - 1 - i) {
            need(t->test(t->user, &rank) >= 0, "test");
            before = left;
            left = t->left(t->user, other);
            need(left <= before, "what was there is missing");
        }
    }
    need(finish(&rank) == 0 && t->left(t->user, other) == 0, "the end");
}

/* A message that is shorter than what is wanted is an error. */
static void sizes(void)
{
    char bytes[64] = {0};
    int rank = -1;

    if (t->rank == 1) {
        need(t->send(t->user, 0, 40, bytes) == 0, "send");
        need(finish(&rank) == 0, "the sender fails");
    } else if (t->rank == 0) {
        need(t->receive(t->user, 1, 50, bytes) == 0, "receive");
        need(finish(&rank) == LS_EIO && rank == 1, "the size went unseen");
        need(strlen(t->reason(t->user)) > 0, "no words");
    }
}

/* Ranks that wait hear who ended the run, and why, before it ends; so does one
 * that has computed for some seconds first. */
static void words(void)
{
    char byte;
    int rank = -1;

    if (t->rank == 2)
        sleep(6);
    if (t->rank == 1)
        t->abort(t->user, "the disk is full");
    need(t->receive(t->user, 1, 1, &byte) == 0, "receive");
    need(finish(&rank) == LS_EIO && rank == 1, "nothing was heard");
    fprintf(stderr, "rank %d: %s\n", t->rank, t->reason(t->user));
    t->abort(t->user, "as a program does");
}

static void with_world(void (*prove)(void))
{
    ls_mpi *mpi;

    need(ls_mpi_open_world(&mpi) == 0, "open");
    t = ls_mpi_transport(mpi);
    need(ls_transport_check(t) == 0, "check");
    if (prove)
        prove();
    if (t->rank == 0)
        puts("ok");
    ls_mpi_close(mpi);
}

/* A program's own communicator: two halves, each with a transport, and MPI is
 * still there afterwards. */
static void halves(void)
{
    int rank, level;
    MPI_Comm half;
    ls_mpi *mpi;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    need(ls_mpi_open(&mpi, half) == 0, "open");
    t = ls_mpi_transport(mpi);
    need(t->ranks == 2 && t->rank == rank / 2, "ranks of the half");
    need(ls_transport_check(t) == 0, "check");
    ls_mpi_close(mpi);
    MPI_Comm_free(&half);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        puts("ok");
    MPI_Finalize();
}

/* Opening says what MPI lacks. */
static void refused(void)
{
    ls_mpi *mpi = NULL;
    int level, rank;

    need(ls_mpi_open(&mpi, MPI_COMM_WORLD) == LS_EINVAL &&
         strstr(ls_errmsg(), "MPI_Init_thread"), "not started");
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &level);
    if (level == MPI_THREAD_SINGLE)
        need(ls_mpi_open(&mpi, MPI_COMM_WORLD) == LS_ENOTSUP, "no threads");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        puts("ok");
    MPI_Finalize();
    need(ls_mpi_open(&mpi, MPI_COMM_WORLD) == LS_EINVAL &&
         strstr(ls_errmsg(), "ended"), "ended");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (!strcmp(what, "check"))
        with_world(NULL);
    else if (!strcmp(what, "ring"))
        with_world(ring);
    else if (!strcmp(what, "counts"))
        with_world(counts);
    else if (!strcmp(what, "sizes"))
        with_world(sizes);
    else if (!strcmp(what, "words"))
        with_world(words);
    else if (!strcmp(what, "halves"))
        halves();
    else if (!strcmp(what, "refused"))
        refused();
    else
        return 2;
    return 0;
}
