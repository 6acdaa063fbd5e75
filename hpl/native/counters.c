/* The counters of a node: CPU time, of its ranks too, control groups, swap, NUMA, networks, and other programs.
 *
 * Ranks find each other without MPI and leave nothing behind: each binds an abstract socket, whose name has its process
 * number and ends with its process; the first of them binds that of the job, too, and leads. */
#define _GNU_SOURCE
#include "conditions.h"
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MOST_RANKS 1024
#define MOST_PROGRAMS 4096
#define NAME 16
#define TOLD 3
#define FOREIGN_PART 0.005 /* of the cores; where others took less, nobody looks for their names */

struct program {
    int pid, elsewhere; /* elsewhere: it ran last on a CPU that no rank uses */
    unsigned long long ticks, started;
    char name[NAME];
};

static char job_name[96], stat_text[1 << 18], table_text[1 << 16];
static int ranks[MOST_RANKS], rank_count, cores;
static union {
    cpu_set_t set;
    unsigned long words[HPLTUNE_CPUS / (8 * sizeof(unsigned long))];
} own_cpus, asked; /* own_cpus: CPUs of the threads of ranks, and others of the same cores */
static int cpus_known, lowest_of_core[HPLTUNE_CPUS];
static struct program programs[MOST_PROGRAMS], programs_at_end[MOST_PROGRAMS];
static int program_count;

static int bind_abstract(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    int made;
    if (length + 1 > sizeof address.sun_path)
        return -1;
    made = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (made < 0)
        return -1;
    memcpy(address.sun_path + 1, name, length);
    if (bind(made, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) != 0) {
        close(made);
        return -1;
    }
    return made; /* open until the process ends */
}

int hpltune_lead_node(const char *job)
{
    char own[sizeof job_name + 16];
    snprintf(job_name, sizeof job_name, "%.90s", job);
    snprintf(own, sizeof own, "%s/%d", job_name, (int)getpid());
    return bind_abstract(own) >= 0 && bind_abstract(job_name) >= 0;
}

static double seconds_of(const struct timespec *time)
{
    return (double)time->tv_sec + 1e-9 * (double)time->tv_nsec;
}

/* Finds the ranks of this node by the names of their sockets. */
int hpltune_find_ranks(void)
{
    size_t length = strlen(job_name);
    char line[512];
    FILE *file = fopen("/proc/net/unix", "re");
    rank_count = 0;
    while (file && fgets(line, sizeof line, file) && rank_count < MOST_RANKS) {
        const char *at = strchr(line, '@');
        if (at && strncmp(at + 1, job_name, length) == 0 && at[1 + length] == '/')
            ranks[rank_count++] = atoi(at + 2 + length);
    }
    if (file)
        fclose(file);
    if (!rank_count)
        ranks[rank_count++] = (int)getpid();
    return rank_count;
}

/* CPU time of all ranks of this node; NAN where one of them has ended. */
double hpltune_ranks_cpu_s(void)
{
    double sum = 0.0;
    for (int i = 0; i < rank_count; i++) {
        struct timespec used;
        clockid_t clock;
        if (clock_getcpuclockid(ranks[i], &clock) != 0 || clock_gettime(clock, &used) != 0)
            return NAN;
        sum += seconds_of(&used);
    }
    return sum;
}

/* Adds the CPUs of one core, which a list names in rising order, as "0-1" or "0,64". */
static void add_core(const char *list, int own)
{
    int lowest = isdigit((unsigned char)*list) ? atoi(list) : own;
    lowest_of_core[own] = own;
    while (isdigit((unsigned char)*list)) {
        char *end;
        long first = strtol(list, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long cpu = first; cpu <= last && cpu < HPLTUNE_CPUS; cpu++) {
            CPU_SET_S((size_t)cpu, sizeof own_cpus, &own_cpus.set);
            lowest_of_core[cpu] = lowest;
        }
        list = *end == ',' ? end + 1 : "";
    }
}

/* Adds the CPUs to which the threads of a process are bound. */
static void add_cpus_of(int process, int anew)
{
    char path[64];
    struct dirent *entry;
    DIR *tasks;
    snprintf(path, sizeof path, "/proc/%d/task", process);
    tasks = opendir(path);
    cpus_known &= tasks != NULL || !anew;
    while (tasks && (entry = readdir(tasks))) {
        int thread = atoi(entry->d_name);
        if (thread <= 0 || hpltune_is_sampler(thread))
            continue;
        if (sched_getaffinity(thread, sizeof asked, &asked.set) == 0)
            for (size_t i = 0; i < sizeof own_cpus.words / sizeof *own_cpus.words; i++)
                own_cpus.words[i] |= asked.words[i];
    }
    if (tasks)
        closedir(tasks);
}

