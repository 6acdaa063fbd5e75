/* One line per panel from rank 0: how far the factorisation is. HPL calls HPL_binit once for each panel on every rank,
 * and the linker's --wrap=HPL_binit brings the calls here. ia is where the panel begins; ja has moved on by then. */
#include "hpl.h"
#include <stdio.h>
#include <unistd.h>

int __real_HPL_binit(HPL_T_panel *panel);
int __wrap_HPL_binit(HPL_T_panel *panel);

int __wrap_HPL_binit(HPL_T_panel *panel)
{
    static double began_s;
    static int unheard;
    if (panel->grid->iam == 0 && !unheard) {
        char line[128];
        int length, N = panel->pmat->n;
        if (panel->ia == 0)
            began_s = HPL_ptimer_walltime();
        length = snprintf(line, sizeof line, "hpltune-panel {\"N\": %d, \"column\": %d, \"time_s\": %.3f}\n", N, panel->ia,
                          HPL_ptimer_walltime() - began_s);
        if (write(STDERR_FILENO, line, (size_t)length) < 0)
            unheard = 1; /* nobody listens any more */
    }
    return __real_HPL_binit(panel);
}
