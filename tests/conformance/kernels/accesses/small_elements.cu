/* K2.17: neighbouring threads that load and store elements of one and two bytes, alone and as
 * vectors, when some of them do not: those after the end of an array, every third, one alone, in
 * loops that end at different times. What the others would have touched is left alone and may be no
 * memory at all: the arrays end where an allocation does. */
#include <cstdint>
#include <cstdio>
#include <vector>

#include "check.h"

enum { BYTES = 4 << 20, TAIL = 4096 };

template <class T> static __device__ T next(T v) { return v + 1; }
static __device__ uchar2 next(uchar2 v) { return make_uchar2(v.x + 1, v.y + 1); }
static __device__ uchar4 next(uchar4 v) { return make_uchar4(v.x + 1, v.y + 1, v.z + 1, v.w + 1); }
static __device__ ushort2 next(ushort2 v) { return make_ushort2(v.x + 1, v.y + 1); }
static __device__ ushort4 next(ushort4 v)
{
    return make_ushort4(v.x + 1, v.y + 1, v.z + 1, v.w + 1);
}

static __host__ __device__ bool moves(int i, int n, int way)
{
    return i < n && (way == 0 || (way == 1 && i % 3 != 1) || (way == 2 && i % 32 == 7) ||
                     (way == 3 && i % 32 > 20));
}

/* Elements of the last n in the array. */
template <class T> __global__ void copy(const T *from, T *to, int n, int way)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (moves(i, n, way))
        to[i] = next(from[i]);
}

/* Through shared memory, which holds no more than what is used. */
template <class T> __global__ void by_shared(const T *from, T *to, int n, int way)
{
    extern __shared__ uint64_t memory[];
    T *s = (T *)memory;
    int i = threadIdx.x;
    if (moves(i, n, way))
        s[i] = from[i];
    __syncthreads();
    if (moves(i, n, way))
        to[i] = next(s[i]);
}

/* Some threads do so more often than others. */
template <class T> __global__ void by_loop(const T *from, T *to, int n, int way)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x + (way & 1))
        if (moves(i, n, way))
            to[i] = next(from[i]);
}

template <class T>
static int wrong(const std::vector<uint8_t> &from, const std::vector<uint8_t> &to, int n, int way,
                 unsigned step)
{
    int bad = 0;
    size_t first = BYTES - (size_t)n * sizeof(T);
    for (size_t b = first; b < BYTES; b++) {
        int i = (int)((b - first) / sizeof(T));
        bool low = (b - first) % step == 0; /* an element's lower byte is counted up, with carry */
        uint8_t up = from[b] + (low || (step == 2 && from[b - 1] == 255));
        bad += to[b] != (moves(i, n, way) ? up : 0);
    }
    return bad;
}

template <class T, unsigned STEP> static void all(const char *name)
{
    std::vector<uint8_t> from(BYTES), to(BYTES);
    for (size_t b = 0; b < BYTES; b++)
        from[b] = (uint8_t)(b * 7 + b / 251);
    uint8_t *x, *y;
    cudaMalloc(&x, BYTES);
    cudaMalloc(&y, BYTES);
    cudaMemcpy(x, from.data(), BYTES, cudaMemcpyDefault);
    static const int sizes[] = {1, 31, 32, 33, 100, 255, 256};
    for (int n : sizes)
        for (int way = 0; way < 4; way++)
            for (int kind = 0; kind < 3; kind++) {
                const T *s = (const T *)(x + BYTES) - n;
                T *d = (T *)(y + BYTES) - n;
                cudaMemset(y + BYTES - TAIL, 0, TAIL);
                if (kind == 0)
                    copy<<<n / 64 + 1, 64>>>(s, d, n, way);
                else if (kind == 1)
                    by_shared<<<1, 256, n * sizeof(T)>>>(s, d, n, way);
                else
                    by_loop<<<1, 96>>>(s, d, n, 0);
                CHECK_EQ_INT(
                    cudaMemcpy(to.data() + BYTES - TAIL, y + BYTES - TAIL, TAIL, cudaMemcpyDefault),
                    cudaSuccess);
                int bad = wrong<T>(from, to, n, kind == 2 ? 0 : way, STEP);
                if (bad)
                    printf("%s, %d elements, way %d, kind %d: %d wrong\n", name, n, way, kind, bad);
                CHECK_EQ_INT(bad, 0);
            }
    cudaFree(x);
    cudaFree(y);
}

int main()
{
    all<uint8_t, 1>("u8");
    all<uint16_t, 2>("u16");
    all<uchar2, 1>("u8 x 2");
    all<uchar4, 1>("u8 x 4");
    all<ushort2, 2>("u16 x 2");
    all<ushort4, 2>("u16 x 4");
    return check_done();
}
