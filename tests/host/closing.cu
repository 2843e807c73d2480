// A plugin with the static runtime that uses CUDA from the moment when it is opened until the moment
// when it is closed: constructors, destructors of static objects and functions at the end call the
// runtime, in every order that there is.
#include <cuda_runtime.h>

enum { PLACES = 4 };

// Where the host hears how the calls at the end went: -1 until they are made.
static int *heard;

static void hear(int place, cudaError_t error)
{
    if (heard != nullptr)
        heard[place] = (int)error;
}

static __device__ int calls;

// Loads the binary while the library is opened.
__managed__ int managed = 4;

static __global__ void square(int *out)
{
    atomicAdd(&calls, 1);
    out[threadIdx.x] = threadIdx.x * threadIdx.x;
}

namespace {
struct workspace {
    int place, *memory;
    cudaError_t made;
    explicit workspace(int n) : place(n)
    {
        made = cudaMalloc(&memory, 4096);
        if (n == 1 && made == cudaSuccess) { // the compiler is opened while this library is
            square<<<1, 64>>>(memory);
            made = cudaDeviceSynchronize();
        }
    }
    ~workspace() { hear(place, cudaFree(memory)); }
};

// Made before the device code is registered, and so destroyed after it is unregistered.
__attribute__((init_priority(101))) workspace before(0);
workspace usual(1);

// Made at its first use, and so destroyed first.
workspace &late()
{
    static workspace w(2);
    return w;
}
} // namespace

// After all destructors of objects.
__attribute__((destructor(101))) static void last()
{
    int device;
    hear(3, cudaGetDevice(&device));
}

extern "C" __attribute__((visibility("default"))) void plugin_hear(int *at)
{
    for (int i = 0; i < PLACES; i++)
        at[i] = -1;
    heard = at;
}

// The square of i < 64, negative: what went wrong.
extern "C" __attribute__((visibility("default"))) int plugin_run(int i)
{
    int host[64];
    if (before.made != cudaSuccess || usual.made != cudaSuccess || late().made != cudaSuccess)
        return -1;
    for (workspace *w : {&before, &usual, &late()}) {
        square<<<1, 64>>>(w->memory);
        cudaError_t error = cudaMemcpy(host, w->memory, sizeof host, cudaMemcpyDeviceToHost);
        if (error != cudaSuccess)
            return -(int)error;
    }
    return managed == 4 ? host[i] : -2;
}
