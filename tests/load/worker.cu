/* The processes of the load (day.c): arguments are the descriptor of the page that all share and
 * the process's place in it. Workers make threads that compute in buffers of their own, in memory
 * that does not suffice for all; the server exports memory, which users open and write to. Each
 * checks what it computes, and exits with 0 when it is told to stop. */
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "control.h"
#include "processes.h"

enum { THREADS = 3, STREAMS = 3, BUFFERS = 6, STEPS = 40, WARM = 30 };

static control *page;
static place *self;

static void failed(const char *format, ...)
{
    va_list args;
    if (__atomic_fetch_add(&self->failures, 1, __ATOMIC_SEQ_CST) > 0)
        return;
    va_start(args, format);
    vsnprintf(self->failure, sizeof self->failure, format, args);
    va_end(args);
}

static bool succeeds(cudaError_t code, const char *call, int line)
{
    __atomic_fetch_add(&self->operations, 1, __ATOMIC_RELAXED);
    if (code != cudaSuccess)
        failed("line %d: %s: %s", line, call, cudaGetErrorName(code));
    return code == cudaSuccess;
}
#define OK(call) succeeds(call, #call, __LINE__)

static bool stopped() { return __atomic_load_n(&page->stop, __ATOMIC_SEQ_CST) != 0; }

static unsigned below(unsigned *state, unsigned n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

static void tell_memory()
{
    long all = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f != nullptr && fscanf(f, "%ld %ld", &all, &pages) == 2)
        self->resident_at = pages * 4;
    if (f != nullptr)
        fclose(f);
    if (++self->iterations == WARM || self->resident == 0)
        self->resident = self->resident_at;
}

/* ---- workers ---- */

__global__ void fill(unsigned *p, size_t n, unsigned value)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = value + (unsigned)i;
}

__global__ void add(unsigned *p, const unsigned *q, size_t n, unsigned value)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] += q[i] * value;
}

/* Element i of a buffer is a + b * i. */
struct Buffer {
    unsigned *p;
    size_t n;
    int kind; /* 0: cudaMalloc, 1: cudaMallocAsync, 2: managed, 3: page-locked */
    unsigned a, b;
    int stream; /* that used it last */
};

struct Lane {
    unsigned chance;
    cudaStream_t stream[STREAMS];
    cudaEvent_t event;
    Buffer buffer[BUFFERS];
};

static void allocate(Lane *l, Buffer *b)
{
    size_t n = 256 + below(&l->chance, below(&l->chance, 3) == 0 ? 8 << 20 : 1 << 16);
    void *p = nullptr;
    cudaError_t code;

    b->kind = (int)below(&l->chance, 4);
    b->stream = (int)below(&l->chance, STREAMS);
    if (b->kind >= 2) /* freed memory of the host is kept, up to a share of the machine's */
        n = n % 65536 + 1;
    if (b->kind == 0)
        code = cudaMalloc(&p, n * 4);
    else if (b->kind == 1)
        code = cudaMallocAsync(&p, n * 4, l->stream[b->stream]);
    else if (b->kind == 2)
        code = cudaMallocManaged(&p, n * 4);
    else
        code = cudaMallocHost(&p, n * 4);
    if (code == cudaErrorMemoryAllocation) { /* others have it */
        cudaGetLastError();
        __atomic_fetch_add(&self->refused, 1, __ATOMIC_RELAXED);
        return;
    }
    if (!OK(code))
        return;
    b->p = (unsigned *)p;
    b->n = n;
    b->a = below(&l->chance, 1 << 20);
    b->b = 1;
    fill<<<4, 128, 0, l->stream[b->stream]>>>(b->p, n, b->a);
    OK(cudaGetLastError());
}

static void follow(Lane *l, Buffer *b, int s)
{
    if (b->stream == s)
        return;
    OK(cudaEventRecord(l->event, l->stream[b->stream]));
    OK(cudaStreamWaitEvent(l->stream[s], l->event, 0));
    b->stream = s;
}

static void combine(Lane *l, Buffer *p, Buffer *q)
{
    int s = (int)below(&l->chance, STREAMS);
    size_t n = p->n < q->n ? p->n : q->n;
    unsigned value = below(&l->chance, 100);

    if (p == q || p->n > q->n)
        return;
    follow(l, p, s);
    follow(l, q, s);
    if (below(&l->chance, 4) == 0) {
        OK(cudaMemcpyAsync(p->p, q->p, n * 4, cudaMemcpyDefault, l->stream[s]));
        p->a = q->a;
        p->b = q->b;
        return;
    }
    add<<<4, 128, 0, l->stream[s]>>>(p->p, q->p, n, value);
    OK(cudaGetLastError());
    p->a += q->a * value;
    p->b += q->b * value;
}

