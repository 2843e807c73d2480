/* A9.4: memory is exported for the first time while no kernel runs. Graphs whose nodes run beside
 * each other must not seem to run for ever. */
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__global__ void add(int *p) { atomicAdd(p, 1); }

int main()
{
    enum { NODES = 6, TIMES = 3000 };
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStream_t s;
    int *p, *q, sum = 0;
    cudaIpcMemHandle_t handle;

    alarm(100); /* it would wait for ever */
    OK(cudaMalloc(&p, 4));
    OK(cudaMalloc(&q, 4096));
    OK(cudaMemset(p, 0, 4));
    OK(cudaStreamCreate(&s));
    OK(cudaGraphCreate(&graph, 0));
    void *args[] = {&p};
    cudaKernelNodeParams k = {};
    k.func = (void *)add;
    k.gridDim = k.blockDim = dim3(1);
    k.kernelParams = args;
    for (int i = 0; i < NODES; i++) {
        cudaGraphNode_t node;
        OK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &k));
    }
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < TIMES; i++) {
        OK(cudaGraphLaunch(exec, s));
        if (i % 3 == 0)
            OK(cudaStreamSynchronize(s));
    }
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(&sum, p, 4, cudaMemcpyDefault));
    CHECK_EQ_INT(sum, NODES * TIMES);
    OK(cudaIpcGetMemHandle(&handle, q));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(p));
    OK(cudaFree(q));
    return check_done();
}
