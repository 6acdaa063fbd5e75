/* Each rank reports on standard error, when it begins, which BLAS file, kernel and cores it really uses, and which variables
 * of threads and transports reached it; and when it ends, how much time passed meanwhile by the kernel's clock, how much CPU time it used, and how far MPI's clock went, by which
 * HPL measures its time.
 *
 * The witness is linked into the xhpl that hpltune builds, or preloaded into the user's own; so it needs no MPI header.
 * It also ends a rank when its launcher dies, so that no rank is left behind when the launcher is killed. */
#define _GNU_SOURCE
#include "conditions.h"
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

typedef void dgemm_t(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
                     const int *, const double *, const int *, const double *, double *, const int *);

static void *symbol(const char *prefix, const char *name)
{
    char full[96];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return dlsym(RTLD_DEFAULT, full);
}

static const char *rank_of_launcher(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return getenv(names[i]);
    return NULL;
}

/* Some libraries choose or load their kernel only at the first call. */
static void multiply_once(void *function)
{
    double a = 1.0, b = 1.0, c = 0.0;
    int n = 1;
    dgemm_t *dgemm;
    memcpy(&dgemm, &function, sizeof dgemm);
    dgemm("N", "N", &n, &n, &n, &a, &a, &n, &b, &n, &b, &c, &n);
}

static void say_cpus(char *out, size_t size)
{
    cpu_set_t set;
    size_t used = 0;
    out[0] = '\0';
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    for (int first = 0; first < CPU_SETSIZE && used + 16 < size; first++) {
        int last = first;
        if (!CPU_ISSET(first, &set))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
            last++;
        used += (size_t)snprintf(out + used, size - used, first == last ? "%s%d" : "%s%d-%d", used ? "," : "", first, last);
        first = last;
    }
}

static int is_mapped(const char *part)
{
    char map[1024];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !found && fgets(map, sizeof map, maps))
        found = strstr(map, part) != NULL;
    if (maps)
        fclose(maps);
    return found;
}

struct blas {
    const char *version, *kernel;
    char text[256];
    int threads; /* -1: the library does not tell */
};

static const char *text_of(void *function)
{
    const char *(*get)(void);
    memcpy(&get, &function, sizeof get);
    return function ? get() : "";
}

static int number_of(void *function)
{
    int (*get)(void);
    memcpy(&get, &function, sizeof get);
    return function ? get() : -1;
}

static int ask_openblas(const char *prefix, struct blas *blas)
{
    void *config = symbol(prefix, "openblas_get_config");
    if (!config)
        return 0;
    snprintf(blas->text, sizeof blas->text, "%s", text_of(config));
    blas->version = blas->text;
    blas->kernel = text_of(symbol(prefix, "openblas_get_corename"));
    blas->threads = number_of(symbol(prefix, "openblas_get_num_threads"));
    return 1;
}

static int ask_blis(struct blas *blas)
{
    void *version = symbol("", "bli_info_get_version_str"), *name = symbol("", "bli_arch_string");
    const char *(*arch_string)(int);
    if (!version)
        return 0;
    memcpy(&arch_string, &name, sizeof arch_string);
    blas->version = text_of(version);
    blas->kernel = name ? arch_string(number_of(symbol("", "bli_arch_query_id"))) : "";
    blas->threads = number_of(symbol("", "bli_info_get_enable_threading")) == 0
                        ? 1
                        : number_of(symbol("", "bli_thread_get_num_threads"));
    return 1;
}

static int ask_mkl(struct blas *blas)
{
    void *version = symbol("", "MKL_Get_Version_String");
    void (*get)(char *, int);
    if (!version)
        return 0;
    memcpy(&get, &version, sizeof get);
    get(blas->text, (int)sizeof blas->text - 1);
    blas->version = blas->text;
    blas->threads = number_of(symbol("", "MKL_Get_Max_Threads"));
    return 1;
}

/* NVBLAS begins with the GPU at its first large product; without the driver the BLAS behind it computes all. */
static int ask_nvblas(const char *file, void *dgemm, struct blas *blas)
{
    enum { LARGE = 2048 };
    const char *name = strrchr(file, '/');
    double *matrix = NULL, one = 1.0, zero = 0.0;
    int n = LARGE;
    dgemm_t *multiply;
    if (strncmp(name ? name + 1 : file, "libnvblas.so", 12) != 0)
        return 0;
    memcpy(&multiply, &dgemm, sizeof multiply);
    matrix = calloc(2 * (size_t)LARGE * LARGE, sizeof *matrix);
    if (matrix)
        multiply("N", "N", &n, &n, &n, &one, matrix, &n, matrix, &n, &zero, matrix + (size_t)LARGE * LARGE, &n);
    free(matrix);
    blas->kernel = is_mapped("/libcuda.so") ? "gpu" : "cpu";
    blas->threads = number_of(symbol("", "openblas_get_num_threads"));
    return 1;
}

