/* State and virtual time of one simulated rank. */
#include "virtual.h"
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <stdlib.h>

static uint64_t next_random(Rank *rank)
{
    rank->random ^= rank->random << 13;
    rank->random ^= rank->random >> 7;
    rank->random ^= rank->random << 17;
    return rank->random;
}

/* Draw from the standard normal distribution, as a scaled sum of four uniform numbers (variance 4/12). */
static double normal(Rank *rank)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (double)(next_random(rank) >> 11) / 9007199254740992.0;
    return (sum - 2.0) * 1.7320508075688772;
}

Rank *me(void)
{
    Rank *rank = smpi_process_get_user_data();
    if (rank)
        return rank;
    rank = calloc(1, sizeof *rank);
    if (!rank)
        abort();
    rank->failed_probe_s = -1;
    rank->kernel = MPI_REQUEST_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank->rank);
    rank->random = 0x9E3779B97F4A7C15ull * ((uint64_t)rank->rank + 1 + 1000003ull * model()->seed);
    smpi_process_set_user_data(rank);
    drop_payloads();
    return rank;
}

void spend(double seconds)
{
    Rank *rank = me();
    rank->owed_s += seconds;
    timeline_owes(rank, seconds);
}

/* Let the owed time pass. A host's speed is 1e9 times its factor, so a second of the model is 1e9 operations. */
double settle(Rank *rank)
{
    double seconds = rank->owed_s;
    rank->owed_s = 0;
    if (model()->jitter > 0)
        seconds *= 1 + model()->jitter * normal(rank);
    double from_s = simgrid_get_clock();
    if (seconds > 0)
        sg_actor_execute(seconds * 1e9);
    timeline_settled(rank, from_s);
    return simgrid_get_clock();
}
