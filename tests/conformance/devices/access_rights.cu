// RUN two-devices: WEIR_DEVICES=2
// RUN two-devices.no-keys: WEIR_DEVICES=2 WEIR_KEYS=off
// RUN two-devices.own-pools: WEIR_DEVICES=2 WEIR_POOLS=own
// RUN two-devices.checked: WEIR_DEVICES=2 WEIR_CHECK=memory
// RUN two-devices.checked.no-keys: WEIR_DEVICES=2 WEIR_CHECK=memory WEIR_KEYS=off
// A8: what a kernel of one device may do with the memory of another: nothing, unless it has access.
// Plain memory is opened by peer access, a pool by its own access rights, each whatever the other
// says; both can be revoked.
//
// A fault stays with its process, so each case is a process of its own. What needs two devices is
// left out where there is one.
#include <cstdint>
#include <cuda.h>
#include <cuda_runtime.h>
#include <mma.h>

#include "check.h"
#include "driver_knows.h"
#include "processes.h"

#define OK(call) CHECK_EQ_INT(call, cudaSuccess)

__device__ int variable;

__global__ void put(int *p, int value) { *p = value; }

__global__ void add(int *p) { atomicAdd(p, 1); }

// Device 1 writes it; what comes of that.
static cudaError_t write_from_1(int *p)
{
    OK(cudaSetDevice(1));
    put<<<1, 1>>>(p, 7);
    OK(cudaGetLastError());
    return cudaDeviceSynchronize();
}

// A fault is the device's that ran the kernel; the owner of the memory works on, which is
// unchanged. (A GPU's fault takes all devices of the process with it.)
static void check_owner(const int *p)
{
    int value = 0;
    OK(cudaSetDevice(0));
    cudaError_t error = cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost);
    if (error == cudaErrorIllegalAddress)
        return;
    OK(error);
    CHECK_EQ_INT(value, 1);
    put<<<1, 1>>>((int *)p, 2);
    OK(cudaDeviceSynchronize());
}

static int *plain_on_0(size_t bytes = sizeof(int))
{
    int *p = nullptr;
    OK(cudaSetDevice(0));
    OK(cudaMalloc(&p, bytes));
    put<<<1, 1>>>(p, 1);
    OK(cudaDeviceSynchronize());
    return p;
}

