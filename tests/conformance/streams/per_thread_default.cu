// FLAGS: --default-stream per-thread
/* S3: a program compiled with --default-stream per-thread: what names no stream, or stream 0, is in
 * the thread's own. */
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
#error "compile with --default-stream per-thread"
#endif

#include <thread>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__global__ void wait_for(volatile int *flag)
{
    while (*flag == 0)
        ;
}
__device__ int variable;

/* What says how to instantiate a graph is the program's: stream 0 in it stays 0. */
static void upload()
{
    cudaGraphInstantiateParams p = {};
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    p.flags = cudaGraphInstantiateFlagUpload;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphInstantiateWithParams(&exec, graph, &p));
    CHECK_EQ_INT(p.uploadStream == nullptr, 1);
    CHECK_EQ_INT(p.result_out, cudaGraphInstantiateSuccess);
    OK(cudaStreamSynchronize(0));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

int main()
{
    volatile int *flag;
    unsigned flags;
    int *data;

    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    OK(cudaMalloc(&data, sizeof *data));
    *flag = 0;
    wait_for<<<1, 1>>>(flag);
    OK(cudaGetLastError());
    CHECK_EQ_INT(cudaStreamQuery(0), cudaErrorNotReady);
    CHECK_EQ_INT(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
    /* Another thread's calls are not held up by this one's stream. */
    std::thread([data] {
        int value = 5, seen = 0;

        OK(cudaMemcpy(data, &value, sizeof value, cudaMemcpyHostToDevice));
        OK(cudaMemset(data, 1, sizeof value));
        OK(cudaMemcpyAsync(&seen, data, sizeof seen, cudaMemcpyDeviceToHost, 0));
        OK(cudaStreamSynchronize(0));
        CHECK_EQ_INT(seen, 0x01010101);
        OK(cudaMemcpyToSymbol(variable, &value, sizeof value));
        OK(cudaMemcpyFromSymbol(&seen, variable, sizeof seen));
        CHECK_EQ_INT(seen, 5);
    }).join();
    CHECK_EQ_INT(cudaStreamQuery(0), cudaErrorNotReady);
    *flag = 1;
    OK(cudaStreamSynchronize(0));
    OK(cudaStreamQuery(cudaStreamPerThread));
    OK(cudaStreamGetFlags(0, &flags));
    upload();
    return check_done();
}
