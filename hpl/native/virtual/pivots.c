/* Pivots that every rank knows without communication: a hash of the column, spread over the rows below it. */
#include "virtual.h"
#include <stdlib.h>
#include <string.h>

/* splitmix64 (Steele, Lea and Flood 2014) */
int pivot_row(int column, int N)
{
    uint64_t z = (uint64_t)column + 0x9E3779B97F4A7C15ull * (model()->seed + 1);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    return column + (int)(z % (uint64_t)(N - column));
}

static int global_rows(const HPL_T_panel *panel)
{
    return panel->ia + panel->m;
}

static int owner(int row, const HPL_T_panel *panel)
{
    int nb = panel->nb, nprow = panel->grid->nprow;
    return (row / nb) % nprow;
}

static int local_row(int row, const HPL_T_panel *panel)
{
    int nb = panel->nb, nprow = panel->grid->nprow;
    return row / (nb * nprow) * nb + row % nb;
}

static int global_row(int local, const HPL_T_panel *panel)
{
    int nb = panel->nb, nprow = panel->grid->nprow;
    return (local / nb * nprow + panel->grid->myrow) * nb + local % nb;
}

/* W holds the largest value of this rank's rows, its local and global row, and the process row; the hash's row wins. */
void HPL_dlocmax(HPL_T_panel *panel, const int N, const int II, const int JJ, double *W)
{
    int column = panel->ia + JJ, row = pivot_row(column, global_rows(panel)), here = 0;
    W[0] = W[1] = W[2] = 0;
    W[3] = panel->grid->nprow;
    if (N <= 0)
        return;
    W[0] = 1;
    W[3] = panel->grid->myrow;
    if (owner(row, panel) == panel->grid->myrow) {
        here = local_row(row, panel) - (panel->ii + II);
        W[0] = 2;
    }
    W[1] = here;
    W[2] = global_row(panel->ii + II + here, panel);
    spend(model()->call_s + stream_s(8.0 * N, 8.0 * N));
}

/* The list of exchanges depends on the panel only, so it is computed once for all ranks. */
void __real_HPL_pipid(HPL_T_panel *panel, int *K, int *IPID);
void __wrap_HPL_pipid(HPL_T_panel *panel, int *K, int *IPID)
{
    static int ia = -1, jb = -1, rows = -1, count, *list;
    static size_t room;
    if (ia != panel->ia || jb != panel->jb || rows != global_rows(panel)) {
        size_t need = 4 * (size_t)panel->jb + 4;
        if (room < need) {
            list = realloc(list, need * sizeof *list);
            room = need;
            if (!list)
                abort();
        }
        for (int i = 0; i < panel->jb; i++)
            panel->DPIV[i] = pivot_row(panel->ia + i, global_rows(panel));
        __real_HPL_pipid(panel, &count, list);
        ia = panel->ia;
        jb = panel->jb;
        rows = global_rows(panel);
    }
    memcpy(IPID, list, (size_t)count * sizeof *list);
    *K = count;
}

/* Set the result of a pivot exchange: the pivot that every rank knows. */
static void settle_pivot(HPL_T_panel *panel, int II, int JJ, double *W)
{
    int row = pivot_row(panel->ia + JJ, global_rows(panel));
    W[0] = 2;
    W[1] = owner(row, panel) == panel->grid->myrow ? local_row(row, panel) - (panel->ii + II) : 0;
    W[2] = row;
    W[3] = owner(row, panel);
    panel->DPIV[JJ] = row;
}

/* The columns of a panel exchange their pivot rows in lock step and in equal times. So only the first WINDOW of every
 * PERIOD columns are simulated message by message: the first half lets the ranks fall into step, the second half is
 * measured, and the other columns cost its mean. */
enum { WINDOW = 8, PERIOD = 64 };
void __real_HPL_pdmxswp(HPL_T_panel *panel, const int M, const int II, const int JJ, double *W);
void __wrap_HPL_pdmxswp(HPL_T_panel *panel, const int M, const int II, const int JJ, double *W)
{
    Rank *rank = me();
    int phase = JJ % PERIOD;
    if (model()->every_message || panel->grid->nprow == 1) {
        __real_HPL_pdmxswp(panel, M, II, JJ, W);
    } else if (phase < WINDOW || JJ == panel->jb - 1) {
        double began_s = settle(rank);
        __real_HPL_pdmxswp(panel, M, II, JJ, W);
        if (phase < WINDOW / 2)
            rank->exchange_sum_s = 0;
        else if (phase < WINDOW)
            rank->exchange_sum_s += settle(rank) - began_s;
        if (phase == WINDOW - 1)
            rank->exchange_s = rank->exchange_sum_s / (WINDOW - WINDOW / 2);
    } else {
        spend(rank->exchange_s);
    }
    settle_pivot(panel, II, JJ, W);
}
