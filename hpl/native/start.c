/* The smallest MPI program: ranks find each other, each sends to the next one, and rank 0 says how many they are. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, one = 0, sum = 0, first = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv(&first, 1, MPI_INT, (rank + 1) % size, 0, &one, 1, MPI_INT, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("hpltune-ranks %d\n", sum == size ? size : 0);
    MPI_Finalize();
    return 0;
}
