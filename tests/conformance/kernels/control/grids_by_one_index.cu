/* K2: kernels that walk a grid of several dimensions by one index, with loops, branches and values
 * that outlive an iteration after the division: widths in which a warp lies in one row, groups of
 * its lanes do, or neither; indices near the ends of their types, and of negative numbers. */
// RUN 256: WEIR_VECTORS=256
#include <vector>

#include "check.h"

enum { N = 3000, THREADS = 64, GRID = 11 };

template <class I> struct sizes {
    I width, height, first, n; /* indices first .. first + n - 1, which may wrap around */
};
template <class I> struct arrays {
    const int *in;
    int *out;
    I *places;
};

template <class I> static __host__ __device__ int element(const arrays<I> &a, I x, I y)
{
    return a.in[(unsigned)(y * 5 + x) & 1023u];
}

/* Windows around a place, of different extent; what is found goes on to the next iteration. Sizes
 * that are constants are compiled to shifts and masks: rows of W, 0 is any. */
template <class I, int W>
static __host__ __device__ bool windows(const arrays<I> &a, const sizes<I> &s, I i, I at,
                                        int &carried)
{
    const I width = W ? (I)W : s.width, height = W ? (I)16 : s.height;
    I x = i % width, y = i / width % height, plane = i / width / height;
    I x0 = x < 3 ? 0 : (x - 3) / 2 + 1, x1 = x / 2 + 1;
    int sum = carried & 7;
    for (I v = y < 2 ? y : y - 2; v <= y; v++) {
        if (element(a, v, plane) % 5 == 4)
            continue;
        for (I u = x0; u < x1 && u < x0 + 4; u++) {
            int e = element(a, u, v);
            if (e == 77)
                break;
            sum += e * (int)(1 + (u & 3));
        }
    }
    if (sum % 11 == 10) {
        a.out[at] = -sum;
        return true;
    }
    carried += sum;
    a.out[at] = sum + (int)plane;
    a.places[at] = y * width + x;
    return sum % 97 != 96; /* else this thread is done */
}

/* Rows of a matrix, whose elements are neighbours. */
template <class I, int W>
static __host__ __device__ bool rows(const arrays<I> &a, const sizes<I> &s, I i, I at, int &carried)
{
    const I width = W ? (I)W : s.width;
    I row = i / width, column = i - row * width;
    int e = element(a, column, row);
    if (e & 1)
        e += element(a, column + 1, row);
    carried ^= e;
    a.out[at] = e - (int)row;
    a.places[at] = row;
    return true;
}

template <class I, bool WINDOWS, int W>
static __host__ __device__ bool step(const arrays<I> &a, const sizes<I> &s, I i, I at, int &carried)
{
    return WINDOWS ? windows<I, W>(a, s, i, at, carried) : rows<I, W>(a, s, i, at, carried);
}

template <class I, bool WINDOWS, int W> __global__ void strides(arrays<I> a, sizes<I> s, int *last)
{
    I thread = (I)(blockIdx.x * blockDim.x + threadIdx.x);
    int carried = (int)thread % 5;
    for (I at = thread; at < s.n; at += (I)(gridDim.x * blockDim.x))
        if (!step<I, WINDOWS, W>(a, s, at + s.first, at, carried))
            break;
    last[thread] = carried;
}

template <class I, bool WINDOWS, int W> __global__ void each(arrays<I> a, sizes<I> s, int *last)
{
    I thread = (I)(blockIdx.x * blockDim.x + threadIdx.x);
    if (thread >= s.n)
        return;
    int carried = (int)thread % 5;
    step<I, WINDOWS, W>(a, s, thread + s.first, thread, carried);
    last[thread] = carried;
}

template <class I> struct memory {
    int *in, *out, *last;
    I *places;
};

/* The whole grid, on the host. */
template <class I, bool WINDOWS, bool STRIDE, int W>
static void host(const arrays<I> &a, const sizes<I> &s, std::vector<int> &last)
{
    for (int thread = 0; thread < (int)last.size(); thread++) {
        int carried = thread % 5;
        for (I at = (I)thread; at < s.n; at += THREADS * GRID) {
            if (!step<I, WINDOWS, W>(a, s, at + s.first, at, carried) || !STRIDE)
                break;
        }
        if (STRIDE || (I)thread < s.n)
            last[thread] = carried;
    }
}

