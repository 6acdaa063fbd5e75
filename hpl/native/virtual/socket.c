/* Messages over TCP. The sender of a long message asks and waits for the answer. Then the kernel takes as much as fits
 * into the socket's buffer; the sender waits only for the rest and goes on. Everything else that the node sends in the
 * meantime, answers included, waits behind the kernel's queue on the line. Both sizes are measured
 * (hpl/native/calibrate.c), not fitted. A question announces the length of every message, because a receiver may expect
 * more than is sent. */
#include "virtual.h"
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASK = 1 << 20, ANSWER = 2 << 20, FIRST = 3 << 20, REST = 4 << 20 }; /* added to HPL's tags */
typedef struct {
    int awaited, left;          /* bytes that the sender waits for, and bytes that it leaves to the kernel; 0: short message */
    int wants_answer;
} Question;
static char nothing[1];

int __real_MPI_Send(SENT);
int __real_MPI_Ssend(SENT);
int __real_MPI_Isend(SENT, MPI_Request *request);
int __real_MPI_Recv(RECEIVED, MPI_Status *status);
int __real_MPI_Irecv(RECEIVED, MPI_Request *request);
int __real_MPI_Wait(MPI_Request *request, MPI_Status *status);
int __real_MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status);

int sockets(void)
{
    return model()->socket_bytes > 0 && payloads_dropped();
}

static Question question(int count, MPI_Datatype type)
{
    Question it = { 0, 0, 0 };
    int size;
    double bytes;
    MPI_Type_size(type, &size);
    bytes = (double)count * size;
    if (bytes >= model()->eager_bytes) { /* SMPI also sends only shorter messages at once */
        it.left = (int)(bytes - model()->socket_bytes > SHORT ? model()->socket_bytes : bytes);
        it.awaited = (int)bytes - it.left;
    }
    return it;
}

static Question unsplit(Question it)
{
    it.left += it.awaited;
    it.awaited = 0;
    return it;
}

/* Wait before sending: behind all of the kernel's data on the same connection, else behind the line's queue. */
static void queue_up(const Rank *rank, int to, MPI_Comm comm)
{
    double wait_s = rank->through_s - simgrid_get_clock(), most_s = model()->queue_bytes * model()->line_byte_s;
    if (wait_s > most_s && (to != rank->kernel_to || comm != rank->kernel_comm))
        wait_s = most_s;
    if (wait_s > 0)
        sg_actor_sleep_for(wait_s);
}

static int ask(Question it, int to, int tag, MPI_Comm comm)
{
    return __real_MPI_Send(&it, sizeof it, MPI_BYTE, to, tag + ASK, comm);
}

static int leave_to_kernel(Rank *rank, int bytes, int to, int tag, MPI_Comm comm)
{
    if (rank->kernel != MPI_REQUEST_NULL)
        MPI_Request_free(&rank->kernel);
    rank->kernel_to = to;
    rank->kernel_comm = comm;
    rank->through_s = simgrid_get_clock() + bytes * model()->line_byte_s;
    return __real_MPI_Isend(nothing, bytes, MPI_BYTE, to, tag + REST, comm, &rank->kernel);
}

/* If two ranks send to each other at the same time, neither answer waits for the other's data. */
int socket_send(SENT, Send *whole)
{
    Rank *rank = me();
    Question it = question(count, type);
    int exchange = rank->expected.pending && rank->expected.from == to && rank->expected.comm == comm;
    queue_up(rank, to, comm);
    if (exchange)
        it = unsplit(it);
    it.wants_answer = it.left && !exchange;
    ask(it, to, tag, comm);
    if (!it.left)
        return whole(buffer, count, type, to, tag, comm);
    if (exchange)
        return leave_to_kernel(rank, it.left, to, tag, comm);
    __real_MPI_Recv(nothing, 0, MPI_BYTE, to, tag + ANSWER, comm, MPI_STATUS_IGNORE);
    if (it.awaited)
        __real_MPI_Ssend(nothing, it.awaited, MPI_BYTE, to, tag + FIRST, comm);
    return leave_to_kernel(rank, it.left, to, tag, comm);
}

int socket_isend(SENT, MPI_Request *request, Isend *whole)
{
    Question it = unsplit(question(count, type));
    queue_up(me(), to, comm);
    ask(it, to, tag, comm);
    if (it.left)
        return __real_MPI_Isend(nothing, it.left, MPI_BYTE, to, tag + REST, comm, request);
    return whole(buffer, count, type, to, tag, comm, request);
}

static int receive(Question it, RECEIVED, MPI_Status *status)
{
    if (!it.left)
        return __real_MPI_Recv(buffer, count, type, from, tag, comm, status);
    if (it.wants_answer) {
        queue_up(me(), from, comm);
        __real_MPI_Send(nothing, 0, MPI_BYTE, from, tag + ANSWER, comm);
    }
    if (it.awaited)
        __real_MPI_Recv(nothing, it.awaited, MPI_BYTE, from, tag + FIRST, comm, MPI_STATUS_IGNORE);
    return __real_MPI_Recv(nothing, it.left, MPI_BYTE, from, tag + REST, comm, status);
}

int socket_recv(RECEIVED, MPI_Status *status)
{
    Question it;
    __real_MPI_Recv(&it, sizeof it, MPI_BYTE, from, tag + ASK, comm, MPI_STATUS_IGNORE);
    return receive(it, buffer, count, type, from, tag, comm, status);
}

/* HPL has one such message at a time. Its data, after the question, is received when HPL waits for it. */
int socket_irecv(RECEIVED, MPI_Request *request)
{
    Rank *rank = me();
    Expected expected = { 1, buffer, count, type, from, tag, comm };
    if (rank->expected.pending) {
        fprintf(stderr, "hpltune-virtual: two messages are expected at a time, which HPL never does\n");
        exit(2);
    }
    rank->expected = expected;
    return __real_MPI_Irecv(rank->question, sizeof(Question), MPI_BYTE, from, tag + ASK, comm, request);
}

int socket_wait(MPI_Request *request, MPI_Status *status)
{
    Rank *rank = me();
    Expected *of = &rank->expected;
    Question it;
    int error = __real_MPI_Wait(request, status);
    if (!of->pending)
        return error;
    of->pending = 0;
    memcpy(&it, rank->question, sizeof it);
    return receive(it, of->buffer, of->count, of->type, of->from, of->tag, of->comm, status);
}

int socket_iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    return __real_MPI_Iprobe(source, tag + ASK, comm, flag, status);
}
