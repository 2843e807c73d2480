// What launches from kernels cost: launches by themselves, and three programs that are written once
// with nested launches and once flat, with the host launching level after level. Results are
// compared.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <time.h>
#include <vector>

static double now_us()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "bench: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}
#define MUST(call) must((call), #call)

static void same(bool as_expected, const char *what)
{
    if (as_expected)
        return;
    fprintf(stderr, "bench: %s: wrong result\n", what);
    exit(1);
}

static void row(const char *what, double value, const char *unit)
{
    printf("| %-50s | %9.2f %-4s |\n", what, value, unit);
    fflush(stdout);
}

// The shortest time in µs of `runs` runs, the device's work included; `before` is not timed.
template <class Before, class Run> static double best(int runs, Before before, Run run)
{
    double shortest = 1e30;
    for (int i = 0; i <= runs; i++) { // the first warms up
        before();
        MUST(cudaDeviceSynchronize());
        double start = now_us();
        run();
        MUST(cudaDeviceSynchronize());
        if (i > 0)
            shortest = std::min(shortest, now_us() - start);
    }
    return shortest;
}

// ---- launches ----------------------------------------------------------------------------------

__device__ unsigned long long children;

__global__ void empty() {}
__global__ void count() { atomicAdd(&children, 1ull); }
__global__ void launch_empty(int n)
{
    for (int i = 0; i < n; i++)
        empty<<<1, 1, 0, cudaStreamFireAndForget>>>();
}
__global__ void launch_counting(int n)
{
    for (int i = 0; i < n; i++)
        count<<<1, 1, 0, cudaStreamFireAndForget>>>();
}
__global__ void launch_in_order(int n)
{
    for (int i = 0; i < n; i++)
        empty<<<1, 1>>>();
}
__global__ void launch_tail(int n)
{
    if (n > 1)
        launch_tail<<<1, 1, 0, cudaStreamTailLaunch>>>(n - 1);
}

static void launches()
{
    const int each = 8192, threads = 128;
    auto nothing = [] {};
    double us = best(5, nothing, [&] { launch_empty<<<1, threads>>>(each); });
    row("fire and forget, 128 threads", (double)each * threads / us, "M/s");
    us = best(5, nothing, [&] { launch_empty<<<8, 16>>>(each); });
    row("fire and forget, 8 blocks of 16 threads", (double)each * threads / us, "M/s");
    us = best(5, nothing, [&] { launch_in_order<<<1, 1>>>(100000); });
    row("launch in one block's order", us / 100000, "µs");
    us = best(5, nothing, [&] { launch_tail<<<1, 1>>>(10000); });
    row("tail launch after tail launch", us / 10000, "µs");

    unsigned long long counted = 0;
    MUST(cudaMemcpyToSymbol(children, &counted, sizeof counted));
    launch_counting<<<1, threads>>>(each);
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemcpyFromSymbol(&counted, children, sizeof counted));
    same(counted == (unsigned long long)each * threads, "children counted");
}

// ---- quicksort ---------------------------------------------------------------------------------

enum { SORT_BLOCK = 128, SORT_SMALL = 512 };

struct segment {
    int from, to;
};

// Sorts up to SORT_SMALL values in shared memory: bitonic, by one block.
static __device__ void sort_small(int *data, int n)
{
    __shared__ int values[SORT_SMALL];
    for (int k = threadIdx.x; k < SORT_SMALL; k += SORT_BLOCK)
        values[k] = k < n ? data[k] : 0x7fffffff;
    __syncthreads();
    for (int size = 2; size <= SORT_SMALL; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            for (int k = threadIdx.x; k < SORT_SMALL / 2; k += SORT_BLOCK) {
                int a = 2 * k - (k & (stride - 1)), b = a + stride;
                bool up = (a & size) == 0;
                int x = values[a], y = values[b];
                if ((x > y) == up) {
                    values[a] = y;
                    values[b] = x;
                }
            }
            __syncthreads();
        }
    for (int k = threadIdx.x; k < n; k += SORT_BLOCK)
        data[k] = values[k];
}

