/* M2, E3: checked mode (WEIR_CHECK=memory). Each case runs in a child process, whose end and whose
 * words on stderr are looked at: accesses of kernels outside of allocations by a single byte, to
 * freed and to pageable memory are faults with thread and line; device memory that host code
 * touches is named; and what programs may do is not disturbed. */
#include <cuda_runtime.h>
#include <mma.h>
#include <stdlib.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

/* ---- kernels ---- */

__global__ void store(char *p, int at) { p[at] = 1; }
__global__ void store_wide(double *p) { *p = 1; }
__global__ void add(int *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] += 1;
}
__global__ void gather(const int *p, const int *index, int *out)
{
    out[threadIdx.x] = p[index[threadIdx.x]];
}
__global__ void fetch(cudaTextureObject_t t, float *out)
{
    out[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x);
}
__global__ void count(int *p, int at) { atomicAdd(p + at, 1); }

/* A matrix of 16 x 16 halves, with a pitch of `pitch` elements. */
__global__ void load_matrix(const half *p, half *out, int pitch)
{
    using namespace nvcuda;
    wmma::fragment<wmma::accumulator, 16, 16, 16, half> c;
    wmma::load_matrix_sync(c, p, pitch, wmma::mem_row_major);
    wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);
}

struct pair {
    const int *from;
    int *to;
};
__constant__ int table[32];
__device__ int variable[32];

__device__ int sum(const int *p, int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += p[i];
    return s;
}

/* Every kind of memory that a generic pointer may point to. */
__global__ void all_kinds(pair p, int *managed, int *pinned, int n)
{
    __shared__ int shared[64];
    extern __shared__ int dynamic[];
    int local[16];
    int t = threadIdx.x;
    shared[t] = p.from[t];
    dynamic[t] = t;
    __syncthreads();
    for (int i = 0; i < 16; i++)
        local[(i * n) % 16] = shared[(t + i) % 64];
    int *heap = (int *)malloc(16);
    heap[3] = sum(local, 16) + sum(dynamic, 4) + table[t % 32] + variable[t % 32];
    p.to[t] = heap[3];
    free(heap);
    atomicAdd(managed, 1);
    atomicAdd(pinned, 1);
}

static volatile int sink;

/* ---- cases: run in a child ---- */

static const char *end() { return cudaGetErrorName(cudaDeviceSynchronize()); }

static char *device(size_t bytes)
{
    void *p = nullptr;
    OK(cudaMalloc(&p, bytes));
    return (char *)p;
}

static void say(const char *what) { fprintf(stderr, "end: %s\n", what); }

static void one_past()
{
    char *p = device(1000);
    store<<<1, 1>>>(p, 999);
    OK(cudaDeviceSynchronize());
    store<<<1, 1>>>(p, 1000);
    say(end());
}

static void straddling()
{
    char *p = device(1004);
    store_wide<<<1, 1>>>((double *)(p + 1000));
    say(end());
}

static void before()
{
    char *p = device(1 << 20);
    store<<<1, 1>>>(p, -1);
    say(end());
}

static void one_thread()
{
    int *p = (int *)device(4000);
    add<<<40, 32>>>(p, 1001);
    say(end());
}

static void one_lane()
{
    int index[32], *out = (int *)device(128), *at = (int *)device(128);
    for (int i = 0; i < 32; i++)
        index[i] = i == 17 ? 40 : i;
    OK(cudaMemcpy(at, index, sizeof index, cudaMemcpyHostToDevice));
    gather<<<1, 32>>>((int *)device(160), at, out);
    say(end());
}

__global__ void to_shared(int from, int by, int *out)
{
    __shared__ char s[40];
    for (int i = threadIdx.x; i < 40; i += 32)
        s[i] = i;
    __syncthreads();
    out[threadIdx.x] = s[from + by * threadIdx.x];
}

static void shared()
{
    int *out = (int *)device(128);
    to_shared<<<1, 32>>>(8, 1, out);
    OK(cudaDeviceSynchronize());
    to_shared<<<1, 32>>>(9, 1, out);
    say(end());
}

__global__ void from_heap(int bytes, int at, bool again)
{
    volatile char *p = (char *)malloc(bytes), *q = (char *)malloc(bytes);
    q[bytes - 1] = p[0] = 1;
    if (again)
        free((void *)p);
    p[at] = 2;
    free((void *)q);
    if (!again)
        free((void *)p);
}

