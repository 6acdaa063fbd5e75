/* Rank 0 prints one line per panel: how far the factorisation is. HPL calls HPL_binit once for each panel on every rank,
 * and the linker's --wrap=HPL_binit redirects the calls to this file. The panel begins at column ia; ja is already later.
 *
 * With HPLTUNE_STOP_AT=0.1 in the environment a run ends after a tenth of the columns. All ranks arrive here for the same
 * panel, after all earlier broadcasts, so they leave together and MPI finalises in order. */
#include "hpl.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int __real_HPL_binit(HPL_T_panel *panel);
int __wrap_HPL_binit(HPL_T_panel *panel);
double __wrap_HPL_ptimer_cputime(void);
__attribute__((weak)) void hpltune_stop_solve(void); /* simulations have no solves.c */

/* HPL's timers of its phases read the CPU's time with a system call at each start and stop, three times for each column
 * of the matrix, and print only the wall time. Without the system call a start or stop takes a tenth of that time. */
double __wrap_HPL_ptimer_cputime(void)
{
    return 0.0;
}

static void say(int N, int column, double time_s, const char *more)
{
    static int unheard;
    char line[160];
    int length;
    if (unheard)
        return;
    length = snprintf(line, sizeof line, "hpltune-panel {\"N\": %d, \"column\": %d, \"time_s\": %.4f%s}\n", N, column, time_s,
                      more);
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        unheard = 1; /* nobody listens any more */
}

static int stop_column(int N)
{
    const char *part = getenv("HPLTUNE_STOP_AT");
    return part ? (int)(strtod(part, NULL) * N) : N;
}

int __wrap_HPL_binit(HPL_T_panel *panel)
{
    static double began_s;
    static int last;
    int N = panel->pmat->n;
    if (panel->ia == 0) {
        began_s = HPL_ptimer_walltime();
        last = stop_column(N);
    }
    if (panel->ia >= last && panel->ia > 0) {
        (void)HPL_barrier(panel->grid->all_comm);
        if (panel->grid->iam == 0)
            say(N, panel->ia, HPL_ptimer_walltime() - began_s, ", \"stopped\": true");
        if (hpltune_stop_solve)
            hpltune_stop_solve();
        fflush(NULL);
        MPI_Finalize();
        exit(EXIT_SUCCESS);
    }
    if (panel->grid->iam == 0)
        say(N, panel->ia, HPL_ptimer_walltime() - began_s, "");
    return __real_HPL_binit(panel);
}
