/* What the parts of node_bench share: a process for each core, and a place where all of them write. */
#ifndef HPLTUNE_BENCH_H
#define HPLTUNE_BENCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stddef.h>

enum { MOST_CORES = 1024, KERNELS = 4, TEXT = 160 };

typedef struct {
    pthread_barrier_t barrier;
    double began_s[MOST_CORES], ended_s[MOST_CORES];
    double worst[MOST_CORES];               /* relative error, or scaled residual */
    char failure[MOST_CORES][TEXT];
    double best_s[KERNELS];                 /* seconds of each kernel */
} Shared;

extern Shared *shared;
extern int cpus[MOST_CORES], cores;

/* cores.c */
void find_cores(int wanted);
void share(void);
int on_cores(void (*work)(int core));
void give_up(int core, const char *why);
double now_s(void);
double span_s(void);
double worst(void);
int read_line(const char *path, char *line, int size);

/* stream.c, dgemm.c: run and print; nonzero if it failed */
int run_stream(int wanted, double bytes);
int run_dgemm(int wanted, int n, const char *file, const char *names_begin);

#endif
