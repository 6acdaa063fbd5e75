/* DGEMM of a BLAS file that is opened at run time; each product is checked. */
#include "bench.h"

#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 5 };
static const double RESIDUAL = 16.0;
static int order;
static const char *blas_file, *prefix;

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
        if (core == 0 && call > 0 && (shared->best_s[0] == 0 || span_s() < shared->best_s[0]))
            shared->best_s[0] = span_s();
        off = residual(A, B, C, x, &state);
        if (!(off <= shared->worst[core]))
            shared->worst[core] = off;
    }
}

int run_dgemm(int wanted, int n, const char *file, const char *names_begin)
{
    double off, flops = 2e-9 * n * (double)n * n * cores;
    order = n;
    blas_file = file;
    prefix = names_begin;
    if (on_cores(dgemm))
        return 1;
    off = worst();
    printf("run\tdgemm-%s\t%.6g\t%s\t", wanted == 1 ? "1" : "all", flops / shared->best_s[0],
           off <= RESIDUAL ? "ok" : "wrong");
    if (!(off <= RESIDUAL))
        printf("C x and A (B x) differ: the scaled residual is %.3g, and at most %.0f is rounding", off, RESIDUAL);
    printf("\n");
    return 0;
}
