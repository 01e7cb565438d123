/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport over MPI: sends and receives of bytes that do not wait, on a
 * communicator of its own. */
#include <lockstep/mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A count of MPI's is an int, so larger messages go in pieces. */
#ifndef LS_MPI_PIECE
#define LS_MPI_PIECE (1 << 30)
#endif

enum { TAG = 0, WORDS_TAG = 1 };
enum { WORDS = 400, PATIENCE = 60000, GRACE = 500 }; /* bytes, milliseconds */

struct ls_mpi {
    MPI_Comm comm;
    ls_transport transport;
    bool ends;            /* MPI was started here, and ends here */
    int count, room;      /* of what is posted */
    MPI_Request *request; /* [room] */
    MPI_Status *status;   /* [room] of those that Testsome found done */
    int *done;            /* [room] their numbers */
    int *peer, *wanted;   /* [room] the other rank; bytes to come, or -1 */
    int64_t *number;      /* [room] of the message, of those to come from it */
    int64_t *posted;      /* [rank] how many were to come from it so far */
    char reason[MPI_MAX_ERROR_STRING + WORDS];
    char words[WORDS]; /* this rank's, when it ended the run */
    bool told;         /* another one did, and said why */
};

/* ------ failures ------ */

/* The status for a code of MPI's, keeping its words. */
static int status_of(ls_mpi *m, int code)
{
    int length = 0;

    if (code == MPI_SUCCESS)
        return 0;
    if (MPI_Error_string(code, m->reason, &length) != MPI_SUCCESS)
        strcpy(m->reason, "MPI failed");
    return LS_EIO;
}

static const char *reason(void *user)
{
    return ((ls_mpi *)user)->reason;
}

/* ------ what is posted ------ */

/* Lists only grow, and not on failure: what a list has stays in it. */
static bool grow_list(void **list, int room, size_t size)
{
    void *more = realloc(*list, (size_t)room * size);

    if (more)
        *list = more;
    return more != NULL;
}

static int make_room(ls_mpi *m)
{
    int room = m->room ? 2 * m->room : 64;

    if (m->count < m->room)
        return 0;
    if (!grow_list((void **)&m->request, room, sizeof *m->request) ||
        !grow_list((void **)&m->status, room, sizeof *m->status) ||
        !grow_list((void **)&m->done, room, sizeof *m->done) ||
        !grow_list((void **)&m->peer, room, sizeof *m->peer) ||
        !grow_list((void **)&m->wanted, room, sizeof *m->wanted) ||
        !grow_list((void **)&m->number, room, sizeof *m->number)) {
        strcpy(m->reason, "out of memory");
        return LS_ENOMEM;
    }
    m->room = room;
    return 0;
}

static void note(ls_mpi *m, int peer, int wanted)
{
    m->peer[m->count] = peer;
    m->number[m->count] = m->posted[peer];
    m->wanted[m->count++] = wanted;
}

static int piece_of(int64_t bytes)
{
    return bytes < LS_MPI_PIECE ? (int)bytes : LS_MPI_PIECE;
}

static int post_send(void *user, int to, int64_t bytes, const void *data)
{
    ls_mpi *m = user;
    const char *at = data;
    int status = 0, n;

    for (; bytes > 0 && status == 0; at += n, bytes -= n) {
        n = piece_of(bytes);
        if ((status = make_room(m)) < 0)
            return status;
        status = status_of(m, MPI_Isend(at, n, MPI_BYTE, to, TAG, m->comm,
                                        &m->request[m->count]));
        if (status == 0)
            note(m, to, -1);
    }
    return status;
}

static int post_receive(void *user, int from, int64_t bytes, void *data)
{
    ls_mpi *m = user;
    char *at = data;
    int status = 0, n;

    m->posted[from]++;
    for (; bytes > 0 && status == 0; at += n, bytes -= n) {
        n = piece_of(bytes);
        if ((status = make_room(m)) < 0)
            return status;
        status = status_of(m, MPI_Irecv(at, n, MPI_BYTE, from, TAG, m->comm,
                                        &m->request[m->count]));
        if (status == 0)
            note(m, from, n);
    }
    return status;
}

