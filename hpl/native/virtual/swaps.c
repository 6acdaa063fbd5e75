/* Row exchanges of the update. An exchange takes up to P^2 messages, and per column as long as in the panel before. So
 * beyond a few ranks only WINDOW of every PERIOD panels are simulated message by message, and the last of them is
 * measured. For the other panels the processes of a column wait for each other and let the measured time pass.
 * With look-ahead, an exchange and the broadcast of the next panel delay each other. A sample cannot show that, so every
 * message is simulated. */
#include "virtual.h"
#include <simgrid/barrier.h>
#include <stdlib.h>

enum { WINDOW = 2, PERIOD = 12 };
enum { BINARY, LONG };

/* The shared state of a grid column's processes, which are all in the same call or in two consecutive ones. */
typedef struct {
    sg_bar_t barrier;
    int rows;
    int call[2];
    double last_entered_s[2];
} Column;

static Column *column_of(const HPL_T_grid *grid)
{
    static Column *columns;
    static int count;
    if (grid->npcol > count) {
        columns = realloc(columns, (size_t)grid->npcol * sizeof *columns);
        if (!columns)
            abort();
        for (; count < grid->npcol; count++)
            columns[count] = (Column){ .rows = 0 };
    }
    if (columns[grid->mycol].rows != grid->nprow) {
        columns[grid->mycol].rows = grid->nprow;
        columns[grid->mycol].barrier = sg_barrier_init((unsigned)grid->nprow);
    }
    return &columns[grid->mycol];
}

static void enter(Column *column, int call, double now_s)
{
    int slot = call & 1;
    if (column->call[slot] != call) {
        column->call[slot] = call;
        column->last_entered_s[slot] = now_s;
    }
    if (now_s > column->last_entered_s[slot])
        column->last_entered_s[slot] = now_s;
}

typedef void Swap(HPL_T_panel *sent, int *flag, HPL_T_panel *panel, const int n);

static void exchange(Swap *real, int kind, HPL_T_panel *sent, int *flag, HPL_T_panel *panel, int limit)
{
    Rank *rank = me();
    int n = limit < panel->n ? limit : panel->n, phase = panel->ia / panel->nb % PERIOD;
    Sample *sample = &rank->swaps[kind];
    if (model()->every_message || panel->algo->depth > 0 || n <= 0 || panel->jb <= 0) {
        rank->in_swap++;
        real(sent, flag, panel, limit);
        rank->in_swap--;
        return;
    }
    Column *column = column_of(panel->grid);
    if (phase < WINDOW || sample->columns == 0) {
        int call = ++rank->swap_calls;
        enter(column, call, settle(rank));
        rank->in_swap++;
        real(sent, flag, panel, limit);
        rank->in_swap--;
        sample->seconds = settle(rank) - column->last_entered_s[call & 1];
        sample->columns = n;
        return;
    }
    HPL_ptimer(HPL_TIMING_LASWP);
    double arrived_s = settle(rank);
    sg_barrier_wait(column->barrier);
    timeline_waited(rank, arrived_s);
    spend(sample->seconds > 0 ? sample->seconds * n / sample->columns : 0);
    HPL_ptimer(HPL_TIMING_LASWP);
}

#define SWAP(name, kind)                                                                                               \
    Swap __real_##name;                                                                                                \
    void __wrap_##name(HPL_T_panel *sent, int *flag, HPL_T_panel *panel, const int n)                                  \
    {                                                                                                                  \
        exchange(__real_##name, kind, sent, flag, panel, n);                                                           \
    }
SWAP(HPL_pdlaswp00N, BINARY)
SWAP(HPL_pdlaswp00T, BINARY)
SWAP(HPL_pdlaswp01N, LONG)
SWAP(HPL_pdlaswp01T, LONG)
