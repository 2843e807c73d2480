// K2.17: kernels with few and very many loads and stores whose lanes access scattered addresses:
// elements of all sizes, lanes in any order, in order, at a fixed distance and with gaps, whole
// warps and parts of them, global and shared memory. What is not aligned is an error here, too.
// RUN loads: WEIR_VECTORS=loads
// RUN narrow: WEIR_VECTORS=256
#include "check.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

static const int THREADS = 64, ROWS = 52, TILE = 26, FEW = 3;

// Each thread moves an element of each row from `from[row]`'s place for it to `to`'s; the places
// are read from memory, so that nothing is known of them.
template <class T, int COUNT>
__global__ void move_rows(T *to, const T *from, const int *place, int active)
{
    int at = place[threadIdx.x];
    if (threadIdx.x % 32 >= active)
        return;
#pragma unroll
    for (int row = 0; row < COUNT; row++)
        to[row * THREADS + at] = from[(ROWS - 1 - row) * THREADS + at];
}

// The same through shared memory, where a thread takes what its neighbour's place has.
template <class T> __global__ void turn_rows(T *to, const T *from, const int *place)
{
    __shared__ T tile[THREADS * TILE];
    int at = place[threadIdx.x], next = place[(threadIdx.x + 1) % THREADS];
#pragma unroll
    for (int row = 0; row < TILE; row++)
        tile[row * THREADS + at] = from[row * THREADS + at];
    __syncthreads();
#pragma unroll
    for (int row = 0; row < TILE; row++)
        to[row * THREADS + at] = tile[row * THREADS + next];
}

// Lanes at a fixed distance: rows of a matrix, read by column.
template <class T, int COUNT> __global__ void columns(T *to, const T *from)
{
#pragma unroll
    for (int row = 0; row < COUNT; row++)
        to[row * THREADS + threadIdx.x] = from[threadIdx.x * ROWS + row];
}
// And back: a column written, of rows read.
template <class T, int COUNT> __global__ void rows(T *to, const T *from)
{
#pragma unroll
    for (int row = 0; row < COUNT; row++)
        to[threadIdx.x * ROWS + row] = from[row * THREADS + threadIdx.x];
}

template <class T> static T element(int n)
{
    T t;
    unsigned char *bytes = (unsigned char *)&t;
    for (size_t i = 0; i < sizeof t; i++)
        bytes[i] = (unsigned char)(n * 7 + n / 256 + (int)i * 31);
    return t;
}

template <class T> static bool same(const T &x, const T &y)
{
    return memcmp(&x, &y, sizeof x) == 0;
}

template <class T> static void check_moves(const std::vector<int> &place)
{
    const int count = THREADS * ROWS;
    std::vector<T> from(count), to(count);
    T *device[2];
    int *places;
    for (int i = 0; i < count; i++)
        from[i] = element<T>(i);
    for (T *&d : device)
        OK(cudaMalloc(&d, count * sizeof(T)));
    OK(cudaMalloc(&places, THREADS * sizeof(int)));
    OK(cudaMemcpy(places, place.data(), THREADS * sizeof(int), cudaMemcpyDefault));
    OK(cudaMemcpy(device[0], from.data(), count * sizeof(T), cudaMemcpyDefault));
    for (int c = 0; c < 4; c++) {
        int active = c % 2 ? 17 : 32, rows = c < 2 ? ROWS : FEW;
        OK(cudaMemset(device[1], 0xEE, count * sizeof(T)));
        auto move = c < 2 ? move_rows<T, ROWS> : move_rows<T, FEW>;
        move<<<1, THREADS>>>(device[1], device[0], places, active);
        OK(cudaGetLastError());
        OK(cudaMemcpy(to.data(), device[1], count * sizeof(T), cudaMemcpyDefault));
        T untouched;
        memset(&untouched, 0xEE, sizeof untouched);
        int wrong = 0;
        for (int t = 0; t < THREADS; t++)
            for (int row = 0; row < ROWS; row++)
                wrong += !same(to[row * THREADS + place[t]],
                               t % 32 < active && row < rows
                                   ? from[(ROWS - 1 - row) * THREADS + place[t]]
                                   : untouched);
        CHECK_EQ_INT(wrong, 0);
    }
    turn_rows<T><<<1, THREADS>>>(device[1], device[0], places);
    OK(cudaGetLastError());
    OK(cudaMemcpy(to.data(), device[1], count * sizeof(T), cudaMemcpyDefault));
    int wrong = 0;
    for (int t = 0; t < THREADS; t++)
        for (int row = 0; row < TILE; row++)
            wrong +=
                !same(to[row * THREADS + place[t]], from[row * THREADS + place[(t + 1) % THREADS]]);
    CHECK_EQ_INT(wrong, 0);
    for (T *d : device)
        OK(cudaFree(d));
    OK(cudaFree(places));
}

