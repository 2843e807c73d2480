// FLAGS: -rdc=true -lcudadevrt
/* D3: what a child grid sees of memory: what its parent wrote before the launch, constants,
 * symbols, memory of the host; and what is private to each. The examples are those of the
 * programming guide's chapter on dynamic parallelism. */
#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__constant__ int constants[4] = {3, 5, 7, 9};
__device__ int global_value;
__device__ int results[64];
static int got[64];

static void finish()
{
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyFromSymbol(got, results, sizeof results));
}

/* ---- the guide: 256 values, a child adds one to each, a tail launch adds them up ---- */

__global__ void add_one(int *data) { data[threadIdx.x] += 1; }
__global__ void sum_up(const int *data)
{
    __shared__ int sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, data[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0)
        results[0] = sum;
}
__global__ void write_and_launch(int *data)
{
    data[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        add_one<<<1, 256>>>(data);
        sum_up<<<1, 256, 0, cudaStreamTailLaunch>>>(data);
    }
}

static void test_coherence()
{
    int *data;
    OK(cudaMalloc(&data, 256 * sizeof *data));
    write_and_launch<<<1, 256>>>(data);
    finish();
    CHECK_EQ_INT(got[0], 256 * 255 / 2 + 256);
    OK(cudaFree(data));

    /* zero-copy memory */
    OK(cudaMallocHost(&data, 256 * sizeof *data));
    write_and_launch<<<1, 256>>>(data);
    finish();
    CHECK_EQ_INT(got[0], 256 * 255 / 2 + 256);
    int wrong = 0;
    for (int k = 0; k < 256; k++)
        wrong += data[k] != k + 1;
    CHECK_EQ_INT(wrong, 0);
    OK(cudaFreeHost(data));
}

/* ---- the guide: shared memory halves with each launch ---- */

__global__ void permute(int n, int *data)
{
    extern __shared__ int smem[];
    if (n <= 1)
        return;
    smem[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    /* reversed */
    data[threadIdx.x] = smem[n - 1 - (int)threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        permute<<<1, n / 2, n / 2 * sizeof(int)>>>(n / 2, data);
        permute<<<1, n / 2, n / 2 * sizeof(int)>>>(n / 2, data + n / 2);
    }
}

static void test_permute()
{
    enum { N = 64 };
    int *data, expected[N], host[N];
    for (int k = 0; k < N; k++)
        expected[k] = host[k] = k;
    for (int n = N; n > 1; n /= 2)
        for (int part = 0; part < N; part += n)
            for (int k = 0; k < n / 2; k++) {
                int other = expected[part + k];
                expected[part + k] = expected[part + n - 1 - k];
                expected[part + n - 1 - k] = other;
            }
    OK(cudaMalloc(&data, sizeof host));
    OK(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice));
    permute<<<1, N, N * sizeof(int)>>>(N, data);
    finish();
    OK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    CHECK_EQ_INT(memcmp(host, expected, sizeof host), 0);
    OK(cudaFree(data));
}

/* ---- where pointers point ---- */

__global__ void ask(int *given)
{
    __shared__ int shared;
    int local = (int)threadIdx.x;
    volatile int *escaped = &local;
    const void *pointers[] = {given, &global_value, &shared, (const void *)escaped, constants};
    for (int k = 0; k < 5; k++)
        results[10 + k] = (__isGlobal(pointers[k]) ? 1 : 0) + (__isShared(pointers[k]) ? 2 : 0) +
                          (__isLocal(pointers[k]) ? 4 : 0) + (__isConstant(pointers[k]) ? 8 : 0);
}
__global__ void ask_in_child(int *given) { ask<<<1, 1>>>(given); }

static void test_spaces()
{
    static const int expected[] = {1, 1, 2, 4, 8};
    int *memory;
    OK(cudaMalloc(&memory, 4));
    for (int level = 0; level < 2; level++) {
        if (level == 0)
            ask<<<1, 1>>>(memory);
        else
            ask_in_child<<<1, 1>>>(memory);
        finish();
        for (int k = 0; k < 5; k++)
            CHECK_EQ_INT(got[10 + k], expected[k]);
    }
    OK(cudaFree(memory));
}

/* ---- what is handed down ---- */

__global__ void read_all(int *heap, cudaTextureObject_t texture)
{
    __shared__ int own; /* not the parent's */
    own = 1;
    results[20] = constants[0] + constants[3];
    results[21] = global_value;
    results[22] = *heap;
    results[23] = tex1Dfetch<int>(texture, 2);
    results[24] = own;
    global_value = 41;
    free(heap);
}
__global__ void check_after(int) { results[25] = global_value; }
__global__ void hand_down(cudaTextureObject_t texture)
{
    __shared__ int own;
    own = 55;
    int *heap = (int *)malloc(sizeof *heap); /* device heap: the same for all */
    *heap = 66;
    global_value = 40;
    read_all<<<1, 1>>>(heap, texture);
    check_after<<<1, 1>>>(0);
    results[26] = own;
}

static void test_handed_down()
{
    int *linear, host[4] = {1, 2, 77, 4}, changed[4] = {30, 0, 0, 90};
    OK(cudaMalloc(&linear, sizeof host));
    OK(cudaMemcpy(linear, host, sizeof host, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = linear;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = sizeof host;
    cudaTextureDesc description = {};
    description.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &resource, &description, NULL));
    OK(cudaMemcpyToSymbol(constants, changed, sizeof changed));
    hand_down<<<1, 1>>>(texture);
    finish();
    CHECK_EQ_INT(got[20], 120);
    CHECK_EQ_INT(got[21], 40);
    CHECK_EQ_INT(got[22], 66);
    CHECK_EQ_INT(got[23], 77);
    CHECK_EQ_INT(got[24], 1);
    CHECK_EQ_INT(got[25], 41);
    CHECK_EQ_INT(got[26], 55);
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFree(linear));
}

int main()
{
    test_coherence();
    test_permute();
    test_spaces();
    test_handed_down();
    return check_done();
}