/* Learns on which CPUs the ranks of this node may run now, and adds them to those that are known: threads that a library
 * binds may begin within a solve. A CPU that shares its core with one of them counts, too: who runs there slows it. */
void hpltune_find_cpus(int anew)
{
    char path[80], list[256];
    if (anew) {
        memset(&own_cpus, 0, sizeof own_cpus);
        memset(lowest_of_core, 0xff, sizeof lowest_of_core);
        cpus_known = 1;
    }
    for (int i = 0; i < rank_count; i++)
        add_cpus_of(ranks[i], anew);
    for (int cpu = 0; cpu < HPLTUNE_CPUS; cpu++) {
        if (!CPU_ISSET_S((size_t)cpu, sizeof own_cpus, &own_cpus.set) || lowest_of_core[cpu] >= 0)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
        add_core(hpltune_read(path, list, sizeof list) > 0 ? list : "", cpu);
    }
}

/* Reads for how many ticks each CPU was busy, and taken by the hypervisor; the last place is the whole node. */
void hpltune_read_cpus(struct hpltune_ticks *ticks)
{
    memset(ticks, 0xff, sizeof *ticks); /* HPLTUNE_NO_CPU */
    if (hpltune_read("/proc/stat", stat_text, sizeof stat_text) < 0)
        return;
    for (char *at = stat_text; at && strncmp(at, "cpu", 3) == 0; at = strchr(at, '\n'), at += at != NULL) {
        unsigned long long figures[8] = {0};
        char *end = at + 3;
        long cpu = *end == ' ' ? HPLTUNE_CPUS : strtol(end, &end, 10);
        int known = 0;
        while (known < 8 && *end == ' ') {
            figures[known] = strtoull(end, &end, 10);
            known++;
        }
        if (known < 7 || cpu < 0 || cpu > HPLTUNE_CPUS)
            continue;
        ticks->busy[cpu] = (unsigned)(figures[0] + figures[1] + figures[2] + figures[5] + figures[6]);
        ticks->steal[cpu] = (unsigned)figures[7];
    }
}

/* Chooses which CPUs count: those that ranks use; the whole node where these are not known, or not all in /proc/stat. */
void hpltune_choose_cpus(const struct hpltune_ticks *begin, int *physical)
{
    int whole = 0, here = 0;
    *physical = 0;
    for (int cpu = 0; cpu < HPLTUNE_CPUS; cpu++) {
        int counts = CPU_ISSET_S((size_t)cpu, sizeof own_cpus, &own_cpus.set) != 0, there = begin->busy[cpu] != HPLTUNE_NO_CPU;
        whole += there;
        here += counts;
        *physical += counts && lowest_of_core[cpu] == cpu;
        cpus_known &= there || !counts;
    }
    cores = cpus_known && here ? here : whole;
    cpus_known &= here > 0;
    *physical = cpus_known ? *physical : 0;
}

/* CPU seconds that the CPUs that count were busy, or taken by the hypervisor, between two readings; NAN: not known. */
static double seconds_between(const unsigned *from, const unsigned *to)
{
    double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK), sum = 0.0;
    if (!cpus_known)
        return from[HPLTUNE_CPUS] == HPLTUNE_NO_CPU || to[HPLTUNE_CPUS] == HPLTUNE_NO_CPU
                   ? NAN
                   : tick_s * (double)(to[HPLTUNE_CPUS] - from[HPLTUNE_CPUS]);
    for (int cpu = 0; cpu < HPLTUNE_CPUS; cpu++) {
        if (!CPU_ISSET_S((size_t)cpu, sizeof own_cpus, &own_cpus.set))
            continue;
        if (from[cpu] == HPLTUNE_NO_CPU || to[cpu] == HPLTUNE_NO_CPU)
            return NAN;
        sum += tick_s * (double)(int)(to[cpu] - from[cpu]);
    }
    return sum;
}

double hpltune_busy_s(const struct hpltune_ticks *from, const struct hpltune_ticks *to)
{
    return seconds_between(from->busy, to->busy);
}

double hpltune_steal_s(const struct hpltune_ticks *from, const struct hpltune_ticks *to)
{
    return seconds_between(from->steal, to->steal);
}

