/* Times the memory and the processor of one node, and checks every result.
 *
 *   node_bench stream CORES BYTES      STREAM's kernels; BYTES of an array, 0: four times the last-level caches
 *   node_bench dgemm CORES N FILE [PREFIX]   DGEMM of the BLAS in FILE, whose Fortran symbols begin with PREFIX
 *
 * CORES is 1 or 0 for all on which it may run; hardware threads of a core count once. Each core has a process of its own,
 * bound to it, because some BLAS libraries cannot be called by several threads. Lines of output:
 *
 *   run <tab> benchmark <tab> value <tab> ok|wrong <tab> reason
 *   note <tab> sentence
 *   end
 *
 * STREAM's rules: an array is at least four times as large as all last-level caches in use, each kernel runs ten times,
 * the best of all but the first counts, and the three arrays must hold what arithmetic says.
 * https://www.cs.virginia.edu/stream/ref.html
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CORES = 1024, TIMES = 10, KERNELS = 4, MOST_CACHES = 1024, CALLS = 5, TEXT = 160 };
static const double SCALAR = 3.0, TOLERATED = 1e-13, MEMORY_SHARE = 0.6, RESIDUAL = 16.0;
static const char *const NAMES[KERNELS] = { "copy", "scale", "add", "triad" };
static const int WORDS[KERNELS] = { 2, 2, 3, 3 };   /* numbers that a kernel moves for each element */

typedef struct {
    pthread_barrier_t barrier;
    double began_s[MOST_CORES], ended_s[MOST_CORES];
    double worst[MOST_CORES];               /* relative error, or scaled residual */
    char failure[MOST_CORES][TEXT];
} Shared;

static Shared *shared;
static int cpus[MOST_CORES], cores;
static size_t elements;                     /* of an array, on one core */
static int order;
static const char *blas_file, *prefix;

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int read_line(const char *path, char *line, int size)
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
static void find_cores(int wanted)
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
    return bytes;
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

/* Run the work on every core in a process of its own; nonzero if one failed, and its reason is printed. */
static int on_cores(void (*work)(int core))
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

static void give_up(int core, const char *why)
{
    snprintf(shared->failure[core], TEXT, "%s", why ? why : "no reason is known");
    _exit(1);
}

/* Seconds from the first core's begin to the last one's end. */
static double span_s(void)
{
    double began_s = shared->began_s[0], ended_s = shared->ended_s[0];
    for (int core = 1; core < cores; core++) {
        began_s = fmin(began_s, shared->began_s[core]);
        ended_s = fmax(ended_s, shared->ended_s[core]);
    }
    return ended_s - began_s;
}

static double worst(void)
{
    double found = 0;
    for (int core = 0; core < cores; core++)
        if (!(shared->worst[core] <= found))    /* also if it is no number */
            found = shared->worst[core];
    return found;
}

static double *best_s;                      /* of each kernel, shared */

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
            if (core == 0 && turn > 0 && (best_s[kernel] == 0 || span_s() < best_s[kernel]))
                best_s[kernel] = span_s();
        }
    for (int turn = 0; turn < TIMES; turn++) {
        z = x;
        y = SCALAR * z;
        z = x + y;
        x = y + SCALAR * z;
    }
    shared->worst[core] = fmax(mean_error(a, x), fmax(mean_error(b, y), mean_error(c, z)));
}

static int run_stream(int wanted, double bytes)
{
    const char *which = wanted == 1 ? "1" : "all";
    double least = 4.0 * cache_bytes(), room = MEMORY_SHARE * available_bytes() / 3.0, error;
    if (bytes <= 0)
        bytes = fmax(least, 8.0e7);             /* STREAM's own size is ten million numbers */
    if (room > 0 && bytes > room)
        bytes = room;
    if (bytes < least)
        printf("note\tSTREAM, %s: an array has %.0f MiB, less than four times the %.0f MiB of last-level caches: rates "
               "may be those of the caches\n",
               wanted == 1 ? "one core" : "all cores", bytes / 1048576, least / 4 / 1048576);
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
        printf("run\tstream-%s-%s\t%.6g\t%s\t", NAMES[kernel], which, moved / best_s[kernel],
               error <= TOLERATED ? "ok" : "wrong");
        if (!(error <= TOLERATED))
            printf("an array is wrong by %.2g of its values, and at most %.0g is rounding", error, TOLERATED);
        printf("\n");
    }
    return 0;
}

typedef void Fortran(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
                     const int *, const double *, const int *, const double *, double *, const int *, size_t, size_t);
typedef void Cblas(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);

/* Numbers between -0.5 and 0.5, always the same. */
static double drawn(unsigned long long *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 11) / 9007199254740992.0 - 0.5;
}