static void heap_right()
{
    for (int bytes : {1, 16, 100, 5000})
        from_heap<<<4, 32>>>(bytes, bytes - 1, false);
    say(end());
}

static void heap_past()
{
    from_heap<<<1, 1>>>(16, 16, false);
    say(end());
}

static void heap_past_large()
{
    from_heap<<<1, 1>>>(5000, 5001, false);
    say(end());
}

static void heap_freed()
{
    from_heap<<<1, 1>>>(16, 3, true);
    say(end());
}

static void atomics()
{
    count<<<1, 1>>>((int *)device(512), 128);
    say(end());
}

static void matrices()
{
    half *p = (half *)device(512), *out = (half *)device(512);
    load_matrix<<<1, 32>>>(p, out, 16);
    OK(cudaDeviceSynchronize());
    load_matrix<<<1, 32>>>(p, out, 17);
    say(end());
}

static void freed()
{
    char *p = device(3000), *q = device(3 << 20);
    OK(cudaFree(p));
    OK(cudaFree(q));
    for (int i = 0; i < 20; i++) { /* their places are not used again at once */
        CHECK(device(3000) != p);
        CHECK(device(3 << 20) != q);
    }
    store<<<1, 1>>>(p, 5);
    say(end());
    cudaDeviceReset();
    p = device(3 << 20);
    OK(cudaFree(p));
    store<<<1, 1>>>(p, 7);
    say(end());
}

static void pageable()
{
    char *p = (char *)malloc(64);
    store<<<1, 1>>>(p, 5);
    say(end());
    free(p);
}

/* Memory in the order of streams: freed by a call that comes before the kernel runs. */
__global__ void late(volatile int *go, char *p, int n)
{
    while (*go == 0)
        ;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        p[i] = 1;
}

static void stream_ordered()
{
    int *go;
    char *p, *q;
    cudaStream_t s;

    OK(cudaStreamCreate(&s));
    OK(cudaMallocHost(&go, sizeof *go));
    *go = 0;
    OK(cudaMallocAsync((void **)&p, 100000, s));
    late<<<1, 32, 0, s>>>(go, p, 100000);
    OK(cudaFreeAsync(p, s));
    OK(cudaMallocAsync((void **)&q, 3000, s)); /* perhaps in the same place */
    *go = 1;
    OK(cudaStreamSynchronize(s));
    say(end());
    sink = *(volatile int *)q;
}

static void other_device()
{
    setenv("WEIR_DEVICES", "2", 1); // nothing has been asked of CUDA yet
    int *p;
    OK(cudaMalloc(&p, 512));
    OK(cudaSetDevice(1));
    add<<<1, 32>>>(p, 1);
    say(cudaGetErrorName(cudaDeviceSynchronize()));
}

/* A texture of device 0's memory. */
static void other_device_texture()
{
    setenv("WEIR_DEVICES", "2", 1);
    float *p, *out;
    cudaResourceDesc r = {};
    cudaTextureDesc how = {};
    cudaTextureObject_t t;
    OK(cudaMalloc(&p, 512));
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = p;
    r.res.linear.desc = cudaCreateChannelDesc<float>();
    r.res.linear.sizeInBytes = 512;
    OK(cudaCreateTextureObject(&t, &r, &how, nullptr));
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&out, 512));
    fetch<<<1, 32>>>(t, out);
    say(cudaGetErrorName(cudaDeviceSynchronize()));
}

static void host_pool()
{
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeHost;
    cudaMemAccessDesc access = {};
    access.location.type = cudaMemLocationTypeDevice;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    cudaMemPool_t pool;
    int *p;
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaMemPoolSetAccess(pool, &access, 1));
    OK(cudaMallocFromPoolAsync(&p, 512, pool, 0));
    add<<<1, 32>>>(p, 1);
    OK(cudaDeviceSynchronize());
    p[0] = 1;
    access.flags = cudaMemAccessFlagsProtNone;
    OK(cudaMemPoolSetAccess(pool, &access, 1));
    add<<<1, 32>>>(p, 1);
    say(cudaGetErrorName(cudaDeviceSynchronize()));
}

