/* Commands of two streams that nothing orders: kernels, copies and sets of all shapes. */
#include "races.h"

CASE(kernels_write_write)
{
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    if (repaired)
        order(a, b);
    fill<<<1, 32, 0, b>>>(d, N, 2); // @2 kernel write
}

CASE(kernels_write_read)
{
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    if (repaired)
        order(a, b);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(kernels_read_write)
{
    sum<<<1, 32, 0, a>>>(d, N, out); // @1 kernel read
    if (repaired)
        order(a, b);
    fill<<<1, 32, 0, b>>>(d, N); // @2 kernel write
}

/* Reads do not race with reads, nor atomics with atomics; an atomic races with a plain write. */
CASE(kernels_atomic_write)
{
    atomic_bump<<<1, 32, 0, a>>>(d, N); // @1 kernel atomic
    if (repaired)
        atomic_bump<<<1, 32, 0, b>>>(d, N);
    else
        fill<<<1, 32, 0, b>>>(d, N); // @2 kernel write
}

CASE(kernels_atomic_read)
{
    atomic_bump<<<1, 32, 0, a>>>(d, N); // @1 kernel atomic
    if (repaired)
        order(a, b);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(copy_in_then_kernel)
{
    DO(cudaMemcpyAsync(d, h, N * sizeof(int), cudaMemcpyHostToDevice, a)); // @1 copy write
    if (repaired)
        order(a, b);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(kernel_then_copy_out)
{
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    if (repaired)
        order(a, b);
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, b)); // @2 copy read
}

CASE(copy_then_copy)
{
    DO(cudaMemcpyAsync(d, h, N * sizeof(int), cudaMemcpyHostToDevice, a)); // @1 copy write
    if (repaired)
        order(a, b);
    DO(cudaMemcpyAsync(d2, d, N * sizeof(int), cudaMemcpyDeviceToDevice, b)); // @2 copy read
}

CASE(copies_to_one_place)
{
    DO(cudaMemcpyAsync(d, h, N * sizeof(int), cudaMemcpyHostToDevice, a)); // @1 copy write
    if (repaired)
        order(a, b);
    DO(cudaMemcpyAsync(d, h2, N * sizeof(int), cudaMemcpyHostToDevice, b)); // @2 copy write
}

CASE(copy_out_then_set)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy read
    if (repaired)
        order(a, b);
    DO(cudaMemsetAsync(d, 0, N * sizeof(int), b)); // @2 set write
}

CASE(set_then_kernel)
{
    DO(cudaMemsetAsync(d, 1, N * sizeof(int), a)); // @1 set write
    if (repaired)
        order(a, b);
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

CASE(sets_of_one_place)
{
    DO(cudaMemsetAsync(d, 1, N * sizeof(int), a)); // @1 set write
    if (repaired)
        order(a, b);
    DO(cudaMemsetAsync(d, 2, N * sizeof(int), b)); // @2 set write
}

/* Repaired: the second begins where the first one ends. */
CASE(ranges_overlap_by_one_element)
{
    fill<<<1, 32, 0, a>>>(d, N / 2); // @1 kernel write
    fill<<<1, 32, 0, b>>>(d + N / 2 - (repaired ? 0 : 1), N / 2); // @2 kernel write
}

__global__ void fill_bytes(char *p, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        p[i] = 1;
}

CASE(ranges_overlap_by_one_byte)
{
    fill_bytes<<<1, 32, 0, a>>>((char *)d, 101); // @1 kernel write
    fill_bytes<<<1, 32, 0, b>>>((char *)d + 101 - (repaired ? 0 : 1), 50); // @2 kernel write
}

__global__ void fill_even(int *p, int odd)
{
    p[2 * threadIdx.x + odd] = 1;
}

CASE(interleaved_elements)
{
    fill_even<<<1, 32, 0, a>>>(d, 0); // @1 kernel write
    fill_even<<<1, 32, 0, b>>>(d, repaired ? 1 : 0); // @2 kernel write
}

/* 2D copies of two columns of tiles: rows interleave and have no byte in common, unless the columns
 * overlap. */
CASE(copies_2d_of_columns)
{
    size_t pitch = 128;
    DO(cudaMemcpy2DAsync(d, pitch, h, 64, 64, 16, cudaMemcpyHostToDevice, a)); // @1 copy write
    DO(cudaMemcpy2DAsync(d + (repaired ? 16 : 15), pitch, h2, 64, 64, 16, // @2 copy write
                         cudaMemcpyHostToDevice, b));
}

CASE(set_2d_and_kernel_between_rows)
{
    DO(cudaMemset2DAsync(d, 256, 1, 64, 8, a)); // @1 set write
    fill<<<1, 32, 0, b>>>(d + (repaired ? 16 : 15), 48); // @2 kernel write
}

CASE(copy_3d_of_a_box)
{
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(h, 32, 32, 4);
    p.dstPtr = make_cudaPitchedPtr(d, 64, 64, 8);
    p.extent = make_cudaExtent(32, 4, 4);
    p.kind = cudaMemcpyHostToDevice;
    DO(cudaMemcpy3DAsync(&p, a)); // @1 copy write
    fill<<<1, 8, 0, b>>>(d + 16 * 4 + (repaired ? 0 : -16), 8); // @2 kernel write
}

CASE(column_of_a_matrix)
{
    /* A kernel has one column, a copy another. */
    DO(cudaMemcpy2DAsync(h, 4, d + 3, 64, 4, 64, cudaMemcpyDeviceToHost, a)); // @1 copy read
    DO(cudaMemset2DAsync(d + (repaired ? 4 : 3), 64, 0, 4, 64, b)); // @2 set write
}

CASE(priorities_are_no_order)
{
    cudaStream_t high;
    DO(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, -5));
    fill<<<1, 32, 0, high>>>(d, N); // @1 kernel write
    if (repaired)
        order(high, a);
    sum<<<1, 32, 0, a>>>(d, N, out); // @2 kernel read
    DO(cudaStreamDestroy(high));
}

