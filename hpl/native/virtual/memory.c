/* Blocks of the matrix are memory mappings that are never touched: they take addresses, not memory. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { PAGE = 4096, LARGE = 128 * 1024, KEPT = 8 };
static const uint64_t MARK = 0x48504c7669727475ull;

typedef struct {
    uint64_t mark;
    size_t length;
} Block;
static Block *kept[KEPT]; /* freed blocks for later requests of the same length, which HPL makes often */
static int next_kept;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
    size_t length = (bytes / PAGE + 3) * PAGE;
    Block *block;
    if (bytes < LARGE)
        return __real_malloc(bytes);
    for (int i = 0; i < KEPT; i++)
        if (kept[i] && kept[i]->length == length) {
            block = kept[i];
            kept[i] = NULL;
            return (char *)block + PAGE;
        }
    block = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED)
        return NULL;
    madvise(block, length, MADV_NOHUGEPAGE); /* or one byte would cost 2 MiB */
    block->mark = MARK;
    block->length = length;
    return (char *)block + PAGE;
}

void __real_free(void *address);
void __wrap_free(void *address)
{
    Block *block = (Block *)((char *)address - PAGE);
    if (!address || (uintptr_t)address % PAGE != 0 || block->mark != MARK) {
        __real_free(address);
        return;
    }
    next_kept = (next_kept + 1) % KEPT;
    if (kept[next_kept])
        munmap(kept[next_kept], kept[next_kept]->length);
    kept[next_kept] = block;
}