// Moves what is less than `pivot` (or as great, if `equal`) in front of the rest, by way of
// `spare`, by one block. Returns how many there are.
static __device__ int move_less(int *data, int *spare, int n, int pivot, bool equal)
{
    __shared__ int less, more;
    __syncthreads();
    if (threadIdx.x == 0) {
        less = 0;
        more = 0;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < n; k += SORT_BLOCK) {
        int value = data[k];
        if (equal ? value <= pivot : value < pivot)
            spare[atomicAdd(&less, 1)] = value;
        else
            spare[n - 1 - atomicAdd(&more, 1)] = value;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < n; k += SORT_BLOCK)
        data[k] = spare[k];
    __syncthreads();
    return less;
}

// Divides what is to be sorted in two by a median of three. When that is the least value, the first
// part holds it alone and `*sorted` is set.
static __device__ int partition(int *data, int *spare, int n, bool *sorted)
{
    int a = data[0], b = data[n / 2], c = data[n - 1];
    int pivot = max(min(a, b), min(max(a, b), c));
    int less = move_less(data, spare, n, pivot, false);
    *sorted = less == 0;
    return less > 0 ? less : move_less(data, spare, n, pivot, true);
}

__global__ void __launch_bounds__(SORT_BLOCK) sort_nested(int *data, int *spare, int n)
{
    if (n <= SORT_SMALL) {
        sort_small(data, n);
        return;
    }
    bool sorted;
    int less = partition(data, spare, n, &sorted);
    if (threadIdx.x == 0) {
        if (!sorted)
            sort_nested<<<1, SORT_BLOCK, 0, cudaStreamFireAndForget>>>(data, spare, less);
        sort_nested<<<1, SORT_BLOCK, 0, cudaStreamFireAndForget>>>(data + less, spare + less,
                                                                   n - less);
    }
}
__global__ void __launch_bounds__(SORT_BLOCK)
    sort_level(int *data, int *spare, const segment *now, segment *next, int *count_next)
{
    segment s = now[blockIdx.x];
    int n = s.to - s.from;
    if (n <= SORT_SMALL) {
        sort_small(data + s.from, n);
        return;
    }
    bool sorted;
    int less = partition(data + s.from, spare + s.from, n, &sorted);
    if (threadIdx.x == 0) {
        int at = atomicAdd(count_next, 2);
        next[at] = segment{sorted ? s.from + less : s.from, s.from + less};
        next[at + 1] = segment{s.from + less, s.to};
    }
}

static void quicksort()
{
    const int n = 1 << 20;
    std::vector<int> input(n), sorted(n), output(n);
    unsigned random = 1;
    for (int &value : input)
        value = (int)((random = random * 1664525u + 1013904223u) >> 1);
    sorted = input;
    std::sort(sorted.begin(), sorted.end());
    int *data, *spare, *count_next;
    segment *lists[2];
    MUST(cudaMalloc(&data, n * sizeof *data));
    MUST(cudaMalloc(&spare, n * sizeof *spare));
    MUST(cudaMalloc(&count_next, sizeof *count_next));
    for (segment *&list : lists)
        MUST(cudaMalloc(&list, n * sizeof *list));
    auto fill = [&] {
        MUST(cudaMemcpy(data, input.data(), n * sizeof *data, cudaMemcpyHostToDevice));
    };
    auto check = [&](const char *what) {
        MUST(cudaMemcpy(output.data(), data, n * sizeof *data, cudaMemcpyDeviceToHost));
        same(output == sorted, what);
    };
    double nested = best(5, fill, [&] { sort_nested<<<1, SORT_BLOCK>>>(data, spare, n); });
    check("quicksort, nested");
    double flat = best(5, fill, [&] {
        segment whole = {0, n};
        MUST(cudaMemcpy(lists[0], &whole, sizeof whole, cudaMemcpyHostToDevice));
        for (int count = 1, level = 0; count > 0; level++) {
            MUST(cudaMemsetAsync(count_next, 0, sizeof *count_next));
            sort_level<<<count, SORT_BLOCK>>>(data, spare, lists[level % 2], lists[(level + 1) % 2],
                                              count_next);
            MUST(cudaMemcpy(&count, count_next, sizeof count, cudaMemcpyDeviceToHost));
        }
    });
    check("quicksort, flat");
    row("quicksort of 1 Mi integers, nested", nested * 1e-3, "ms");
    row("quicksort, flat", flat * 1e-3, "ms");
    row("quicksort, nested / flat", nested / flat, "");
    for (void *p :
         {(void *)data, (void *)spare, (void *)count_next, (void *)lists[0], (void *)lists[1]})
        MUST(cudaFree(p));
}