static cudaMemPool_t pool_on_0()
{
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool = nullptr;
    OK(cudaSetDevice(0));
    OK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

static int *from(cudaMemPool_t pool, size_t bytes = sizeof(int))
{
    int *p = nullptr;
    OK(cudaSetDevice(0));
    OK(cudaMallocFromPoolAsync(&p, bytes, pool, 0));
    put<<<1, 1>>>(p, 1);
    OK(cudaDeviceSynchronize());
    return p;
}

static void let(cudaMemPool_t pool, cudaMemAccessFlags flags)
{
    cudaMemAccessDesc a = {};
    a.location.type = cudaMemLocationTypeDevice;
    a.location.id = 1;
    a.flags = flags;
    OK(cudaMemPoolSetAccess(pool, &a, 1));
}

static void plain()
{
    int *p = plain_on_0();
    CHECK_EQ_INT(write_from_1(p), cudaErrorIllegalAddress);
    check_owner(p);
}

static void plain_revoked()
{
    int *p = plain_on_0();
    OK(cudaSetDevice(1));
    OK(cudaDeviceEnablePeerAccess(0, 0));
    OK(write_from_1(p));
    OK(write_from_1(plain_on_0(64 << 20))); // what is allocated later, too
    put<<<1, 1>>>(p, 0);
    add<<<1, 1>>>(p);
    OK(cudaDeviceSynchronize());
    OK(cudaDeviceDisablePeerAccess(0));
    CHECK_EQ_INT(write_from_1(p), cudaErrorIllegalAddress);
    check_owner(p);
}

static void a_variable()
{
    int *p = nullptr;
    OK(cudaSetDevice(0));
    OK(cudaGetSymbolAddress((void **)&p, variable));
    put<<<1, 1>>>(p, 1);
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(write_from_1(p), cudaErrorIllegalAddress);
    check_owner(p);
}

static void pool()
{
    int *p = from(pool_on_0());
    CHECK_EQ_INT(write_from_1(p), cudaErrorIllegalAddress);
    check_owner(p);
}

static void pool_with_peers()
{
    int *p = from(pool_on_0());
    OK(cudaSetDevice(1));
    OK(cudaDeviceEnablePeerAccess(0, 0)); // not asked
    CHECK_EQ_INT(write_from_1(p), cudaErrorIllegalAddress);
    check_owner(p);
}

static void pool_revoked()
{
    cudaMemPool_t m = pool_on_0();
    int *p = from(m);
    let(m, cudaMemAccessFlagsProtReadWrite);
    OK(write_from_1(p));
    OK(write_from_1(from(m, 64 << 20)));
    let(m, cudaMemAccessFlagsProtNone);
    OK(cudaSetDevice(0));
    put<<<1, 1>>>(p, 1);
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(write_from_1(p), cudaErrorIllegalAddress);
    check_owner(p);
}

// What a pool is open to is what it says, also when the device has begun anew.
static void pool_after_reset()
{
    cudaMemPool_t m;
    cudaMemAccessFlags flags;
    cudaMemLocation where = {};
    where.type = cudaMemLocationTypeDevice;
    where.id = 1;
    OK(cudaSetDevice(0));
    OK(cudaDeviceGetDefaultMemPool(&m, 0));
    let(m, cudaMemAccessFlagsProtReadWrite);
    OK(write_from_1(from(m)));
    OK(cudaSetDevice(0));
    OK(cudaDeviceReset());
    OK(cudaDeviceGetDefaultMemPool(&m, 0));
    OK(cudaMemPoolGetAccess(&flags, m, &where));
    bool open = flags == cudaMemAccessFlagsProtReadWrite;
    int *p = from(m);
    CHECK_EQ_INT(write_from_1(p), open ? cudaSuccess : cudaErrorIllegalAddress);
    if (!open)
        check_owner(p);
}

// A stream of device 1 may order the memory; its kernels still may not touch it.
static void pool_in_other_stream()
{
    cudaMemPool_t m = pool_on_0();
    cudaStream_t s;
    int *p = nullptr;
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&s));
    OK(cudaMallocFromPoolAsync(&p, sizeof *p, m, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaSetDevice(0));
    put<<<1, 1>>>(p, 1);
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(write_from_1(p), cudaErrorIllegalAddress);
    check_owner(p);
}

static void mapped(int device)
{
    CUmemAllocationProp prop = {};
    CUmemGenericAllocationHandle h;
    CUmemAccessDesc a = {};
    CUdeviceptr at;
    size_t bytes;
    OK(cudaSetDevice(0));
    OK(cudaFree(0));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    OK(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemCreate(&h, bytes, &prop, 0));
    OK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    OK(cuMemMap(at, bytes, 0, h, 0));
    a.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    a.location.id = device;
    a.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(cuMemSetAccess(at, bytes, &a, 1));
    for (int i = 0; i < 2; i++) { // the one without access is the second
        OK(cudaSetDevice(device));
        put<<<1, 1>>>((int *)at, 1);
        CHECK_EQ_INT(cudaDeviceSynchronize(), i == 0 ? cudaSuccess : cudaErrorIllegalAddress);
        device = !device;
    }
}

static void mapped_for_0() { mapped(0); }

static void mapped_for_1() { mapped(1); }