template <class T> static void check_all_orders()
{
    std::vector<int> place(THREADS);
    for (int t = 0; t < THREADS; t++)
        place[t] = t;
    check_moves<T>(place);
    for (int t = 0; t < THREADS; t++)
        place[t] = (t * 37 + 11) % THREADS;
    check_moves<T>(place);
    for (int t = 0; t < THREADS; t++)
        place[t] = THREADS - 1 - t;
    check_moves<T>(place);
}

template <class T, int COUNT> static void check_columns()
{
    const int count = THREADS * ROWS;
    std::vector<T> from(count), to(count);
    T *device[3];
    for (int i = 0; i < count; i++)
        from[i] = element<T>(i);
    for (T *&d : device) {
        OK(cudaMalloc(&d, count * sizeof *d));
        OK(cudaMemset(d, 0xEE, count * sizeof *d));
    }
    OK(cudaMemcpy(device[0], from.data(), count * sizeof from[0], cudaMemcpyDefault));
    columns<T, COUNT><<<1, THREADS>>>(device[1], device[0]);
    rows<T, COUNT><<<1, THREADS>>>(device[2], device[1]);
    OK(cudaMemcpy(to.data(), device[1], count * sizeof from[0], cudaMemcpyDefault));
    int wrong = 0;
    for (int t = 0; t < THREADS; t++)
        for (int row = 0; row < COUNT; row++)
            wrong += !same(to[row * THREADS + t], from[t * ROWS + row]);
    OK(cudaMemcpy(to.data(), device[2], count * sizeof from[0], cudaMemcpyDefault));
    for (int t = 0; t < THREADS; t++)
        for (int row = 0; row < COUNT; row++)
            wrong += !same(to[t * ROWS + row], from[t * ROWS + row]);
    CHECK_EQ_INT(wrong, 0);
    for (T *d : device)
        OK(cudaFree(d));
}

// The last thing of the program: the context is of no use afterwards.
static void check_misaligned()
{
    uint64_t *memory;
    int *places;
    std::vector<int> place(THREADS, 0);
    OK(cudaMalloc(&memory, 2 * THREADS * ROWS * sizeof *memory));
    OK(cudaMalloc(&places, THREADS * sizeof(int)));
    OK(cudaMemcpy(places, place.data(), THREADS * sizeof(int), cudaMemcpyDefault));
    uint64_t *odd = (uint64_t *)((char *)memory + 4);
    move_rows<uint64_t, ROWS><<<1, THREADS>>>(memory, odd, places, 32);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaErrorMisalignedAddress);
}

int main()
{
    check_all_orders<uint8_t>();
    check_all_orders<float>();
    check_all_orders<double>();
    check_all_orders<uint4>();
    check_all_orders<float2>();
    check_all_orders<double2>();
    check_all_orders<ushort4>();
    check_columns<uint64_t, ROWS>();
    check_columns<float2, FEW>();
    check_columns<uint4, FEW>();
    check_columns<double2, ROWS>();
    check_columns<ushort4, FEW>();
    check_columns<float, FEW>();
    check_misaligned();
    return check_done();
}
