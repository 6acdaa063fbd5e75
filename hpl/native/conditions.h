/* What a rank and its node did during a solve: shared by witness.c, solves.c, conditions.c and node.c. */
#ifndef HPLTUNE_CONDITIONS_H
#define HPLTUNE_CONDITIONS_H

#include <stddef.h>

#define HPLTUNE_WHOLE (-1) /* number of the solve of a program that does not tell when it solves */
#define HPLTUNE_LINE 1000  /* bytes of a line at most: a pipe keeps a line of up to 4096 in one piece */
#define HPLTUNE_CPUS 2048  /* of a node at most; where it has more, the whole node counts */
#define HPLTUNE_NO_CPU 0xffffffffu

/* Linked weakly where a program may be without these files. */
void hpltune_join_node(int rank);
void hpltune_begin_solve(int number, int of);
void hpltune_end_solve(double begin_s, double end_s);
void hpltune_hear_clock(double now_s);
void hpltune_tell_whole(void);
void hpltune_stop_solve(void);
extern const int hpltune_tells_solves;

/* What the node of a rank did, by the rank of it that leads (node.c). */
void hpltune_node_begins(void);
int hpltune_node_ends(void);
void hpltune_tell_node(const char *host, int number);
int hpltune_is_sampler(long thread);

/* The counters of a node (counters.c). A number that is not known is NAN. */
enum hpltune_counter {
    THROTTLED_S,
    THROTTLED_PERIODS,
    SWAP_PAGES,
    NUMA_MISSES,
    NIC_ERRORS,
    TCP_RETRANSMITS,
    HPLTUNE_COUNTERS
};
/* Steps of /proc/stat for which each CPU was busy, and taken by the hypervisor, modulo 2^32; the last is the whole node;
 * HPLTUNE_NO_CPU where there is none. */
struct hpltune_ticks {
    unsigned busy[HPLTUNE_CPUS + 1], steal[HPLTUNE_CPUS + 1];
};
int hpltune_lead_node(const char *job);
int hpltune_find_ranks(void);
double hpltune_ranks_cpu_s(void);
int hpltune_cores(void);
void hpltune_find_cpus(int anew);
void hpltune_read_cpus(struct hpltune_ticks *ticks);
void hpltune_choose_cpus(const struct hpltune_ticks *begin, int *physical);
double hpltune_busy_s(const struct hpltune_ticks *from, const struct hpltune_ticks *to);
double hpltune_steal_s(const struct hpltune_ticks *from, const struct hpltune_ticks *to);
void hpltune_read_counters(double *counters);
int hpltune_remember_programs(const int *go_on);
void hpltune_add_programs(char *line, size_t size, size_t *used, double foreign_s, double begin_s, double end_s);

/* Small helpers. */
double hpltune_now_s(void);
int hpltune_read(const char *path, char *text, size_t size);
void hpltune_quote(char *out, size_t size, const char *text);
void hpltune_add(char *line, size_t size, size_t *used, const char *format, ...) __attribute__((format(printf, 4, 5)));
void hpltune_say(const char *line, size_t length);

#endif
