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
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    else
        failed = run_dgemm(wanted, atoi(argv[3]), argv[4], argc > 5 ? argv[5] : "");
    if (!failed)
        printf("end\n");
    return failed;
}