// Copies need access to pools, unless they name both devices; sets need it to all memory.
static void copies()
{
    if (!driver_knows()) // then the rules are those of mapped memory
        return;
    cudaMemPool_t m = pool_on_0();
    int *p = plain_on_0(), *q = from(m), *mine = nullptr, value = 0;
    cudaPointerAttributes a;
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&mine, sizeof *mine));
    OK(cudaMemcpyPeer(mine, 1, p, 0, sizeof *mine));
    OK(cudaMemcpy(&value, mine, sizeof value, cudaMemcpyDefault));
    CHECK_EQ_INT(value, 1);
    OK(cudaMemcpy(mine, p, sizeof *mine, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
    OK(cudaMemcpyPeerAsync(mine, 1, q, 0, sizeof *mine, 0));
    CHECK_EQ_INT(cudaMemcpy(mine, q, sizeof *mine, cudaMemcpyDeviceToDevice),
                 cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaMemcpyAsync(mine, q, sizeof *mine, cudaMemcpyDefault, 0),
                 cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaMemcpy(&value, q, sizeof value, cudaMemcpyDeviceToHost),
                 cudaErrorInvalidValue);
    cudaMemcpy3DParms box = {};
    box.srcPtr = make_cudaPitchedPtr(q, sizeof *q, sizeof *q, 1);
    box.dstPtr = make_cudaPitchedPtr(mine, sizeof *q, sizeof *q, 1);
    box.extent = make_cudaExtent(sizeof *q, 1, 1);
    box.kind = cudaMemcpyDefault;
    CHECK_EQ_INT(cudaMemcpy3D(&box), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaMemcpy3DAsync(&box, 0), cudaErrorInvalidValue);
    cudaMemcpy3DPeerParms named = {};
    named.srcPtr = box.srcPtr;
    named.dstPtr = box.dstPtr;
    named.dstDevice = 1;
    named.extent = box.extent;
    OK(cudaMemcpy3DPeer(&named));
    OK(cudaMemcpy3DPeerAsync(&named, 0));
    CHECK_EQ_INT(cudaMemcpy2D(mine, 4, q, 4, 4, 1, cudaMemcpyDefault), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaMemcpy2D(q, 4, mine, 4, 4, 1, cudaMemcpyDefault), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaMemcpy2DAsync(&value, 4, q, 4, 4, 1, cudaMemcpyDefault, 0),
                 cudaErrorInvalidValue);
    OK(cudaMemcpy2D(mine, 4, p, 4, 4, 1, cudaMemcpyDefault));
    CHECK_EQ_INT(cudaMemset2D(q, 4, 0, 4, 1), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaMemsetAsync(q, 0, sizeof *q, 0), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaMemset(p, 0, sizeof *p), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaMemsetAsync(p, 0, sizeof *p, 0), cudaErrorInvalidValue);
    OK(cudaPointerGetAttributes(&a, p));
    CHECK(a.type == cudaMemoryTypeDevice && a.device == 0 && a.devicePointer == nullptr);
    let(m, cudaMemAccessFlagsProtReadWrite);
    OK(cudaSetDevice(1));
    OK(cudaMemcpy(&value, q, sizeof value, cudaMemcpyDeviceToHost));
    CHECK_EQ_INT(value, 1);
    OK(cudaMemsetAsync(q, 0, sizeof *q, 0));
    OK(cudaDeviceEnablePeerAccess(0, 0));
    OK(cudaMemset(p, 0, sizeof *p));
    OK(cudaDeviceSynchronize());
    cudaGetLastError();
}

static void shared_by_all()
{
    int *managed = nullptr, *pinned = nullptr;
    OK(cudaSetDevice(0));
    OK(cudaMallocManaged(&managed, sizeof *managed));
    OK(cudaMallocHost(&pinned, sizeof *pinned));
    OK(write_from_1(managed));
    OK(write_from_1(pinned));
    CHECK_EQ_INT(*managed, 7);
    CHECK_EQ_INT(*pinned, 7);
}

// ---- however a warp gets there ------------------------------------------------------------------

enum way {
    READ,
    ATOMIC,
    NEIGHBOURS,
    BACKWARDS,
    GATHER,
    MANY_GATHERS,
    ONE_LANE,
    VECTORS,
    MATRIX,
    BULK
};

// The warp of device 1, whose own memory is at `own`, makes one access to p's, of another device.
template <way how> __global__ void reach(int *p, int *own)
{
    int t = threadIdx.x;
    if (how == READ)
        own[t] = *p;
    if (how == ATOMIC)
        atomicAdd(p + t, 1);
    if (how == NEIGHBOURS)
        p[t] = 7;
    if (how == BACKWARDS)
        p[31 - t] = 7;
    if (how == GATHER)
        own[t] = p[own[t]];
    if (how == MANY_GATHERS) { // the last one only is of p
        int sum = 0;
#pragma unroll
        for (int i = 1; i <= 100; i++)
            sum += own[(own[t] + i * t * t) % 512];
        own[t] = sum + p[own[t]];
    }
    if (how == ONE_LANE)
        *(t == 17 ? p : own + t) = 7;
    if (how == VECTORS)
        ((int4 *)p)[t] = make_int4(7, 7, 7, 7);
    if (how == MATRIX) {
        using namespace nvcuda;
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
        wmma::fill_fragment(c, 7);
        wmma::store_matrix_sync((float *)p, c, 16, wmma::mem_row_major);
    }
    if (how == BULK && t == 0) {
        __shared__ __align__(16) int line[4];
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;\n\t"
                     "cp.async.bulk.commit_group;\n\t"
                     "cp.async.bulk.wait_group 0;" ::"l"(p),
                     "r"((uint32_t)__cvta_generic_to_shared(line))
                     : "memory");
    }
}

