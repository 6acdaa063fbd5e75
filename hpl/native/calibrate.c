/* Times HPL's routines on this machine, for the model of a virtual cluster. All ranks work at the same time, as in HPL,
 * and on HPL's kinds of operands: long columns of a large matrix, panels, rows that are far apart. Rank 0 prints one JSON
 * line for each figure:
 * - the time of one call, as the mean over repeats and ranks, because the time of HPL is a sum of such times;
 * - the one-way time of messages between the first and the last rank, up to a size that takes SLOWEST_S;
 * - how long the sender of a long message is held;
 * - how long a question waits for the answer of a rank whose line is busy.
 * What the ranks and their node did meanwhile is told as of one solve, which is read before and after all that is timed.
 * The argument "messages" times only the one-way messages; "blocks" also times dgemm with blocks of several widths. */
#include "conditions.h"
#include "hpl.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 2048, LD = 4104, COLUMNS = 3072, WIDEST = 1024, DEEPEST = 512, LEAST = 5, MOST = 200, TURNS = 5, LONG = 4 << 20,
       MIDDLE = 1 << 18, NARROW = 64 };
static const double BUDGET_S = 0.03, SLOWEST_S = 0.02;
static int rank, ranks;
const int hpltune_tells_solves = 1;
static double *A, *B, *C;

typedef struct {
    int m, n, k;
} Shape;
typedef void Work(Shape *shape);

/* Return columns of C that are not in the cache, as in HPL's update. */
static double *fresh(Shape *s)
{
    static size_t column;
    column = column + (size_t)s->n > COLUMNS - (size_t)s->n ? 0 : column + (size_t)s->n;
    return C + column * LD;
}

/* Narrow products belong to the factorisation of a panel, which is in the cache. */
static void gemm(Shape *s)
{
    double *target = s->n < NARROW ? C : fresh(s);
    HPL_dgemm(HplColumnMajor, HplNoTrans, HplTrans, s->m, s->n, s->k, -1.0, A, ROWS, B, WIDEST, 1.0, target, LD);
}

static void trsm(Shape *s)
{
    HPL_dtrsm(HplColumnMajor, HplRight, HplUpper, HplNoTrans, HplUnit, s->n, s->k, 1.0, A, s->k, B, WIDEST);
}

/* The dtrsm of a 1 x Q grid, which works in the matrix itself. */
static void trsm_left(Shape *s)
{
    HPL_dtrsm(HplColumnMajor, HplLeft, HplUpper, HplTrans, HplUnit, s->k, s->n, 1.0, A, s->k, fresh(s), LD);
}

static void gemv(Shape *s)
{
    HPL_dgemv(HplColumnMajor, HplNoTrans, s->m, s->n, -1.0, A, ROWS, B, 1, 1.0, A + (size_t)ROWS * s->n, 1);
}

static void ger(Shape *s)
{
    HPL_dger(HplColumnMajor, s->m, s->n, -1.0, B, 1, B + ROWS, 1, A, ROWS);
}

static void small(Shape *s)
{
    (void)s;
    HPL_dgemm(HplColumnMajor, HplNoTrans, HplNoTrans, 1, 1, 1, -1.0, A, ROWS, B, WIDEST, 1.0, C, LD);
}

static void copy(Shape *s)
{
    HPL_dlacpy(s->m, s->n, fresh(s), LD, B, s->m);
}

static int *below, *mixed, *target;

static void gather(Shape *s)
{
    HPL_dlaswp01T(s->m, s->n, fresh(s), LD, B, s->n, mixed, target);
}

static void scatter(Shape *s)
{
    HPL_dlaswp06T(s->m, s->n, fresh(s), LD, B, s->n, below);
}

static void exchange(Shape *s)
{
    HPL_dlaswp00N(s->m, s->n, fresh(s), LD, below);
}

static void tell(const char *what, int m, int n, int k, double time_s)
{
    if (rank == 0) {
        printf("{\"what\": \"%s\", \"m\": %d, \"n\": %d, \"k\": %d, \"time_s\": %.9g}\n", what, m, n, k, time_s);
        fflush(stdout); /* these figures count even if the rest takes too long */
    }
}

