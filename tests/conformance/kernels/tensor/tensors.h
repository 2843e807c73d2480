/* tensors.h: tensors for copies by tensor maps: what a copy of a box must bring is computed here
 * element by element. */
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <vector>

#include "check.h"

enum { BOX_BYTES = 16384 };

struct coordinates {
    int at[5];
};

__device__ uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ void wait_for(uint32_t bar)
{
    int done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0;"
                     " selp.b32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(bar)
                     : "memory");
}

#define LOAD "cp.async.bulk.tensor."
#define INTO ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "

__device__ void load(uint32_t to, const void *map, uint32_t bar, int dims, const coordinates &c)
{
    const int *at = c.at;
    uint64_t m = (uint64_t)map;
    switch (dims) {
    case 1:
        asm volatile(LOAD "1d" INTO "{%3}], [%2];" ::"r"(to), "l"(m), "r"(bar), "r"(at[0])
                     : "memory");
        break;
    case 2:
        asm volatile(LOAD "2d" INTO "{%3, %4}], [%2];" ::"r"(to), "l"(m), "r"(bar), "r"(at[0]),
                     "r"(at[1])
                     : "memory");
        break;
    case 3:
        asm volatile(LOAD "3d" INTO "{%3, %4, %5}], [%2];" ::"r"(to), "l"(m), "r"(bar), "r"(at[0]),
                     "r"(at[1]), "r"(at[2])
                     : "memory");
        break;
    case 4:
        asm volatile(LOAD "4d" INTO "{%3, %4, %5, %6}], [%2];" ::"r"(to), "l"(m), "r"(bar),
                     "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
                     : "memory");
        break;
    default:
        asm volatile(LOAD "5d" INTO "{%3, %4, %5, %6, %7}], [%2];" ::"r"(to), "l"(m), "r"(bar),
                     "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
                     : "memory");
    }
}

__device__ void begin(uint32_t bar, int bytes)
{
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
                 : "memory");
}

__global__ void load_box(const __grid_constant__ CUtensorMap map, const CUtensorMap *other,
                         int dims, coordinates c, int bytes, unsigned char *out)
{
    __shared__ __align__(1024) unsigned char box[BOX_BYTES];
    __shared__ __align__(8) uint64_t object;
    uint32_t bar = shared_address(&object);
    for (int n = threadIdx.x; n < BOX_BYTES; n += blockDim.x)
        box[n] = 0xee;
    __syncthreads();
    if (threadIdx.x == 0) {
        begin(bar, bytes);
        load(shared_address(box), other != nullptr ? other : &map, bar, dims, c);
    }
    __syncthreads();
    wait_for(bar);
    for (int n = threadIdx.x; n < BOX_BYTES; n += blockDim.x)
        out[n] = box[n];
}

/* ---- the model ---- */

struct tensor {
    CUtensorMapDataType type;
    int element, rank;
    cuuint64_t size[5], stride[4];
    cuuint32_t box[5], step[5];
    CUtensorMapSwizzle swizzle;
    CUtensorMapFloatOOBfill fill;
    std::vector<unsigned char> host;
    unsigned char *device;
};

