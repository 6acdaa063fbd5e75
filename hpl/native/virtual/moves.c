/* The costs of HPL's own copies and row exchanges; these functions replace HPL's files of the same names. */
#include "virtual.h"
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { DOUBLE = 8 };

static void strided(double elements)
{
    if (elements > 0)
        spend(model()->call_s + elements * model()->strided_s);
}

static void swapped(double elements)
{
    if (elements > 0)
        spend(model()->call_s + elements * model()->exchange_s);
}

static void streamed(double elements, double moves)
{
    if (elements > 0)
        spend(model()->call_s + moves * DOUBLE * elements * model()->byte_s);
}

#define SIZE const int M, const int N
#define MATRIX double *A, const int lda
#define SOURCE const double *A, const int lda
#define PACKED double *U, const int ldu
#define WORK const double *W0, const double *W, const int ldw
#define INDEX const int *LINDXA, const int *LINDXAU

void HPL_dlaswp00N(SIZE, MATRIX, const int *ipiv) { swapped((double)M * N); }
void HPL_dlaswp01N(SIZE, MATRIX, PACKED, INDEX) { strided((double)M * N); }
void HPL_dlaswp01T(SIZE, MATRIX, PACKED, INDEX) { strided((double)M * N); }
void HPL_dlaswp02N(SIZE, SOURCE, double *W0, double *W, const int ldw, INDEX) { strided((double)M * N); }
void HPL_dlaswp03N(SIZE, PACKED, WORK) { strided((double)M * N); }
void HPL_dlaswp03T(SIZE, PACKED, WORK) { streamed((double)M * N, 2); }
void HPL_dlaswp04N(const int M0, const int M1, const int N, PACKED, MATRIX, WORK, INDEX) { strided((double)(M0 + M1) * N); }
void HPL_dlaswp04T(const int M0, const int M1, const int N, PACKED, MATRIX, WORK, INDEX)
{
    strided((double)M0 * N);
    streamed((double)M1 * N, 2);
}
void HPL_dlaswp05N(SIZE, MATRIX, const double *U, const int ldu, INDEX) { strided((double)M * N); }
void HPL_dlaswp05T(SIZE, MATRIX, const double *U, const int ldu, INDEX) { strided((double)M * N); }
void HPL_dlaswp06N(SIZE, MATRIX, PACKED, const int *LINDXA) { swapped((double)M * N); }
void HPL_dlaswp06T(SIZE, MATRIX, PACKED, const int *LINDXA) { strided((double)M * N); }
void HPL_dlaswp10N(SIZE, MATRIX, const int *ipiv) { streamed((double)M * N, 4); }
void HPL_dlacpy(SIZE, SOURCE, double *B, const int ldb) { streamed((double)M * N, 2); }
void HPL_dlatcpy(SIZE, SOURCE, double *B, const int ldb) { strided(0.5 * M * N); }
void HPL_dlocswpN(HPL_T_panel *panel, const int II, const int JJ, double *W) { swapped(panel->jb); }
void HPL_dlocswpT(HPL_T_panel *panel, const int II, const int JJ, double *W) { swapped(panel->jb); }

/* The matrix is never touched. */
void HPL_pdmatgen(const HPL_T_grid *grid, const int M, const int N, const int NB, MATRIX, const int seed) {}
