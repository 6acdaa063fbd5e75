/* HPL 2.0 uses two functions that MPI-3 removed. Open MPI 4 keeps the names as macros that stop the compiler. */
#ifndef HPLTUNE_MPI1_COMPAT_H
#define HPLTUNE_MPI1_COMPAT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* this header comes first, and mpi.h may include the C library's */
#endif
#include <mpi.h>

#undef MPI_Address
#undef MPI_Type_struct
#define MPI_Address MPI_Get_address
#define MPI_Type_struct MPI_Type_create_struct

#endif
