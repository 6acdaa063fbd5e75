/* What this rank got during each solve: CPU time, waiting for a core, faults, huge pages. It is told on standard error
 * when the solve has ended, as is what its node did where this rank leads its node (node.c).
 *
 * Nothing is read, started or told without HPLTUNE_SENSORS in the environment. What cannot be read is not told; nothing
 * here ends or delays a run. All files of /proc and /sys are below HPLTUNE_SYSTEM_ROOT, if that is set. */
#define _GNU_SOURCE
#include "conditions.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST_THREADS 1024
#define FIRST_PAUSE_S 0.05 /* between two readings at a call of MPI_Wtime, at least */
#define PART 32            /* or so small a part of the time since the first */

struct reading {
    double at_s, cpu_s;
    double waited_s, awake_s; /* waited_s below 0: the kernel does not tell */
    long switches, major_faults;
};

static int joined, rank_number, leads;
static char host[65];
static struct {
    int number, of, open;
    struct reading begin, end;
    double begin_s, end_s, next_s; /* the last three only where MPI_Wtime tells when a solve is */
} solve;

/* Asks the kernel itself: a library that is preloaded may stand in front of the C library's clock_gettime. */
double hpltune_now_s(void)
{
    struct timespec now = {0, 0};
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Reads a file of /proc or /sys to its end or to the size of `text`; returns its length, or -1. */
int hpltune_read(const char *path, char *text, size_t size)
{
    const char *root = getenv("HPLTUNE_SYSTEM_ROOT");
    char full[PATH_MAX];
    ssize_t got;
    size_t used = 0;
    int file;
    if (snprintf(full, sizeof full, "%s%s", root ? root : "", path) >= (int)sizeof full)
        return -1;
    file = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return -1;
    while (used + 1 < size && (got = read(file, text + used, size - 1 - used)) > 0)
        used += (size_t)got;
    close(file);
    text[used] = '\0';
    return used ? (int)used : -1;
}

/* JSON forbids bare quotes, backslashes and control characters. */
void hpltune_quote(char *out, size_t size, const char *text)
{
    size_t used = 0;
    for (; text && *text && used + 2 < size; text++) {
        if (*text == '"' || *text == '\\')
            out[used++] = '\\';
        out[used++] = (unsigned char)*text < ' ' ? ' ' : *text;
    }
    while (used && out[used - 1] == ' ')
        used--;
    out[used] = '\0';
}

/* Adds to a line that ends nothing if it is too long. */
void hpltune_add(char *line, size_t size, size_t *used, const char *format, ...)
{
    va_list arguments;
    int length;
    if (*used >= size)
        return;
    va_start(arguments, format);
    length = vsnprintf(line + *used, size - *used, format, arguments);
    va_end(arguments);
    *used += length > 0 ? (size_t)length : 0;
}

void hpltune_say(const char *line, size_t length)
{
    static int unheard;
    if (!unheard && length < HPLTUNE_LINE && write(STDERR_FILENO, line, length) < 0)
        unheard = 1; /* nobody listens any more */
}

/* Reads the time that all threads of this process were ready and waited for a core, without the one that samples, and
 * the time that the first one ran or was ready: it waits for messages by asking again and again. */
static void read_threads(struct reading *reading)
{
    const char *root = getenv("HPLTUNE_SYSTEM_ROOT");
    char path[PATH_MAX], text[128];
    unsigned long long ran_ns, waited_ns, ran = 0, waited = 0;
    struct dirent *entry;
    int threads = 0;
    DIR *tasks;
    snprintf(path, sizeof path, "%s/proc/self/task", root ? root : "");
    tasks = opendir(path);
    reading->waited_s = -1.0;
    reading->awake_s = 0.0;
    if (!tasks)
        return;
    while ((entry = readdir(tasks)) && threads < MOST_THREADS) {
        long thread = atol(entry->d_name);
        if (thread <= 0 || hpltune_is_sampler(thread))
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", thread);
        if (hpltune_read(path, text, sizeof text) > 0 && sscanf(text, "%llu %llu", &ran_ns, &waited_ns) == 2) {
            ran += ran_ns;
            waited += waited_ns;
            if (thread == (long)getpid())
                reading->awake_s = 1e-9 * (double)(ran_ns + waited_ns);
        }
        threads++;
    }
    closedir(tasks);
    if (ran)
        reading->waited_s = 1e-9 * (double)waited;
}

static void read_rank(struct reading *reading)
{
    struct timespec cpu = {0, 0};
    struct rusage used;
    memset(&used, 0, sizeof used);
    syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &cpu);
    getrusage(RUSAGE_SELF, &used);
    reading->cpu_s = (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec;
    reading->switches = used.ru_nivcsw;
    reading->major_faults = used.ru_majflt;
    read_threads(reading);
    reading->at_s = hpltune_now_s();
}

/* Bytes of huge pages of this process: transparent ones and those of hugetlbfs; -1 where the kernel does not tell. */
static long long huge_page_bytes(void)
{
    static const char *const names[] = {"AnonHugePages:", "Shared_Hugetlb:", "Private_Hugetlb:"};
    char text[2048];
    long long bytes = -1;
    if (hpltune_read("/proc/self/smaps_rollup", text, sizeof text) < 0)
        return -1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *at = strstr(text, names[i]);
        if (at)
            bytes = (bytes < 0 ? 0 : bytes) + 1024 * atoll(at + strlen(names[i]));
    }
    return bytes;
}

