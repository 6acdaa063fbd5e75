/* HPL on a virtual cluster: HPL's own source runs under SimGrid's SMPI, but no numbers are computed. Routines that would
 * work on the matrix only cost virtual time; the data that HPL's decisions depend on (pivots, lengths, maps) is real. */
#ifndef HPLTUNE_VIRTUAL_H
#define HPLTUNE_VIRTUAL_H
#include "hpl.h"
#include <stdint.h>

/* ---- model.c: the cost of each routine on one core of nominal speed, in seconds */
typedef struct {
    double call_s;       /* of any BLAS call */
    double byte_s;       /* moving one byte between memory and core */
    double cached_s;     /* the same while the operand is in the cache */
    double cache_bytes;
    double strided_s;    /* moving one double between rows of a column-major matrix */
    double exchange_s;   /* swapping two such doubles */
    double flop_s;       /* of level 1 and 2 routines whose operands are in the cache */
    double trsm;         /* rate of dtrsm over that of dgemm with the same order and width */
    double gemm_byte_s;  /* time of dgemm's memory traffic per byte; 0 where the measured rates include it */
    double send_s, receive_s, message_byte_s; /* CPU time of a message between nodes */
    double eager_bytes;  /* a longer message first asks the receiver (rendezvous) */
    double socket_bytes; /* part of such a message that the sender leaves to the kernel; 0 for none */
    double queue_bytes;  /* length of a line's send queue; new messages wait behind it while the line is busy */
    double line_byte_s;
    double jitter;       /* relative standard deviation of every stretch of computing */
    int late_probe;      /* 1: MPI_Iprobe reports a message only at the second call */
    int every_message;   /* 1: simulate every message and sample no exchange */
    uint64_t seed;       /* of pivots and jitter */
    int *nodes, ranks;   /* the node of each rank */
} Model;
const Model *model(void);
double gemm_s(double m, double n, double k);
double trsm_s(double order, double width, int in_matrix);
double stream_s(double bytes, double cached_if);

/* ---- rank.c: the state of each simulated rank; all ranks share one address space */
typedef struct {
    double seconds;
    int columns;                /* 0: nothing measured yet */
} Sample;
typedef struct {
    MPI_Comm comm;
    int *members;               /* their ranks in MPI_COMM_WORLD */
} Known;
typedef struct {
    int pending;                /* 1: MPI_Irecv was called, MPI_Wait not yet */
    void *buffer;
    int count;
    MPI_Datatype type;
    int from, tag;
    MPI_Comm comm;
} Expected;
typedef struct {
    double owed_s;              /* computing time not yet passed to the simulator */
    uint64_t random;
    int rank, in_swap, timers_off;
    double failed_probe_s;      /* when the last MPI_Iprobe found nothing; -1 after anything else */
    int failed_source, failed_tag;
    int announced;              /* 1: a probe has seen a message and not yet reported it */
    MPI_Request kernel;         /* the part of the last long message that the kernel still holds, */
    int kernel_to;              /* its receiver, */
    MPI_Comm kernel_comm;
    double through_s;           /* and the earliest time at which it is sent */
    Expected expected;
    Known known[4];             /* communicators: HPL has three besides the world */
    char question[16];          /* the message that announces it */
    double exchange_s, exchange_sum_s; /* measured time of a pivot exchange */
    Sample swaps[2];            /* by kind of exchange */
    int swap_calls;
    double timer_began[HPL_NPTIMER], timer_sum[HPL_NPTIMER];
} Rank;
Rank *me(void);
void spend(double seconds);
double settle(Rank *rank);      /* lets the owed time pass and returns the clock */

/* ---- timers.c */
double unsettled_s(const Rank *rank); /* the clock as if the owed time had passed */

/* ---- nodes.c */
int beside(MPI_Comm comm, int peer); /* 1: both ranks are on the same node */
int rank_in_world(MPI_Comm comm, int peer);

/* ---- timeline.c: what each rank does at each time; nothing where nobody asks for it */
enum { OTHER, PANEL, BROADCAST, SWAPS, UPDATE, SOLVE, WAIT, PHASES };
typedef struct {
    double began_s;             /* when this rank reached the message */
    const void *pair;           /* both ranks of it, in this order; NULL: nobody asks */
    unsigned number;            /* of it among the messages of the pair */
    int receives;               /* 1: this rank receives it */
} Meeting;
void timeline_timer(const Rank *rank, int timer, int begins);
void timeline_owes(const Rank *rank, double seconds);
void timeline_settled(const Rank *rank, double from_s);
void timeline_waited(const Rank *rank, double from_s);
Meeting timeline_meets(const Rank *rank, MPI_Comm comm, int peer, int receives);
void timeline_met(const Rank *rank, Meeting meeting, double from_s);
void timeline_later(const Rank *rank, Meeting meeting);   /* it is waited for in MPI_Wait */
void timeline_awaited(const Rank *rank, double from_s);

/* ---- pivots.c */
int pivot_row(int column, int N);

/* ---- payloads.c */
enum { SHORT = 4096 };          /* bytes; longer messages carry nothing */
void drop_payloads(void);
int payloads_dropped(void);

/* ---- socket.c: replaces MPI's functions where the kernel sends while the rank goes on */
#define SENT const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm
#define RECEIVED void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm
int sockets(void);
typedef int Send(SENT);
typedef int Isend(SENT, MPI_Request *request);
int socket_send(SENT, Send *whole);
int socket_isend(SENT, MPI_Request *request, Isend *whole);
int socket_recv(RECEIVED, MPI_Status *status);
int socket_irecv(RECEIVED, MPI_Request *request);
int socket_wait(MPI_Request *request, MPI_Status *status);
int socket_iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status);
#endif