/* Did as many bytes come as were wanted? */
static int check_size(ls_mpi *m, int i, const MPI_Status *status)
{
    int bytes = 0;

    if (m->wanted[i] < 0)
        return 0;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    if (bytes == m->wanted[i])
        return 0;
    strcpy(m->reason, "a message is shorter than what was wanted");
    return LS_EIO;
}

/* Leave out what is done: its request has become MPI_REQUEST_NULL. */
static void compact(ls_mpi *m)
{
    int n = 0;

    for (int i = 0; i < m->count; i++) {
        if (m->request[i] == MPI_REQUEST_NULL)
            continue;
        m->request[n] = m->request[i];
        m->peer[n] = m->peer[i];
        m->number[n] = m->number[i];
        m->wanted[n++] = m->wanted[i];
    }
    m->count = n;
}

/* The first failure among those that Testsome found done. */
static int failure_of(ls_mpi *m, int done, int *rank)
{
    for (int k = 0; k < done; k++) {
        *rank = m->peer[m->done[k]];
        if (m->status[k].MPI_ERROR != MPI_SUCCESS)
            return status_of(m, m->status[k].MPI_ERROR);
    }
    return LS_EIO;
}

/* Has a rank ended the run?  Then its words are the reason. */
static int heard(ls_mpi *m, int *rank)
{
    char words[WORDS];
    MPI_Status from;
    int there = 0;

    MPI_Iprobe(MPI_ANY_SOURCE, WORDS_TAG, m->comm, &there, &from);
    if (!there)
        return 0;
    *rank = from.MPI_SOURCE;
    MPI_Recv(words, WORDS, MPI_BYTE, *rank, WORDS_TAG, m->comm, &from);
    words[WORDS - 1] = 0;
    snprintf(m->reason, sizeof m->reason, "rank %d ended the run: %s", *rank,
             words);
    m->told = true;
    return LS_EIO;
}

static int test(void *user, int *rank)
{
    ls_mpi *m = user;
    int done = 0, code, status = 0;

    if (m->count == 0)
        return 1;
    code = MPI_Testsome(m->count, m->request, &done, m->done, m->status);
    if (code == MPI_ERR_IN_STATUS)
        return failure_of(m, done, rank);
    if (code != MPI_SUCCESS)
        return status_of(m, code);
    for (int k = 0; k < done && status == 0; k++) {
        *rank = m->peer[m->done[k]];
        status = check_size(m, m->done[k], &m->status[k]);
    }
    if (status < 0)
        return status;
    compact(m);
    if (m->count == 0)
        return 1;
    *rank = m->peer[0];
    return heard(m, rank);
}

/* Counts back to the first pending message: they stay in order, it is the
 * oldest. */
static int left(void *user, int from)
{
    const ls_mpi *m = user;

    for (int i = 0; i < m->count; i++)
        if (m->peer[i] == from && m->wanted[i] >= 0)
            return (int)(m->posted[from] - m->number[i] + 1);
    return 0;
}

static void pause_for(int milliseconds)
{
    struct timespec t = {.tv_nsec = milliseconds * 1000000L};

    nanosleep(&t, NULL);
}

/* The number of n sends that are not done. */
static int unsent(int n, MPI_Request *sent)
{
    int left = 0;

    for (int i = 0; i < n; i++) {
        MPI_Status status;
        int done = 1;

        MPI_Test(&sent[i], &done, &status);
        left += !done;
    }
    return left;
}

/* Send the words to all and wait until each rank receives them, as it does when
 * it waits for others; a rank that fails too says so meanwhile.  One that was
 * told leaves the end to who told it. */
