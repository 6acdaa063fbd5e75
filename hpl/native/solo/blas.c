/* The BLAS of HPL on one process is opened when the program starts, because each node has it in another place.
 *
 *   HPLTUNE_BLAS         the file
 *   HPLTUNE_BLAS_PREFIX  what the names of its Fortran routines begin with; nothing where it is not set
 *
 * HPL's files of src/blas are compiled so that each routine is one of these pointers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUTINES(X) X(dgemm) X(dtrsm) X(dgemv) X(dger) X(dtrsv) X(daxpy) X(dcopy) X(dscal) X(dswap) X(idamax)
#define POINTER(name) void *hpltune_##name;
#define ENTRY(name) { #name "_", &hpltune_##name },

ROUTINES(POINTER)

static const struct {
    const char *name;
    void **pointer;
} routines[] = { ROUTINES(ENTRY) };

__attribute__((constructor)) static void open_blas(void)
{
    const char *file = getenv("HPLTUNE_BLAS"), *prefix = getenv("HPLTUNE_BLAS_PREFIX");
    void *library = dlopen(file ? file : "libblas.so.3", RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    for (size_t at = 0; at < sizeof routines / sizeof *routines; at++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", prefix ? prefix : "", routines[at].name);
        *routines[at].pointer = dlsym(library, name);
        if (!*routines[at].pointer) {
            fprintf(stderr, "the BLAS file has no %s\n", name);
            exit(1);
        }
    }
}
