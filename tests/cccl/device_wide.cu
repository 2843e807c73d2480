/* K2: the device-wide algorithms of CUB, each against the same on the host, over elements of
 * TEST_ELEMENT (an integer of one to sixteen bytes), for the numbers of elements given as
 * arguments. TEST_WHICH is the header of one family of them: compiling takes longest. The last
 * line says how many algorithms ran. */
#include <cstdint>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#ifndef TEST_ELEMENT
#define TEST_ELEMENT int
#endif
#define TEST_DIFFERENCES     1
#define TEST_COPIES          2
#define TEST_EACH            3
#define TEST_HISTOGRAMS      4
#define TEST_MERGES          5
#define TEST_MERGE_SORTS     6
#define TEST_PARTITIONS      7
#define TEST_RADIX_SORTS     8
#define TEST_REDUCTIONS      9
#define TEST_RUNS            10
#define TEST_SCANS           11
#define TEST_SCANS_BY_KEY    12
#define TEST_SEGMENTED_RADIX 13
#define TEST_SEGMENTED_SUMS  14
#define TEST_SEGMENTED_SORTS 15
#define TEST_SELECTIONS      16
#define TEST_TRANSFORMS      17
#ifndef TEST_WHICH
#define TEST_WHICH TEST_SCANS
#endif

#if TEST_WHICH == TEST_DIFFERENCES
#include <cub/device/device_adjacent_difference.cuh>
#elif TEST_WHICH == TEST_COPIES
#include <cub/device/device_copy.cuh>
#include <cub/device/device_memcpy.cuh>
#elif TEST_WHICH == TEST_EACH
#include <cub/device/device_for.cuh>
#elif TEST_WHICH == TEST_HISTOGRAMS
#include <cub/device/device_histogram.cuh>
#elif TEST_WHICH == TEST_MERGES
#include <cub/device/device_merge.cuh>
#elif TEST_WHICH == TEST_MERGE_SORTS
#include <cub/device/device_merge_sort.cuh>
#elif TEST_WHICH == TEST_PARTITIONS
#include <cub/device/device_partition.cuh>
#elif TEST_WHICH == TEST_RADIX_SORTS
#include <cub/device/device_radix_sort.cuh>
#elif TEST_WHICH == TEST_REDUCTIONS
#include <cub/device/device_reduce.cuh>
#elif TEST_WHICH == TEST_RUNS
#include <cub/device/device_run_length_encode.cuh>
#elif TEST_WHICH == TEST_SCANS || TEST_WHICH == TEST_SCANS_BY_KEY
#include <cub/device/device_scan.cuh>
#elif TEST_WHICH == TEST_SEGMENTED_RADIX
#include <cub/device/device_segmented_radix_sort.cuh>
#elif TEST_WHICH == TEST_SEGMENTED_SUMS
#include <cub/device/device_segmented_reduce.cuh>
#elif TEST_WHICH == TEST_SEGMENTED_SORTS
#include <cub/device/device_segmented_sort.cuh>
#elif TEST_WHICH == TEST_SELECTIONS
#include <cub/device/device_select.cuh>
#elif TEST_WHICH == TEST_TRANSFORMS
#include <cub/device/device_transform.cuh>
#endif

#include "on_device.h"

using T = TEST_ELEMENT;

struct plus_t {
    __host__ __device__ T operator()(T a, T b) const { return (T)(a + b); }
};
struct minus_t {
    __host__ __device__ T operator()(T a, T b) const { return (T)(a - b); }
};
struct less_t {
    __host__ __device__ bool operator()(T a, T b) const { return a < b; }
};
struct is_odd {
    __host__ __device__ bool operator()(T v) const { return ((int)v & 1) != 0; }
};
struct is_third {
    __host__ __device__ bool operator()(T v) const { return ((int)v & 3) == 2; }
};
struct doubled {
    __host__ __device__ T operator()(T v) const { return (T)(v + v); }
};