// ---- quadtree ----------------------------------------------------------------------------------

enum { TREE_BLOCK = 128, TREE_LEAF = 256, TREE_DEPTH = 12 };

struct square {
    float x, y, half; // centre, half a side
    int from, to;     // its points
    int depth;
};
__device__ int leaves;

// Sorts the points of a square into its quarters, by one block, by way of `spare`. False for a
// leaf.
static __device__ bool split(float2 *points, float2 *spare, const square &s, square quarters[4])
{
    __shared__ int counts[4], position[4];
    int n = s.to - s.from;
    if (n <= TREE_LEAF || s.depth == TREE_DEPTH) {
        if (threadIdx.x == 0)
            atomicAdd(&leaves, 1);
        return false;
    }
    if (threadIdx.x < 4)
        counts[threadIdx.x] = 0;
    __syncthreads();
    auto quarter = [&](float2 p) { return (p.x >= s.x ? 1 : 0) + (p.y >= s.y ? 2 : 0); };
    for (int k = s.from + (int)threadIdx.x; k < s.to; k += TREE_BLOCK)
        atomicAdd(&counts[quarter(points[k])], 1);
    __syncthreads();
    int begin = s.from;
    for (int q = 0; q < 4; q++) {
        float half = s.half / 2;
        quarters[q] = square{s.x + (q & 1 ? half : -half),
                             s.y + (q & 2 ? half : -half),
                             half,
                             begin,
                             begin + counts[q],
                             s.depth + 1};
        if (threadIdx.x == (unsigned)q)
            position[q] = begin;
        begin += counts[q];
    }
    __syncthreads();
    for (int k = s.from + (int)threadIdx.x; k < s.to; k += TREE_BLOCK) {
        float2 p = points[k];
        spare[atomicAdd(&position[quarter(p)], 1)] = p;
    }
    __syncthreads();
    for (int k = s.from + (int)threadIdx.x; k < s.to; k += TREE_BLOCK)
        points[k] = spare[k];
    return true;
}

__global__ void __launch_bounds__(TREE_BLOCK) tree_nested(float2 *points, float2 *spare, square s)
{
    square quarters[4];
    if (!split(points, spare, s, quarters))
        return;
    __syncthreads();
    if (threadIdx.x < 4)
        tree_nested<<<1, TREE_BLOCK, 0, cudaStreamFireAndForget>>>(points, spare,
                                                                   quarters[threadIdx.x]);
}
__global__ void __launch_bounds__(TREE_BLOCK)
    tree_level(float2 *points, float2 *spare, const square *now, square *next, int *count_next)
{
    square quarters[4];
    if (!split(points, spare, now[blockIdx.x], quarters))
        return;
    __shared__ int at;
    if (threadIdx.x == 0)
        at = atomicAdd(count_next, 4);
    __syncthreads();
    if (threadIdx.x < 4)
        next[at + threadIdx.x] = quarters[threadIdx.x];
}

