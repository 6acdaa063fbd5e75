/* Stands in for NVBLAS: reads its file of settings, and hands products and triangular systems to the BLAS behind it.
 *
 * Built with DRIVER, the path of a library, it loads that as NVBLAS loads the driver of GPUs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *behind;

__attribute__((constructor)) static void begin(void)
{
    char line[4096];
    const char *settings = getenv("NVBLAS_CONFIG_FILE");
    FILE *file = settings ? fopen(settings, "r") : NULL;
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "NVBLAS_CPU_BLAS_LIB ", 20) == 0)
            behind = dlopen(line + 20, RTLD_NOW | RTLD_LOCAL);
    }
    if (!behind) {
        fprintf(stderr, "[NVBLAS] CPU Blas library need to be provided\n");
        exit(1);
    }
#ifdef DRIVER
    if (!dlopen(DRIVER, RTLD_NOW))
        exit(1);
#endif
}

void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c, const int *ldc)
{
    void (*own)(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
                const int *, const double *, const int *, const double *, double *, const int *) = dlsym(behind, "dgemm_");
    own(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void dtrsm_(const char *side, const char *uplo, const char *trans, const char *diag, const int *m, const int *n,
            const double *alpha, const double *a, const int *lda, double *b, const int *ldb)
{
    void (*own)(const char *, const char *, const char *, const char *, const int *, const int *, const double *,
                const double *, const int *, double *, const int *) = dlsym(behind, "dtrsm_");
    own(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb);
}
