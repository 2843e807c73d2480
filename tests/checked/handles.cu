/* D4, E3: checked mode (WEIR_CHECK=memory): streams and events of device code that are used where
 * they do not belong are faults that name kernel, block and handle. Built twice: for the first
 * generation of dynamic parallelism, where they belong to the block that made them, and for the
 * newer one, where they belong to its grid. */
#include <cuda_runtime.h>
#include <weir/fault.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

#ifdef CUDA_FORCE_CDP1_IF_SUPPORTED
enum { OF_BLOCK = 1 };
#else
enum { OF_BLOCK = 0 };
#endif

__device__ cudaStream_t stream;
__device__ cudaEvent_t event;
__device__ int made, sum, word;

/* What is done with the handles. */
enum use { LAUNCH, COPY, FILL, RECORD, WAIT, DESTROY_STREAM, DESTROY_EVENT, USES };
static const char *const use_names[] = {"launch", "copy",           "fill",         "record",
                                        "wait",   "destroy stream", "destroy event"};

__global__ void add() { atomicAdd(&sum, 1); }

static __device__ void make()
{
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    __threadfence();
}

static __device__ void use_them(use how)
{
    switch (how) {
    case LAUNCH: add<<<1, 1, 0, stream>>>(); break;
    case COPY: cudaMemcpyAsync(&word, &sum, 4, cudaMemcpyDeviceToDevice, stream); break;
    case FILL: cudaMemsetAsync(&word, 0, 4, stream); break;
    case RECORD: cudaEventRecord(event, 0); break;
    case WAIT: cudaStreamWaitEvent(0, event, 0); break;
    case DESTROY_STREAM: cudaStreamDestroy(stream); break;
    case DESTROY_EVENT: cudaEventDestroy(event); break;
    default: break;
    }
}

/* Threads of the block that made them. */
__global__ void own(use how)
{
    if (threadIdx.x == 0)
        make();
    __syncthreads();
    if (threadIdx.x == 40)
        use_them(how);
}

/* Another block of the grid, thread 3. */
__global__ void across(use how)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        make();
        atomicExch(&made, 1);
    }
    if (blockIdx.x == 1 && threadIdx.x == 3) {
        while (atomicAdd(&made, 0) == 0)
            continue;
        use_them(how);
    }
}

/* A child. */
__global__ void below(use how) { use_them(how); }
__global__ void pass_down(use how)
{
    make();
    below<<<1, 1>>>(how);
}

/* A grid later. */
__global__ void only_make() { make(); }

static void expect(cudaError_t expected, const char *what, use how)
{
    cudaError_t code = cudaDeviceSynchronize();
    if (code != expected)
        printf("%s, %s:\n", what, use_names[how]);
    CHECK_STR(cudaGetErrorName(code), cudaGetErrorName(expected));
}

/* A fault whose report has these words. */
static void fault(const char *what, use how, const char *a, const char *b)
{
    expect(cudaErrorInvalidResourceHandle, what, how);
    struct weir_fault f = {.bytes = sizeof f};
    CHECK(weir_last_fault(&f));
    CHECK_EQ_INT(f.kind, WEIR_FAULT_HANDLE);
    bool of_event = how == RECORD || how == WAIT || how == DESTROY_EVENT;
    for (const char *word : {of_event ? ": event 0x" : ": stream 0x", a, b})
        if (!check_count(f.text != NULL && strstr(f.text, word) != NULL))
            printf("%s, %s: \"%s\" lacks \"%s\"\n", what, use_names[how], f.text, word);
    OK(cudaDeviceReset());
}

int main()
{
    for (int n = 0; n < USES; n++) {
        use how = (use)n;
        own<<<1, 64>>>(how);
        expect(cudaSuccess, "own", how);
        across<<<2, 32>>>(how);
        if (OF_BLOCK)
            fault("across", how, "in kernel across(use), block (1,0,0), thread (3,0,0)",
                  "made by kernel across(use), block (0,0,0), and belongs to that block alone");
        else
            expect(cudaSuccess, "across", how);
        int zero = 0;
        OK(cudaMemcpyToSymbol(made, &zero, sizeof zero));
        pass_down<<<1, 1>>>(how);
        fault("pass down", how, "in kernel below(use), block (0,0,0)",
              "made by kernel pass_down(use), block (0,0,0), and belongs to that grid alone");
        only_make<<<1, 1>>>();
        below<<<1, 1>>>(how);
        fault("later", how, "in kernel below(use), block (0,0,0)",
              "made by kernel only_make(), block (0,0,0), which is over, and belongs");
    }
    return check_done();
}