template <class I, bool WINDOWS, bool STRIDE, int W = 0>
static void try_one(const memory<I> &m, sizes<I> s)
{
    int threads = STRIDE ? THREADS * GRID : (N + THREADS - 1) / THREADS * THREADS;
    std::vector<int> in(1024), out(N), expected(N), last(threads), last_expected(threads);
    std::vector<I> places(N), places_expected(N);
    CHECK_EQ_INT(cudaMemcpy(in.data(), m.in, 4096, cudaMemcpyDefault), cudaSuccess);
    cudaMemset(m.out, 0, N * 4), cudaMemset(m.places, 0, N * sizeof(I));
    cudaMemset(m.last, 0, threads * 4);
    arrays<I> a = {m.in, m.out, m.places};
    if (STRIDE)
        strides<I, WINDOWS, W><<<GRID, THREADS>>>(a, s, m.last);
    else
        each<I, WINDOWS, W><<<threads / THREADS, THREADS>>>(a, s, m.last);
    cudaMemcpy(out.data(), m.out, N * 4, cudaMemcpyDefault);
    cudaMemcpy(places.data(), m.places, N * sizeof(I), cudaMemcpyDefault);
    CHECK_EQ_INT(cudaMemcpy(last.data(), m.last, threads * 4, cudaMemcpyDefault), cudaSuccess);
    host<I, WINDOWS, STRIDE, W>({in.data(), expected.data(), places_expected.data()}, s,
                                last_expected);
    if (out != expected || places != places_expected || last != last_expected) {
        printf("%zu bytes, windows %d, stride %d: %lld by %lld from %lld\n", sizeof(I), WINDOWS,
               STRIDE, (long long)s.width, (long long)s.height, (long long)s.first);
        CHECK(false);
    }
}

template <class I> static void try_type(const memory<I> &m)
{
    const I greatest = (I)-1 < 0 ? (I)(~0ull >> (65 - 8 * sizeof(I))) : (I)-1;
    for (I width : {1, 7, 8, 24, 31, 32, 33, 56, 64, 100, 1024})
        for (I first : {(I)0, (I)5, (I)32, (I)(greatest - N + 1)}) {
            sizes<I> s = {width, 9, first, N};
            try_one<I, true, true>(m, s), try_one<I, true, false>(m, s);
            try_one<I, false, true>(m, s), try_one<I, false, false>(m, s);
        }
    for (I first : {(I)-40, (I)-8, (I)-3000}) /* below zero, or around the end */
        for (I width : {8, 64, 1000}) {
            sizes<I> s = {width, 9, first, N};
            try_one<I, false, true>(m, s), try_one<I, false, false>(m, s);
            if ((I)-1 < 0) { /* divisors, too */
                s.width = -width;
                try_one<I, false, true>(m, s), try_one<I, false, false>(m, s);
            }
        }
}

template <class I, int W> static void try_constant(const memory<I> &m)
{
    const I greatest = (I)-1 < 0 ? (I)(~0ull >> (65 - 8 * sizeof(I))) : (I)-1;
    for (I first : {(I)0, (I)5, (I)32, (I)-40, (I)-8, (I)-3000, (I)(greatest - N + 1)}) {
        sizes<I> s = {W, 16, first, N};
        if (first >= 0) /* which windows of other rows have no end */
            try_one<I, true, true, W>(m, s), try_one<I, true, false, W>(m, s);
        try_one<I, false, true, W>(m, s), try_one<I, false, false, W>(m, s);
    }
}

template <class I> static void allocate_and_try(int *in, int *out, int *last)
{
    memory<I> m = {in, out, last, nullptr};
    CHECK_EQ_INT(cudaMalloc(&m.places, N * sizeof(I)), cudaSuccess);
    try_type<I>(m);
    try_constant<I, 8>(m), try_constant<I, 64>(m), try_constant<I, 1024>(m);
    cudaFree(m.places);
}

int main()
{
    int *in, *out, *last;
    std::vector<int> values(1024);
    for (int n = 0; n < 1024; n++)
        values[n] = (n * 7919 + n / 3) % 251;
    CHECK_EQ_INT(cudaMalloc(&in, 4096), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&out, N * 4), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&last, 2 * N * 4), cudaSuccess);
    cudaMemcpy(in, values.data(), 4096, cudaMemcpyDefault);
    allocate_and_try<int>(in, out, last);
    allocate_and_try<unsigned>(in, out, last);
    allocate_and_try<long long>(in, out, last);
    allocate_and_try<unsigned long long>(in, out, last);
    return check_done();
}
