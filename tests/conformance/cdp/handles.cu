// FLAGS: -rdc=true -lcudadevrt
/* D4: streams and events of device code beyond what they are for: all blocks of a grid may use them
 * (the newer generation of dynamic parallelism), other grids may not, and the codes are those that
 * an H100 returns. In checked mode, uses by other grids are faults: see tests/checked/handles.cu.
 */
#include <string.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

enum { LAUNCH, COPY, FILL, RECORD, RECORD_IN, WAIT, WAIT_IN, LAST, USES };
static const char *const use_names[] = {"launch",    "copy", "fill",    "record",
                                        "record in", "wait", "wait in", "last error"};

__device__ cudaStream_t stream;
__device__ cudaEvent_t event;
__device__ int made, sum, word;
__device__ int codes[32];

__global__ void add() { atomicAdd(&sum, 1); }

static __device__ void make()
{
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    __threadfence();
}

static __device__ void use_all()
{
    add<<<1, 1, 0, stream>>>();
    codes[LAUNCH] = cudaGetLastError();
    codes[COPY] = cudaMemcpyAsync(&word, &sum, 4, cudaMemcpyDeviceToDevice, stream);
    codes[FILL] = cudaMemsetAsync(&word, 0, 4, stream);
    codes[RECORD] = cudaEventRecord(event, 0);
    codes[RECORD_IN] = cudaEventRecord(event, stream);
    codes[WAIT] = cudaStreamWaitEvent(0, event, 0);
    codes[WAIT_IN] = cudaStreamWaitEvent(stream, event, 0);
    codes[LAST] = cudaPeekAtLastError();
}

__global__ void own()
{
    make();
    use_all();
}
__global__ void across()
{
    if (blockIdx.x == 0) {
        make();
        atomicExch(&made, 1);
    } else {
        while (atomicAdd(&made, 0) == 0)
            continue;
        use_all();
    }
}
__global__ void below() { use_all(); }
__global__ void pass_down()
{
    make();
    below<<<1, 1>>>();
}
__global__ void only_make() { make(); }
__global__ void destroy_twice()
{
    make();
    codes[0] = cudaStreamDestroy(stream);
    codes[1] = cudaEventDestroy(event);
    codes[2] = cudaStreamDestroy(stream);
    codes[3] = cudaEventDestroy(event);
    codes[4] = cudaStreamWaitEvent(0, event, 1);
    codes[5] = cudaStreamDestroy(0);
    codes[6] = cudaEventDestroy(0);
    codes[7] = cudaStreamDestroy(cudaStreamTailLaunch);
    codes[8] = cudaEventRecord(0, 0);
}
__global__ void destroy_others()
{
    codes[0] = cudaStreamDestroy(stream);
    codes[1] = cudaEventDestroy(event);
}
__global__ void destroyed_work_on()
{
    make();
    cudaStreamDestroy(stream);
    cudaEventDestroy(event);
    use_all();
}
__global__ void flags()
{
    cudaStream_t s;
    cudaEvent_t e;
    for (unsigned f = 0; f < 4; f++)
        codes[f] = cudaStreamCreateWithFlags(&s, f);
    for (unsigned f = 0; f < 6; f++)
        codes[4 + f] = cudaEventCreateWithFlags(&e, f);
}

static int got[32];
static void finish(int added)
{
    const int zero = 0;
    int s = 0;
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyFromSymbol(got, codes, sizeof got));
    OK(cudaMemcpyFromSymbol(&s, sum, sizeof s));
    CHECK_EQ_INT(s, added);
    OK(cudaMemcpyToSymbol(sum, &zero, sizeof zero));
}

static void used(const char *who, const int want[USES])
{
    for (int n = 0; n < USES; n++)
        if (!check_count(got[n] == want[n]))
            printf("%s, %s: %d, not %d\n", who, use_names[n], got[n], want[n]);
}

int main()
{
    static const int fine[USES] = {0}, other[USES] = {1, 999, 999, 1, 1, 1, 1, 1};
    static const int by_flags[] = {0, 0, 1, 1, 1, 1, 0, 0, 1, 1};
    own<<<1, 1>>>();
    finish(1);
    used("own", fine);
    across<<<2, 1>>>();
    finish(1);
    used("another block", fine);
    pass_down<<<1, 1>>>();
    finish(0);
    used("a child", other);
    only_make<<<1, 1>>>();
    below<<<1, 1>>>();
    finish(0);
    used("a later grid", other);
    destroy_twice<<<1, 1>>>();
    finish(0);
    for (int n = 0; n < 9; n++)
        CHECK_EQ_INT(got[n], n < 5 ? 0 : 1);
    destroy_others<<<1, 1>>>();
    finish(0);
    CHECK_EQ_INT(got[0], 1);
    CHECK_EQ_INT(got[1], 1);
    destroyed_work_on<<<1, 1>>>();
    finish(1);
    used("destroyed", fine);
    flags<<<1, 1>>>();
    finish(0);
    for (int n = 0; n < 10; n++)
        if (!check_count(got[n] == by_flags[n]))
            printf("flags, %d: %d, not %d\n", n, got[n], by_flags[n]);
    return check_done();
}
