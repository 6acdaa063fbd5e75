/* MPI calls: the owed computing time passes first, and the CPU time of a message between nodes is added. */
#include "virtual.h"

static void cpu(double message_s, int count, MPI_Datatype type, int peer, MPI_Comm comm)
{
    int size = 1;
    if (beside(comm, peer))
        return;
    if (model()->message_byte_s > 0)
        MPI_Type_size(type, &size);
    spend(message_s + (double)count * size * model()->message_byte_s);
}

static Meeting sending(Rank *rank, int count, MPI_Datatype type, int to, MPI_Comm comm)
{
    cpu(model()->send_s, count, type, to, comm);
    settle(rank);
    rank->failed_probe_s = -1;
    return timeline_meets(rank, comm, to, 0);
}

static int send_now(SENT, Send *real)
{
    Rank *rank = me();
    Meeting meeting = sending(rank, count, type, to, comm);
    int error = sockets() ? socket_send(buffer, count, type, to, tag, comm, real)
                          : real(buffer, count, type, to, tag, comm);
    timeline_met(rank, meeting, meeting.began_s);
    return error;
}

static int send_later(SENT, MPI_Request *request, Isend *real)
{
    Rank *rank = me();
    Meeting meeting = sending(rank, count, type, to, comm);
    int error = sockets() ? socket_isend(buffer, count, type, to, tag, comm, request, real)
                          : real(buffer, count, type, to, tag, comm, request);
    timeline_later(rank, meeting);
    return error;
}

int __real_MPI_Send(SENT);
int __wrap_MPI_Send(SENT)
{
    return send_now(buffer, count, type, to, tag, comm, __real_MPI_Send);
}

int __real_MPI_Ssend(SENT);
int __wrap_MPI_Ssend(SENT)
{
    return send_now(buffer, count, type, to, tag, comm, __real_MPI_Ssend);
}

int __real_MPI_Issend(SENT, MPI_Request *request);
int __wrap_MPI_Issend(SENT, MPI_Request *request)
{
    return send_later(buffer, count, type, to, tag, comm, request, __real_MPI_Issend);
}

int __real_MPI_Isend(SENT, MPI_Request *request);
int __wrap_MPI_Isend(SENT, MPI_Request *request)
{
    return send_later(buffer, count, type, to, tag, comm, request, __real_MPI_Isend);
}

int __real_MPI_Recv(RECEIVED, MPI_Status *status);
int __wrap_MPI_Recv(RECEIVED, MPI_Status *status)
{
    Rank *rank = me();
    Meeting meeting;
    int error;
    settle(rank);
    rank->failed_probe_s = -1;
    rank->announced = 0;
    meeting = timeline_meets(rank, comm, from, 1);
    error = sockets() ? socket_recv(buffer, count, type, from, tag, comm, status)
                      : __real_MPI_Recv(buffer, count, type, from, tag, comm, status);
    timeline_met(rank, meeting, meeting.began_s);
    cpu(model()->receive_s, count, type, from, comm);
    return error;
}

int __real_MPI_Irecv(RECEIVED, MPI_Request *request);
int __wrap_MPI_Irecv(RECEIVED, MPI_Request *request)
{
    Rank *rank = me();
    settle(rank);
    cpu(model()->receive_s, count, type, from, comm);
    timeline_later(rank, timeline_meets(rank, comm, from, 1));
    return sockets() ? socket_irecv(buffer, count, type, from, tag, comm, request)
                     : __real_MPI_Irecv(buffer, count, type, from, tag, comm, request);
}

int __real_MPI_Wait(MPI_Request *request, MPI_Status *status);
int __wrap_MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    Rank *rank = me();
    double from_s = settle(rank);
    int error;
    rank->failed_probe_s = -1;
    error = sockets() ? socket_wait(request, status) : __real_MPI_Wait(request, status);
    timeline_awaited(rank, from_s);
    return error;
}

/* HPL spins on MPI_Iprobe. A second failed probe without work in between is such a spin: the answer is then "yes", and
 * HPL's MPI_Recv waits for the message. The result is the same, without a simulated event for every turn. */
int __real_MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status);
int __wrap_MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    Rank *rank = me();
    double now_s;
    int error, idle = rank->owed_s <= 0;
    now_s = settle(rank);
    if (idle && !rank->in_swap && rank->failed_probe_s == now_s && rank->failed_source == source &&
        rank->failed_tag == tag) {
        rank->failed_probe_s = -1;
        *flag = 1;
        return MPI_SUCCESS;
    }
    error = (sockets() ? socket_iprobe : __real_MPI_Iprobe)(source, tag, comm, flag, status);
    if (*flag && model()->late_probe && !rank->announced) {
        rank->announced = 1; /* Open MPI first looks and then fetches new messages: only the next probe finds it */
        *flag = 0;
        return error;
    }
    rank->failed_probe_s = *flag ? -1 : now_s;
    rank->failed_source = source;
    rank->failed_tag = tag;
    return error;
}