static void graph()
{
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t e;
    int *p, value = 0;
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc(&p, 4096));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(p, 0, 4096, s));
    add<<<2, 512, 0, s>>>(p, 1024);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&e, g, 0));
    for (int i = 0; i < 5; i++) // the first is timed, later ones are known to be short
        OK(cudaGraphLaunch(e, s));
    OK(cudaMemcpyAsync(&value, p + 1023, sizeof value, cudaMemcpyDefault, s));
    OK(cudaStreamSynchronize(s));
    say(value == 1 ? "right" : "wrong");
}

static void a_variable()
{
    void *p;
    OK(cudaGetSymbolAddress(&p, variable));
    count<<<1, 1>>>((int *)p, 32);
    say(end());
}

static void host_read() { sink = *(volatile int *)device(4096); }
static void host_write() { *(volatile int *)(device(4096) + 12) = 1; }
static void host_copy()
{
    char text[64];
    char *p = device(4096);
    memcpy(text, p, sizeof text);
    sink = text[3];
}
static void host_free() { free(device(4096)); }

/* As on CPUs without protection keys; nothing has been asked of CUDA yet. */
static void without_keys() { setenv("WEIR_KEYS", "off", 1); }
static void host_read_pages()
{
    without_keys();
    char *p = device(4096);
    add<<<8, 128>>>((int *)p, 1024);
    OK(cudaDeviceSynchronize());
    sink = *(volatile int *)p;
}

static void other_device_pages()
{
    without_keys();
    other_device();
}
static void other_device_texture_pages()
{
    without_keys();
    other_device_texture();
}

static void allowed()
{
    const int n = 64;
    int host[n], *managed, *pinned, attribute = -1;
    pair p = {(int *)device(n * 4), (int *)device(n * 4)};
    int *own = (int *)aligned_alloc(4096, 4096);

    OK(cudaDeviceGetAttribute(&attribute, cudaDevAttrPageableMemoryAccess, 0));
    CHECK_EQ_INT(attribute, 0);
    OK(cudaMallocManaged(&managed, 4));
    OK(cudaMallocHost(&pinned, 4));
    OK(cudaHostRegister(own, 4096, 0));
    *managed = *pinned = own[0] = 0;
    for (int i = 0; i < n; i++)
        host[i] = i;
    OK(cudaMemcpyToSymbol(table, host, sizeof table));
    OK(cudaMemset(p.to, 0, n * 4));
    OK(cudaMemcpy((void *)p.from, host, sizeof host, cudaMemcpyHostToDevice));
    for (int i = 0; i < 4; i++)
        all_kinds<<<3, n, n * 4>>>(p, managed, i % 2 ? own : pinned, 3);
    OK(cudaMemcpy(host, p.to, sizeof host, cudaMemcpyDeviceToHost));
    /* 16 times (t + i) % 64, a permutation; 0 + 1 + 2 + 3; the tables */
    for (int t = 0; t < n; t++) {
        int want = 6 + t % 32;
        for (int i = 0; i < 16; i++)
            want += i * 3 % 16 >= 0 ? (t + i) % 64 : 0;
        CHECK_EQ_INT(host[t], want);
    }
    CHECK_EQ_INT(*managed, 4 * 3 * n);
    CHECK_EQ_INT(*pinned, 2 * 3 * n);
    CHECK_EQ_INT(own[0], 2 * 3 * n);
    say(checks_failed ? "wrong" : "right");
}
static void allowed_pages()
{
    without_keys();
    allowed();
}

/* ---- the parent ---- */

/* Runs the case in a child; what it wrote to stderr, and how it ended. */
static std::string run(void (*fn)(), int *status)
{
    int ends[2];
    std::string text;
    char buffer[4096];

    fflush(stdout);
    if (pipe(ends) != 0)
        exit(2);
    pid_t child = fork();
    if (child == 0) {
        checks_failed = 0;
        setenv("WEIR_CHECK", "memory", 1);
        unsetenv("WEIR_FAULTS");
        dup2(ends[1], 2);
        close(ends[0]);
        fn();
        fflush(stdout);
        _exit(checks_failed != 0);
    }
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
        text.append(buffer, (size_t)n);
    close(ends[0]);
    waitpid(child, status, 0);
    return text;
}

/* `words`, separated by |, are all in what is said. dies: by the fault of the host's code (or by a
 * sanitizer's report of it). */
