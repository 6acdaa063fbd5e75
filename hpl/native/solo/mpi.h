/* An MPI for one process: HPL runs on a node that has no MPI. Only what HPL uses is here. */
#ifndef HPLTUNE_SOLO_MPI_H
#define HPLTUNE_SOLO_MPI_H

#include <stddef.h>

typedef int MPI_Comm, MPI_Datatype, MPI_Request, MPI_Op;
typedef ptrdiff_t MPI_Aint;
typedef struct {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR;
} MPI_Status;

enum {
    MPI_SUCCESS = 0, MPI_COMM_NULL = 0, MPI_COMM_WORLD = 1, MPI_UNDEFINED = -1, MPI_ANY_SOURCE = -2, MPI_ANY_TAG = -3,
    MPI_BYTE = 1, MPI_CHAR, MPI_INT, MPI_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_MAX = 1, MPI_MIN, MPI_SUM
};
#define MPI_STATUS_IGNORE ((MPI_Status *)0)

int MPI_Init(int *count, char ***arguments);
int MPI_Finalize(void);
int MPI_Abort(MPI_Comm comm, int code);
double MPI_Wtime(void);
int MPI_Barrier(MPI_Comm comm);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made);
int MPI_Comm_free(MPI_Comm *comm);
int MPI_Get_address(const void *place, MPI_Aint *address);
int MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_vector(int count, int length, int stride, MPI_Datatype old, MPI_Datatype *made);
int MPI_Type_create_struct(int count, const int *lengths, const MPI_Aint *places, const MPI_Datatype *types,
                           MPI_Datatype *made);
int MPI_Type_commit(MPI_Datatype *type);
int MPI_Type_free(MPI_Datatype *type);
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *found, MPI_Status *status);
int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Ssend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Issend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status);
int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Wait(MPI_Request *request, MPI_Status *status);
int MPI_Sendrecv(const void *data, int count, MPI_Datatype type, int to, int tag, void *taken, int room,
                 MPI_Datatype taken_type, int from, int taken_tag, MPI_Comm comm, MPI_Status *status);

#endif