/* The number that follows a name at the begin of a line. */
static double number_after(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, name, length) == 0 && at[length] == ' ')
            return strtod(at + length, NULL);
    }
    return NAN;
}

static double plus(double sum, double more)
{
    return isnan(sum) ? more : isnan(more) ? sum : sum + more;
}

static double larger(double one, double other)
{
    return isnan(one) || other > one ? other : one;
}

/* How long the quota of a control group, or of one above it, held it up: the one that did most. */
static void read_throttling_below(const char *mount, const char *path, double *throttled_s, double *periods)
{
    char file[PATH_MAX], text[2048], group[PATH_MAX / 2];
    snprintf(group, sizeof group, "%s", strstr(path, "..") ? "" : path);
    for (;;) {
        char *last;
        snprintf(file, sizeof file, "%s%s/cpu.stat", mount, strcmp(group, "/") == 0 ? "" : group);
        if (hpltune_read(file, text, sizeof text) > 0) {
            double usec = number_after(text, "throttled_usec"), nsec = number_after(text, "throttled_time");
            *throttled_s = larger(*throttled_s, isnan(usec) ? 1e-9 * nsec : 1e-6 * usec);
            *periods = larger(*periods, number_after(text, "nr_throttled"));
        }
        last = strrchr(group, '/');
        if (!last)
            return;
        *last = '\0';
    }
}

static void read_throttling(double *throttled_s, double *periods)
{
    char text[4096], mount[64];
    *throttled_s = *periods = NAN;
    if (hpltune_read("/proc/self/cgroup", text, sizeof text) < 0)
        return;
    for (char *line = text, *next; line && *line; line = next) {
        char *kinds = strchr(line, ':'), *path = kinds ? strchr(kinds + 1, ':') : NULL;
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (!path)
            continue;
        *path++ = '\0';
        kinds++;
        if (!*kinds) {
            read_throttling_below("/sys/fs/cgroup", path, throttled_s, periods);
            read_throttling_below("/sys/fs/cgroup/unified", path, throttled_s, periods);
        } else if (strcmp(kinds, "cpu") == 0 || strncmp(kinds, "cpu,", 4) == 0 || strstr(kinds, ",cpu,")) {
            read_throttling_below("/sys/fs/cgroup/cpu", path, throttled_s, periods);
            snprintf(mount, sizeof mount, "/sys/fs/cgroup/%.40s", kinds);
            if (strcmp(kinds, "cpu") != 0)
                read_throttling_below(mount, path, throttled_s, periods);
        }
    }
}

/* Errors of all interfaces that have a cable. */
static double nic_errors(void)
{
    double sum = NAN;
    if (hpltune_read("/proc/net/dev", table_text, sizeof table_text) < 0)
        return NAN;
    for (char *line = strchr(table_text, '\n'); line; line = strchr(line + 1, '\n')) {
        unsigned long long received, sent;
        char name[32];
        if (sscanf(line, " %31[^: ]: %*u %*u %llu %*u %*u %*u %*u %*u %*u %*u %llu", name, &received, &sent) == 3 &&
            strcmp(name, "lo") != 0)
            sum = plus(sum, (double)received + (double)sent);
    }
    return sum;
}

/* The number below "RetransSegs" in the two lines of Tcp. */
static double tcp_retransmits(void)
{
    char *names, *values, *rest_of_names, *rest_of_values;
    if (hpltune_read("/proc/net/snmp", table_text, sizeof table_text) < 0 || !(names = strstr(table_text, "Tcp: ")) ||
        !(values = strstr(names + 1, "\nTcp: ")))
        return NAN;
    *values++ = '\0';
    names = strtok_r(names, " \n", &rest_of_names);
    values = strtok_r(values, " \n", &rest_of_values);
    for (; names && values;
         names = strtok_r(NULL, " \n", &rest_of_names), values = strtok_r(NULL, " \n", &rest_of_values))
        if (strcmp(names, "RetransSegs") == 0)
            return strtod(values, NULL);
    return NAN;
}

void hpltune_read_counters(double *counters)
{
    read_throttling(&counters[THROTTLED_S], &counters[THROTTLED_PERIODS]);
    counters[SWAP_PAGES] = counters[NUMA_MISSES] = NAN;
    if (hpltune_read("/proc/vmstat", table_text, sizeof table_text) > 0) {
        counters[SWAP_PAGES] = number_after(table_text, "pswpin") + number_after(table_text, "pswpout");
        counters[NUMA_MISSES] = number_after(table_text, "numa_miss");
    }
    counters[NIC_ERRORS] = nic_errors();
    counters[TCP_RETRANSMITS] = tcp_retransmits();
}

