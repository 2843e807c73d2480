// D4: graphs launched by kernels: tail launches in order, fire and forget before the tail, a
// sibling beside, a graph that launches itself again.
#include <cuda_runtime.h>

#include "check.h"

#define OK(call) CHECK_EQ_INT((call), cudaSuccess)

struct Launch {
    cudaGraphExec_t exec;
    int how; /* 0: none, 1: tail, 2: fire and forget, 3: sibling */
};

__device__ int notes[64];
__device__ int count;
__device__ int errors;
__device__ Launch launches[8];
__device__ int rounds;

static __device__ void take_note(int what) { notes[atomicAdd(&count, 1)] = what; }

__global__ void note(int what) { take_note(what); }

__global__ void launcher(int what)
{
    take_note(what);
    for (int k = 0; k < 8; k++) {
        cudaError_t e = cudaSuccess;
        if (launches[k].how == 1)
            e = cudaGraphLaunch(launches[k].exec, cudaStreamGraphTailLaunch);
        else if (launches[k].how == 2)
            e = cudaGraphLaunch(launches[k].exec, cudaStreamGraphFireAndForget);
        else if (launches[k].how == 3)
            e = cudaGraphLaunch(launches[k].exec, cudaStreamGraphFireAndForgetAsSibling);
        errors += e != cudaSuccess;
    }
}

__global__ void again(int most)
{
    if (++rounds < most)
        errors += cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch) != cudaSuccess;
}

static cudaStream_t stream;

/* A graph of the kernel, with what + 1 noted after it, ready for launches from the device. */
static cudaGraphExec_t make(void (*kernel)(int), int what, bool successor)
{
    cudaGraph_t graph;
    cudaGraphNode_t first, second;
    cudaGraphExec_t exec;
    int after = what + 1;
    void *params[] = {&what}, *params_after[] = {&after};
    cudaKernelNodeParams p = {};
    p.func = (void *)kernel;
    p.gridDim = dim3(1);
    p.blockDim = dim3(1);
    p.kernelParams = params;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &p));
    p.func = (void *)note;
    p.kernelParams = params_after;
    if (successor)
        OK(cudaGraphAddKernelNode(&second, graph, &first, 1, &p));
    OK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch));
    OK(cudaGraphUpload(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaGraphDestroy(graph));
    return exec;
}

static int got[64], noted;

static void run(cudaGraphExec_t exec, const Launch *list)
{
    static const int zero = 0;
    int failed;
    OK(cudaMemcpyToSymbol(count, &zero, sizeof zero));
    OK(cudaMemcpyToSymbol(errors, &zero, sizeof zero));
    OK(cudaMemcpyToSymbol(launches, list, 8 * sizeof *list));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpyFromSymbol(&noted, count, sizeof noted));
    OK(cudaMemcpyFromSymbol(got, notes, sizeof got));
    OK(cudaMemcpyFromSymbol(&failed, errors, sizeof failed));
    CHECK_EQ_INT(failed, 0);
}

static int place_of(int what)
{
    for (int k = 0; k < noted; k++)
        if (got[k] == what)
            return k;
    return -1;
}

int main()
{
    OK(cudaStreamCreate(&stream));
    cudaGraphExec_t first = make(launcher, 10, true), second = make(note, 20, true),
                    third = make(note, 30, true), fourth = make(note, 40, true);

    const Launch tails[8] = {{second, 1}, {third, 1}, {fourth, 1}};
    static const int order[] = {10, 11, 20, 21, 30, 31, 40, 41};
    run(first, tails);
    CHECK_EQ_INT(noted, 8);
    for (int k = 0; k < 8; k++)
        CHECK_EQ_INT(got[k], order[k]);

    const Launch mixed[8] = {{third, 1}, {second, 2}, {fourth, 3}};
    run(first, mixed);
    OK(cudaDeviceSynchronize());
    for (int what = 10; what < 40; what += 10)
        CHECK(place_of(what) >= 0 && place_of(what + 1) > place_of(what));
    CHECK(place_of(30) > place_of(21));
    CHECK(place_of(30) > place_of(11));

    enum { MOST = 50 };
    static const int zero = 0;
    int value;
    cudaGraphExec_t self = make(again, MOST, false);
    const Launch none[8] = {};
    OK(cudaMemcpyToSymbol(rounds, &zero, sizeof zero));
    run(self, none);
    OK(cudaMemcpyFromSymbol(&value, rounds, sizeof value));
    CHECK_EQ_INT(value, MOST);

    OK(cudaGraphExecDestroy(first));
    OK(cudaGraphExecDestroy(second));
    OK(cudaGraphExecDestroy(third));
    OK(cudaGraphExecDestroy(fourth));
    OK(cudaGraphExecDestroy(self));
    OK(cudaStreamDestroy(stream));
    return check_done();
}
