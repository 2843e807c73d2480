// S7.9: threads of every kind may use the device: threads MODE.
//   small     a thread with the least stack that the system allows, from its first call on
//   signals   a signal stack of the least size, set before the first call or later, when a kernel
//   faults exits     host functions that end their thread by pthread_exit; what comes after them
//   runs cancel    threads that are cancelled while they wait; the others go on
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK_EQ_INT(call, cudaSuccess)

static __global__ void add(int *p, int n) { atomicAdd(p, n); }

static __global__ void wild(int *p) { *p = 1; }

static __global__ void reverse(int *out)
{
    __shared__ int all[256];
    all[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
}

static void run_thread(size_t stack, void *(*function)(void *), void *arg)
{
    pthread_attr_t attr;
    pthread_t t;
    pthread_attr_init(&attr);
    if (stack != 0)
        CHECK_EQ_INT(pthread_attr_setstacksize(&attr, stack), 0);
    CHECK_EQ_INT(pthread_create(&t, &attr, function, arg), 0);
    pthread_join(t, nullptr);
    pthread_attr_destroy(&attr);
}

// ---- small stacks ----

static void *use(void *)
{
    int *p, last[256];
    OK(cudaMalloc(&p, sizeof last));
    for (int n = 0; n < 20; n++)
        reverse<<<8, 256>>>(p);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(last, p, sizeof last, cudaMemcpyDefault));
    CHECK_EQ_INT(last[0], 255);
    OK(cudaFree(p));
    return nullptr;
}

static void small()
{
    run_thread(PTHREAD_STACK_MIN, use, nullptr);
    run_thread(PTHREAD_STACK_MIN, use, nullptr);
    run_thread(100000, use, nullptr);
    run_thread(0, use, nullptr);
}

// ---- signal stacks ----

static void *fault(void *late)
{
    stack_t mine = {}, now = {};
    mine.ss_size = (size_t)sysconf(_SC_MINSIGSTKSZ);
    mine.ss_sp = malloc(mine.ss_size);
    if (late != nullptr)
        use(nullptr);
    CHECK_EQ_INT(sigaltstack(&mine, nullptr), 0);
    for (int n = 0; n < 20; n++) {
        wild<<<1, 1>>>((int *)16);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
        OK(cudaDeviceReset());
    }
    CHECK_EQ_INT(sigaltstack(nullptr, &now), 0);
    CHECK(now.ss_sp == mine.ss_sp && now.ss_size == mine.ss_size && now.ss_flags == 0);
    mine.ss_flags = SS_DISABLE;
    sigaltstack(&mine, nullptr);
    free(mine.ss_sp);
    return nullptr;
}

static void signal_stacks()
{
    static int late;
    run_thread(0, fault, nullptr);
    run_thread(0, fault, &late);
}

// ---- host functions that end their thread ----

static void CUDART_CB leave(void *calls)
{
    ++*(int *)calls;
    pthread_exit(nullptr);
}

static void CUDART_CB leave_callback(cudaStream_t, cudaError_t, void *calls) { leave(calls); }

static int count_threads()
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    while (struct dirent *e = readdir(d))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void exits()
{
    enum { TIMES = 20 };
    int calls = 0, value = 0, *p;
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t exec;
    OK(cudaMalloc(&p, sizeof *p));
    OK(cudaMemset(p, 0, sizeof *p));
    OK(cudaStreamCreate(&s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    add<<<1, 1, 0, s>>>(p, 1);
    OK(cudaLaunchHostFunc(s, leave, &calls));
    add<<<1, 1, 0, s>>>(p, 1);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&exec, g, 0));
    for (int n = 0; n < TIMES; n++) {
        OK(cudaLaunchHostFunc(s, leave, &calls));
        add<<<1, 1, 0, s>>>(p, 1);
        OK(cudaStreamAddCallback(s, leave_callback, &calls, 0));
        OK(cudaGraphLaunch(exec, s));
    }
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(calls, 3 * TIMES);
    OK(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDefault));
    CHECK_EQ_INT(value, 3 * TIMES);
    for (int n = 0; n < 100 && count_threads() > 16; n++)
        usleep(10000); // those that have left may still be on their way
    CHECK(count_threads() <= 16 + (int)sysconf(_SC_NPROCESSORS_ONLN));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(g));
    OK(cudaStreamDestroy(s));
    OK(cudaFree(p));
}

// ---- threads that are cancelled ----

static void *work(void *p)
{
    for (;;) {
        add<<<4, 32>>>((int *)p, 1);
        cudaDeviceSynchronize();
        pthread_testcancel();
    }
    return nullptr;
}

static void cancelled()
{
    int *p, value = 0;
    OK(cudaMalloc(&p, sizeof *p));
    OK(cudaMemset(p, 0, sizeof *p));
    for (int n = 0; n < 20; n++) {
        pthread_t t[3];
        for (auto &thread : t)
            CHECK_EQ_INT(pthread_create(&thread, nullptr, work, p), 0);
        usleep(2000 + 500 * n);
        for (auto thread : t)
            pthread_cancel(thread);
        for (auto thread : t)
            pthread_join(thread, nullptr);
    }
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDefault));
    CHECK(value > 0 && value % 128 == 0);
    OK(cudaFree(p));
}

int main(int, char **argv)
{
    const char *mode = argv[1] != nullptr ? argv[1] : "";
    if (strcmp(mode, "small") == 0)
        small();
    else if (strcmp(mode, "signals") == 0)
        signal_stacks();
    else if (strcmp(mode, "exits") == 0)
        exits();
    else if (strcmp(mode, "cancel") == 0)
        cancelled();
    else
        return 2;
    return check_done();
}
