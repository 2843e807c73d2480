/* Functions whose lines are known, by way of #line. */
#include "abi/kernel_abi.h"

#line 100 "first.cu"
__attribute__((noinline)) static int first(int x)
{
    volatile int y = x;
    y /= 3; /* line 103 */
    return y;
}
#line 2000 "/abs/second.cu"
__attribute__((noinline)) static int second(int x)
{
    volatile int y = x;
    return first(y + 1) * y; /* line 2003 */
}
#line 30 "third.cu"
uint32_t weir_block(struct jit_block *b)
{
    uint64_t *out = *(uint64_t *const *)b->params;
    out[0] = (uint64_t)second((int)b->nthreads);
    out[1] = (uint64_t)(uintptr_t)first;
    out[2] = (uint64_t)(uintptr_t)second;
    out[3] = (uint64_t)(uintptr_t)weir_block;
    return JIT_DONE;
}