/* What the algorithms are given. */
struct inputs {
    std::vector<T> any;       /* of all sizes */
    std::vector<T> few;       /* 0 to 63, often several alike side by side */
    std::vector<int> places;  /* 0, 1, 2 and so on */
    std::vector<int> offsets; /* where segments begin; the last is the end */
    int n;
    int segments() const { return (int)offsets.size() - 1; }
};

static std::map<std::string, int> ran;
/* An algorithm by its name, called twice as CUB wants it. */
#define RUN(name, ...)                                                                             \
    do {                                                                                           \
        ran[#name]++;                                                                              \
        in_storage([&](void *temporary, size_t &size) {                                            \
            return cub::name(temporary, size, __VA_ARGS__);                                        \
        });                                                                                        \
    } while (0)

template <class F> static void for_segments(const inputs &in, F f)
{
    for (int k = 0; k < in.segments(); k++)
        f(in.offsets[k], in.offsets[k + 1], k);
}

/* Places sorted by their keys, those of equal ones in order. */
static std::vector<int> places_by(const std::vector<T> &keys, int from, int to, bool descending)
{
    std::vector<int> places(to - from);
    std::iota(places.begin(), places.end(), from);
    std::stable_sort(places.begin(), places.end(), [&](int a, int b) {
        return descending ? keys[b] < keys[a] : keys[a] < keys[b];
    });
    return places;
}
static std::vector<T> at_places(const std::vector<T> &keys, const std::vector<int> &places)
{
    std::vector<T> out(places.size());
    for (size_t i = 0; i < places.size(); i++)
        out[i] = keys[places[i]];
    return out;
}

#if TEST_WHICH == TEST_DIFFERENCES
static void run(const inputs &in)
{
    std::vector<T> left = in.any, right = in.any;
    for (int i = 1; i < in.n; i++)
        left[i] = (T)(in.any[i] - in.any[i - 1]);
    for (int i = 0; i + 1 < in.n; i++)
        right[i] = (T)(in.any[i] - in.any[i + 1]);
    buffer<T> from(in.any), to(in.n), a(in.any), b(in.any);
    RUN(DeviceAdjacentDifference::SubtractLeftCopy, from.p, to.p, in.n, minus_t());
    same(to.host(), left);
    RUN(DeviceAdjacentDifference::SubtractRightCopy, from.p, to.p, in.n, minus_t());
    same(to.host(), right);
    RUN(DeviceAdjacentDifference::SubtractLeft, a.p, in.n, minus_t());
    same(a.host(), left);
    RUN(DeviceAdjacentDifference::SubtractRight, b.p, in.n, minus_t());
    same(b.host(), right);
}
#elif TEST_WHICH == TEST_COPIES
static void run(const inputs &in)
{
    buffer<T> from(in.any), to(in.n), again(in.n);
    int count = in.segments();
    std::vector<T *> sources(count), targets(count);
    std::vector<void *> bytes_from(count), bytes_to(count);
    std::vector<int> sizes(count), bytes(count);
    for_segments(in, [&](int begin, int end, int k) {
        sources[k] = from.p + begin, targets[k] = to.p + (in.n - end), sizes[k] = end - begin;
        bytes_from[k] = sources[k], bytes_to[k] = again.p + (in.n - end);
        bytes[k] = sizes[k] * (int)sizeof(T);
    });
    buffer<T *> s(sources), t(targets);
    buffer<void *> bs(bytes_from), bt(bytes_to);
    buffer<int> length(sizes), byte_length(bytes);
    RUN(DeviceCopy::Batched, s.p, t.p, length.p, count);
    RUN(DeviceMemcpy::Batched, bs.p, bt.p, byte_length.p, count);
    std::vector<T> expected(in.n);
    for_segments(in, [&](int begin, int end, int) {
        std::copy(in.any.begin() + begin, in.any.begin() + end, expected.begin() + (in.n - end));
    });
    same(to.host(), expected);
    same(again.host(), expected);
}
#elif TEST_WHICH == TEST_EACH
struct store_double {
    T *to;
    const T *from;
    __device__ void operator()(int i) const { to[i] = (T)(from[i] + from[i]); }
};
struct double_it {
    __device__ void operator()(T &v) const { v = (T)(v + v); }
};
struct add_up {
    unsigned long long *sum;
    __device__ void operator()(T v) const { atomicAdd(sum, (unsigned long long)(v & 63)); }
};
#define EACH(name, ...)                                                                            \
    do {                                                                                           \
        ran[#name]++;                                                                              \
        OK(cub::name(__VA_ARGS__));                                                                \
        OK(cudaDeviceSynchronize());                                                               \
    } while (0)
static void run(const inputs &in)
{
    std::vector<T> twice(in.n);
    std::transform(in.any.begin(), in.any.end(), twice.begin(), doubled());
    unsigned long long expected = 0;
    for (T v : in.any)
        expected += (unsigned long long)(v & 63);
    buffer<T> from(in.any), to(in.n), a(in.any), b(in.any);
    buffer<unsigned long long> sum(std::vector<unsigned long long>{0});
    EACH(DeviceFor::Bulk, in.n, store_double{to.p, from.p});
    same(to.host(), twice);
    EACH(DeviceFor::ForEach, a.p, a.p + in.n, double_it());
    same(a.host(), twice);
    EACH(DeviceFor::ForEachN, b.p, in.n, double_it());
    same(b.host(), twice);
    EACH(DeviceFor::ForEachCopy, from.p, from.p + in.n, add_up{sum.p});
    CHECK_EQ_INT(sum.host()[0], expected);
    EACH(DeviceFor::ForEachCopyN, from.p, in.n, add_up{sum.p});
    CHECK_EQ_INT(sum.host()[0], 2 * expected);
}
#elif TEST_WHICH == TEST_HISTOGRAMS
static void run(const inputs &in)
{
    int groups = in.n / 4;
    buffer<T> from(in.few);
    std::vector<T> levels = {0, 1, 5, 17, 40, 64};
    buffer<T> edges(levels);
    buffer<int> even(64), range(5), multi[3] = {buffer<int>(64), buffer<int>(64), buffer<int>(64)};
    RUN(DeviceHistogram::HistogramEven, from.p, even.p, 65, 0, 64, in.n);
    RUN(DeviceHistogram::HistogramRange, from.p, range.p, 6, edges.p, in.n);
    std::vector<int> by_one(64), by_range(5);
    for (T v : in.few) {
        by_one[(int)v]++;
        by_range[std::upper_bound(levels.begin(), levels.end(), v) - levels.begin() - 1]++;
    }
    if (in.n > 0) {
        same(even.host(), by_one);
        same(range.host(), by_range);
    }
    int *counts[3] = {multi[0].p, multi[1].p, multi[2].p}, sizes[3] = {65, 65, 65};
    int lower[3] = {0, 0, 0}, upper[3] = {64, 64, 64};
    ran["DeviceHistogram::MultiHistogramEven"]++;
    in_storage([&](void *temporary, size_t &size) {
        return cub::DeviceHistogram::MultiHistogramEven<4, 3>(temporary, size, from.p, counts,
                                                              sizes, lower, upper, groups);
    });
    for (int c = 0; c < 3 && groups > 0; c++) {
        std::vector<int> expected(64);
        for (int i = 0; i < groups; i++)
            expected[(int)in.few[i * 4 + c]]++;
        same(multi[c].host(), expected);
    }
    const T *ranges[3] = {edges.p, edges.p, edges.p};
    int range_sizes[3] = {6, 6, 6};
    ran["DeviceHistogram::MultiHistogramRange"]++;
    in_storage([&](void *temporary, size_t &size) {
        return cub::DeviceHistogram::MultiHistogramRange<4, 3>(temporary, size, from.p, counts,
                                                               range_sizes, ranges, groups);
    });
    for (int c = 0; c < 3 && groups > 0; c++) {
        std::vector<int> expected(5);
        for (int i = 0; i < groups; i++)
            expected[std::upper_bound(levels.begin(), levels.end(), in.few[i * 4 + c]) -
                     levels.begin() - 1]++;
        same(multi[c].host(5), expected);
    }
}
#elif TEST_WHICH == TEST_MERGES
static void run(const inputs &in)
{
    int half = in.n / 3;
    std::vector<T> a(in.few.begin(), in.few.begin() + half), b(in.few.begin() + half, in.few.end());
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    std::vector<T> expected(in.n);
    std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin());
    /* of equal keys those of the first come first, each in order */
    std::vector<T> both = a;
    both.insert(both.end(), b.begin(), b.end());
    std::vector<int> places = places_by(both, 0, in.n, false);
    buffer<T> one(a), two(b), to(in.n);
    buffer<int> value_one(std::vector<int>(in.places.begin(), in.places.begin() + half)),
        value_two(std::vector<int>(in.places.begin() + half, in.places.end())), values(in.n);
    RUN(DeviceMerge::MergeKeys, one.p, half, two.p, in.n - half, to.p, less_t());
    same(to.host(), expected);
    RUN(DeviceMerge::MergePairs, one.p, value_one.p, half, two.p, value_two.p, in.n - half, to.p,
        values.p, less_t());
    same(to.host(), expected);
    same(values.host(), places);
}
#elif TEST_WHICH == TEST_MERGE_SORTS
static void run(const inputs &in)
{
    std::vector<int> places = places_by(in.few, 0, in.n, false);
    std::vector<T> sorted = at_places(in.few, places);
    buffer<T> from(in.few), to(in.n);
    buffer<int> values(in.places), values_to(in.n);
    RUN(DeviceMergeSort::SortKeysCopy, from.p, to.p, in.n, less_t());
    same(to.host(), sorted);
    RUN(DeviceMergeSort::StableSortKeysCopy, from.p, to.p, in.n, less_t());
    same(to.host(), sorted);
    RUN(DeviceMergeSort::SortPairsCopy, from.p, values.p, to.p, values_to.p, in.n, less_t());
    same(to.host(), sorted);
    same(values_to.host(), places);
    buffer<T> a(in.few), b(in.few), c(in.few), d(in.few);
    buffer<int> of_c(in.places), of_d(in.places);
    RUN(DeviceMergeSort::SortKeys, a.p, in.n, less_t());
    same(a.host(), sorted);
    RUN(DeviceMergeSort::StableSortKeys, b.p, in.n, less_t());
    same(b.host(), sorted);
    RUN(DeviceMergeSort::SortPairs, c.p, of_c.p, in.n, less_t());
    same(c.host(), sorted);
    RUN(DeviceMergeSort::StableSortPairs, d.p, of_d.p, in.n, less_t());
    same(d.host(), sorted);
    same(of_d.host(), places);
}
#elif TEST_WHICH == TEST_PARTITIONS
static void run(const inputs &in)
{
    std::vector<char> flags(in.n);
    std::vector<T> odd, third, rest, others;
    for (int i = 0; i < in.n; i++) {
        T v = in.any[i];
        flags[i] = is_odd()(v);
        (flags[i] ? odd : rest).push_back(v);
        if (is_third()(v))
            third.push_back(v);
        else if (!is_odd()(v))
            others.push_back(v);
    }
    std::vector<T> expected = odd;
    expected.insert(expected.end(), rest.rbegin(), rest.rend());
    buffer<T> from(in.any), to(in.n), first(in.n), second(in.n), last(in.n);
    buffer<char> flag(flags);
    buffer<int> count(2);
    RUN(DevicePartition::Flagged, from.p, flag.p, to.p, count.p, in.n);
    if (in.n > 0)
        CHECK_EQ_INT(count.host()[0], odd.size());
    same(to.host(), expected);
    RUN(DevicePartition::If, from.p, to.p, count.p, in.n, is_odd());
    same(to.host(), expected);
    ran["DevicePartition::If in three"]++;
    in_storage([&](void *temporary, size_t &size) {
        return cub::DevicePartition::If(temporary, size, from.p, first.p, second.p, last.p, count.p,
                                        in.n, is_odd(), is_third());
    });
    same(first.host(odd.size()), odd);
    same(second.host(third.size()), third);
    same(last.host(others.size()), others);
}
#elif TEST_WHICH == TEST_RADIX_SORTS
static void run(const inputs &in)
{
    std::vector<int> up = places_by(in.any, 0, in.n, false),
                     down = places_by(in.any, 0, in.n, true);
    buffer<T> from(in.any), to(in.n);
    buffer<int> values(in.places), values_to(in.n);
    RUN(DeviceRadixSort::SortKeys, from.p, to.p, in.n);
    same(to.host(), at_places(in.any, up));
    RUN(DeviceRadixSort::SortKeysDescending, from.p, to.p, in.n);
    same(to.host(), at_places(in.any, down));
    RUN(DeviceRadixSort::SortPairs, from.p, to.p, values.p, values_to.p, in.n);
    same(to.host(), at_places(in.any, up));
    same(values_to.host(), up);
    RUN(DeviceRadixSort::SortPairsDescending, from.p, to.p, values.p, values_to.p, in.n);
    same(to.host(), at_places(in.any, down));
    same(values_to.host(), down);
}
#elif TEST_WHICH == TEST_REDUCTIONS
static void run(const inputs &in)
{
    buffer<T> from(in.any), few(in.few), to(1);
    buffer<int> index(1);
    T sum = std::accumulate(in.few.begin(), in.few.end(), T(0), plus_t());
    RUN(DeviceReduce::Reduce, few.p, to.p, in.n, plus_t(), T(5));
    CHECK(to.host()[0] == (T)(sum + 5));
    RUN(DeviceReduce::Sum, few.p, to.p, in.n);
    CHECK(to.host()[0] == sum);
    RUN(DeviceReduce::TransformReduce, few.p, to.p, in.n, plus_t(), doubled(), T(1));
    CHECK(to.host()[0] == (T)(sum + sum + 1));
    if (in.n > 0) {
        auto least = std::min_element(in.any.begin(), in.any.end());
        auto most = std::max_element(in.any.begin(), in.any.end());
        RUN(DeviceReduce::Min, from.p, to.p, in.n);
        CHECK(to.host()[0] == *least);
        RUN(DeviceReduce::Max, from.p, to.p, in.n);
        CHECK(to.host()[0] == *most);
        RUN(DeviceReduce::ArgMin, from.p, to.p, index.p, in.n);
        CHECK(to.host()[0] == *least);
        CHECK_EQ_INT(index.host()[0], least - in.any.begin());
        RUN(DeviceReduce::ArgMax, from.p, to.p, index.p, in.n);
        CHECK(to.host()[0] == *most);
        CHECK_EQ_INT(index.host()[0], most - in.any.begin());
    }
    std::vector<T> keys;
    std::vector<int> sums;
    for (int i = 0; i < in.n; i++) {
        if (i == 0 || in.few[i] != in.few[i - 1]) {
            keys.push_back(in.few[i]);
            sums.push_back(0);
        }
        sums.back() += in.places[i] & 7;
    }
    std::vector<int> addends(in.n);
    for (int i = 0; i < in.n; i++)
        addends[i] = in.places[i] & 7;
    buffer<T> unique(in.n);
    buffer<int> values(addends), totals(in.n), runs(1);
    RUN(DeviceReduce::ReduceByKey, few.p, unique.p, values.p, totals.p, runs.p,
        cuda::std::plus<int>(), in.n);
    if (in.n > 0)
        CHECK_EQ_INT(runs.host()[0], keys.size());
    same(unique.host(keys.size()), keys);
    same(totals.host(sums.size()), sums);
}
#elif TEST_WHICH == TEST_RUNS
static void run(const inputs &in)
{
    std::vector<T> values;
    std::vector<int> lengths, starts, long_lengths, long_starts;
    for (int i = 0; i < in.n; i++) {
        if (i == 0 || in.few[i] != in.few[i - 1]) {
            values.push_back(in.few[i]);
            lengths.push_back(0);
            starts.push_back(i);
        }
        lengths.back()++;
    }
    for (size_t i = 0; i < starts.size(); i++)
        if (lengths[i] > 1) {
            long_starts.push_back(starts[i]);
            long_lengths.push_back(lengths[i]);
        }
    buffer<T> from(in.few), unique(in.n);
    buffer<int> length(in.n), start(in.n), count(1);
    RUN(DeviceRunLengthEncode::Encode, from.p, unique.p, length.p, count.p, in.n);
    if (in.n > 0)
        CHECK_EQ_INT(count.host()[0], values.size());
    same(unique.host(values.size()), values);
    same(length.host(lengths.size()), lengths);
    RUN(DeviceRunLengthEncode::NonTrivialRuns, from.p, start.p, length.p, count.p, in.n);
    if (in.n > 0)
        CHECK_EQ_INT(count.host()[0], long_starts.size());
    same(start.host(long_starts.size()), long_starts);
    same(length.host(long_lengths.size()), long_lengths);
}
#elif TEST_WHICH == TEST_SCANS
static std::vector<T> scanned(const std::vector<T> &in, T first, bool inclusive)
{
    std::vector<T> out(in.size());
    for (size_t i = 0; i < in.size(); i++) {
        T next = (T)(first + in[i]);
        out[i] = inclusive ? next : first;
        first = next;
    }
    return out;
}
static void run(const inputs &in)
{
    buffer<T> from(in.any), to(in.n);
    RUN(DeviceScan::ExclusiveSum, from.p, to.p, in.n);
    same(to.host(), scanned(in.any, 0, false));
    RUN(DeviceScan::InclusiveSum, from.p, to.p, in.n);
    same(to.host(), scanned(in.any, 0, true));
    RUN(DeviceScan::ExclusiveScan, from.p, to.p, plus_t(), T(7), in.n);
    same(to.host(), scanned(in.any, 7, false));
    RUN(DeviceScan::InclusiveScan, from.p, to.p, plus_t(), in.n);
    same(to.host(), scanned(in.any, 0, true));
    RUN(DeviceScan::InclusiveScanInit, from.p, to.p, plus_t(), T(7), in.n);
    same(to.host(), scanned(in.any, 7, true));
}
#elif TEST_WHICH == TEST_SCANS_BY_KEY
static std::vector<T> scanned(const inputs &in, T init, bool inclusive)
{
    std::vector<T> out(in.n);
    T sum = init;
    for (int i = 0; i < in.n; i++) {
        if (i > 0 && in.few[i] != in.few[i - 1])
            sum = init;
        T next = (T)(sum + in.any[i]);
        out[i] = inclusive ? next : sum;
        sum = next;
    }
    return out;
}
static void run(const inputs &in)
{
    buffer<T> keys(in.few), from(in.any), to(in.n);
    RUN(DeviceScan::ExclusiveSumByKey, keys.p, from.p, to.p, in.n);
    same(to.host(), scanned(in, 0, false));
    RUN(DeviceScan::InclusiveSumByKey, keys.p, from.p, to.p, in.n);
    same(to.host(), scanned(in, 0, true));
    RUN(DeviceScan::ExclusiveScanByKey, keys.p, from.p, to.p, plus_t(), T(7), in.n);
    same(to.host(), scanned(in, 7, false));
    RUN(DeviceScan::InclusiveScanByKey, keys.p, from.p, to.p, plus_t(), in.n);
    same(to.host(), scanned(in, 0, true));
}
#elif TEST_WHICH == TEST_SEGMENTED_RADIX || TEST_WHICH == TEST_SEGMENTED_SORTS
#if TEST_WHICH == TEST_SEGMENTED_RADIX
#define SORTS DeviceSegmentedRadixSort
#else
#define SORTS DeviceSegmentedSort
#endif
#define RUN_SORT(name, ...)                                                                        \
    do {                                                                                           \
        ran[#name]++;                                                                              \
        in_storage([&](void *temporary, size_t &size) {                                            \
            return cub::SORTS::name(temporary, size, __VA_ARGS__);                                 \
        });                                                                                        \
    } while (0)
static void run(const inputs &in)
{
    std::vector<int> up, down;
    for_segments(in, [&](int begin, int end, int) {
        for (int place : places_by(in.few, begin, end, false))
            up.push_back(place);
        for (int place : places_by(in.few, begin, end, true))
            down.push_back(place);
    });
    std::vector<T> rising = at_places(in.few, up), falling = at_places(in.few, down);
    buffer<T> from(in.few), to(in.n);
    buffer<int> values(in.places), values_to(in.n), offsets(in.offsets);
    int count = in.segments();
    RUN_SORT(SortKeys, from.p, to.p, in.n, count, offsets.p, offsets.p + 1);
    same(to.host(), rising);
    RUN_SORT(SortKeysDescending, from.p, to.p, in.n, count, offsets.p, offsets.p + 1);
    same(to.host(), falling);
    RUN_SORT(SortPairs, from.p, to.p, values.p, values_to.p, in.n, count, offsets.p, offsets.p + 1);
    same(to.host(), rising);
    RUN_SORT(SortPairsDescending, from.p, to.p, values.p, values_to.p, in.n, count, offsets.p,
             offsets.p + 1);
    same(to.host(), falling);
#if TEST_WHICH == TEST_SEGMENTED_RADIX
    same(values_to.host(), down); /* its sorts are stable, and say so */
#else
    RUN_SORT(StableSortKeys, from.p, to.p, in.n, count, offsets.p, offsets.p + 1);
    same(to.host(), rising);
    RUN_SORT(StableSortKeysDescending, from.p, to.p, in.n, count, offsets.p, offsets.p + 1);
    same(to.host(), falling);
    RUN_SORT(StableSortPairs, from.p, to.p, values.p, values_to.p, in.n, count, offsets.p,
             offsets.p + 1);
    same(values_to.host(), up);
    RUN_SORT(StableSortPairsDescending, from.p, to.p, values.p, values_to.p, in.n, count, offsets.p,
             offsets.p + 1);
    same(values_to.host(), down);
#endif
}
#elif TEST_WHICH == TEST_SEGMENTED_SUMS
static void run(const inputs &in)
{
    int count = in.segments();
    buffer<T> few(in.few), to(count);
    buffer<int> offsets(in.offsets);
    std::vector<T> sums(count), fives(count), least, most;
    std::vector<int> where_least, where_most, full;
    std::vector<int> begins, ends;
    for_segments(in, [&](int begin, int end, int k) {
        auto from = in.few.begin() + begin, until = in.few.begin() + end;
        sums[k] = std::accumulate(from, until, T(0), plus_t());
        fives[k] = (T)(sums[k] + 5);
        if (begin == end)
            return;
        begins.push_back(begin), ends.push_back(end);
        auto low = std::min_element(from, until), high = std::max_element(from, until);
        least.push_back(*low), most.push_back(*high);
        where_least.push_back((int)(low - from)), where_most.push_back((int)(high - from));
    });
    RUN(DeviceSegmentedReduce::Reduce, few.p, to.p, count, offsets.p, offsets.p + 1, plus_t(),
        T(5));
    same(to.host(), fives);
    RUN(DeviceSegmentedReduce::Sum, few.p, to.p, count, offsets.p, offsets.p + 1);
    same(to.host(), sums);
    /* of segments that are not empty */
    int filled = (int)begins.size();
    buffer<int> b(begins), e(ends);
    buffer<cub::KeyValuePair<int, T>> pairs(filled);
    RUN(DeviceSegmentedReduce::Min, few.p, to.p, filled, b.p, e.p);
    same(to.host(filled), least);
    RUN(DeviceSegmentedReduce::Max, few.p, to.p, filled, b.p, e.p);
    same(to.host(filled), most);
    RUN(DeviceSegmentedReduce::ArgMin, few.p, pairs.p, filled, b.p, e.p);
    std::vector<cub::KeyValuePair<int, T>> found = pairs.host();
    for (int k = 0; k < filled; k++)
        CHECK(found[k].key == where_least[k] && found[k].value == least[k]);
    RUN(DeviceSegmentedReduce::ArgMax, few.p, pairs.p, filled, b.p, e.p);
    found = pairs.host();
    for (int k = 0; k < filled; k++)
        CHECK(found[k].key == where_most[k] && found[k].value == most[k]);
}
#elif TEST_WHICH == TEST_SELECTIONS
static void run(const inputs &in)
{
    std::vector<char> flags(in.n);
    std::vector<T> odd, unique;
    std::vector<int> first_places;
    for (int i = 0; i < in.n; i++) {
        flags[i] = is_odd()(in.few[i]);
        if (flags[i])
            odd.push_back(in.few[i]);
        if (i == 0 || in.few[i] != in.few[i - 1]) {
            unique.push_back(in.few[i]);
            first_places.push_back(i);
        }
    }
    buffer<T> from(in.few), to(in.n);
    buffer<char> flag(flags);
    buffer<int> count(1), places(in.places), places_to(in.n);
    auto selected = [&](const std::vector<T> &expected) {
        if (in.n > 0)
            CHECK_EQ_INT(count.host()[0], expected.size());
        same(to.host(expected.size()), expected);
    };
    RUN(DeviceSelect::Flagged, from.p, flag.p, to.p, count.p, in.n);
    selected(odd);
    RUN(DeviceSelect::If, from.p, to.p, count.p, in.n, is_odd());
    selected(odd);
    RUN(DeviceSelect::FlaggedIf, from.p, from.p, to.p, count.p, in.n, is_odd());
    selected(odd);
    RUN(DeviceSelect::Unique, from.p, to.p, count.p, in.n);
    selected(unique);
    RUN(DeviceSelect::UniqueByKey, from.p, places.p, to.p, places_to.p, count.p, in.n);
    selected(unique);
    same(places_to.host(first_places.size()), first_places);
}
#elif TEST_WHICH == TEST_TRANSFORMS
static void run(const inputs &in)
{
    std::vector<T> expected(in.n);
    std::transform(in.any.begin(), in.any.end(), expected.begin(), doubled());
    buffer<T> from(in.any), to(in.n);
    ran["DeviceTransform::Transform"]++;
    OK(cub::DeviceTransform::Transform(from.p, to.p, in.n, doubled()));
    OK(cudaDeviceSynchronize());
    same(to.host(), expected);
}
#endif

static inputs make_inputs(int n)
{
    static uint64_t state = 88172645463325252ull;
    inputs in;
    in.n = n;
    in.places.resize(n);
    std::iota(in.places.begin(), in.places.end(), 0);
    for (int i = 0; i < n; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        T wide = (T)state;
        if (sizeof(T) > 8) /* in halves: a shift by all bits of a type is none */
            wide = (T)((wide << (sizeof(T) * 4)) ^ (T)(state >> 11));
        in.any.push_back(wide);
        in.few.push_back(i > 0 && state % 3 == 0 ? in.few.back() : (T)(state >> 8 & 63));
    }
    in.offsets.push_back(0);
    for (int step = 0; in.offsets.back() < n; step++)
        in.offsets.push_back(std::min(n, in.offsets.back() + (step * 37 % 101) * (step % 7)));
    return in;
}

int main(int argc, char **argv)
{
    for (int k = 1; k < argc; k++)
        run(make_inputs(atoi(argv[k])));
    OK(cudaGetLastError());
    int status = check_done();
    printf("%d algorithms\n", (int)ran.size());
    return status;
}
