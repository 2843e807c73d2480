/* E3, D7: a fault in a child is told with the chain of launches that led to it, as text and as
 * frames, whichever of a warp's launches it was; and each thread has a last error of its own. */
#include <cuda_runtime.h>
#include <weir/fault.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__device__ int word, errors[64];

/* The third level: one of the threads that launched it gave a wild pointer. */
__global__ void third(int *p) { *p = 1; }
__global__ void second(int *wild, int bad)
{
    third<<<1, 1, 0, cudaStreamFireAndForget>>>(threadIdx.x + 4 * threadIdx.y == bad ? wild
                                                                                     : &word);
}
__global__ void first(int *wild, int bad)
{
    if (blockIdx.x == 2 && threadIdx.x == 33)
        second<<<1, dim3(4, 8)>>>(wild, bad);
}
__global__ void deep(int *wild, int levels)
{
    if (levels == 0)
        *wild = 1;
    else
        deep<<<1, 1>>>(wild, levels - 1);
}

static weir_fault fault()
{
    CHECK_STR(cudaGetErrorName(cudaDeviceSynchronize()), "cudaErrorIllegalAddress");
    weir_fault f = {.bytes = sizeof f};
    CHECK(weir_last_fault(&f));
    OK(cudaDeviceReset());
    return f;
}

static void has(const weir_fault &f, const char *words)
{
    if (!check_count(f.text != NULL && strstr(f.text, words) != NULL))
        printf("\"%s\" lacks \"%s\"\n", f.text, words);
}

static void chain(int bad)
{
    first<<<3, 64>>>((int *)16, -1); // all well, and known to be short
    OK(cudaDeviceSynchronize());
    first<<<3, 64>>>((int *)16, bad);
    weir_fault f = fault();
    char words[200];
    has(f, "in kernel third(int*), block (0,0,0)");
    snprintf(words, sizeof words,
             "; launched by kernel second(int*, int), block (0,0,0), thread (%d,%d,0)"
             "; launched by kernel first(int*, int), block (2,0,0), thread (33,0,0)",
             bad % 4, bad / 4);
    has(f, words);
    CHECK_EQ_INT(f.frame_count, 3);
    if (f.frame_count != 3)
        return;
    CHECK_STR(f.frames[0].kernel, "third(int*)");
    CHECK_STR(f.frames[1].kernel, "second(int*, int)");
    CHECK_EQ_INT(f.frames[1].thread[0], bad % 4);
    CHECK_EQ_INT(f.frames[1].thread[1], bad / 4);
    CHECK_STR(f.frames[2].kernel, "first(int*, int)");
    CHECK_EQ_INT(f.frames[2].block[0], 2);
    CHECK_EQ_INT(f.frames[2].thread[0], 33);
    CHECK(f.frames[2].grid != f.frames[1].grid && f.frames[2].thread_known);
}

/* Memory of the block's own is no argument. */
__global__ void pass_own(int which)
{
    __shared__ int shared;
    int local;
    int *volatile own = which ? &local : &shared;
    second<<<1, 1>>>(own, which);
}

static void own_memory(int which, const char *words)
{
    pass_own<<<1, 1>>>(which);
    has(fault(), words);
}

/* ---- errors by thread ---- */

/* Each odd thread makes an error of its own, and sees that one alone, once. */
__global__ void fail_uninlined()
{
    int t = (int)threadIdx.x;
    if (t % 2 == 1)
        third<<<1, t % 4 == 1 ? 2048 : 0>>>(&word);
    int seen = (int)cudaPeekAtLastError(), taken = (int)cudaGetLastError();
    errors[t] = seen == taken && cudaGetLastError() == cudaSuccess ? taken : -1;
}

int main()
{
    chain(0);
    chain(17);
    chain(31);
    deep<<<1, 1>>>((int *)16, 9);
    weir_fault f = fault();
    CHECK_EQ_INT(f.frame_count, 7);
    has(f, "; and 3 launches before that");

    own_memory(0, ": argument 1 of the launch of kernel second(int*, int) points to shared memory");
    own_memory(1, ": argument 1 of the launch of kernel second(int*, int) points to local memory");

    int got[64];
    fail_uninlined<<<1, 64>>>();
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyFromSymbol(got, errors, sizeof got));
    for (int t = 0; t < 64; t++)
        CHECK_STR(cudaGetErrorName((cudaError_t)got[t]),
                  t % 2 == 1 ? "cudaErrorInvalidConfiguration" : "cudaSuccess");
    return check_done();
}
