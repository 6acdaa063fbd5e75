/* Tells which ranks share a node: a message between them is a copy in memory and costs no CPU time for a network. */
#include "virtual.h"
#include <stdlib.h>

static const int *members(MPI_Comm comm)
{
    Known *known = me()->known;
    int most = sizeof me()->known / sizeof *me()->known, i = 0, count, *among;
    MPI_Group some, all;
    while (i < most - 1 && known[i].members && known[i].comm != comm)
        i++;
    if (known[i].members && known[i].comm == comm)
        return known[i].members;
    MPI_Comm_size(comm, &count);
    among = malloc((size_t)count * sizeof *among);
    known[i].members = realloc(known[i].members, (size_t)count * sizeof *known[i].members);
    if (!among || !known[i].members)
        abort();
    for (int member = 0; member < count; member++)
        among[member] = member;
    MPI_Comm_group(comm, &some);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_translate_ranks(some, count, among, all, known[i].members);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    free(among);
    known[i].comm = comm;
    return known[i].members;
}

int rank_in_world(MPI_Comm comm, int peer)
{
    return peer < 0 ? -1 : comm == MPI_COMM_WORLD ? peer : members(comm)[peer];
}

int beside(MPI_Comm comm, int peer)
{
    const Model *m = model();
    int other = rank_in_world(comm, peer), mine = me()->rank;
    return other >= 0 && other < m->ranks && mine < m->ranks && m->nodes[other] == m->nodes[mine];
}
