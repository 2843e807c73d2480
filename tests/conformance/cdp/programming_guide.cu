// FLAGS: -rdc=true -lcudadevrt
/* D1-D4: what the programming guide shows of dynamic parallelism and other programs here do not:
 * hello world by a tail launch, pointers that may be passed down, the order of tail launches, and
 * work that nothing waits for. */
#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__device__ int order[64], count, value, seen[8];
static int got[64];

static __device__ void note(int what) { order[atomicAdd(&count, 1)] = what; }

static int finish()
{
    const int zero = 0;
    int n = 0;
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyFromSymbol(got, order, sizeof got));
    OK(cudaMemcpyFromSymbol(&n, count, sizeof n));
    OK(cudaMemcpyToSymbol(count, &zero, sizeof zero));
    return n;
}

static void expect(const char *wanted)
{
    char text[65] = "";
    int n = finish();
    for (int k = 0; k < n && k < 64; k++)
        text[k] = (char)got[k];
    CHECK_STR(text, wanted);
}

/* ---- hello world: the tail is launched when the child has been ---- */

__global__ void put(int what) { note(what); }
__global__ void hello_world()
{
    put<<<1, 1>>>('H');
    if (cudaGetLastError() != cudaSuccess)
        return;
    put<<<1, 1, 0, cudaStreamTailLaunch>>>('W');
    note('p');
}

/* ---- tails: in the order of their launches, after all other work of the grid, and those of a ---- */

/*      child before what follows the child ------------------------------------------------------ */

__global__ void child_with_tail(int own, int tail)
{
    put<<<1, 1, 0, cudaStreamTailLaunch>>>(tail);
    note(own);
}
__global__ void tails()
{
    put<<<1, 1, 0, cudaStreamTailLaunch>>>('1');
    child_with_tail<<<1, 1, 0, cudaStreamTailLaunch>>>('2', 'x');
    put<<<1, 1, 0, cudaStreamTailLaunch>>>('3');
    child_with_tail<<<1, 1>>>('c', 'd');
    put<<<1, 1>>>('e');
}

/* ---- pointers: variables and memory of the heap may be passed down, and what a thread wrote ---- */

/*      before is seen ---------------------------------------------------------------------------- */

__global__ void read_pointer(const int *p, int at) { seen[at] = *p; }
__global__ void pass_pointers(int *global)
{
    int *heap = (int *)malloc(sizeof *heap);
    value = 1;
    *global = 2;
    *heap = 3;
    read_pointer<<<1, 1>>>(&value, 0);
    read_pointer<<<1, 1>>>(global, 1);
    read_pointer<<<1, 1>>>(heap, 2);
}

/* ---- fire and forget: complete with its parent all the same ---- */

__global__ void forgotten(int levels)
{
    if (levels > 0)
        forgotten<<<2, 1, 0, cudaStreamFireAndForget>>>(levels - 1);
    note('f');
}

int main()
{
    hello_world<<<1, 1>>>();
    int n = finish();
    CHECK_EQ_INT(n, 3);
    CHECK_EQ_INT(got[2], 'W');

    tails<<<1, 1>>>();
    expect("cde12x3");

    int *global;
    OK(cudaMalloc(&global, sizeof *global));
    pass_pointers<<<1, 1>>>(global);
    finish();
    OK(cudaMemcpyFromSymbol(got, seen, sizeof seen));
    for (int k = 0; k < 3; k++)
        CHECK_EQ_INT(got[k], k + 1);
    OK(cudaFree(global));

    forgotten<<<1, 1>>>(4);
    CHECK_EQ_INT(finish(), 31);
    return check_done();
}