static void expect(const char *name, void (*fn)(), bool dies, const char *words)
{
    int status;
    std::string text = run(fn, &status), all = words;
    bool died = WIFSIGNALED(status) || (dies && WEXITSTATUS(status) != 0);

    if (!check_count(died == dies && (dies || WEXITSTATUS(status) == 0)))
        printf("%s: ended with status 0x%x: %s\n", name, status, text.c_str());
    for (size_t from = 0; from <= all.size();) {
        size_t bar = all.find('|', from);
        std::string word = all.substr(from, bar == std::string::npos ? bar : bar - from);
        if (!check_count(text.find(word) != std::string::npos))
            printf("%s: without \"%s\": %s\n", name, word.c_str(), text.c_str());
        if (bar == std::string::npos)
            break;
        from = bar + 1;
    }
}

#define EXPECT(fn, dies, words) expect(#fn, fn, dies, words)
#define FAULT                   "|end: cudaErrorIllegalAddress"

int main()
{
    EXPECT(allowed, false, "end: right");
    EXPECT(allowed_pages, false, "end: right");
    EXPECT(graph, false, "end: right");
    EXPECT(one_past, false,
           "in kernel store(char*, int), block (0,0,0), thread (0,0,0) at |memory.cu:19|"
           "write of 1 byte|just past the 1,000-byte allocation|cudaMalloc at " FAULT);
    EXPECT(straddling, false, "write of 8 bytes from |just past the 1,004-byte" FAULT);
    EXPECT(before, false, "1 byte before the 1,048,576-byte allocation" FAULT);
    EXPECT(one_thread, false, "block (31,0,0), thread (8,0,0)|just past the 4,000-byte" FAULT);
    EXPECT(one_lane, false, "thread (17,0,0)|read of 4 bytes|just past the 160-byte" FAULT);
    EXPECT(atomics, false, "write of 4 bytes|just past the 512-byte" FAULT);
    EXPECT(matrices, false, "read of 32 bytes from|just past the 512-byte" FAULT);
    EXPECT(shared, false,
           "in kernel to_shared(|thread (31,0,0)|read of 1 byte|just past the block's 40 bytes of "
           "shared memory" FAULT);
    EXPECT(heap_right, false, "end: cudaSuccess");
    EXPECT(heap_past, false,
           "in kernel from_heap(|write of 1 byte of the device heap, where malloc has given out "
           "nothing" FAULT);
    EXPECT(heap_past_large, false, "write of 1 byte of the device heap" FAULT);
    EXPECT(heap_freed, false, "write of 1 byte of the device heap" FAULT);
    EXPECT(freed, false,
           "byte 5 of freed memory: the 3,000-byte allocation|freed by cudaFree|"
           "byte 7 of freed memory: the 3,145,728-byte" FAULT);
    EXPECT(pageable, false, "pageable memory of the host" FAULT);
    EXPECT(other_device, false,
           "thread (0,0,0)|byte 0 of the 512-byte|memory of device 0 that device 1 has no "
           "access to" FAULT);
    EXPECT(other_device_pages, false,
           "thread (0,0,0)|byte 0 of the 512-byte|memory of device 0 that device 1 has no "
           "access to" FAULT);
    EXPECT(other_device_texture, false,
           "in kernel fetch(|of the 512-byte|memory of device 0 that device 1 has no "
           "access to" FAULT);
    EXPECT(other_device_texture_pages, false,
           "in kernel fetch(|of the 512-byte|memory of device 0 that device 1 has no "
           "access to" FAULT);
    EXPECT(host_pool, false,
           "byte 0 of the 512-byte|cudaMallocFromPoolAsync|that device 0 has no access to" FAULT);
    EXPECT(a_variable, false, "just past the 128-byte module variable" FAULT);
    EXPECT(stream_ordered, true, "end: cudaSuccess|host code reads device memory");
    EXPECT(host_read, true, "host code reads device memory|memory.cu:|byte 0 of the 4,096-byte");
    EXPECT(host_write, true, "host code writes device memory|byte 12 of the 4,096-byte");
    EXPECT(host_copy, true, "host code reads device memory|memory.cu:|byte 0 of the 4,096-byte");
    EXPECT(host_free, true, "host code reads device memory|before the 4,096-byte");
    EXPECT(host_read_pages, true, "host code reads device memory|byte 0 of the 4,096-byte");
    return check_done();
}