static void tell_rank(double begin_s, double end_s)
{
    const struct reading *begin = &solve.begin, *end = &solve.end;
    double still_s = end->at_s - begin->at_s - (end->awake_s - begin->awake_s);
    long long huge = huge_page_bytes();
    char line[HPLTUNE_LINE];
    size_t used = 0;
    hpltune_add(line, sizeof line, &used,
                "hpltune-solve {\"rank\": %d, \"host\": \"%s\", \"solve\": %d, \"begin_s\": %.6f, \"end_s\": %.6f, "
                "\"cpu_s\": %.6f, \"involuntary_switches\": %ld, \"major_faults\": %ld",
                rank_number, host, solve.number, begin_s, end_s, end->cpu_s - begin->cpu_s,
                end->switches - begin->switches, end->major_faults - begin->major_faults);
    if (begin->waited_s >= 0.0 && end->waited_s >= begin->waited_s)
        hpltune_add(line, sizeof line, &used, ", \"waited_s\": %.6f, \"still_s\": %.6f", end->waited_s - begin->waited_s,
                    still_s > 0.0 ? still_s : 0.0);
    if (huge >= 0)
        hpltune_add(line, sizeof line, &used, ", \"huge_page_bytes\": %lld", huge);
    if (solve.of > 0)
        hpltune_add(line, sizeof line, &used, ", \"of\": %d", solve.of);
    hpltune_add(line, sizeof line, &used, "}\n");
    hpltune_say(line, used);
}

/* The name of this start of ranks, the same of all of them on a node, and of no other. */
static void name_job(char *name, size_t size)
{
    static const char *const variables[] = {"HPLTUNE_JOB", "SLURM_JOB_ID", "SLURM_STEP_ID", "PMIX_NAMESPACE"};
    size_t used = 0;
    int known = 0;
    hpltune_add(name, size, &used, "hpltune-%ld", (long)getuid());
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i])) {
            hpltune_add(name, size, &used, "-%.40s", getenv(variables[i]));
            known = 1;
        }
    if (!known)
        hpltune_add(name, size, &used, "-%ld", (long)getppid());
    for (char *at = name; *at; at++)
        if (*at <= ' ' || *at > '~')
            *at = '_';
}

/* A rank begins: it is known on its node from now on. */
void hpltune_join_node(int rank)
{
    char job[200];
    int error = errno;
    if (joined || !getenv("HPLTUNE_SENSORS"))
        return;
    joined = 1;
    rank_number = rank;
    if (gethostname(host, sizeof host - 1) != 0)
        joined = 0;
    hpltune_quote(host, sizeof host, host);
    name_job(job, sizeof job);
    leads = hpltune_lead_node(job);
    errno = error;
}

/* A solve of `of` ranks will begin in a moment. */
void hpltune_begin_solve(int number, int of)
{
    int error = errno;
    if (!joined)
        return;
    solve.number = number;
    solve.of = of;
    solve.open = 1;
    if (leads)
        hpltune_node_begins();
    read_rank(&solve.begin);
    errno = error;
}

/* It ended a moment ago. */
void hpltune_end_solve(double begin_s, double end_s)
{
    int error = errno;
    if (!joined || !solve.open)
        return;
    solve.open = 0;
    read_rank(&solve.end);
    if (leads && hpltune_node_ends())
        hpltune_tell_node(host, solve.number);
    tell_rank(begin_s, end_s);
    errno = error;
}

/* A program that does not tell when it solves has called MPI_Wtime. Its first call begins; at all others the end may be.
 * HPL calls it thrice a column where it times its phases, so few of them read anything. */
void hpltune_hear_clock(double now_s)
{
    static int busy;
    double pause_s;
    if (!joined || (solve.open && now_s < solve.next_s) || __sync_lock_test_and_set(&busy, 1))
        return;
    if (!solve.open) {
        hpltune_begin_solve(HPLTUNE_WHOLE, 0);
        solve.begin_s = hpltune_now_s();
        solve.next_s = 0.0;
    } else {
        int error = errno;
        read_rank(&solve.end);
        if (leads)
            (void)hpltune_node_ends();
        solve.end_s = now_s;
        pause_s = (now_s - solve.begin_s) / PART;
        solve.next_s = now_s + (pause_s > FIRST_PAUSE_S ? pause_s : FIRST_PAUSE_S);
        errno = error;
    }
    __sync_lock_release(&busy);
}

/* The end of such a program. */
void hpltune_tell_whole(void)
{
    if (!joined || !solve.open || solve.number != HPLTUNE_WHOLE || solve.end_s <= solve.begin_s)
        return;
    solve.open = 0;
    if (leads)
        hpltune_tell_node(host, HPLTUNE_WHOLE);
    tell_rank(solve.begin_s, solve.end_s);
}