CASE(destroying_a_stream_is_no_wait)
{
    cudaStream_t s;
    DO(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    fill<<<1, 32, 0, s>>>(d, N); // @1 kernel write
    if (repaired)
        DO(cudaStreamSynchronize(s));
    DO(cudaStreamDestroy(s));
    sum<<<1, 32, 0, a>>>(d, N, out); // @2 kernel read
}

/* Two workers, one of which is joined. */
CASE(join_of_one_of_two)
{
    fill<<<1, 32, 0, a>>>(d, N);
    fill<<<1, 32, 0, b>>>(d2, N); // @1 kernel write
    order(a, c);
    if (repaired) {
        DO(cudaEventRecord(second, b));
        DO(cudaStreamWaitEvent(c, second, 0));
    }
    sum<<<1, 32, 0, c>>>(d, N, out);
    sum<<<1, 32, 0, c>>>(d2, N, out); // @2 kernel read
}

CASE(fork_before_the_work)
{
    if (!repaired)
        order(a, b);
    DO(cudaMemcpyAsync(d, h, N * sizeof(int), cudaMemcpyHostToDevice, a)); // @1 copy write
    if (repaired)
        order(a, b);
    bump<<<1, 32, 0, b>>>(d, N); // @2 kernel read
}

__device__ int symbol[32];
__constant__ int factor[32];
__global__ void use_symbol(int *result) { result[threadIdx.x] = symbol[threadIdx.x]; }
__global__ void use_constant(int *result) { result[threadIdx.x] = factor[threadIdx.x]; }

CASE(copy_to_a_variable)
{
    DO(cudaMemcpyToSymbolAsync(symbol, h, sizeof symbol, 0, cudaMemcpyHostToDevice, // @1 copy write
                               a));
    if (repaired)
        order(a, b);
    use_symbol<<<1, 32, 0, b>>>(out); // @2 kernel read
}

CASE(copy_to_constant_memory)
{
    use_constant<<<1, 32, 0, a>>>(out); // @1 kernel read
    if (repaired)
        order(a, b);
    DO(cudaMemcpyToSymbolAsync(factor, h, sizeof factor, 0, cudaMemcpyHostToDevice, // @2 copy write
                               b));
}

/* The usual pipeline: upload, kernel, download in three streams, a link is missing. */
CASE(pipeline_without_the_last_link)
{
    DO(cudaMemcpyAsync(d, h, N * sizeof(int), cudaMemcpyHostToDevice, a));
    DO(cudaEventRecord(event, a));
    DO(cudaStreamWaitEvent(b, event, 0));
    bump<<<1, 32, 0, b>>>(d, N); // @1 kernel write
    DO(cudaEventRecord(second, b));
    DO(cudaStreamWaitEvent(c, repaired ? second : event, 0));
    DO(cudaMemcpyAsync(h2, d, N * sizeof(int), cudaMemcpyDeviceToHost, c)); // @2 copy read
}

/* Two buffers in turn: the second round must wait for the kernel of the first. */
CASE(double_buffer_without_the_way_back)
{
    int *buffer[2] = {d, d2};
    for (int round = 0; round < 3; round++) {
        if (repaired && round == 2)
            DO(cudaStreamWaitEvent(a, second, 0));
        DO(cudaMemcpyAsync(buffer[round % 2], h, N * sizeof(int), // @2 copy write
                           cudaMemcpyHostToDevice, a));
        order(a, b);
        sum<<<1, 32, 0, b>>>(buffer[round % 2], N, out); // @1 kernel read
        if (round == 0)
            DO(cudaEventRecord(second, b));
    }
}

/* A copy from pageable memory may still be on its way when the call returns, whether or not it is. */
CASE(copy_from_pageable_memory_orders_nothing)
{
    DO(cudaMemcpyAsync(d, page, N * sizeof(int), cudaMemcpyHostToDevice, a)); // @1 copy write
    if (repaired)
        order(a, b);
    fill<<<1, 32, 0, b>>>(d, N); // @2 kernel write
}
