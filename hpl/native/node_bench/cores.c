/* Finds the cores of this node, and runs work on each in a process of its own, bound to it. */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

Shared *shared;
int cpus[MOST_CORES], cores;

double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int read_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "r");
    int found = file && fgets(line, size, file);
    if (file)
        fclose(file);
    if (found)
        line[strcspn(line, "\n")] = 0;
    return found;
}

/* Find the CPUs on which we may run, one for each core. */
void find_cores(int wanted)
{
    static char seen[MOST_CORES][64];
    cpu_set_t *allowed = CPU_ALLOC(8 * MOST_CORES);
    size_t size = CPU_ALLOC_SIZE(8 * MOST_CORES);
    if (!allowed || sched_getaffinity(0, size, allowed) != 0) {
        fprintf(stderr, "cannot tell on which CPUs it may run: %s\n", strerror(errno));
        exit(1);
    }
    for (int cpu = 0; cpu < 8 * MOST_CORES && cores < MOST_CORES && (!wanted || cores < wanted); cpu++) {
        char path[96];
        int at = 0;
        if (!CPU_ISSET_S(cpu, size, allowed))
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
        if (!read_line(path, seen[cores], sizeof seen[cores]))
            snprintf(seen[cores], sizeof seen[cores], "%d", cpu);
        while (strcmp(seen[at], seen[cores]) != 0)
            at++;
        if (at == cores)
            cpus[cores++] = cpu;
    }
    CPU_FREE(allowed);
}

/* Run the work on every core in a process of its own; nonzero if one failed, and its reason is printed. */
int on_cores(void (*work)(int core))
{
    int failed = 0;
    pid_t children[MOST_CORES];
    fflush(stdout);
    for (int core = 0; core < cores; core++) {
        children[core] = fork();
        if (children[core] == 0) {
            cpu_set_t *one = CPU_ALLOC(8 * MOST_CORES);
            size_t size = CPU_ALLOC_SIZE(8 * MOST_CORES);
            CPU_ZERO_S(size, one);
            CPU_SET_S(cpus[core], size, one);
            sched_setaffinity(0, size, one);
            work(core);
            _exit(0);
        }
        if (children[core] < 0) {
            perror("cannot start a process for each core");
            for (int other = 0; other < core; other++)
                kill(children[other], 9);
            exit(1);
        }
    }
    for (int left = cores; left > 0; left--) {
        int status = 0;
        pid_t ended = wait(&status);
        if (status == 0)
            continue;
        if (!failed)                            /* the others wait at the barrier for it */
            for (int core = 0; core < cores; core++)
                if (children[core] != ended)
                    kill(children[core], 9);
        for (int core = 0; core < cores && !failed; core++)
            if (children[core] == ended) {
                if (WIFSIGNALED(status))
                    fprintf(stderr, "on CPU %d it was ended by signal %d\n", cpus[core], WTERMSIG(status));
                else
                    fprintf(stderr, "%s\n", shared->failure[core]);
            }
        failed = 1;
    }
    return failed;
}

void give_up(int core, const char *why)
{
    snprintf(shared->failure[core], TEXT, "%s", why ? why : "no reason is known");
    _exit(1);
}

/* Seconds from the first core's begin to the last one's end. */
double span_s(void)
{
    double began_s = shared->began_s[0], ended_s = shared->ended_s[0];
    for (int core = 1; core < cores; core++) {
        began_s = fmin(began_s, shared->began_s[core]);
        ended_s = fmax(ended_s, shared->ended_s[core]);
    }
    return ended_s - began_s;
}

double worst(void)
{
    double found = 0;
    for (int core = 0; core < cores; core++)
        if (!(shared->worst[core] <= found))    /* also if it is no number */
            found = shared->worst[core];
    return found;
}

void share(void)
{
    pthread_barrierattr_t attributes;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("there is no shared memory");
        exit(1);
    }
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &attributes, (unsigned)cores);
}
