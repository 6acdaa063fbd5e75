/* STREAM's four kernels. Its rules: an array is at least four times as large as all last-level caches in use, each kernel
 * runs ten times, the best of all but the first counts, and the three arrays must hold what arithmetic says.
 * https://www.cs.virginia.edu/stream/ref.html
 */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 10, MOST_CACHES = 1024 };
static const double SCALAR = 3.0, TOLERATED = 1e-13, MEMORY_SHARE = 0.6;
static const double HIDDEN = 512.0 * 1048576;   /* of a large server: AMD EPYC 9684X has 1152 MiB, 9654 has 384 MiB */
static const char *const NAMES[KERNELS] = { "copy", "scale", "add", "triad" };
static const int WORDS[KERNELS] = { 2, 2, 3, 3 };   /* numbers that a kernel moves for each element */
static size_t elements;                             /* of an array, on one core */

/* Whether this is a virtual machine: some show less cache than their host has, or none. */
static int is_virtual(void)
{
    static char line[16384];
    int found = 0;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !found && fgets(line, sizeof line, file))
        found = strncmp(line, "flags", 5) == 0 && strstr(line, " hypervisor") != NULL;
    if (file)
        fclose(file);
    return found;
}

/* Bytes of all last-level caches of our cores; a cache that several share counts once. */
static double cache_bytes(void)
{
    static char seen[MOST_CACHES][64];
    double bytes = 0;
    int caches = 0;
    for (int core = 0; core < cores; core++) {
        char path[112], line[64], last[64] = "", sharing[64] = "";
        int highest = 0, at = 0;
        for (int index = 0; index < 10; index++) {
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/level", cpus[core], index);
            if (!read_line(path, line, sizeof line) || atoi(line) < highest)
                continue;
            highest = atoi(line);
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/size", cpus[core], index);
            read_line(path, last, sizeof last);
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", cpus[core], index);
            read_line(path, sharing, sizeof sharing);
        }
        while (at < caches && strcmp(seen[at], sharing) != 0)
            at++;
        if (at == caches && caches < MOST_CACHES) {
            strcpy(seen[caches++], sharing);
            bytes += atof(last) * (strchr(last, 'M') ? 1048576.0 : strchr(last, 'K') ? 1024.0 : 1.0);
        }
    }
    return is_virtual() ? fmax(bytes, HIDDEN) : bytes;
}

static double available_bytes(void)
{
    char line[128];
    double kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lf kB", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return 1024.0 * kib;
}

static double mean_error(const double *values, double expected)
{
    double sum = 0;
    for (size_t i = 0; i < elements; i++)
        sum += fabs(values[i] - expected);
    return sum / (double)elements / fabs(expected);
}

static void stream(int core)
{
    double *a = malloc(elements * sizeof *a), *b = malloc(elements * sizeof *b), *c = malloc(elements * sizeof *c);
    double x = 2.0, y = 2.0, z = 0.0;
    if (!a || !b || !c)
        give_up(core, "there is no memory for the three arrays");
    for (size_t i = 0; i < elements; i++) {
        a[i] = 2.0;
        b[i] = 2.0;
        c[i] = 0.0;
    }
    for (int turn = 0; turn < TIMES; turn++)
        for (int kernel = 0; kernel < KERNELS; kernel++) {
            pthread_barrier_wait(&shared->barrier);
            shared->began_s[core] = now_s();
            switch (kernel) {
            case 0:
                for (size_t i = 0; i < elements; i++)
                    c[i] = a[i];
                break;
            case 1:
                for (size_t i = 0; i < elements; i++)
                    b[i] = SCALAR * c[i];
                break;
            case 2:
                for (size_t i = 0; i < elements; i++)
                    c[i] = a[i] + b[i];
                break;
            default:
                for (size_t i = 0; i < elements; i++)
                    a[i] = b[i] + SCALAR * c[i];
            }
            shared->ended_s[core] = now_s();
            __asm__ volatile("" : : "r"(a), "r"(b), "r"(c) : "memory");
            pthread_barrier_wait(&shared->barrier);
            if (core == 0 && turn > 0 && (shared->best_s[kernel] == 0 || span_s() < shared->best_s[kernel]))
                shared->best_s[kernel] = span_s();
        }
    for (int turn = 0; turn < TIMES; turn++) {
        z = x;
        y = SCALAR * z;
        z = x + y;
        x = y + SCALAR * z;
    }
    shared->worst[core] = fmax(mean_error(a, x), fmax(mean_error(b, y), mean_error(c, z)));
}

int run_stream(int wanted, double bytes)
{
    const char *which = wanted == 1 ? "1" : "all";
    double caches = cache_bytes(), room = MEMORY_SHARE * available_bytes() / 3.0, error;
    if (bytes <= 0)
        bytes = fmax(4.0 * caches, 8.0e7);      /* STREAM's own size is ten million numbers */
    if (room > 0 && bytes > room)
        bytes = room;
    if (bytes < 4.0 * caches)
        printf("note\tSTREAM, %s: an array has %.0f MiB, less than four times the %.0f MiB of last-level caches%s: rates "
               "may be those of the caches\n",
               wanted == 1 ? "one core" : "all cores", bytes / 1048576, caches / 1048576,
               is_virtual() ? " that the host of a virtual machine may have" : "");
    elements = (size_t)(bytes / sizeof(double) / cores);
    if (elements < 1) {
        fprintf(stderr, "there is no memory for the three arrays\n");
        return 1;
    }
    if (on_cores(stream))
        return 1;
    error = worst();
    for (int kernel = 0; kernel < KERNELS; kernel++) {
        double moved = 1e-6 * WORDS[kernel] * sizeof(double) * (double)elements * cores;
        printf("run\tstream-%s-%s\t%.6g\t%s\t", NAMES[kernel], which, moved / shared->best_s[kernel],
               error <= TOLERATED ? "ok" : "wrong");
        if (!(error <= TOLERATED))
            printf("an array is wrong by %.2g of its values, and at most %.0g is rounding", error, TOLERATED);
        printf("\n");
    }
    return 0;
}