static void quadtree()
{
    const int n = 1 << 20;
    std::vector<float2> input(n);
    unsigned random = 1;
    auto uniform = [&] { return ((random = random * 1664525u + 1013904223u) >> 8) * 0x1p-24f; };
    for (float2 &p : input) { // denser towards one corner
        float x = uniform(), y = uniform();
        p = make_float2(x * x, y * uniform());
    }
    float2 *points, *spare;
    int *count_next, found[2], zero = 0;
    square *lists[2], whole = {0.5f, 0.5f, 0.5f, 0, n, 0};
    MUST(cudaMalloc(&points, n * sizeof *points));
    MUST(cudaMalloc(&spare, n * sizeof *spare));
    MUST(cudaMalloc(&count_next, sizeof *count_next));
    for (square *&list : lists)
        MUST(cudaMalloc(&list, n * sizeof *list));
    auto fill = [&] {
        MUST(cudaMemcpy(points, input.data(), n * sizeof *points, cudaMemcpyHostToDevice));
        MUST(cudaMemcpyToSymbol(leaves, &zero, sizeof zero));
    };
    double nested = best(5, fill, [&] { tree_nested<<<1, TREE_BLOCK>>>(points, spare, whole); });
    MUST(cudaMemcpyFromSymbol(&found[0], leaves, sizeof found[0]));
    double flat = best(5, fill, [&] {
        MUST(cudaMemcpy(lists[0], &whole, sizeof whole, cudaMemcpyHostToDevice));
        for (int count = 1, level = 0; count > 0; level++) {
            MUST(cudaMemsetAsync(count_next, 0, sizeof *count_next));
            tree_level<<<count, TREE_BLOCK>>>(points, spare, lists[level % 2],
                                              lists[(level + 1) % 2], count_next);
            MUST(cudaMemcpy(&count, count_next, sizeof count, cudaMemcpyDeviceToHost));
        }
    });
    MUST(cudaMemcpyFromSymbol(&found[1], leaves, sizeof found[1]));
    same(found[0] == found[1] && found[0] > 1000, "quadtree");
    row("quadtree of 1 Mi points, nested", nested * 1e-3, "ms");
    row("quadtree, flat", flat * 1e-3, "ms");
    row("quadtree, nested / flat", nested / flat, "");
    for (void *p :
         {(void *)points, (void *)spare, (void *)count_next, (void *)lists[0], (void *)lists[1]})
        MUST(cudaFree(p));
}

// ---- breadth-first search ----------------------------------------------------------------------

enum { SEARCH_BLOCK = 128, SEARCH_MANY = 64 }; // more neighbours than that get a grid of their own

struct graph {
    const int *first, *neighbours; // of vertex v: neighbours[first[v] .. first[v + 1])
    int *level;                    // -1 where the search has not been
    int *lists[2], *counts;        // vertices of this level and the next
};

static __device__ void visit(const graph &g, int vertex, int depth)
{
    if (g.level[vertex] < 0 && atomicCAS(&g.level[vertex], -1, depth + 1) < 0)
        g.lists[(depth + 1) % 2][atomicAdd(&g.counts[(depth + 1) % 2], 1)] = vertex;
}
__global__ void search_neighbours(graph g, int from, int to, int depth)
{
    int k = from + (int)(blockIdx.x * SEARCH_BLOCK + threadIdx.x);
    if (k < to)
        visit(g, g.neighbours[k], depth);
}
// One thread for each vertex of the level; the last thing is the next level.
__global__ void search_nested(graph g, int count, int depth)
{
    int k = (int)(blockIdx.x * SEARCH_BLOCK + threadIdx.x);
    if (k >= count)
        return;
    int v = g.lists[depth % 2][k], from = g.first[v], to = g.first[v + 1];
    if (to - from > SEARCH_MANY)
        search_neighbours<<<(to - from + SEARCH_BLOCK - 1) / SEARCH_BLOCK, SEARCH_BLOCK, 0,
                            cudaStreamFireAndForget>>>(g, from, to, depth);
    else
        for (int n = from; n < to; n++)
            visit(g, g.neighbours[n], depth);
}
__global__ void search_levels(graph g, int depth)
{
    int count = g.counts[depth % 2];
    if (count == 0)
        return;
    g.counts[(depth + 1) % 2] = 0;
    search_nested<<<(count + SEARCH_BLOCK - 1) / SEARCH_BLOCK, SEARCH_BLOCK>>>(g, count, depth);
    search_levels<<<1, 1, 0, cudaStreamTailLaunch>>>(g, depth + 1);
}
__global__ void search_flat(graph g, int count, int depth)
{
    int k = (int)(blockIdx.x * SEARCH_BLOCK + threadIdx.x);
    if (k >= count)
        return;
    int v = g.lists[depth % 2][k], from = g.first[v], to = g.first[v + 1];
    for (int n = from; n < to; n++)
        visit(g, g.neighbours[n], depth);
}