static unsigned random_state = 1;
static unsigned random_word()
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static tensor make(CUtensorMapDataType type, int element, int rank, const int *size, const int *box,
                   const int *step, CUtensorMapSwizzle swizzle)
{
    tensor t = {};
    t.type = type;
    t.element = element;
    t.rank = rank;
    t.swizzle = swizzle;
    size_t bytes = (size_t)element;
    for (int d = 0; d < rank; d++) {
        t.size[d] = (cuuint64_t)size[d];
        t.box[d] = (cuuint32_t)box[d];
        t.step[d] = step != nullptr ? (cuuint32_t)step[d] : 1;
        bytes *= (size_t)size[d];
        bytes = (bytes + 15) / 16 * 16 + 16; /* some padding everywhere */
        if (d + 1 < rank)
            t.stride[d] = bytes;
    }
    t.host.resize(bytes);
    for (unsigned char &b : t.host)
        b = (unsigned char)random_word();
    CHECK_EQ_INT(cudaMalloc(&t.device, bytes), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(t.device, t.host.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
    return t;
}

static CUtensorMap encode(const tensor &t)
{
    CUtensorMap map;
    CHECK_EQ_INT(cuTensorMapEncodeTiled(&map, t.type, (cuuint32_t)t.rank, t.device, t.size,
                                        t.stride, t.box, t.step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                        t.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, t.fill),
                 CUDA_SUCCESS);
    return map;
}

/* Byte of shared memory at which byte n of the dense box lies. */
static size_t swizzled(CUtensorMapSwizzle s, size_t n)
{
    size_t span = s == CU_TENSOR_MAP_SWIZZLE_NONE  ? 1
                  : s == CU_TENSOR_MAP_SWIZZLE_32B ? 2
                  : s == CU_TENSOR_MAP_SWIZZLE_64B ? 4
                                                   : 8;
    size_t line = n / 128, piece = n % 128 / 16;
    return line * 128 + (piece ^ (line % span)) * 16 + n % 16;
}

/* Byte of shared memory at which the box's element k lies, if rows have so many elements: rows that
 * are shorter than the swizzle is wide begin at its multiples. */
static size_t in_box(CUtensorMapSwizzle s, size_t row, size_t element, size_t k)
{
    size_t width = s == CU_TENSOR_MAP_SWIZZLE_NONE ? 0 : (size_t)16 << s;
    size_t pitch = row * element < width ? width : row * element;
    return swizzled(s, k / row * pitch + k % row * element);
}

static size_t in_box(const tensor &t, size_t k)
{
    return in_box(t.swizzle, t.box[0], (size_t)t.element, k);
}

/* Where element `at` of the tensor is; -1: outside. */
static long position(const tensor &t, const long *at)
{
    long p = at[0] * t.element;
    for (int d = 0; d < t.rank; d++) {
        if (at[d] < 0 || at[d] >= (long)t.size[d])
            return -1;
        p += d > 0 ? at[d] * (long)t.stride[d - 1] : 0;
    }
    return p;
}

static bool is_nan(const tensor &t, const unsigned char *p)
{
    uint64_t v = 0;
    memcpy(&v, p, (size_t)t.element);
    if (t.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16)
        return (v & 0x7fff) > 0x7c00;
    if (t.type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16)
        return (v & 0x7fff) > 0x7f80;
    return (v & 0x7fffffff) > 0x7f800000;
}

/* Visits the box's elements in the order of shared memory: f(index, position or -1). */
template <class F> static size_t each(const tensor &t, const coordinates &c, F f)
{
    size_t count = 1, n[5] = {1, 1, 1, 1, 1};
    for (int d = 0; d < t.rank; d++) {
        size_t step = d == 0 ? 1 : t.step[d];
        n[d] = (t.box[d] + step - 1) / step;
        count *= n[d];
    }
    for (size_t k = 0; k < count; k++) {
        long at[5] = {};
        size_t rest = k;
        for (int d = 0; d < t.rank; d++) {
            at[d] = c.at[d] + (long)(rest % n[d] * (d == 0 ? 1 : t.step[d]));
            rest /= n[d];
        }
        f(k, position(t, at));
    }
    return count;
}

static unsigned char *device_box;
static std::vector<unsigned char> got(BOX_BYTES);

static void fetch()
{
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    cudaMemcpy(got.data(), device_box, BOX_BYTES, cudaMemcpyDeviceToHost);
}

/* The bytes that come for a copy, as in `got`; 0 wrong ones is right. */
static size_t wrong_elements(const tensor &t, const coordinates &c)
{
    size_t wrong = 0;
    each(t, c, [&](size_t k, long p) {
        const unsigned char *is = &got[in_box(t, k)];
        unsigned char zero[8] = {};
        if (p < 0 && t.fill != 0)
            wrong += !is_nan(t, is);
        else
            wrong += memcmp(is, p < 0 ? zero : &t.host[(size_t)p], (size_t)t.element) != 0;
    });
    return wrong;
}

static void check_load(const tensor &t, const coordinates &c)
{
    CUtensorMap map = encode(t);
    size_t count = each(t, c, [](size_t, long) {});
    load_box<<<1, 64>>>(map, nullptr, t.rank, c, (int)(count * (size_t)t.element), device_box);
    fetch();
    CHECK_EQ_INT(wrong_elements(t, c), 0);
    for (size_t n = (in_box(t, count - 1) + 1024) / 1024 * 1024; n < BOX_BYTES; n++)
        if (got[n] != 0xee) {
            CHECK(!"bytes after the box were written");
            break;
        }
}
