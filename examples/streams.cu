// Three streams, in each a copy in, three kernels and a copy out; events around every step tell when
// it ran. The program prints when each stream did what, and checks the result.
#include <algorithm>
#include <string>
#include <vector>

#include "check.h"

enum { STREAMS = 3, STEPS = 5, SIDE = 512 };

// A few rounds of a five-point smoothing filter between two images.
__global__ void smooth(const float *in, float *out, int side)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= side || y >= side)
        return;
    int left = max(x - 1, 0), right = min(x + 1, side - 1);
    int up = max(y - 1, 0), down = min(y + 1, side - 1);
    out[y * side + x] = 0.2f * (in[y * side + x] + in[y * side + left] + in[y * side + right] +
                                in[up * side + x] + in[down * side + x]);
}

// Iterates the logistic map: arithmetic, hardly any memory.
__global__ void iterate(float *values, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = values[i];
    for (int k = 0; k < rounds; k++)
        v = 3.9f * v * (1.0f - v);
    values[i] = v;
}

// Sums each block's values in shared memory.
__global__ void sum_blocks(const float *values, float *sums, int n)
{
    __shared__ float partial[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[threadIdx.x] = i < n ? values[i] : 0.0f;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if ((int)threadIdx.x < step)
            partial[threadIdx.x] += partial[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = partial[0];
}

struct Lane {
    cudaStream_t stream;
    cudaEvent_t before[STEPS], after[STEPS];
    float *host, *host_sums;         // page-locked, so that copies are asynchronous
    float *first, *second, *sums;    // on the device
};

static const int n = SIDE * SIDE, blocks = n / 256;
static const char *const step_names[STEPS] = {"copy in", "smooth", "iterate", "sum", "copy out"};
static const char step_letters[STEPS + 1] = "<siS>";

static void prepare(Lane &lane, int number)
{
    CHECK(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
    for (int s = 0; s < STEPS; s++) {
        CHECK(cudaEventCreate(&lane.before[s]));
        CHECK(cudaEventCreate(&lane.after[s]));
    }
    CHECK(cudaMallocHost(&lane.host, n * sizeof(float)));
    CHECK(cudaMallocHost(&lane.host_sums, blocks * sizeof(float)));
    CHECK(cudaMalloc(&lane.first, n * sizeof(float)));
    CHECK(cudaMalloc(&lane.second, n * sizeof(float)));
    CHECK(cudaMalloc(&lane.sums, blocks * sizeof(float)));
    for (int i = 0; i < n; i++)
        lane.host[i] = 0.1f + 0.8f * ((i * 7919 + number * 104729) % 1000) / 1000.0f;
}

static void run_step(Lane &lane, int step)
{
    dim3 threads(16, 16), grid(SIDE / 16, SIDE / 16);
    cudaStream_t s = lane.stream;
    CHECK(cudaEventRecord(lane.before[step], s));
    switch (step) {
    case 0:
        CHECK(cudaMemcpyAsync(lane.first, lane.host, n * sizeof(float), cudaMemcpyHostToDevice, s));
        break;
    case 1:
        for (int k = 0; k < 4; k++) {
            smooth<<<grid, threads, 0, s>>>(lane.first, lane.second, SIDE);
            smooth<<<grid, threads, 0, s>>>(lane.second, lane.first, SIDE);
        }
        break;
    case 2: iterate<<<blocks, 256, 0, s>>>(lane.first, n, 300); break;
    case 3: sum_blocks<<<blocks, 256, 0, s>>>(lane.first, lane.sums, n); break;
    case 4:
        CHECK(cudaMemcpyAsync(lane.host_sums, lane.sums, blocks * sizeof(float),
                              cudaMemcpyDeviceToHost, s));
        break;
    }
    CHECK_LAUNCH();
    CHECK(cudaEventRecord(lane.after[step], s));
}

// The same on the host. The logistic map is chaotic and device and host may round differently, so it
// is the mean that must agree: both have the distribution of the map.
static bool check(const Lane &lane)
{
    double sum = 0;
    bool inside = true;
    for (int b = 0; b < blocks; b++) {
        sum += lane.host_sums[b];
        inside = inside && lane.host_sums[b] > 0 && lane.host_sums[b] < 256;
    }
    std::vector<float> a(lane.host, lane.host + n), other(n);
    for (int k = 0; k < 8; k++) {
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++)
                other[y * SIDE + x] =
                    0.2f * (a[y * SIDE + x] + a[y * SIDE + std::max(x - 1, 0)] +
                            a[y * SIDE + std::min(x + 1, SIDE - 1)] +
                            a[std::max(y - 1, 0) * SIDE + x] +
                            a[std::min(y + 1, SIDE - 1) * SIDE + x]);
        std::swap(a, other);
    }
    double expected = 0;
    for (int i = 0; i < n; i++) {
        float v = a[i];
        for (int k = 0; k < 300; k++)
            v = 3.9f * v * (1.0f - v);
        expected += v;
    }
    return inside && std::abs(sum - expected) < 0.01 * expected;
}

// One line per stream: which step ran when.
static void print_timeline(Lane *lanes, cudaEvent_t start)
{
    enum { WIDTH = 72 };
    float begin[STREAMS][STEPS], end[STREAMS][STEPS], total = 0;
    for (int l = 0; l < STREAMS; l++)
        for (int s = 0; s < STEPS; s++) {
            CHECK(cudaEventElapsedTime(&begin[l][s], start, lanes[l].before[s]));
            CHECK(cudaEventElapsedTime(&end[l][s], start, lanes[l].after[s]));
            total = std::max(total, end[l][s]);
        }
    for (int l = 0; l < STREAMS; l++) {
        std::string line(WIDTH, '.');
        for (int s = 0; s < STEPS; s++) {
            int from = (int)(begin[l][s] / total * WIDTH), to = (int)(end[l][s] / total * WIDTH);
            for (int x = from; x <= to && x < WIDTH; x++)
                line[x] = step_letters[s];
        }
        printf("  stream %d |%s|\n", l + 1, line.c_str());
    }
    printf("            0 ms%*s%.2f ms\n", WIDTH - 10, "", total);
    printf("            ");
    for (int s = 0; s < STEPS; s++)
        printf("%c %s   ", step_letters[s], step_names[s]);
    float busy = 0;
    for (int l = 0; l < STREAMS; l++)
        busy += end[l][STEPS - 1] - begin[l][0];
    printf("\n  streams busy for %.2f ms in %.2f ms: %.1f at a time\n", busy, total, busy / total);
}

int main()
{
    Lane lanes[STREAMS];
    cudaEvent_t start;
    CHECK(cudaEventCreate(&start));
    for (int l = 0; l < STREAMS; l++)
        prepare(lanes[l], l);
    bool good = true;
    for (int round = 0; round < 2; round++) { // the first one also loads and compiles the kernels
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaEventRecord(start, lanes[0].stream));
        for (int s = 0; s < STEPS; s++)
            for (int l = 0; l < STREAMS; l++)
                run_step(lanes[l], s);
        CHECK(cudaDeviceSynchronize());
    }
    print_timeline(lanes, start);
    for (int l = 0; l < STREAMS; l++) {
        bool ok = check(lanes[l]);
        printf("  stream %d: %s\n", l + 1, ok ? "result checked" : "WRONG RESULT");
        good = good && ok;
        CHECK(cudaStreamDestroy(lanes[l].stream));
        CHECK(cudaFree(lanes[l].first));
        CHECK(cudaFree(lanes[l].second));
        CHECK(cudaFree(lanes[l].sums));
        CHECK(cudaFreeHost(lanes[l].host));
        CHECK(cudaFreeHost(lanes[l].host_sums));
        for (int s = 0; s < STEPS; s++) {
            CHECK(cudaEventDestroy(lanes[l].before[s]));
            CHECK(cudaEventDestroy(lanes[l].after[s]));
        }
    }
    CHECK(cudaEventDestroy(start));
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