/* The same through a graph, captured and launched some times. */
static void through_graph(Lane *l, Buffer *p)
{
    int s = p->stream, times = 1 + (int)below(&l->chance, 3);
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    OK(cudaStreamBeginCapture(l->stream[s], cudaStreamCaptureModeThreadLocal));
    add<<<2, 64, 0, l->stream[s]>>>(p->p, p->p, p->n, 2);
    if (!OK(cudaStreamEndCapture(l->stream[s], &graph)))
        return;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < times; i++) {
        OK(cudaGraphLaunch(exec, l->stream[s]));
        p->a *= 3;
        p->b *= 3;
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

static void check(Lane *l, Buffer *b)
{
    std::vector<unsigned> got(b->n);

    OK(cudaMemcpyAsync(got.data(), b->p, b->n * 4, cudaMemcpyDefault, l->stream[b->stream]));
    OK(cudaStreamSynchronize(l->stream[b->stream]));
    for (size_t i = 0; i < b->n; i++)
        if (got[i] != b->a + b->b * (unsigned)i) {
            failed("element %zu of %zu (kind %d) is %u, not %u", i, b->n, b->kind, got[i],
                   b->a + b->b * (unsigned)i);
            return;
        }
}

static void release(Lane *l, Buffer *b)
{
    if (b->kind == 1)
        OK(cudaFreeAsync(b->p, l->stream[b->stream]));
    else if (b->kind == 3)
        OK(cudaFreeHost(b->p));
    else
        OK(cudaFree(b->p));
    b->p = nullptr;
}

static void step(Lane *l)
{
    Buffer *b = &l->buffer[below(&l->chance, BUFFERS)],
           *other = &l->buffer[below(&l->chance, BUFFERS)];

    if (b->p == nullptr)
        allocate(l, b);
    else if (below(&l->chance, 8) == 0)
        check(l, b);
    else if (below(&l->chance, 6) == 0)
        release(l, b);
    else if (below(&l->chance, 6) == 0)
        through_graph(l, b);
    else if (other->p != nullptr)
        combine(l, b, other);
}

static void lane_main(unsigned seed)
{
    Lane l;

    memset(&l, 0, sizeof l);
    l.chance = seed;
    for (int i = 0; i < STREAMS; i++)
        OK(cudaStreamCreateWithFlags(&l.stream[i], cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&l.event, cudaEventDisableTiming));
    for (int i = 0; i < STEPS && self->failures == 0; i++)
        step(&l);
    for (Buffer &b : l.buffer)
        if (b.p != nullptr) {
            check(&l, &b);
            release(&l, &b);
        }
    for (cudaStream_t s : l.stream)
        OK(cudaStreamDestroy(s));
    OK(cudaEventDestroy(l.event));
}

static size_t unused()
{
    size_t bytes = 0, total;
    OK(cudaDeviceSynchronize());
    OK(cudaMemGetInfo(&bytes, &total));
    return bytes;
}

/* A library of its own, so that processes compile and write the cache while they are killed. */
static void compile_something(unsigned seed)
{
    char ptx[500];
    cudaLibrary_t library;
    cudaKernel_t kernel;
    unsigned *out, got = 0, value = seed % 997;

    snprintf(ptx, sizeof ptx,
             ".version 7.0\n.target sm_70\n.address_size 64\n"
             ".visible .entry k(.param .u64 p) {\n.reg .b64 %%p;\nld.param.u64 %%p, [p];\n"
             "st.global.u32 [%%p], %u;\nret;\n}\n",
             value);
    if (!OK(cudaLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0)))
        return;
    OK(cudaLibraryGetKernel(&kernel, library, "k"));
    OK(cudaMallocHost((void **)&out, 4));
    void *args[] = {&out};
    OK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(1), args, 0, cudaStreamPerThread));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    got = *out;
    if (got != value)
        failed("a compiled kernel stored %u, not %u", got, value);
    OK(cudaFreeHost(out));
    OK(cudaLibraryUnload(library));
}

static void work(unsigned seed)
{
    size_t at_first = 0;

    compile_something(seed);
    while (!stopped() && self->failures == 0) {
        std::vector<std::thread> threads;
        for (int i = 0; i < THREADS; i++)
            threads.emplace_back(lane_main, below(&seed, 1 << 24) * 8 + (unsigned)i);
        for (std::thread &t : threads)
            t.join();
        size_t now = unused();
        if (at_first == 0)
            at_first = now;
        else if (now != at_first)
            failed("%zu bytes are free, %zu at first", now, at_first);
        tell_memory();
    }
}

/* ---- memory that processes share ---- */

/* Each user has a stripe of each allocation, the server the first. */
static size_t stripe() { return SHARED_WORDS / (USERS + 1); }

