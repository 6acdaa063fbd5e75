/* What each rank does at each time: HPL's timers say in which phase it is, and a message tells how long its two ranks
 * waited for each other. Nothing here takes virtual time, so a run with a timeline has the same result.
 *
 * HPLTUNE_TIMELINE="FILE BEGIN END BINS RANK,RANK..." in the environment switches it on. The seconds from BEGIN to END of
 * the solve are divided into BINS equal parts. For the named ranks FILE has the seconds of each phase in each part; for
 * all ranks it has their sums over the whole solve. So its size does not depend on how long a run is. */
#include "virtual.h"
#include <simgrid/engine.h>
#include <stdio.h>
#include <stdlib.h>

enum { REMEMBERED = 32 }; /* messages of a pair that one of the two has reached and the other has not */
typedef struct {
    double ready_s[2][REMEMBERED]; /* when its sender, and its receiver, reached each message */
    unsigned count[2];
} Pair;
typedef struct {
    double began_s, told_s, ended_s;
    double sum_s[PHASES], owed_s[PHASES];
    double *bins_s;                /* NULL: only its sums are kept */
    int order[PHASES], owed;       /* phases of the owed computing, in the order in which they began */
    int timed[HPL_NPTIMER], broadcasts;
    Meeting pending;               /* of the MPI_Irecv, MPI_Isend or MPI_Issend that is not yet waited for */
} Lane;
static struct {
    char file[4096];
    double begin_s, end_s, origin_s, *step_s;
    const char *shown;             /* the named ranks */
    int bins, ranks, steps, ended, known;
    Lane *lane;
    Pair **pairs;
} the;

static void *room(size_t count, size_t size)
{
    void *made = calloc(count, size);
    if (!made)
        abort();
    return made;
}

static int wanted(void)
{
    if (!the.known) {
        const char *asked = getenv("HPLTUNE_TIMELINE");
        int length = 0;
        the.known = asked && sscanf(asked, "%4095s %lf %lf %d %n", the.file, &the.begin_s, &the.end_s, &the.bins,
                                    &length) == 4 ? 1 : -1;
        the.shown = asked ? asked + length : NULL;
    }
    return the.known > 0;
}

/* The lane of a rank that solves; NULL before and after. */
static Lane *lane_of(const Rank *rank)
{
    Lane *lane = the.lane ? &the.lane[rank->rank] : NULL;
    return lane && lane->began_s >= 0 && lane->ended_s < 0 ? lane : NULL;
}

static int phase_of(const Lane *lane)
{
    if (lane->broadcasts)
        return BROADCAST;
    if (lane->timed[HPL_TIMING_LASWP])
        return SWAPS;
    if (lane->timed[HPL_TIMING_RPFACT])
        return PANEL;
    if (lane->timed[HPL_TIMING_UPDATE])
        return UPDATE;
    return lane->timed[HPL_TIMING_PTRSV] ? SOLVE : OTHER;
}

static void add(Lane *lane, int phase, double from_s, double to_s)
{
    double width_s = (the.end_s - the.begin_s) / the.bins, bin_end_s;
    if (to_s <= from_s)
        return;
    lane->sum_s[phase] += to_s - from_s;
    if (!lane->bins_s)
        return;
    from_s -= the.origin_s + the.begin_s;
    to_s -= the.origin_s + the.begin_s;
    for (int bin = from_s > 0 ? (int)(from_s / width_s) : 0; bin < the.bins && bin * width_s < to_s; bin++) {
        bin_end_s = (bin + 1) * width_s;
        if (bin_end_s > from_s)
            lane->bins_s[bin * PHASES + phase] +=
                (to_s < bin_end_s ? to_s : bin_end_s) - (from_s > bin * width_s ? from_s : bin * width_s);
    }
}

/* Account for the time until now. What was left out before belongs to no phase. */
static void tell(Lane *lane, int phase, double from_s, double to_s)
{
    add(lane, OTHER, lane->told_s, from_s);
    add(lane, phase, from_s > lane->told_s ? from_s : lane->told_s, to_s);
    if (to_s > lane->told_s)
        lane->told_s = to_s;
}

void timeline_owes(const Rank *rank, double seconds)
{
    Lane *lane = lane_of(rank);
    int phase;
    if (!lane || seconds <= 0)
        return;
    phase = phase_of(lane);
    if (lane->owed_s[phase] <= 0)
        lane->order[lane->owed++] = phase;
    lane->owed_s[phase] += seconds;
}

/* The owed computing has taken the time from then until now, which noise and the node's speed may have stretched. */
void timeline_settled(const Rank *rank, double from_s)
{
    Lane *lane = lane_of(rank);
    double whole_s = 0, taken_s, at_s = from_s;
    if (!lane)
        return;
    for (int i = 0; i < lane->owed; i++)
        whole_s += lane->owed_s[lane->order[i]];
    taken_s = simgrid_get_clock() - from_s;
    for (int i = 0; i < lane->owed; i++) {
        double *owed_s = &lane->owed_s[lane->order[i]];
        tell(lane, lane->order[i], at_s, at_s + taken_s * *owed_s / whole_s);
        at_s += taken_s * *owed_s / whole_s;
        *owed_s = 0;
    }
    lane->owed = 0;
}

void timeline_waited(const Rank *rank, double from_s)
{
    Lane *lane = lane_of(rank);
    if (lane)
        tell(lane, WAIT, from_s, simgrid_get_clock());
}

/* ---- messages: the n-th that one rank sends to another is the n-th that the other receives from it */

