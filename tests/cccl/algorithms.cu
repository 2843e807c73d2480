/* K2: device-wide algorithms of CUB and Thrust over elements of TEST_ELEMENT (a type of one to
 * sixteen bytes), each against the same on the host, for the numbers of elements given as
 * arguments. TEST_WHICH chooses one, 0 all: compiling them takes longest. */
#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <vector>

#ifndef TEST_ELEMENT
#define TEST_ELEMENT int
#endif
#ifndef TEST_WHICH
#define TEST_WHICH TEST_ALL
#endif
/* Each algorithm's header alone: all of them together take longest to compile. */
#define TEST_ALL       0
#define TEST_SORT      1
#define TEST_SCAN      2
#define TEST_REDUCE    3
#define TEST_HISTOGRAM 4
#define TEST_SELECT    5
#define TEST_PAIRS     6
#define TEST_THRUST    7
#define WANTED(which)  (TEST_WHICH == TEST_ALL || TEST_WHICH == which)
#if WANTED(TEST_SORT)
#include <cub/device/device_radix_sort.cuh>
#endif
#if WANTED(TEST_SCAN)
#include <cub/device/device_scan.cuh>
#endif
#if WANTED(TEST_REDUCE)
#include <cub/device/device_reduce.cuh>
#endif
#if WANTED(TEST_HISTOGRAM)
#include <cub/device/device_histogram.cuh>
#endif
#if WANTED(TEST_SELECT)
#include <cub/device/device_select.cuh>
#endif
#if WANTED(TEST_PAIRS)
#include <cub/device/device_merge_sort.cuh>
#endif
#if WANTED(TEST_THRUST)
#include <thrust/device_vector.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#endif
#include <cuda/std/tuple>

#include "on_device.h"

/* Sixteen bytes with an order of their own. */
struct wide {
    uint64_t high, low;
    __host__ __device__ wide(uint64_t value = 0) : high(value / 3), low(value) {}
    __host__ __device__ bool operator<(const wide &o) const
    {
        return high != o.high ? high < o.high : low < o.low;
    }
    __host__ __device__ bool operator==(const wide &o) const
    {
        return high == o.high && low == o.low;
    }
    __host__ __device__ bool operator!=(const wide &o) const { return !(*this == o); }
    __host__ __device__ wide operator+(const wide &o) const
    {
        wide sum;
        sum.high = high + o.high;
        sum.low = low + o.low;
        return sum;
    }
};

using T = TEST_ELEMENT;

struct is_odd {
    __host__ __device__ bool operator()(const T &v) const
    {
        return ((const unsigned char *)&v)[sizeof(T) > 8 ? 8 : 0] & 1;
    }
};
struct plus {
    __host__ __device__ T operator()(const T &a, const T &b) const { return (T)(a + b); }
};
struct decomposer {
    __host__ __device__ cuda::std::tuple<uint64_t &, uint64_t &> operator()(wide &w) const
    {
        return {w.high, w.low};
    }
};

static void sort(const std::vector<T> &in)
{
#if WANTED(TEST_SORT)
    buffer<T> from(in), to(in.size());
    in_storage([&](void *storage, size_t &bytes) {
        if constexpr (std::is_same_v<T, wide>)
            return cub::DeviceRadixSort::SortKeys(storage, bytes, from.p, to.p, in.size(),
                                                  decomposer{});
        else
            return cub::DeviceRadixSort::SortKeys(storage, bytes, from.p, to.p, in.size());
    });
    std::vector<T> expected = in;
    std::sort(expected.begin(), expected.end());
    same(to.host(), expected);
#endif
}

/* Keys with the places that they came from: equal ones stay in order. */
static void pairs(const std::vector<T> &in)
{
#if WANTED(TEST_PAIRS)
    std::vector<int> places(in.size());
    std::iota(places.begin(), places.end(), 0);
    buffer<T> keys(in);
    buffer<int> values(places);
    in_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceMergeSort::StableSortPairs(
            storage, bytes, keys.p, values.p, in.size(),
            [] __host__ __device__(const T &a, const T &b) { return a < b; });
    });
    std::stable_sort(places.begin(), places.end(), [&](int a, int b) { return in[a] < in[b]; });
    same(values.host(), places);
#endif
}

static void scan(const std::vector<T> &in)
{
#if WANTED(TEST_SCAN)
    buffer<T> from(in), to(in.size());
    in_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceScan::InclusiveScan(storage, bytes, from.p, to.p, plus{}, in.size());
    });
    std::vector<T> expected(in.size());
    std::partial_sum(in.begin(), in.end(), expected.begin(), plus{});
    same(to.host(), expected);
#endif
}

static void reduce(const std::vector<T> &in)
{
#if WANTED(TEST_REDUCE)
    buffer<T> from(in), to(1);
    in_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceReduce::Reduce(storage, bytes, from.p, to.p, in.size(), plus{}, T(5));
    });
    CHECK(to.host()[0] == std::accumulate(in.begin(), in.end(), T(5), plus{}));
#endif
}

static void select(const std::vector<T> &in)
{
#if WANTED(TEST_SELECT)
    buffer<T> from(in), to(in.size());
    buffer<int> count(1);
    in_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceSelect::If(storage, bytes, from.p, to.p, count.p, in.size(), is_odd{});
    });
    std::vector<T> expected;
    std::copy_if(in.begin(), in.end(), std::back_inserter(expected), is_odd{});
    CHECK_EQ_INT(count.host()[0], expected.size());
    same(to.host(expected.size()), expected);
#endif
}

/* Of bytes, whatever the elements are. */
static void histogram(const std::vector<T> &in)
{
#if WANTED(TEST_HISTOGRAM)
    std::vector<unsigned char> bytes_in(in.size());
    for (size_t i = 0; i < in.size(); i++)
        bytes_in[i] = ((const unsigned char *)&in[i])[0];
    buffer<unsigned char> from(bytes_in);
    buffer<int> to(256);
    OK(cudaMemset(to.p, 0, 256 * sizeof(int)));
    in_storage([&](void *storage, size_t &bytes) {
        return cub::DeviceHistogram::HistogramEven(storage, bytes, from.p, to.p, 257, 0, 256,
                                                   (int)in.size());
    });
    std::vector<int> expected(256);
    for (unsigned char b : bytes_in)
        expected[b]++;
    same(to.host(), expected);
#endif
}

static void with_thrust(const std::vector<T> &in)
{
#if WANTED(TEST_THRUST)
    thrust::device_vector<T> v(in);
    thrust::sort(v.begin(), v.end());
    std::vector<T> expected = in, got(in.size());
    std::sort(expected.begin(), expected.end());
    thrust::copy(v.begin(), v.end(), got.begin());
    same(got, expected);
    thrust::exclusive_scan(v.begin(), v.end(), v.begin(), T(1), plus{});
    thrust::copy(v.begin(), v.end(), got.begin());
    T sum(1);
    for (T &e : expected) {
        T next = (T)(sum + e);
        e = sum;
        sum = next;
    }
    same(got, expected);
#endif
}

int main(int argc, char **argv)
{
    uint64_t state = 88172645463325252ull;
    for (int n = 1; n < argc; n++) {
        std::vector<T> in((size_t)atoll(argv[n]));
        for (T &e : in) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            e = T((uint64_t)(state >> 40));
        }
        sort(in);
        pairs(in);
        scan(in);
        reduce(in);
        select(in);
        histogram(in);
        with_thrust(in);
    }
    OK(cudaGetLastError());
    return check_done();
}