static void tell(ls_mpi *m)
{
    int n = 0, rank, ranks = m->transport.ranks;
    MPI_Request *sent = malloc((size_t)ranks * sizeof *sent);

    for (int r = 0; r < ranks && sent && !m->told; r++)
        if (r != m->transport.rank &&
            MPI_Issend(m->words, WORDS, MPI_BYTE, r, WORDS_TAG, m->comm,
                       &sent[n]) == MPI_SUCCESS)
            n++;
    for (int i = 0; i < PATIENCE && (n == 0 || unsent(n, sent) > 0); i++) {
        (void)heard(m, &rank);
        pause_for(1);
    }
    free(sent);
}

/* MPI_Abort carries no words, and kills ranks that were about to print them. */
static void end_all(void *user, const char *why)
{
    ls_mpi *m = user;
    int main_thread = 0;

    MPI_Is_thread_main(&main_thread);
    if (main_thread && m->transport.ranks > 1) {
        snprintf(m->words, sizeof m->words, "%s", why ? why : "");
        tell(m);
        pause_for(GRACE);
    }
    MPI_Abort(m->comm, 1);
}

/* ------ opening and closing ------ */

static int check_mpi(void)
{
    int started = 0, ended = 0, level = 0, main_thread = 0;

    MPI_Initialized(&started);
    MPI_Finalized(&ended);
    if (!started || ended)
        return ls_error(LS_EINVAL, ended ? "MPI has ended already"
                                         : "MPI has not been started: call "
                                           "MPI_Init_thread first");
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_FUNNELED)
        return ls_error(LS_ENOTSUP, "MPI was started without threads: call "
                        "MPI_Init_thread with MPI_THREAD_FUNNELED instead of "
                        "MPI_Init");
    MPI_Is_thread_main(&main_thread);
    return main_thread ? 0
                       : ls_error(LS_ETHREAD, "this is not the thread that "
                                  "started MPI");
}

static int take_comm(ls_mpi *m, MPI_Comm comm)
{
    ls_transport *t = &m->transport;
    int status = status_of(m, MPI_Comm_dup(comm, &m->comm));

    if (status < 0)
        return ls_error(status, m->reason);
    MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
    *t = (ls_transport){.user = m, .send = post_send, .receive = post_receive,
                        .test = test, .abort = end_all, .reason = reason,
                        .left = left};
    MPI_Comm_rank(m->comm, &t->rank);
    MPI_Comm_size(m->comm, &t->ranks);
    m->posted = calloc((size_t)t->ranks, sizeof *m->posted);
    return m->posted ? 0 : ls_error(LS_ENOMEM, "out of memory: transport over "
                                    "MPI");
}

int ls_mpi_open(ls_mpi **mpi, MPI_Comm comm)
{
    int status = check_mpi();
    ls_mpi *m;

    if (status < 0)
        return status;
    if (!(m = calloc(1, sizeof *m)))
        return ls_error(LS_ENOMEM, "out of memory: transport over MPI");
    m->comm = MPI_COMM_NULL;
    if ((status = take_comm(m, comm)) < 0) {
        ls_mpi_close(m);
        return status;
    }
    *mpi = m;
    return 0;
}

int ls_mpi_open_fortran(ls_mpi **mpi, MPI_Fint comm)
{
    int status = check_mpi();

    return status < 0 ? status : ls_mpi_open(mpi, MPI_Comm_f2c(comm));
}

int ls_mpi_open_world(ls_mpi **mpi)
{
    int started = 0, level, status;

    MPI_Initialized(&started);
    if (!started &&
        MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return ls_error(LS_EIO, "MPI could not be started");
    status = ls_mpi_open(mpi, MPI_COMM_WORLD);
    if (status == 0)
        (*mpi)->ends = !started;
    else if (!started)
        MPI_Finalize();
    return status;
}

ls_transport *ls_mpi_transport(ls_mpi *mpi)
{
    return &mpi->transport;
}

void ls_mpi_close(ls_mpi *m)
{
    bool ends = m && m->ends;

    if (!m)
        return;
    if (m->comm != MPI_COMM_NULL)
        MPI_Comm_free(&m->comm);
    free(m->request);
    free(m->status);
    free(m->done);
    free(m->peer);
    free(m->wanted);
    free(m->number);
    free(m->posted);
    free(m);
    if (ends)
        MPI_Finalize();
}
