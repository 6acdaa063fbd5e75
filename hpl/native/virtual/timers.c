/* HPL's timers in virtual time, which replace testing/ptimer. */
#include "virtual.h"
#include <simgrid/engine.h>
#include <simgrid/host.h>

static const double STOPPED = -1;

double HPL_ptimer_walltime(void)
{
    return settle(me());
}

double HPL_ptimer_cputime(void)
{
    return HPL_ptimer_walltime();
}

void HPL_ptimer_boot(void)
{
    Rank *rank = me();
    rank->timers_off = 0;
    for (int i = 0; i < HPL_NPTIMER; i++) {
        rank->timer_began[i] = STOPPED;
        rank->timer_sum[i] = 0;
    }
}

/* The time that a rank would have if the owed time had passed. Nothing passes, so that timers of phases change no result. */
double unsettled_s(const Rank *rank)
{
    return simgrid_get_clock() + rank->owed_s * 1e9 / sg_host_get_speed(sg_host_self());
}

void HPL_ptimer(const int i)
{
    Rank *rank = me();
    double now_s = i < HPL_TIMING_BEG ? settle(rank) : unsettled_s(rank);
    if (rank->timers_off)
        return;
    timeline_timer(rank, i, rank->timer_began[i] == STOPPED);
    if (rank->timer_began[i] == STOPPED) {
        rank->timer_began[i] = now_s;
    } else {
        rank->timer_sum[i] += now_s - rank->timer_began[i];
        rank->timer_began[i] = STOPPED;
    }
}

void HPL_ptimer_enable(void)
{
    me()->timers_off = 0;
}

void HPL_ptimer_disable(void)
{
    me()->timers_off = 1;
}

double HPL_ptimer_inquire(const HPL_T_PTIME kind, const int i)
{
    (void)kind;
    return me()->timer_sum[i];
}

void HPL_ptimer_combine(MPI_Comm comm, const HPL_T_PTIME_OP op, const HPL_T_PTIME kind, const int n, const int first,
                        double *times)
{
    HPL_T_OP how = op == HPL_AMAX_PTIME ? HPL_max : op == HPL_AMIN_PTIME ? HPL_min : HPL_sum;
    (void)kind;
    for (int i = 0; i < n; i++)
        times[i] = me()->timer_sum[first + i];
    HPL_all_reduce(times, n, HPL_DOUBLE, how, comm);
}