static void write_stripe(unsigned *p, int which, unsigned value, cudaStream_t s)
{
    fill<<<2, 128, 0, s>>>(p + stripe() * (size_t)which, stripe(), value);
    OK(cudaGetLastError());
}

static void check_stripe(unsigned *p, int which, unsigned value, cudaStream_t s)
{
    std::vector<unsigned> got(stripe());

    OK(cudaMemcpyAsync(got.data(), p + stripe() * (size_t)which, stripe() * 4, cudaMemcpyDefault,
                       s));
    OK(cudaStreamSynchronize(s));
    for (size_t i = 0; i < got.size(); i++)
        if (got[i] != value + (unsigned)i) {
            failed("element %zu of stripe %d is %u, not %u", i, which, got[i], value + (unsigned)i);
            return;
        }
}

static void serve(unsigned seed)
{
    while (!stopped() && self->failures == 0) {
        unsigned *p[SHARED];
        cudaEvent_t event;
        cudaStream_t s;
        __atomic_store_n(&page->generation, page->generation | 1, __ATOMIC_SEQ_CST);
        OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
        OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
        OK(cudaEventRecord(event, s));
        OK(cudaIpcGetEventHandle((cudaIpcEventHandle_t *)page->event, event));
        for (int i = 0; i < SHARED; i++) {
            OK(cudaMalloc(&p[i], SHARED_WORDS * 4));
            OK(cudaIpcGetMemHandle((cudaIpcMemHandle_t *)page->memory[i], p[i]));
        }
        __atomic_fetch_add(&page->generation, 1, __ATOMIC_SEQ_CST);
        for (int n = 0; n < 100 && !stopped(); n++) {
            unsigned value = below(&seed, 1 << 24);
            int i = (int)below(&seed, SHARED);
            write_stripe(p[i], 0, value, s);
            OK(cudaEventRecord(event, s));
            check_stripe(p[i], 0, value, s);
            usleep(below(&seed, 4000));
        }
        __atomic_fetch_or(&page->generation, 1, __ATOMIC_SEQ_CST);
        for (int i = 0; i < SHARED; i++)
            OK(cudaFree(p[i]));
        OK(cudaEventDestroy(event));
        OK(cudaStreamDestroy(s));
        unused();
        tell_memory();
    }
}

/* Opens what the server exports, unless that has just gone. */
static void use_once(int which, unsigned *seed)
{
    int generation = __atomic_load_n(&page->generation, __ATOMIC_SEQ_CST);
    cudaIpcMemHandle_t handle;
    cudaIpcEventHandle_t event_handle;
    cudaEvent_t event;
    unsigned *p = nullptr;

    memcpy(&handle, page->memory[below(seed, SHARED)], sizeof handle);
    memcpy(&event_handle, page->event, sizeof event_handle);
    if (generation % 2 != 0 || generation == 0)
        return;
    cudaError_t opened = cudaIpcOpenMemHandle((void **)&p, handle, cudaIpcMemLazyEnablePeerAccess);
    bool current = __atomic_load_n(&page->generation, __ATOMIC_SEQ_CST) == generation;
    if (opened != cudaSuccess) {
        cudaGetLastError();
        if (current)
            failed("a handle cannot be opened: %s", cudaGetErrorName(opened));
        return;
    }
    opened = cudaIpcOpenEventHandle(&event, event_handle);
    if (opened == cudaSuccess) {
        OK(cudaStreamWaitEvent(cudaStreamPerThread, event, 0));
        OK(cudaEventDestroy(event));
    } else {
        cudaGetLastError();
    }
    for (int n = 0; n < 20; n++) {
        unsigned value = below(seed, 1 << 24);
        write_stripe(p, which, value, cudaStreamPerThread);
        check_stripe(p, which, value, cudaStreamPerThread);
    }
    OK(cudaIpcCloseMemHandle(p));
    tell_memory();
}

int main(int, char **argv)
{
    int number = atoi(argv[2]);
    unsigned seed = (unsigned)getpid() * 2654435761u;

    page = (control *)shared_open(sizeof *page, atoi(argv[1]));
    self = &page->place[number];
    /* What was said by the process that had this place before is of no use, but for failures. */
    self->resident = self->resident_at = self->iterations = 0;
    mallopt(M_MMAP_THRESHOLD, 1 << 17); /* so that what is resident is what is used */
    mallopt(M_ARENA_MAX, 2);
    if (!OK(cudaFree(nullptr)))
        return 1;
    if (number < WORKERS)
        work(seed);
    else if (number == SERVER)
        serve(seed);
    else
        while (!stopped() && self->failures == 0)
            use_once(number - WORKERS + 1, &seed);
    return self->failures != 0;
}