static void times_vector(const double *matrix, const double *x, double *y)
{
    memset(y, 0, (size_t)order * sizeof *y);
    for (int column = 0; column < order; column++)
        for (int row = 0; row < order; row++)
            y[row] += matrix[(size_t)column * (size_t)order + (size_t)row] * x[column];
}

/* Freivalds' check, C x = A (B x) with x drawn anew, scaled as HPL scales: about 1 for a right product. */
static double residual(const double *A, const double *B, const double *C, double *x, unsigned long long *state)
{
    double *Bx = x + order, *ABx = x + 2 * order, *Cx = x + 3 * order, largest = 0;
    for (int i = 0; i < order; i++)
        x[i] = drawn(state);
    times_vector(B, x, Bx);
    times_vector(A, Bx, ABx);
    times_vector(C, x, Cx);
    for (int i = 0; i < order; i++) {
        double off = fabs(ABx[i] - Cx[i]);
        if (!(off <= largest))
            largest = off;
    }
    return largest / (DBL_EPSILON * 0.125 * order * sqrt((double)order));
}

static void dgemm(int core)
{
    void *library = dlopen(blas_file, RTLD_NOW | RTLD_LOCAL);
    size_t size = (size_t)order * (size_t)order;
    double *A = malloc(size * sizeof *A), *B = malloc(size * sizeof *B), *C = malloc(size * sizeof *C);
    double *x = malloc(4 * (size_t)order * sizeof *x), one = 1.0, zero = 0.0;
    unsigned long long state = 1;
    char name[64];
    Fortran *fortran;
    Cblas *cblas;
    if (!library)
        give_up(core, dlerror());
    snprintf(name, sizeof name, "%sdgemm_", prefix);
    fortran = (Fortran *)dlsym(library, name);
    cblas = (Cblas *)dlsym(library, "cblas_dgemm");
    if (!fortran && !cblas)
        give_up(core, "the BLAS file has neither dgemm_ nor cblas_dgemm");
    if (!A || !B || !C || !x)
        give_up(core, "there is no memory for the matrices");
    for (size_t i = 0; i < size; i++) {
        A[i] = drawn(&state);
        B[i] = drawn(&state);
        C[i] = 0;
    }
    for (int call = 0; call <= CALLS; call++) {
        double off;
        pthread_barrier_wait(&shared->barrier);
        shared->began_s[core] = now_s();
        if (fortran)
            fortran("N", "N", &order, &order, &order, &one, A, &order, B, &order, &zero, C, &order, 1, 1);
        else
            cblas(102, 111, 111, order, order, order, one, A, order, B, order, zero, C, order);
        shared->ended_s[core] = now_s();
        pthread_barrier_wait(&shared->barrier);
        if (core == 0 && call > 0 && (best_s[0] == 0 || span_s() < best_s[0]))
            best_s[0] = span_s();
        off = residual(A, B, C, x, &state);
        if (!(off <= shared->worst[core]))
            shared->worst[core] = off;
    }
}

static int run_dgemm(int wanted)
{
    double off, flops = 2e-9 * order * (double)order * order * cores;
    if (on_cores(dgemm))
        return 1;
    off = worst();
    printf("run\tdgemm-%s\t%.6g\t%s\t", wanted == 1 ? "1" : "all", flops / best_s[0],
           off <= RESIDUAL ? "ok" : "wrong");
    if (!(off <= RESIDUAL))
        printf("C x and A (B x) differ: the scaled residual is %.3g, and at most %.0f is rounding", off, RESIDUAL);
    printf("\n");
    return 0;
}

static void share(void)
{
    pthread_barrierattr_t attributes;
    shared = mmap(NULL, sizeof *shared + KERNELS * sizeof *best_s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("there is no shared memory");
        exit(1);
    }
    best_s = (double *)(shared + 1);
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &attributes, (unsigned)cores);
}

int main(int argc, char **argv)
{
    int wanted, failed;
    if (argc < 4 || (strcmp(argv[1], "dgemm") == 0 && argc < 5)) {
        fprintf(stderr, "usage: node_bench stream CORES BYTES | node_bench dgemm CORES N FILE [PREFIX]\n");
        return 2;
    }
    wanted = atoi(argv[2]);
    find_cores(wanted);
    share();
    if (strcmp(argv[1], "stream") == 0)
        failed = run_stream(wanted, atof(argv[3]));
    else {
        order = atoi(argv[3]);
        blas_file = argv[4];
        prefix = argc > 5 ? argv[5] : "";
        failed = run_dgemm(wanted);
    }
    if (!failed)
        printf("end\n");
    return failed;
}
