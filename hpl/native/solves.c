/* Tells conditions.c when each solve begins and ends. The linker's --wrap redirects these functions of HPL to this file.
 *
 * HPL_pdtest clears its timers, waits for all ranks, starts the timer, solves, stops the timer, and takes the longest time
 * of all ranks. What is read before and after a solve is read outside of the time that HPL measures. */
#include "conditions.h"
#include "hpl.h"

void __real_HPL_ptimer_boot(void);
void __wrap_HPL_ptimer_boot(void);
int __real_HPL_barrier(MPI_Comm comm);
int __wrap_HPL_barrier(MPI_Comm comm);
void __real_HPL_pdgesv(HPL_T_grid *grid, HPL_T_palg *algorithm, HPL_T_pmat *matrix);
void __wrap_HPL_pdgesv(HPL_T_grid *grid, HPL_T_palg *algorithm, HPL_T_pmat *matrix);
void __real_HPL_ptimer_combine(MPI_Comm comm, const HPL_T_PTIME_OP op, const HPL_T_PTIME kind, const int n,
                               const int first, double *times);
void __wrap_HPL_ptimer_combine(MPI_Comm comm, const HPL_T_PTIME_OP op, const HPL_T_PTIME kind, const int n,
                               const int first, double *times);

const int hpltune_tells_solves = 1;

static int booted, solves;
static double begin_s, end_s;

void __wrap_HPL_ptimer_boot(void)
{
    __real_HPL_ptimer_boot();
    booted = 1;
}

int __wrap_HPL_barrier(MPI_Comm comm)
{
    int failed = __real_HPL_barrier(comm), ranks = 0;
    if (!booted)
        return failed;
    booted = 0;
    MPI_Comm_size(comm, &ranks);
    hpltune_begin_solve(solves++, ranks);
    return __real_HPL_barrier(comm);
}

void __wrap_HPL_pdgesv(HPL_T_grid *grid, HPL_T_palg *algorithm, HPL_T_pmat *matrix)
{
    begin_s = hpltune_now_s();
    __real_HPL_pdgesv(grid, algorithm, matrix);
    end_s = hpltune_now_s();
}

void __wrap_HPL_ptimer_combine(MPI_Comm comm, const HPL_T_PTIME_OP op, const HPL_T_PTIME kind, const int n,
                               const int first, double *times)
{
    if (end_s > begin_s)
        hpltune_end_solve(begin_s, end_s);
    end_s = 0.0;
    __real_HPL_ptimer_combine(comm, op, kind, n, first, times);
}

/* A solve that is stopped before its end (progress.c). */
void hpltune_stop_solve(void)
{
    hpltune_end_solve(begin_s, hpltune_now_s());
}