static void report(const char *what, Work *work, int m, int n, int k)
{
    double spent_s = 0, first_s, mean_s;
    int count = 0;
    Shape shape = { m, n, k };
    work(&shape);
    do {
        double began_s;
        MPI_Barrier(MPI_COMM_WORLD);
        began_s = MPI_Wtime();
        work(&shape);
        spent_s += MPI_Wtime() - began_s;
        first_s = spent_s;
        MPI_Bcast(&first_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    } while (++count < LEAST || (first_s < BUDGET_S && count < MOST));
    spent_s /= count;
    MPI_Reduce(&spent_s, &mean_s, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    tell(what, m, n, k, mean_s / ranks);
}

/* Time a message one way, in seconds; all ranks know the result. */
static double pingpong(int bytes)
{
    int other = rank == 0 ? ranks - 1 : 0, turns = bytes < 1 << 16 ? 40 : 12;
    int takes_part = rank == 0 || rank == ranks - 1;
    double began_s = 0, one_way_s;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = -2; takes_part && i < turns; i++) {
        if (i == 0)
            began_s = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(A, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD);
            MPI_Recv(B, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(B, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(A, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD);
        }
    }
    one_way_s = 0.5 * (MPI_Wtime() - began_s) / turns;
    MPI_Bcast(&one_way_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    tell("message", bytes, 0, 0, one_way_s);
    return one_way_s;
}

/* Time a long message to a waiting rank: how long its sender is held, and how long the message takes. */
static void held(void)
{
    double held_s = 0, whole_s = 0, began_s;
    char done = 0;
    for (int i = -1; i < TURNS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        began_s = MPI_Wtime();
        if (rank == 0) {
            MPI_Ssend(A, LONG, MPI_BYTE, ranks - 1, 1, MPI_COMM_WORLD);
            held_s += i < 0 ? 0 : MPI_Wtime() - began_s;
            MPI_Recv(&done, 1, MPI_BYTE, ranks - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            whole_s += i < 0 ? 0 : MPI_Wtime() - began_s;
        } else if (rank == ranks - 1) {
            MPI_Recv(B, LONG, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&done, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
    tell("held", LONG, 0, 0, held_s / TURNS);
    tell("through", LONG, 0, 0, whole_s / TURNS);
}

/* Count the probes that it takes to find a message that arrived long ago: some libraries first look and then fetch. */
static void probed(void)
{
    int calls = 0, found = 0;
    double began_s;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ranks - 1)
        MPI_Send(A, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    if (rank == 0) {
        for (began_s = MPI_Wtime(); MPI_Wtime() - began_s < SLOWEST_S;)
            continue;
        for (began_s = MPI_Wtime(); !found; calls++)
            MPI_Iprobe(ranks - 1, 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        tell("probed", calls, 0, 0, MPI_Wtime() - began_s);
        MPI_Recv(B, 1, MPI_DOUBLE, ranks - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Time a message from the second rank to the first, just after the first sent so many bytes to the last. */
static void answered(int sent)
{
    double time_s = 0, began_s;
    for (int i = -1; i < TURNS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == ranks - 1 && sent)
            MPI_Recv(B, sent, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 0) {
            if (sent)
                MPI_Ssend(A, sent, MPI_BYTE, ranks - 1, 1, MPI_COMM_WORLD);
            began_s = MPI_Wtime();
            MPI_Recv(B, MIDDLE, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            time_s += i < 0 ? 0 : MPI_Wtime() - began_s;
        } else if (rank == 1)
            MPI_Ssend(A, MIDDLE, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
    tell("answered", MIDDLE, sent, 0, time_s / TURNS);
}

static void messages(void)
{
    double one_way_s = 0;
    for (int bytes = 8; ranks > 1 && bytes <= 4 << 20 && one_way_s < SLOWEST_S; bytes *= 2)
        one_way_s = pingpong(bytes);
}

/* Time HPL's update with narrow and with wide blocks. */
static void blocks(void)
{
    static const int NB[] = { 32, 64, 128, 256, 384 };
    for (size_t i = 0; i < sizeof NB / sizeof *NB; i++)
        report("gemm", gemm, ROWS, 256, NB[i]);
}

static void line(void)
{
    if (ranks > 1) {
        probed();
        held();
    }
    if (ranks > 2) {
        answered(0);
        answered(2 * MIDDLE);
    }
}

static double *filled(size_t count)
{
    double *values = malloc(count * sizeof *values);
    if (!values) {
        fprintf(stderr, "hpltune-calibrate: no memory for %zu numbers\n", count);
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    for (size_t i = 0; i < count; i++)
        values[i] = 1e-3 * (double)(i % 1013) - 0.5;
    return values;
}

static void routines(void)
{
    static const int WIDTHS[] = { 1, 4, 16, 64, 256, 1024 }, DEPTHS[] = { 1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512 };
    below = malloc(DEEPEST * sizeof *below);
    mixed = malloc(DEEPEST * sizeof *mixed);
    target = malloc(DEEPEST * sizeof *target);
    if (!below || !mixed || !target)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < DEEPEST; i++) {
        below[i] = i + (i * 1277) % (LD - DEEPEST);   /* a row below, as pivoting chooses */
        mixed[i] = i % 3 == 2 ? below[i] : i;         /* the panel's own rows, and every third from below */
        target[i] = i;
    }
    for (size_t i = 0; i < sizeof WIDTHS / sizeof *WIDTHS; i++)
        for (size_t j = 0; j < sizeof DEPTHS / sizeof *DEPTHS; j++)
            report("gemm", gemm, ROWS, WIDTHS[i], DEPTHS[j]);
    for (int k = 32; k <= 256; k *= 2)
        for (int n = 64; n <= 512; n *= 8) {
            report("trsm", trsm, 0, n, k);
            report("trsm_left", trsm_left, 0, n, k);
        }
    report("call", small, 1, 1, 1);
    report("gemv", gemv, ROWS, 8, 0);
    report("ger", ger, ROWS, 8, 0);
    report("copy", copy, ROWS, 256, 0);
    report("gather", gather, 128, WIDEST, 0);
    report("scatter", scatter, 128, WIDEST, 0);
    report("exchange", exchange, 128, WIDEST, 0);
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : "";
    double began_s;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    A = filled((size_t)ROWS * DEEPEST);
    B = filled((size_t)WIDEST * ROWS);
    MPI_Barrier(MPI_COMM_WORLD);
    hpltune_begin_solve(0, ranks);
    began_s = hpltune_now_s();
    if (!*only) {
        C = filled((size_t)LD * COLUMNS);
        routines();
    }
    messages();
    if (strcmp(only, "blocks") == 0) {
        C = filled((size_t)LD * COLUMNS);
        blocks();
    }
    if (!*only)
        line();
    hpltune_end_solve(began_s, hpltune_now_s());
    MPI_Finalize();
    return 0;
}