Meeting timeline_meets(const Rank *rank, MPI_Comm comm, int peer, int receives)
{
    Meeting meeting = { simgrid_get_clock(), NULL, 0, receives };
    int other;
    if (!lane_of(rank))
        return meeting;
    other = rank_in_world(comm, peer);
    Pair **place = &the.pairs[receives ? (size_t)other * the.ranks + rank->rank : (size_t)rank->rank * the.ranks + other];
    if (!*place)
        *place = room(1, sizeof **place);
    meeting.pair = *place;
    meeting.number = (*place)->count[receives]++;
    (*place)->ready_s[receives][meeting.number % REMEMBERED] = meeting.began_s;
    return meeting;
}

/* A rank is through with a message: until the other one reached it too, it has waited. */
void timeline_met(const Rank *rank, Meeting meeting, double from_s)
{
    Lane *lane = lane_of(rank);
    double now_s = simgrid_get_clock(), other_s = from_s;
    if (!lane)
        return;
    const Pair *pair = meeting.pair;
    if (pair) {
        unsigned reached = pair->count[!meeting.receives], n = meeting.number;
        if (reached > n && reached - n <= REMEMBERED)
            other_s = pair->ready_s[!meeting.receives][n % REMEMBERED];
        other_s = other_s < from_s ? from_s : other_s > now_s ? now_s : other_s;
    }
    tell(lane, WAIT, from_s, other_s);
    tell(lane, phase_of(lane), other_s, now_s);
}

void timeline_later(const Rank *rank, Meeting meeting)
{
    Lane *lane = lane_of(rank);
    if (!lane)
        return;
    tell(lane, phase_of(lane), meeting.began_s, simgrid_get_clock());
    lane->pending = meeting;
}

void timeline_awaited(const Rank *rank, double from_s)
{
    Lane *lane = lane_of(rank);
    if (lane)
        timeline_met(rank, lane->pending, from_s);
}

/* ---- HPL's phases */

static void begin(const Rank *rank, double now_s)
{
    if (!the.lane) {
        the.origin_s = now_s;
        the.ranks = model()->ranks;
        the.lane = room((size_t)the.ranks, sizeof *the.lane);
        the.pairs = room((size_t)the.ranks * (size_t)the.ranks, sizeof *the.pairs);
        for (int i = 0; i < the.ranks; i++)
            the.lane[i] = (Lane){ .began_s = -1, .ended_s = -1 };
        for (char *next = (char *)the.shown; *next; next += *next == ',') {
            long shown = strtol(next, &next, 10);
            if (shown >= 0 && shown < the.ranks && !the.lane[shown].bins_s)
                the.lane[shown].bins_s = room((size_t)the.bins * PHASES, sizeof(double));
            if (*next != ',')
                break;
        }
    }
    the.lane[rank->rank].began_s = the.lane[rank->rank].told_s = now_s;
    add(&the.lane[rank->rank], WAIT, the.origin_s, now_s);
}

static void write_out(double now_s)
{
    FILE *file = fopen(the.file, "w");
    if (!file)
        return;
    fprintf(file, "%.9g %d\n", now_s - the.origin_s, the.ranks);
    for (int i = 0; i < the.steps; i++)
        fprintf(file, "%.9g ", the.step_s[i]);
    for (int i = 0; i < the.ranks; i++) {
        Lane *lane = &the.lane[i];
        add(lane, WAIT, lane->ended_s, now_s); /* for the others to end */
        for (int phase = 0; phase < PHASES; phase++)
            fprintf(file, "%s%.9g", phase ? " " : "\n", lane->sum_s[phase]);
    }
    for (int i = 0; i < the.ranks; i++) {
        if (!the.lane[i].bins_s)
            continue;
        fprintf(file, "\n%d", i);
        for (int k = 0; k < the.bins * PHASES; k++)
            fprintf(file, " %.4g", the.lane[i].bins_s[k]);
    }
    fprintf(file, "\n");
    fclose(file);
}

static void end(const Rank *rank, double now_s)
{
    Lane *lane = &the.lane[rank->rank];
    add(lane, OTHER, lane->told_s, now_s);
    lane->ended_s = now_s;
    if (++the.ended == the.ranks)
        write_out(now_s);
}

void timeline_timer(const Rank *rank, int timer, int begins)
{
    Lane *lane;
    if (!wanted())
        return;
    if (timer == 0 && begins)
        begin(rank, simgrid_get_clock());
    lane = lane_of(rank);
    if (lane)
        lane->timed[timer] = begins;
    if (timer == 0 && !begins && lane)
        end(rank, simgrid_get_clock());
}

/* A step begins when the first rank factors its panel. */
void __real_HPL_pdfact(HPL_T_panel *panel);
void __wrap_HPL_pdfact(HPL_T_panel *panel)
{
    int step = panel->ia / panel->nb;
    if (lane_of(me()) && panel->grid->mycol == panel->pcol) {
        double now_s = unsettled_s(me()) - the.origin_s;
        if (!the.step_s)
            the.step_s = room((size_t)(panel->pmat->n / panel->nb) + 2, sizeof *the.step_s);
        if (step == the.steps)
            the.step_s[the.steps++] = now_s;
    }
    __real_HPL_pdfact(panel);
}

int __real_HPL_bcast(HPL_T_panel *panel, int *flag);
int __wrap_HPL_bcast(HPL_T_panel *panel, int *flag)
{
    Lane *lane = lane_of(me());
    int error;
    if (lane)
        lane->broadcasts++;
    error = __real_HPL_bcast(panel, flag);
    if (lane)
        lane->broadcasts--;
    return error;
}

int __real_HPL_bwait(HPL_T_panel *panel);
int __wrap_HPL_bwait(HPL_T_panel *panel)
{
    Lane *lane = lane_of(me());
    int error;
    if (lane)
        lane->broadcasts++;
    error = __real_HPL_bwait(panel);
    if (lane)
        lane->broadcasts--;
    return error;
}
