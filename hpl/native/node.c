/* What the node of a rank did during a solve. One rank of each node leads it: it reads the counters of the node before and
 * after a solve, and one thread of it, of idle priority, reads busy time and small files once a second meanwhile. */
#define _GNU_SOURCE
#include "conditions.h"
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST_SAMPLES 240 /* of a solve; when there are so many, every second one goes, and the interval doubles */
#define MOST_TOLD 4096   /* of all series of a solve */
#define MOST_FILES 512
#define SLOW_S 2e-3          /* a file that takes longer is read by the thread alone */
#define WAIT_FOR_SAMPLER 100 /* ms */

enum series { BUSY, STEAL, RANKS, FILES };
static const char *const counter_names[] = {"throttled_s", "throttled_periods", "swap_pages",
                                            "numa_misses", "nic_errors",        "tcp_retransmits"};


static struct {
    double begin_s, end_s, begin[HPLTUNE_COUNTERS], end[HPLTUNE_COUNTERS]; /* NAN: not known */
    int ranks_at_begin;
} node;

/* What the thread and the ranks' own thread both use; who sets `held` from 0 may. */
static int held, sampling;
static unsigned generation;
static long sampler;
static struct {
    char *names[MOST_FILES];
    int descriptors[MOST_FILES], slow[MOST_FILES], files, count;
    double interval_s, times[MOST_SAMPLES + 1], values[FILES + MOST_FILES][MOST_SAMPLES + 1];
    struct hpltune_ticks ticks[MOST_SAMPLES + 1]; /* of all CPUs: which of them count is known when the solve has ended */
} samples;
static int programs_known; /* programs_known: the table of the begin is complete */

int hpltune_is_sampler(long thread)
{
    return thread == __atomic_load_n(&sampler, __ATOMIC_RELAXED);
}

static void find_files(void)
{
    const char *root = getenv("HPLTUNE_SYSTEM_ROOT"), *list = getenv("HPLTUNE_SENSORS");
    char pattern[PATH_MAX], full[2 * PATH_MAX];
    FILE *file = list && *list ? fopen(list, "re") : NULL;
    while (file && fgets(pattern, sizeof pattern, file)) {
        glob_t found;
        pattern[strcspn(pattern, "\r\n")] = '\0';
        snprintf(full, sizeof full, "%s%s", root ? root : "", pattern);
        if (*pattern != '/' || glob(full, 0, NULL, &found) != 0)
            continue;
        for (size_t i = 0; i < found.gl_pathc && samples.files < MOST_FILES; i++) {
            struct stat kind;
            int descriptor = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
            if (descriptor < 0)
                continue;
            if (fstat(descriptor, &kind) != 0 || !S_ISREG(kind.st_mode)) {
                close(descriptor);
                continue;
            }
            samples.descriptors[samples.files] = descriptor;
            samples.names[samples.files] = strdup(found.gl_pathv[i] + (root ? strlen(root) : 0));
            samples.files += samples.names[samples.files] != NULL;
        }
        globfree(&found);
    }
    if (file)
        fclose(file);
}

static double read_number(int descriptor)
{
    char text[64], *end;
    ssize_t got = pread(descriptor, text, sizeof text - 1, 0);
    double number;
    if (got <= 0)
        return NAN;
    text[got] = '\0';
    number = strtod(text, &end);
    return end == text || !isfinite(number) ? NAN : number;
}

/* Reads all that is sampled into one place; the ranks' own thread leaves out files that once took long. */
static void sample(int at, int in_thread)
{
    double began_s = hpltune_now_s(), ended_s;
    hpltune_read_cpus(&samples.ticks[at]);
    samples.values[RANKS][at] = hpltune_ranks_cpu_s();
    samples.times[at] = began_s;
    for (int i = 0; i < samples.files; i++) {
        began_s = hpltune_now_s();
        samples.values[FILES + i][at] = samples.slow[i] && !in_thread ? NAN : read_number(samples.descriptors[i]);
        ended_s = hpltune_now_s();
        samples.slow[i] |= !in_thread && ended_s - began_s > SLOW_S;
    }
}

