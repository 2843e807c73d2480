/* Host functions and callbacks: work of their stream, in its order alone. */
#include "races.h"

#include <atomic>
#include <chrono>

#include <pthread.h>
#include <unistd.h>

static void CUDART_CB writes(void *p)
{
    *(int *)p = 5; // @w host write
}
static void CUDART_CB reads(void *p)
{
    sink = *(int *)p; // @r host read
}
static void CUDART_CB does_nothing(void *) {}
static void CUDART_CB callback_writes(cudaStream_t, cudaError_t, void *p)
{
    *(int *)p = 5; // @c host write
}

CASE(function_writes_kernel_reads)
{
    DO(cudaLaunchHostFunc(a, writes, m)); // @1 function write
    if (repaired)
        order(a, b);
    sum<<<1, 32, 0, b>>>(m, N, out); // @2 kernel read
}

CASE(kernel_writes_function_reads)
{
    fill<<<1, 32, 0, a>>>(m, N); // @1 kernel write
    DO(cudaLaunchHostFunc(repaired ? a : b, reads, m)); // @2 function read
}

CASE(copy_then_function)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    if (repaired)
        order(a, b);
    DO(cudaLaunchHostFunc(b, reads, h)); // @2 function read
}

CASE(function_then_copy)
{
    DO(cudaLaunchHostFunc(a, writes, h)); // @1 function write
    if (repaired)
        order(a, b);
    DO(cudaMemcpyAsync(d, h, N * sizeof(int), cudaMemcpyHostToDevice, b)); // @2 copy read
}

CASE(function_writes_host_reads)
{
    DO(cudaLaunchHostFunc(a, writes, m)); // @1 function write
    if (repaired)
        DO(cudaStreamSynchronize(a));
    sink = m[0]; // @2 host read
}

CASE(callback_then_kernel)
{
    DO(cudaStreamAddCallback(a, callback_writes, m, 0)); // @1 function write
    if (repaired)
        order(a, b);
    sum<<<1, 32, 0, b>>>(m, N, out); // @2 kernel read
}

/* A host function in another stream is no wait of the host's. */
CASE(function_is_no_synchronization)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(a, does_nothing, nullptr));
    if (repaired)
        DO(cudaStreamSynchronize(a));
    sink = h[2]; // @2 host read
}

/* A thread that a host function starts comes after it. */
static void *thread_reads(void *p)
{
    sink = ((int *)p)[3]; // @20 host read
    return nullptr;
}
static void CUDART_CB starts(void *p)
{
    pthread_t thread;
    pthread_create(&thread, nullptr, thread_reads, p);
    pthread_join(thread, nullptr);
}
CASE(thread_of_a_function)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @19 copy write
    if (repaired)
        DO(cudaLaunchHostFunc(a, starts, h));
    else
        starts(h);
    DO(cudaStreamSynchronize(a));
}

CASE(functions_of_two_streams)
{
    DO(cudaLaunchHostFunc(a, writes, m)); // @1 function write
    if (repaired)
        order(a, b);
    DO(cudaLaunchHostFunc(b, writes, m)); // @2 function write
}

/* Functions that need the host to go on: the check waits for each of them in vain, and learns to wait
 * less. */
static std::atomic<int> let_go;
static void CUDART_CB waits_for_the_host(void *)
{
    while (let_go == 0)
        usleep(100);
}
static double seconds()
{
    return (double)std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
               .count() /
           1000;
}
CASE(many_functions_wait_for_the_host)
{
    double begun = seconds();
    for (int i = 0; i < 200; i++) {
        let_go = 0;
        DO(cudaLaunchHostFunc(a, waits_for_the_host, nullptr));
        DO(cudaMemsetAsync(d, 0, 64, b)); // @1 set write
        let_go = 1;
        DO(cudaStreamSynchronize(a));
        if (repaired || i > 0)
            DO(cudaStreamSynchronize(b));
        if (!repaired && i == 0)
            DO(cudaMemsetAsync(d, 0, 64, c)); // @2 set write
    }
    DO(seconds() - begun > 15); /* 150 ms for each is 30 s */
}
