/* An MPI for one process. HPL sends no message to itself, so each message is an error that ends the program. */
#include "mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int message(void)
{
    fprintf(stderr, "HPL on one process sent a message\n");
    exit(1);
}

int MPI_Init(int *count, char ***arguments)
{
    (void)count, (void)arguments;
    return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
    return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm comm, int code)
{
    (void)comm;
    fflush(NULL);
    exit(code ? code : 1);
}

double MPI_Wtime(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int MPI_Barrier(MPI_Comm comm)
{
    (void)comm;
    return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    *rank = 0;
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = 1;
    return MPI_SUCCESS;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
    (void)key;
    *made = color == MPI_UNDEFINED ? MPI_COMM_NULL : comm;
    return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int MPI_Get_address(const void *place, MPI_Aint *address)
{
    *address = (MPI_Aint)place;
    return MPI_SUCCESS;
}

int MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype *made)
{
    (void)count;
    *made = old;
    return MPI_SUCCESS;
}

int MPI_Type_vector(int count, int length, int stride, MPI_Datatype old, MPI_Datatype *made)
{
    (void)count, (void)length, (void)stride;
    *made = old;
    return MPI_SUCCESS;
}

int MPI_Type_create_struct(int count, const int *lengths, const MPI_Aint *places, const MPI_Datatype *types,
                           MPI_Datatype *made)
{
    (void)count, (void)lengths, (void)places, (void)types;
    *made = MPI_BYTE;
    return MPI_SUCCESS;
}

int MPI_Type_commit(MPI_Datatype *type)
{
    (void)type;
    return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype *type)
{
    (void)type;
    return MPI_SUCCESS;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *found, MPI_Status *status)
{
    (void)source, (void)tag, (void)comm, (void)status;
    *found = 0;
    return MPI_SUCCESS;
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    (void)data, (void)count, (void)type, (void)to, (void)tag, (void)comm;
    return message();
}

int MPI_Ssend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    return MPI_Send(data, count, type, to, tag, comm);
}

int MPI_Issend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    (void)request;
    return MPI_Send(data, count, type, to, tag, comm);
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    (void)request;
    return MPI_Send(data, count, type, to, tag, comm);
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    (void)status;
    return MPI_Send(data, count, type, from, tag, comm);
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    (void)request;
    return MPI_Send(data, count, type, from, tag, comm);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    (void)request, (void)status;
    return message();
}

int MPI_Sendrecv(const void *data, int count, MPI_Datatype type, int to, int tag, void *taken, int room,
                 MPI_Datatype taken_type, int from, int taken_tag, MPI_Comm comm, MPI_Status *status)
{
    (void)taken, (void)room, (void)taken_type, (void)from, (void)taken_tag, (void)status;
    return MPI_Send(data, count, type, to, tag, comm);
}
