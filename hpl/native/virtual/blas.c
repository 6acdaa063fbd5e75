/* The costs of the BLAS routines that HPL calls. Each cblas_ name is compiled as virtual_, as SimGrid has a BLAS too. */
#include "virtual.h"
#include <string.h>
#pragma GCC diagnostic ignored "-Wunused-parameter"

typedef const enum HPL_ORDER Order;
typedef const enum HPL_TRANS Trans;
typedef const enum HPL_UPLO Uplo;
typedef const enum HPL_DIAG Diag;
enum { DOUBLE = 8, CONTROL = 65536 };

/* Level 2 routines run at the speed of the memory or of the core, whichever is slower. */
static void level2(double flops, double bytes, double cached_if)
{
    double moved_s = stream_s(bytes, cached_if), computed_s = flops * model()->flop_s;
    spend(model()->call_s + (moved_s > computed_s ? moved_s : computed_s));
}

static void vector(double n, double bytes, int strided)
{
    if (n > 0)
        spend(model()->call_s + (strided ? n * model()->strided_s : stream_s(n * bytes, n * DOUBLE)));
}

void cblas_dgemm(Order order, Trans ta, Trans tb, const int m, const int n, const int k, const double alpha,
                 const double *a, const int lda, const double *b, const int ldb, const double beta, double *c,
                 const int ldc)
{
    spend(gemm_s(m, n, k));
}

void cblas_dtrsm(Order order, const enum HPL_SIDE side, Uplo uplo, Trans trans, Diag diag, const int m, const int n,
                 const double alpha, const double *a, const int lda, double *b, const int ldb)
{
    /* A row block in the matrix has the matrix's leading dimension; a copy of it, or L1, has its own. */
    spend(side == HplLeft ? trsm_s(m, n, ldb > lda) : trsm_s(n, m, 0));
}

void cblas_dgemv(Order order, Trans trans, const int m, const int n, const double alpha, const double *a, const int lda,
                 const double *x, const int incx, const double beta, double *y, const int incy)
{
    double bytes = DOUBLE * ((double)m * n + 2.0 * m);
    if (m > 0 && n > 0)
        level2(2.0 * m * n, bytes, bytes);
}

void cblas_dger(Order order, const int m, const int n, const double alpha, const double *x, const int incx,
                const double *y, const int incy, double *a, const int lda)
{
    double elements = (double)m * n;
    if (m > 0 && n > 0)
        level2(2 * elements, 2 * DOUBLE * elements, DOUBLE * elements);
}

void cblas_dtrsv(Order order, Uplo uplo, Trans trans, Diag diag, const int n, const double *a, const int lda, double *x,
                 const int incx)
{
    double bytes = DOUBLE * 0.5 * n * n;
    if (n > 0)
        level2((double)n * n, bytes, bytes);
}

void cblas_dswap(const int n, double *x, const int incx, double *y, const int incy)
{
    vector(n, 4 * DOUBLE, incx != 1 || incy != 1);
}

/* Short contiguous copies are really done: HPL's decisions depend on their data (WORK of HPL_pdmxswp). */
void cblas_dcopy(const int n, const double *x, const int incx, double *y, const int incy)
{
    if (incx == 1 && incy == 1 && n > 0 && n <= CONTROL)
        memcpy(y, x, (size_t)n * sizeof *x);
    vector(n, 2 * DOUBLE, incx != 1 || incy != 1);
}

void cblas_daxpy(const int n, const double alpha, const double *x, const int incx, double *y, const int incy)
{
    vector(n, 3 * DOUBLE, 0);
}

void cblas_dscal(const int n, const double alpha, double *x, const int incx)
{
    vector(n, 2 * DOUBLE, 0);
}

CBLAS_INDEX cblas_idamax(const int n, const double *x, const int incx)
{
    vector(n, DOUBLE, 0);
    return 0;
}
