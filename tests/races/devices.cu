/* Two devices: a copy between their memories is ordered with both in the legacy default stream, and
 * in a stream of its own with that stream only. */
// DEVICES: 2
#include "races.h"

static int *far; /* device memory of the other device, N */
static cudaStream_t far_blocking;

static void prepare_far()
{
    DO(cudaSetDevice(1));
    DO(cudaMalloc(&far, N * sizeof(int)));
    DO(cudaMemset(far, 0, N * sizeof(int)));
    DO(cudaStreamCreate(&far_blocking));
    DO(cudaDeviceSynchronize());
}

static void settle()
{
    for (int device = 0; device < 2; device++) {
        DO(cudaSetDevice(device));
        DO(cudaDeviceSynchronize());
    }
}

CASE(kernel_of_the_source_then_copy)
{
    prepare_far(); // SAYS in the legacy default stream of device 1
    fill<<<1, 32>>>(far, N); // @1 kernel write
    DO(cudaSetDevice(0));
    DO(cudaMemcpyPeerAsync(d, 0, far, 1, N * sizeof(int), repaired ? 0 : a)); // @2 copy read
    settle();
}

CASE(copy_then_kernel_of_the_target)
{
    prepare_far();
    DO(cudaSetDevice(0));
    DO(cudaMemcpyPeerAsync(far, 1, d, 0, N * sizeof(int), repaired ? 0 : a)); // @1 copy write
    DO(cudaSetDevice(1));
    fill<<<1, 32>>>(far, N); // @2 kernel write
    settle();
}

CASE(copy_then_set_of_the_source)
{
    prepare_far();
    DO(cudaSetDevice(0));
    cudaStream_t s = repaired ? 0 : a;
    DO(cudaMemcpyAsync(d, far, N * sizeof(int), cudaMemcpyDefault, s)); // @1 copy read
    DO(cudaSetDevice(1));
    DO(cudaMemset(far, 1, N * sizeof(int))); // @2 set write
    settle();
}

CASE(blocking_streams_of_both)
{
    prepare_far();
    fill<<<1, 32, 0, far_blocking>>>(far, N); // @1 kernel write
    DO(cudaSetDevice(0));
    DO(cudaMemcpyPeerAsync(d, 0, far, 1, N * sizeof(int), repaired ? 0 : a)); // @2 copy read
    if (repaired)
        sum<<<1, 32, 0, blocking>>>(d, N, out);
    settle();
}