/* Reads the programs that run now, but no rank; returns how many, or -1 where that was given up. */
static int read_programs(struct program *table, const int *go_on)
{
    struct dirent *entry;
    int count = 0;
    DIR *all = opendir("/proc");
    if (!all)
        return -1;
    while ((entry = readdir(all)) && count < MOST_PROGRAMS) {
        struct program *one = &table[count];
        char path[64], text[1024], *begin, *end;
        unsigned long long user, system, started;
        int own = 0, cpu = -1, pid = atoi(entry->d_name);
        if (go_on && !__atomic_load_n(go_on, __ATOMIC_ACQUIRE)) {
            closedir(all);
            return -1;
        }
        for (int i = 0; i < rank_count; i++)
            own |= ranks[i] == pid;
        if (pid <= 0 || own)
            continue;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        if (hpltune_read(path, text, sizeof text) < 0 || !(begin = strchr(text, '(')) || !(end = strrchr(text, ')')) ||
            sscanf(end + 1,
                   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu %*u %*d %*u %*u"
                   " %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
                   &user, &system, &started, &cpu) < 3)
            continue;
        *end = '\0';
        one->pid = pid;
        one->elsewhere = cpus_known && cpu >= 0 && cpu < HPLTUNE_CPUS && !CPU_ISSET_S((size_t)cpu, sizeof own_cpus, &own_cpus.set);
        one->ticks = user + system;
        one->started = started;
        memset(one->name, 0, sizeof one->name);
        for (int i = 0; i < NAME - 1 && begin[1 + i]; i++)
            one->name[i] = begin[1 + i] < ' ' || begin[1 + i] > '~' || strchr(":\"\\", begin[1 + i]) ? '_' : begin[1 + i];
        count++;
    }
    closedir(all);
    return count;
}

/* Remembers the programs that run now; given up, and 0 returned, as soon as `go_on` is 0. */
int hpltune_remember_programs(const int *go_on)
{
    int count = read_programs(programs, go_on);
    program_count = count > 0 ? count : 0;
    return count >= 0;
}

int hpltune_cores(void)
{
    return cores;
}

/* Adds the programs that took most, where others took something. */
void hpltune_add_programs(char *line, size_t size, size_t *used, double foreign_s, double begin_s, double end_s)
{
    double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK), taken[TOLD] = {0.0};
    const char *names[TOLD] = {NULL};
    unsigned long long begun = (unsigned long long)(begin_s / tick_s);
    int count = 0, told = 0;
    if (!(foreign_s >= FOREIGN_PART * cores * (end_s - begin_s)) || (count = read_programs(programs_at_end, NULL)) <= 0)
        return;
    for (int i = 0; i < count; i++) { /* what each took, and 0 of what is no rank's neighbour of this solve */
        struct program *one = &programs_at_end[i];
        unsigned long long before = one->started >= begun ? 0 : one->ticks;
        for (int j = 0; j < program_count; j++)
            if (programs[j].pid == one->pid && programs[j].started == one->started)
                before = programs[j].ticks;
        one->ticks -= before < one->ticks && !one->elsewhere ? before : one->ticks;
    }
    for (int i = 0; i < count; i++) { /* those of one name together */
        for (int j = i + 1; j < count && programs_at_end[i].ticks; j++)
            if (strcmp(programs_at_end[i].name, programs_at_end[j].name) == 0) {
                programs_at_end[i].ticks += programs_at_end[j].ticks;
                programs_at_end[j].ticks = 0;
            }
        for (int place = 0; place < TOLD; place++)
            if (tick_s * (double)programs_at_end[i].ticks > taken[place]) {
                memmove(&taken[place + 1], &taken[place], (size_t)(TOLD - 1 - place) * sizeof *taken);
                memmove(&names[place + 1], &names[place], (size_t)(TOLD - 1 - place) * sizeof *names);
                taken[place] = tick_s * (double)programs_at_end[i].ticks;
                names[place] = programs_at_end[i].name;
                break;
            }
    }
    for (int place = 0; place < TOLD && names[place]; place++)
        hpltune_add(line, size, used, "%s\"%s\": %.2f", told++ ? ", " : ", \"programs\": {", names[place], taken[place]);
    if (told)
        hpltune_add(line, size, used, "}");
}