static void halve(void)
{
    for (int i = 0; 2 * i < MOST_SAMPLES; i++) {
        samples.times[i] = samples.times[2 * i];
        samples.ticks[i] = samples.ticks[2 * i];
        for (int j = 0; j < FILES + samples.files; j++)
            samples.values[j][i] = samples.values[j][2 * i];
    }
    samples.count = MOST_SAMPLES / 2;
    samples.interval_s *= 2.0;
}

static int hold(int wait_ms)
{
    for (;; wait_ms--) {
        int free = 0;
        if (__atomic_compare_exchange_n(&held, &free, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return 1;
        if (wait_ms <= 0)
            return 0;
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL); /* the thread may have this core meanwhile */
    }
}

static void let_go(void)
{
    __atomic_store_n(&held, 0, __ATOMIC_RELEASE);
}

static void *run_sampler(void *nothing)
{
    struct sched_param lowest = {0};
    double next_s = 0.0, pause_s;
    unsigned seen = 0;
    (void)nothing;
    __atomic_store_n(&sampler, (long)syscall(SYS_gettid), __ATOMIC_RELAXED);
    if (sched_setscheduler(0, SCHED_IDLE, &lowest) != 0)
        setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
    for (;;) {
        unsigned now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
        int wanted = __atomic_load_n(&sampling, __ATOMIC_ACQUIRE);
        struct timespec pause;
        if (wanted && hold(0)) {
            if (now != seen) { /* a new solve, whose first sample is there */
                programs_known = hpltune_remember_programs(&sampling);
                next_s = samples.times[0] + samples.interval_s;
                seen = now;
            } else if (hpltune_now_s() >= next_s && samples.count > 0) {
                if (samples.count == MOST_SAMPLES)
                    halve();
                sample(samples.count, 1);
                samples.count++;
                while (next_s <= hpltune_now_s())
                    next_s += samples.interval_s;
            }
            let_go();
        }
        pause_s = wanted ? next_s - hpltune_now_s() : 3600.0;
        pause_s = pause_s < 0.01 ? 0.01 : pause_s > 3600.0 ? 3600.0 : pause_s;
        pause.tv_sec = (time_t)pause_s;
        pause.tv_nsec = (long)(1e9 * (pause_s - (double)pause.tv_sec));
        syscall(SYS_futex, &generation, FUTEX_WAIT_PRIVATE, now, &pause, NULL, 0); /* until then, or until a solve begins */
    }
    return NULL;
}

static void start_sampler(void)
{
    static int started;
    sigset_t all, before;
    pthread_t thread;
    if (started++)
        return;
    find_files();
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return;
    if (pthread_create(&thread, NULL, run_sampler, NULL) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void hpltune_node_begins(void)
{
    start_sampler();
    node.ranks_at_begin = hpltune_find_ranks();
    node.end_s = 0.0;
    hpltune_read_counters(node.begin);
    if (!hold(WAIT_FOR_SAMPLER)) {
        node.begin_s = 0.0; /* the thread hangs: nothing is told of this solve */
        return;
    }
    hpltune_find_cpus(1);
    samples.interval_s = 1.0;
    programs_known = 0;
    sample(0, 0);
    samples.count = 1;
    node.begin_s = samples.times[0];
    let_go();
    __atomic_store_n(&sampling, 1, __ATOMIC_RELEASE);
    __atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &generation, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* It may be called several times in a solve, and the last one counts; returns whether something is known. */
int hpltune_node_ends(void)
{
    if (node.begin_s <= 0.0 || !hold(WAIT_FOR_SAMPLER))
        return 0;
    sample(MOST_SAMPLES, 0);
    node.end_s = samples.times[MOST_SAMPLES];
    hpltune_find_cpus(0);
    let_go();
    hpltune_read_counters(node.end);
    return 1;
}

static void tell_series(const char *host, int number, const char *name, const double *values, int step)
{
    int numbers[MOST_SAMPLES + 1], count = 0, last, alike = 1;
    char line[HPLTUNE_LINE], quoted[512];
    size_t used = 0;
    for (int i = 0; i < samples.count; i += step)
        if (!isnan(values[i]) && samples.times[i] < node.end_s)
            numbers[count++] = i;
    if (!isnan(values[MOST_SAMPLES]))
        numbers[count++] = MOST_SAMPLES;
    for (int i = 1; i < count; i++)
        alike &= values[numbers[i]] == values[numbers[0]];
    if (alike && count > 2) { /* the first and the last tell all */
        numbers[1] = numbers[count - 1];
        count = 2;
    }
    hpltune_quote(quoted, sizeof quoted, name);
    for (int first = 0; first < count; first = last) {
        used = 0;
        hpltune_add(line, sizeof line, &used, "hpltune-samples {\"host\": \"%s\", \"solve\": %d, \"name\": \"%s\", \"times_s\": [",
                    host, number, quoted);
        for (last = first; last < count && last < first + 16; last++)
            hpltune_add(line, sizeof line, &used, "%s%.6f", last > first ? ", " : "", samples.times[numbers[last]]);
        hpltune_add(line, sizeof line, &used, "], \"values\": [");
        for (int i = first; i < last; i++)
            hpltune_add(line, sizeof line, &used, "%s%.15g", i > first ? ", " : "", values[numbers[i]]);
        hpltune_add(line, sizeof line, &used, "]}\n");
        hpltune_say(line, used);
    }
}

/* Counts the CPU time of all samples since the begin, on the CPUs that ranks use; returns their cores, or 0. */
static int count_cpus(void)
{
    int physical;
    hpltune_choose_cpus(&samples.ticks[0], &physical);
    for (int i = 0; i <= MOST_SAMPLES; i++) {
        if (i >= samples.count && i < MOST_SAMPLES)
            continue;
        samples.values[BUSY][i] = hpltune_busy_s(&samples.ticks[0], &samples.ticks[i]);
        samples.values[STEAL][i] = hpltune_steal_s(&samples.ticks[0], &samples.ticks[i]);
    }
    return physical;
}

/* Tells of a solve from its begin to the last time that its end was read. */
void hpltune_tell_node(const char *host, int number)
{
    static const char *const names[] = {"busy_s", "steal_s", "ranks_cpu_s"};
    const int last = MOST_SAMPLES;
    double busy_s, steal_s, own_s;
    char line[HPLTUNE_LINE];
    size_t used = 0;
    int step, physical;
    __atomic_store_n(&sampling, 0, __ATOMIC_RELEASE);
    if (node.end_s <= node.begin_s || !hold(WAIT_FOR_SAMPLER))
        return;
    physical = count_cpus();
    busy_s = samples.values[BUSY][last];
    steal_s = samples.values[STEAL][last];
    own_s = samples.values[RANKS][last] - samples.values[RANKS][0];
    hpltune_add(line, sizeof line, &used,
                "hpltune-node {\"host\": \"%s\", \"solve\": %d, \"begin_s\": %.6f, \"end_s\": %.6f, \"ranks\": %d", host,
                number, node.begin_s, node.end_s, node.ranks_at_begin);
    if (hpltune_cores() > 0)
        hpltune_add(line, sizeof line, &used, ", \"cores\": %d", hpltune_cores());
    if (physical > 0)
        hpltune_add(line, sizeof line, &used, ", \"physical_cores\": %d", physical);
    if (busy_s >= 0.0)
        hpltune_add(line, sizeof line, &used, ", \"busy_s\": %.2f", busy_s);
    if (steal_s >= 0.0)
        hpltune_add(line, sizeof line, &used, ", \"steal_s\": %.2f", steal_s);
    if (own_s >= 0.0)
        hpltune_add(line, sizeof line, &used, ", \"ranks_cpu_s\": %.4f", own_s);
    for (int i = 0; i < HPLTUNE_COUNTERS; i++)
        if (node.end[i] - node.begin[i] >= 0.0)
            hpltune_add(line, sizeof line, &used, ", \"%s\": %.6g", counter_names[i], node.end[i] - node.begin[i]);
    if (programs_known)
        hpltune_add_programs(line, sizeof line, &used, busy_s - own_s, node.begin_s, node.end_s);
    hpltune_add(line, sizeof line, &used, "}\n");
    hpltune_say(line, used);
    step = 1 + (samples.count * (FILES + samples.files)) / MOST_TOLD;
    for (int i = 0; i < FILES; i++)
        tell_series(host, number, names[i], samples.values[i], step);
    for (int i = 0; i < samples.files; i++)
        tell_series(host, number, samples.names[i], samples.values[FILES + i], step);
    let_go();
}
