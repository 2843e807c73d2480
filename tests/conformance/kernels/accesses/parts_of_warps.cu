/* K2: rows that parts of a warp read, 4 to 32 lanes a row: of any length, so that some lanes and
 * some parts read nothing; up to the last element of an allocation, after which is nothing; across
 * pages; and rows of no elements that begin where nothing is. */
// RUN 256: WEIR_VECTORS=256
// RUN 256-gathers: WEIR_VECTORS=256,gathers
// RUN 256-loads: WEIR_VECTORS=256,loads
#include <vector>

#include "check.h"

enum { ROWS = 1000, NOWHERE = 0x70000000 };

/* What a lane makes of its elements: each may be told from the others. */
template <class T> struct part {
    static __host__ __device__ T empty() { return T(1); }
    static __host__ __device__ T with(T sum, T value, T x) { return sum * 3 + value * x; }
    static T make(unsigned n) { return (T)(n % 61); }
    static bool same(T a, T b) { return a == b; }
};
template <> struct part<float4> {
    static __host__ __device__ float4 empty() { return make_float4(1, 2, 3, 4); }
    static __host__ __device__ float4 with(float4 s, float4 v, float4 x)
    {
        return make_float4(s.x / 2 + v.x * x.w, s.y + v.y * x.z, s.z + v.z, s.w / 2 + x.x);
    }
    static float4 make(unsigned n) { return make_float4(n % 7, n % 11, n % 13, n % 17); }
    static bool same(float4 a, float4 b)
    {
        return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
    }
};

template <class T, int LANES>
__global__ void rows(const int *start, const int *end, const int *place, const T *value, const T *x,
                     T *out, int n)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    if (row >= n)
        return;
    T sum = part<T>::empty();
    for (int e = start[row] + lane; e < end[row]; e += LANES)
        sum = part<T>::with(sum, value[e], x[place[e]]);
    out[row * LANES + lane] = sum;
}

/* The same where lanes of a row are x, rows y. */
template <class T, int LANES>
__global__ void rows_by_y(const int *start, const int *end, const int *place, const T *value,
                          const T *x, T *out, int n)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    T sum = part<T>::empty();
    if (row < n)
        for (int e = start[row] + lane; e < end[row]; e += LANES)
            sum = part<T>::with(sum, value[e], x[place[e]]);
    if (row < n)
        out[row * LANES + lane] = sum;
}

/* More than a sum comes out of the loop: when, whether, how often. */
template <int LANES>
static __host__ __device__ unsigned seen(const int *start, const int *end, const int *place,
                                         const unsigned *value, const unsigned *x, int row,
                                         int lane)
{
    unsigned best = 0, when = 77, turn = 5, last = 123;
    bool any = lane == 3;
    for (int e = start[row] + lane; e < end[row]; e += LANES, turn += 2) {
        unsigned v = value[e] ^ x[place[e]];
        when = v > best ? turn : when;
        best = v > best ? v : best;
        any = any != (v == 9 || v == 33);
        last = v; /* written and not read: other lanes keep what they have */
    }
    return best * 1000 + last * 1000000 + when * 4 + (any ? 2 : 0) + (turn > 7);
}
template <int LANES>
__global__ void look(const int *start, const int *end, const int *place, const unsigned *value,
                     const unsigned *x, unsigned *out, int n)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    if (row < n)
        out[row * LANES + lane] = seen<LANES>(start, end, place, value, x, row, lane);
}

template <class T> static T *on_device(const std::vector<T> &v)
{
    T *p;
    CHECK_EQ_INT(cudaMalloc(&p, v.size() * sizeof(T)), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyDefault), cudaSuccess);
    return p;
}

template <class T, int LANES> static void try_rows(int longest)
{
    /* the elements fill whole pages, and the last rows end with them */
    size_t elements = (2 << 20) / sizeof(T);
    std::vector<int> start(ROWS), end(ROWS), place(elements);
    std::vector<T> value(elements), x(4096), out((size_t)ROWS * LANES);
    unsigned random = 7;
    auto next = [&](unsigned below) { return (random = random * 1664525u + 1013904223u) % below; };
    for (size_t i = 0; i < elements; i++) {
        place[i] = (int)next(4096);
        value[i] = part<T>::make(next(1u << 30) >> 9);
    }
    for (int i = 0; i < 4096; i++)
        x[i] = part<T>::make((unsigned)i * 77);
    int at = (int)elements;
    for (int r = ROWS - 1; r >= 0; r--) {
        end[r] = at;
        at -= (int)((next(1u << 20) >> 4) % (unsigned)(longest + 1));
        start[r] = at;
        if (r % 7 == 3)
            start[r] = r % 2 ? NOWHERE : -NOWHERE, end[r] = start[r] - 1;
    }
    int *d_start = on_device(start), *d_end = on_device(end), *d_place = on_device(place);
    T *d_value = on_device(value), *d_x = on_device(x), *d_out = on_device(out);
    for (int by_y = 0; by_y < 2; by_y++) {
        if (by_y)
            rows_by_y<T, LANES><<<(ROWS + 7) / 8, dim3(LANES, 8)>>>(d_start, d_end, d_place,
                                                                    d_value, d_x, d_out, ROWS);
        else
            rows<T, LANES><<<(ROWS * LANES + 127) / 128, 128>>>(d_start, d_end, d_place, d_value,
                                                                d_x, d_out, ROWS);
        CHECK_EQ_INT(cudaMemcpy(out.data(), d_out, out.size() * sizeof(T), cudaMemcpyDefault),
                     cudaSuccess);
        int wrong = 0;
        for (int r = 0; r < ROWS; r++)
            for (int lane = 0; lane < LANES; lane++) {
                T sum = part<T>::empty();
                for (int e = start[r] + lane; e < end[r]; e += LANES)
                    sum = part<T>::with(sum, value[e], x[place[e]]);
                wrong += !part<T>::same(sum, out[r * LANES + lane]);
            }
        if (wrong)
            printf("%d lanes a row, %zu bytes an element, at most %d: %d wrong\n", LANES, sizeof(T),
                   longest, wrong);
        CHECK(wrong == 0);
    }
    if constexpr (sizeof(T) == sizeof(unsigned)) {
        look<LANES><<<(ROWS * LANES + 127) / 128, 128>>>(d_start, d_end, d_place, d_value, d_x,
                                                         d_out, ROWS);
        CHECK_EQ_INT(cudaMemcpy(out.data(), d_out, out.size() * sizeof(T), cudaMemcpyDefault),
                     cudaSuccess);
        int wrong = 0;
        for (int r = 0; r < ROWS; r++)
            for (int lane = 0; lane < LANES; lane++)
                wrong +=
                    out[r * LANES + lane] != seen<LANES>(start.data(), end.data(), place.data(),
                                                         value.data(), x.data(), r, lane);
        if (wrong)
            printf("%d lanes a row look at %d at most: %d wrong\n", LANES, longest, wrong);
        CHECK(wrong == 0);
    }
    for (void *p : {(void *)d_start, (void *)d_end, (void *)d_place, (void *)d_value, (void *)d_x,
                    (void *)d_out})
        cudaFree(p);
}

template <class T> static void try_type()
{
    for (int longest : {5, 24, 100}) {
        try_rows<T, 4>(longest);
        try_rows<T, 8>(longest);
        try_rows<T, 16>(longest);
        try_rows<T, 32>(longest);
    }
}

int main()
{
    try_type<unsigned>();
    try_type<double>();
    try_type<float4>();
    return check_done();
}