/* Beginnings of the variables that decide threads, transports, arithmetic and programs; others are nobody's business, as
 * those in which Open MPI tells its ranks who they are. */
static int is_told(const char *variable)
{
    static const char *const heads[] = {"OMP_",  "KMP_",  "GOMP_", "GOTO_",   "OPENBLAS_", "BLIS_",
                                        "MKL_",  "UCX_",  "FI_",   "PSM2_",   "NCCL_",     "HPL_",
                                        "HIP_",  "CUBLAS_", "NVSHMEM_", "ROCBLAS_", "OMPI_MCA_btl", "OMPI_MCA_pml",
                                        "OMPI_MCA_mtl", "OMPI_MCA_coll", "OMPI_MCA_mpi_"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (strncmp(variable, heads[i], strlen(heads[i])) == 0)
            return 1;
    return 0;
}

/* Tells on which CPUs this rank may run, and its variables: as many lines as they need, but no more than MOST_LINES. */
static void tell_what_reached(int rank, const char *host, const char *cpus)
{
    enum { MOST_LINES = 8, MOST_NAME = 64, MOST_VALUE = 256 };
    char line[HPLTUNE_LINE], name[MOST_NAME], value[MOST_VALUE];
    char **variable = environ;
    for (int lines = 0; lines < MOST_LINES && (lines == 0 || *variable); lines++) {
        size_t used = 0;
        const char *between = "";
        hpltune_add(line, sizeof line, &used, "hpltune-saw {\"rank\": %d, \"host\": \"%s\", \"cpus\": \"%s\", \"variables\": {",
                    rank, host, cpus);
        for (; *variable; variable++) {
            const char *equals = strchr(*variable, '=');
            size_t length = equals ? (size_t)(equals - *variable) : 0;
            if (!length || length >= sizeof name || !is_told(*variable))
                continue;
            if (used + 2 * length + strlen(equals) + 16 > sizeof line && *between)
                break; /* the next line takes it */
            memcpy(value, *variable, length);
            value[length] = '\0';
            hpltune_quote(name, sizeof name, value);
            hpltune_quote(value, sizeof value, equals + 1);
            hpltune_add(line, sizeof line, &used, "%s\"%s\": \"%s\"", between, name, value);
            between = ", ";
        }
        hpltune_add(line, sizeof line, &used, "}}\n");
        hpltune_say(line, used);
    }
}

static int reporting = -1; /* the rank; -1: this process is none that reports */
static double began_s;     /* by the kernel's clock */
#define MOST_CALLS 64 /* first and last ones that are told */
static struct {
    int calls;
    double first_s, last_s, first_real_s, last_real_s;
    double first_calls_s[MOST_CALLS], last_calls_s[MOST_CALLS]; /* since the first; the last ones in a ring */
} clock_of_mpi;

/* Whether a file of a library carries messages, by its name: components of Open MPI, UCX, libfabric and its providers. */
static int carries_messages(const char *name)
{
    static const char *const heads[] = {"mca_pml_", "mca_mtl_", "mca_btl_", "libucp", "libuct_", "libfabric", "libpsm"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (strncmp(name, heads[i], strlen(heads[i])) == 0)
            return 1;
    return strstr(name, "-fi.so") != NULL;
}

/* Tells once which of them are loaded when the first solve begins: MPI drops those that it does not take by then. */
static void tell_transports(int rank)
{
    char line[HPLTUNE_LINE], map[1024], host[65] = "", told[512] = " ", name[64];
    size_t used = 0, length = 1;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return;
    gethostname(host, sizeof host - 1);
    while (fgets(map, sizeof map, maps)) {
        char *file = strrchr(map, '/'), *end;
        if (!file || !carries_messages(file + 1) || !(end = strstr(file, ".so")))
            continue;
        *end = '\0';
        hpltune_quote(name, sizeof name, file + 1);
        snprintf(map, sizeof map, " %s ", name);
        if (!strstr(told, map) && length + strlen(name) + 2 < sizeof told)
            length += (size_t)snprintf(told + length, sizeof told - length, "%s ", name);
    }
    fclose(maps);
    hpltune_add(line, sizeof line, &used, "hpltune-moves {\"rank\": %d, \"host\": \"%s\", \"parts\": \"%s\"}\n", rank,
                host, told + 1);
    hpltune_say(line, used);
}

/* Only programs that we build have this. */
extern const int hpltune_tells_solves __attribute__((weak));

/* In front of MPI's own function, which HPL calls at begin and end of a solve: what it returned, and when. Weak, because
 * a static MPI brings its own, and then nothing is reported of it. */
__attribute__((weak)) double MPI_Wtime(void)
{
    static double (*of_mpi)(void);
    double real_s, time_s;
    if (!of_mpi) {
        void *next = dlsym(RTLD_NEXT, "MPI_Wtime");
        if (!next)
            return hpltune_now_s(); /* no MPI at all */
        memcpy(&of_mpi, &next, sizeof of_mpi);
    }
    if (!clock_of_mpi.calls && reporting == 0)
        tell_transports(reporting);
    real_s = hpltune_now_s();
    time_s = of_mpi();
    if (!clock_of_mpi.calls) {
        clock_of_mpi.first_s = time_s;
        clock_of_mpi.first_real_s = real_s;
    }
    if (clock_of_mpi.calls < MOST_CALLS)
        clock_of_mpi.first_calls_s[clock_of_mpi.calls] = real_s - clock_of_mpi.first_real_s;
    else
        clock_of_mpi.last_calls_s[clock_of_mpi.calls % MOST_CALLS] = real_s - clock_of_mpi.first_real_s;
    clock_of_mpi.calls++;
    clock_of_mpi.last_s = time_s;
    clock_of_mpi.last_real_s = real_s;
    if (!&hpltune_tells_solves)
        hpltune_hear_clock(real_s);
    return time_s;
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

__attribute__((destructor)) static void hpltune_witness_end(void)
{
    struct rusage used;
    char line[4 * HPLTUNE_LINE];
    size_t length = 0;
    hpltune_tell_whole();
    if (reporting < 0 || getrusage(RUSAGE_SELF, &used) != 0)
        return;
    hpltune_add(line, sizeof line, &length,
                "hpltune-end {\"rank\": %d, \"wall_s\": %.4f, \"cpu_s\": %.4f, \"mpi_s\": %.4f, \"real_s\": %.4f, "
                "\"calls\": %d, \"calls_s\": [",
                reporting, hpltune_now_s() - began_s, seconds_of(used.ru_utime) + seconds_of(used.ru_stime),
                clock_of_mpi.last_s - clock_of_mpi.first_s, clock_of_mpi.last_real_s - clock_of_mpi.first_real_s,
                clock_of_mpi.calls);
    for (int call = 0; call < clock_of_mpi.calls && call < 2 * MOST_CALLS; call++)
        hpltune_add(line, sizeof line, &length, call ? ", %.3f" : "%.3f",
                    call < MOST_CALLS ? clock_of_mpi.first_calls_s[call] : clock_of_mpi.last_calls_s[call - MOST_CALLS]);
    hpltune_add(line, sizeof line, &length, "]}\n");
    if (write(STDERR_FILENO, line, length) < 0)
        return;
}

__attribute__((constructor)) static void hpltune_witness(void)
{
    const char *rank = rank_of_launcher(), *prefix = "";
    struct blas blas = {"", "", "", -1};
    char line[2048], cpus[256], file[512] = "", version[320], kernel[96], host[65] = "";
    Dl_info where;
    void *dgemm;
    int length;

    if (!rank)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dgemm = symbol("", "dgemm_");
    if (!dgemm) {
        prefix = "scipy_";
        dgemm = symbol(prefix, "dgemm_");
    }
    gethostname(host, sizeof host - 1);
    say_cpus(cpus, sizeof cpus);
    if (dgemm || symbol("", "MPI_Init")) {
        hpltune_join_node(atoi(rank));
        tell_what_reached(atoi(rank), host, cpus);
    }
    if (!dgemm)
        return; /* mpirun itself under LD_PRELOAD, or a statically linked BLAS */
    began_s = hpltune_now_s();
    reporting = atoi(rank);
    multiply_once(dgemm);
    if (dladdr(dgemm, &where) && where.dli_fname) {
        char real[4096];
        hpltune_quote(file, sizeof file, realpath(where.dli_fname, real) ? real : where.dli_fname);
    }
    if (!ask_nvblas(file, dgemm, &blas) && !ask_openblas(prefix, &blas) && !ask_blis(&blas))
        ask_mkl(&blas);
    hpltune_quote(version, sizeof version, blas.version);
    hpltune_quote(kernel, sizeof kernel, blas.kernel);
    length = snprintf(line, sizeof line,
                      "hpltune-rank {\"rank\": %d, \"host\": \"%s\", \"pid\": %d, \"cpus\": \"%s\", \"library\": \"%s\", "
                      "\"version\": \"%s\", \"kernel\": \"%s\", \"threads\": %d}\n",
                      atoi(rank), host, (int)getpid(), cpus, file, version, kernel, blas.threads);
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        return;
}