static void search()
{
    // Most vertices have a few neighbours, some have thousands.
    const int n = 1 << 18;
    std::vector<int> first(1), neighbours, level(n), levels[2];
    unsigned random = 1;
    auto draw = [&](unsigned below) {
        return (int)((random = random * 1664525u + 1013904223u) >> 8) % (int)below;
    };
    for (int v = 0; v < n; v++) {
        int degree = v % 1024 == 0 ? 2048 : 2 + draw(12);
        for (int k = 0; k < degree; k++)
            neighbours.push_back(draw(n));
        first.push_back((int)neighbours.size());
    }
    int *d_first, *d_neighbours, counts[2] = {1, 0}, zero = 0;
    graph g;
    MUST(cudaMalloc(&d_first, first.size() * sizeof(int)));
    MUST(cudaMalloc(&d_neighbours, neighbours.size() * sizeof(int)));
    MUST(cudaMalloc(&g.level, n * sizeof(int)));
    MUST(cudaMalloc(&g.counts, sizeof counts));
    for (int *&list : g.lists)
        MUST(cudaMalloc(&list, n * sizeof(int)));
    MUST(cudaMemcpy(d_first, first.data(), first.size() * sizeof(int), cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(d_neighbours, neighbours.data(), neighbours.size() * sizeof(int),
                    cudaMemcpyHostToDevice));
    g.first = d_first;
    g.neighbours = d_neighbours;
    auto fill = [&] {
        MUST(cudaMemset(g.level, -1, n * sizeof(int)));
        MUST(cudaMemset(g.level, 0, sizeof(int))); // the search begins at vertex 0
        MUST(cudaMemcpy(g.lists[0], &zero, sizeof zero, cudaMemcpyHostToDevice));
        MUST(cudaMemcpy(g.counts, counts, sizeof counts, cudaMemcpyHostToDevice));
    };
    auto take = [&](int which) {
        levels[which].resize(n);
        MUST(cudaMemcpy(levels[which].data(), g.level, n * sizeof(int), cudaMemcpyDeviceToHost));
    };
    double nested = best(5, fill, [&] { search_levels<<<1, 1>>>(g, 0); });
    take(0);
    double flat = best(5, fill, [&] {
        for (int count = 1, depth = 0; count > 0; depth++) {
            MUST(cudaMemsetAsync(&g.counts[(depth + 1) % 2], 0, sizeof(int)));
            search_flat<<<(count + SEARCH_BLOCK - 1) / SEARCH_BLOCK, SEARCH_BLOCK>>>(g, count,
                                                                                     depth);
            MUST(cudaMemcpy(&count, &g.counts[(depth + 1) % 2], sizeof count,
                            cudaMemcpyDeviceToHost));
        }
    });
    take(1);
    same(levels[0] == levels[1] && std::count(levels[0].begin(), levels[0].end(), -1) < n / 10,
         "breadth-first search");
    row("breadth-first search, 256 Ki vertices, nested", nested * 1e-3, "ms");
    row("breadth-first search, flat", flat * 1e-3, "ms");
    row("breadth-first search, nested / flat", nested / flat, "");
    for (void *p : {(void *)d_first, (void *)d_neighbours, (void *)g.level, (void *)g.counts,
                    (void *)g.lists[0], (void *)g.lists[1]})
        MUST(cudaFree(p));
}

int main()
{
    MUST(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 1 << 20));
    printf("| %-50s | %13s  |\n| --- | ---: |\n", "launches from kernels", "best");
    launches();
    quicksort();
    quadtree();
    search();
    return 0;
}
