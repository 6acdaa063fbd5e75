/* The cost model. It is read once from the file that HPLTUNE_MODEL names; a line holds a name and its numbers. */
#include "virtual.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };
typedef struct {
    double n[MOST], k[MOST], gflops[MOST * MOST];
    int count_n, count_k, count;
} Rates;
static Rates gemm, trsm, trsm_left;

static const struct { const char *name; double *values; int *count; int most; } TABLES[] = {
    { "gemm_n", gemm.n, &gemm.count_n, MOST },
    { "gemm_k", gemm.k, &gemm.count_k, MOST },
    { "gemm_gflops", gemm.gflops, &gemm.count, MOST * MOST },
    { "trsm_n", trsm.n, &trsm.count_n, MOST },
    { "trsm_k", trsm.k, &trsm.count_k, MOST },
    { "trsm_gflops", trsm.gflops, &trsm.count, MOST * MOST },
    { "trsm_left_n", trsm_left.n, &trsm_left.count_n, MOST },
    { "trsm_left_k", trsm_left.k, &trsm_left.count_k, MOST },
    { "trsm_left_gflops", trsm_left.gflops, &trsm_left.count, MOST * MOST },
};
enum { TABLE_COUNT = sizeof TABLES / sizeof *TABLES };

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "hpltune-virtual: %s %s\n", what, name);
    exit(2);
}

static void number(Model *m, const char *name, double value)
{
    const struct { const char *name; double *place; } numbers[] = {
        { "call_s", &m->call_s }, { "byte_s", &m->byte_s }, { "cached_s", &m->cached_s },
        { "cache_bytes", &m->cache_bytes }, { "strided_s", &m->strided_s }, { "exchange_s", &m->exchange_s }, { "flop_s", &m->flop_s },
        { "trsm", &m->trsm }, { "gemm_byte_s", &m->gemm_byte_s }, { "send_s", &m->send_s }, { "receive_s", &m->receive_s }, { "message_byte_s", &m->message_byte_s },
        { "eager_bytes", &m->eager_bytes }, { "socket_bytes", &m->socket_bytes }, { "queue_bytes", &m->queue_bytes }, { "line_byte_s", &m->line_byte_s }, { "jitter", &m->jitter },
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(name, numbers[i].name) == 0) {
            *numbers[i].place = value;
            return;
        }
    if (strcmp(name, "every_message") == 0)
        m->every_message = (int)value;
    else if (strcmp(name, "late_probe") == 0)
        m->late_probe = (int)value;
    else if (strcmp(name, "seed") == 0)
        m->seed = (uint64_t)value;
    else
        fail("the model knows no", name);
}

static void nodes(Model *m, FILE *file)
{
    if (fscanf(file, "%d", &m->ranks) != 1 || m->ranks < 1 || !(m->nodes = calloc((size_t)m->ranks, sizeof *m->nodes)))
        fail("no number of", "nodes");
    for (int rank = 0; rank < m->ranks; rank++)
        if (fscanf(file, "%d", &m->nodes[rank]) != 1)
            fail("no node for each of the", "ranks");
}

static int whole(const Rates *rates)
{
    return rates->count == rates->count_n * rates->count_k;
}

static Model read_model(void)
{
    Model m;
    char name[64];
    double value;
    const char *path = getenv("HPLTUNE_MODEL");
    FILE *file = path ? fopen(path, "r") : NULL;
    memset(&m, 0, sizeof m);
    if (!file)
        fail("cannot read the model", path ? path : "(HPLTUNE_MODEL is not set)");
    while (fscanf(file, "%63s", name) == 1) {
        int table = -1;
        if (strcmp(name, "nodes") == 0) {
            nodes(&m, file);
            continue;
        }
        for (int i = 0; i < TABLE_COUNT; i++)
            if (strcmp(name, TABLES[i].name) == 0)
                table = i;
        if (table < 0) {
            if (fscanf(file, "%lf", &value) != 1)
                fail("no number for", name);
            number(&m, name, value);
            continue;
        }
        while (*TABLES[table].count < TABLES[table].most && fscanf(file, "%lf", &value) == 1)
            TABLES[table].values[(*TABLES[table].count)++] = value;
    }
    fclose(file);
    if (!gemm.count || !whole(&gemm) || !whole(&trsm) || !whole(&trsm_left))
        fail("no whole table of", "rates");
    return m;
}

const Model *model(void)
{
    static Model m;
    static int known;
    if (!known) {
        m = read_model();
        known = 1;
    }
    return &m;
}

/* Find the interval of a value in a rising table: return the entry below it; *towards is its position, from 0 to 1. */
static int interval(const double *table, int count, double value, double *towards)
{
    int i = 0;
    *towards = 0;
    if (count < 2 || value <= table[0])
        return 0;
    while (i < count - 2 && value > table[i + 1])
        i++;
    *towards = value >= table[i + 1] ? 1 : (value - table[i]) / (table[i + 1] - table[i]);
    return i;
}

static double within(double value, const double *table, int count)
{
    return value < table[0] ? table[0] : value > table[count - 1] ? table[count - 1] : value;
}

static double point(const Rates *rates, int i, int j)
{
    return rates->n[i] * rates->k[j] / rates->gflops[i * rates->count_k + j];
}

/* Seconds per flop. Between measured shapes a call's time is linear in n and in k; outside them the rate is constant. */
static double flop_s(const Rates *rates, double n, double k)
{
    double a, b, low, high;
    int i, j, next_i, next_j;
    n = within(n, rates->n, rates->count_n);
    k = within(k, rates->k, rates->count_k);
    i = interval(rates->n, rates->count_n, n, &a);
    j = interval(rates->k, rates->count_k, k, &b);
    next_i = i + (rates->count_n > 1);
    next_j = j + (rates->count_k > 1);
    low = (1 - b) * point(rates, i, j) + b * point(rates, i, next_j);
    high = (1 - b) * point(rates, next_i, j) + b * point(rates, next_i, next_j);
    return 1e-9 * ((1 - a) * low + a * high) / (n * k);
}

/* dgemm does 2mnk operations and moves every operand in and out of memory once: C in place, A and B into packed copies
 * (Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008). */
double gemm_s(double m, double n, double k)
{
    if (m <= 0 || n <= 0 || k <= 0)
        return 0;
    return model()->call_s + 2 * m * n * k * flop_s(&gemm, n, k) + 16 * (m * n + m * k + k * n) * model()->gemm_byte_s;
}

double trsm_s(double order, double width, int in_matrix)
{
    double flops = order * order * width;
    const Rates *rates = in_matrix && trsm_left.count ? &trsm_left : &trsm;
    if (order <= 0 || width <= 0)
        return 0;
    if (rates->count)
        return model()->call_s + flops * flop_s(rates, width, order);
    return model()->call_s + flops * flop_s(&gemm, width, order) / model()->trsm +
           16 * (order * width + order * order / 2) * model()->gemm_byte_s;
}

double stream_s(double bytes, double cached_if)
{
    return bytes * (cached_if <= model()->cache_bytes ? model()->cached_s : model()->byte_s);
}