// As ONE_LANE, but the lane does nothing.
__global__ void spare(int *p, int *own)
{
    int t = threadIdx.x;
    int *q = t == 17 ? p : own + t;
    if (t != 17)
        *q += 7;
}

static int *own_of_1()
{
    int *own = nullptr;
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&own, 4096));
    OK(cudaMemset(own, 0, 4096));
    return own;
}

template <way how> static void reached()
{
    int *p = plain_on_0(4096), *own = own_of_1();
    reach<how><<<1, 32>>>(own + 512, own); // compiled, and right where it may go
    OK(cudaDeviceSynchronize());
    reach<how><<<1, 32>>>(p, own);
    OK(cudaGetLastError());
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    check_owner(p);
}

static void spared()
{
    int *p = plain_on_0(4096), *own = own_of_1(), values[32];
    spare<<<1, 32>>>(p, own);
    OK(cudaMemcpy(values, own, sizeof values, cudaMemcpyDefault));
    for (int t = 0; t < 32; t++)
        CHECK_EQ_INT(values[t], t == 17 ? 0 : 7);
    check_owner(p);
}

// The same kernel by both devices in turn: what one of them may do is not the other's.
static void in_turn()
{
    int *p = plain_on_0(), *own = own_of_1();
    OK(cudaSetDevice(1));
    OK(cudaDeviceEnablePeerAccess(0, 0));
    for (int i = 0; i < 10; i++) {
        OK(write_from_1(p));
        OK(cudaSetDevice(0));
        put<<<1, 1>>>(p, 1);
        OK(cudaDeviceSynchronize());
    }
    put<<<1, 1>>>(own, 1); // of device 0, which has no access to device 1's
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}

static void (*const cases[])() = {plain,
                                  plain_revoked,
                                  a_variable,
                                  pool,
                                  pool_with_peers,
                                  pool_revoked,
                                  pool_after_reset,
                                  pool_in_other_stream,
                                  copies,
                                  shared_by_all,
                                  mapped_for_0,
                                  mapped_for_1,
                                  reached<READ>,
                                  reached<ATOMIC>,
                                  reached<NEIGHBOURS>,
                                  reached<BACKWARDS>,
                                  reached<GATHER>,
                                  reached<ONE_LANE>,
                                  reached<VECTORS>,
                                  reached<MATRIX>,
                                  reached<BULK>,
                                  reached<MANY_GATHERS>,
                                  spared,
                                  in_turn};
static const int CASES = sizeof cases / sizeof *cases;

int main(int argc, char **argv)
{
    if (argc > 2) {
        int devices = 0, can = 0;
        OK(cudaGetDeviceCount(&devices));
        if (devices > 1)
            OK(cudaDeviceCanAccessPeer(&can, 1, 0));
        if (!can) // nothing to see
            return 77;
        cases[atoi(argv[2])]();
        return check_done();
    }
    for (int i = 0; i < CASES; i++) {
        int status = end_of(start_process("/proc/self/exe", "case", i));
        if (status == 77) {
            printf("one device, or no peers: what needs two is left out\n");
            break;
        }
        CHECK_EQ_INT(status, 0);
    }
    return check_done();
}
