// FLAGS: -arch=sm_90a
// SANITIZERS: copies by tensor maps (src/exec/tensor_copy.c)
/* K2: cp.async.bulk.tensor: boxes of tensors of 1 to 5 dimensions into shared memory and back, with
 * steps, swizzles and fills, by images (im2col), to many blocks of a cluster, reductions, and maps
 * that kernels change. What must be in shared memory is computed here element by element. */
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
struct offsets {
    unsigned short at[3];
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

__global__ void load_pixels(const __grid_constant__ CUtensorMap map, int dims, coordinates c,
                            offsets o, int bytes, unsigned char *out)
{
    __shared__ __align__(1024) unsigned char box[BOX_BYTES];
    __shared__ __align__(8) uint64_t object;
    uint32_t bar = shared_address(&object), to = shared_address(box);
    const int *at = c.at;
    uint64_t m = (uint64_t)&map;
    if (threadIdx.x == 0) {
        begin(bar, bytes);
#define IMAGES ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, "
        if (dims == 3)
            asm volatile(LOAD "3d" IMAGES "{%3, %4, %5}], [%2], {%6};" ::"r"(to), "l"(m), "r"(bar),
                         "r"(at[0]), "r"(at[1]), "r"(at[2]), "h"(o.at[0])
                         : "memory");
        else if (dims == 4)
            asm volatile(LOAD "4d" IMAGES "{%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(to), "l"(m),
                         "r"(bar), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "h"(o.at[0]),
                         "h"(o.at[1])
                         : "memory");
        else
            asm volatile(LOAD "5d" IMAGES "{%3, %4, %5, %6, %7}], [%2], {%8, %9, %10};" ::"r"(to),
                         "l"(m), "r"(bar), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
                         "r"(at[4]), "h"(o.at[0]), "h"(o.at[1]), "h"(o.at[2])
                         : "memory");
    }
    __syncthreads();
    wait_for(bar);
    for (int n = threadIdx.x; n < BOX_BYTES; n += blockDim.x)
        out[n] = box[n];
}

enum { STORE, ADD, MIN, MAX, INC, DEC, AND, OR, XOR };

template <int op> __device__ void store(const void *map, uint32_t from, const coordinates &c)
{
    const int *at = c.at;
    uint64_t m = (uint64_t)map;
#define STORE_AS(which, text)                                                                      \
    if (op == which)                                                                               \
        asm volatile(text " [%0, {%2, %3}], [%1];" ::"l"(m), "r"(from), "r"(at[0]), "r"(at[1])     \
                     : "memory");
#define REDUCE_AS(which, text)                                                                     \
    STORE_AS(which, "cp.reduce.async.bulk.tensor.2d.global.shared::cta." text ".bulk_group")
    STORE_AS(STORE, "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group")
    REDUCE_AS(ADD, "add")
    REDUCE_AS(MIN, "min")
    REDUCE_AS(MAX, "max")
    REDUCE_AS(INC, "inc")
    REDUCE_AS(DEC, "dec")
    REDUCE_AS(AND, "and")
    REDUCE_AS(OR, "or")
    REDUCE_AS(XOR, "xor")
}

template <int op>
__global__ void store_box(const __grid_constant__ CUtensorMap map, coordinates c, int bytes,
                          const unsigned char *in)
{
    __shared__ __align__(1024) unsigned char box[BOX_BYTES];
    for (int n = threadIdx.x; n < bytes; n += blockDim.x)
        box[n] = in[n];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        store<op>(&map, shared_address(box), c);
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

/* The same for tensors of more dimensions. */
__global__ void store_rank(const __grid_constant__ CUtensorMap map, int dims, coordinates c,
                           int bytes, const unsigned char *in)
{
    __shared__ __align__(1024) unsigned char box[BOX_BYTES];
    for (int n = threadIdx.x; n < bytes; n += blockDim.x)
        box[n] = in[n];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    const int *at = c.at;
    uint64_t m = (uint64_t)&map;
    uint32_t from = shared_address(box);
#define FROM ".global.shared::cta.bulk_group [%0, "
    if (dims == 3)
        asm volatile(LOAD "3d" FROM "{%2, %3, %4}], [%1];" ::"l"(m), "r"(from), "r"(at[0]),
                     "r"(at[1]), "r"(at[2])
                     : "memory");
    else if (dims == 4)
        asm volatile(LOAD "4d" FROM "{%2, %3, %4, %5}], [%1];" ::"l"(m), "r"(from), "r"(at[0]),
                     "r"(at[1]), "r"(at[2]), "r"(at[3])
                     : "memory");
    else
        asm volatile(LOAD "5d" FROM "{%2, %3, %4, %5, %6}], [%1];" ::"l"(m), "r"(from), "r"(at[0]),
                     "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
                     : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
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

/* ---- tests ---- */

static void test_dimensions()
{
    static const int sizes[5] = {70, 9, 7, 5, 3},
                     boxes[5][5] = {{64}, {32, 6}, {32, 4, 3}, {16, 3, 2, 4}, {16, 2, 3, 2, 2}};
    static const coordinates where[] = {{{0, 0, 0, 0, 0}},
                                        {{16, 2, 1, 1, 1}},
                                        {{-16, -1, -2, 2, -1}},
                                        {{64, 6, 5, 4, 2}},
                                        {{112, 0, 0, 0, 0}}};
    static const struct {
        CUtensorMapDataType type;
        int element;
    } types[] = {{CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},    {CU_TENSOR_MAP_DATA_TYPE_UINT16, 2},
                 {CU_TENSOR_MAP_DATA_TYPE_INT32, 4},    {CU_TENSOR_MAP_DATA_TYPE_UINT64, 8},
                 {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2}, {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4}};
    for (int rank = 1; rank <= 5; rank++)
        for (const auto &k : types) {
            tensor t = make(k.type, k.element, rank, sizes, boxes[rank - 1], nullptr,
                            CU_TENSOR_MAP_SWIZZLE_NONE);
            for (const coordinates &c : where)
                check_load(t, c);
            cudaFree(t.device);
        }
}

static void test_steps()
{
    static const int sizes[4] = {64, 20, 9, 6}, box[4] = {32, 8, 5, 3}, step[4] = {1, 2, 3, 8};
    tensor t =
        make(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 4, sizes, box, step, CU_TENSOR_MAP_SWIZZLE_64B);
    check_load(t, {{0, 0, 0, 0}});
    check_load(t, {{16, -3, 4, 5}});
    check_load(t, {{48, 15, -1, -8}});
    cudaFree(t.device);
}

static void test_swizzles()
{
    static const int sizes[2] = {200, 50};
    for (int s = CU_TENSOR_MAP_SWIZZLE_NONE; s <= CU_TENSOR_MAP_SWIZZLE_128B; s++) {
        int box[2] = {s == CU_TENSOR_MAP_SWIZZLE_NONE ? 64 : 8 << s, 40};
        tensor t =
            make(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 2, sizes, box, nullptr, (CUtensorMapSwizzle)s);
        check_load(t, {{0, 0}});
        check_load(t, {{8, 3}});
        check_load(t, {{192, 20}});
        cudaFree(t.device);
    }
    for (int s = CU_TENSOR_MAP_SWIZZLE_32B; s <= CU_TENSOR_MAP_SWIZZLE_128B; s++)
        for (int bytes = 16; bytes < 16 << s; bytes += 16) {
            int box[2] = {bytes / 2, 21};
            tensor t = make(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 2, sizes, box, nullptr,
                            (CUtensorMapSwizzle)s);
            check_load(t, {{8, 3}});
            cudaFree(t.device);
        }
}

static void test_fills()
{
    static const int sizes[2] = {24, 5}, box[2] = {32, 8};
    static const struct {
        CUtensorMapDataType type;
        int element;
    } types[] = {{CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2},
                 {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2},
                 {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4}};
    for (const auto &k : types) {
        tensor t = make(k.type, k.element, 2, sizes, box, nullptr, CU_TENSOR_MAP_SWIZZLE_NONE);
        t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
        check_load(t, {{-8, -2}});
        check_load(t, {{8, 1}});
        cudaFree(t.device);
    }
}

/* What loads make of floats: nothing, but TF32 is rounded to nearest even and has one NaN. */
static void test_floats()
{
    static const int sizes[1] = {64}, box[1] = {64};
    static const uint32_t words[][2] = {
        {0x807fffff, 0x80800000}, {0x00400000, 0x00400000}, {0x3f801000, 0x3f800000},
        {0x3f801001, 0x3f802000}, {0x3f803000, 0x3f804000}, {0x7f800001, 0x7fffe000},
        {0xffc00001, 0x7fffe000}, {0x7f7fffff, 0x7f800000}, {0x00001000, 0x00000000}};
    static const CUtensorMapDataType types[] = {
        CU_TENSOR_MAP_DATA_TYPE_FLOAT32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
        CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ};
    for (int k = 0; k < 4; k++) {
        const CUtensorMapDataType type = types[k];
        tensor t = make(type, 4, 1, sizes, box, nullptr, CU_TENSOR_MAP_SWIZZLE_NONE);
        uint32_t *bits = (uint32_t *)t.host.data();
        for (int n = 0; n < 64; n++)
            bits[n] = words[n % 9][0];
        cudaMemcpy(t.device, t.host.data(), 256, cudaMemcpyHostToDevice);
        for (int n = 0; n < 64; n++)
            bits[n] = words[n % 9][k / 2];
        check_load(t, {{0}});
        cudaFree(t.device);
    }
}

template <int op, class T> static void test_store(CUtensorMapDataType type, T (*combine)(T, T))
{
    static const int sizes[2] = {40, 12}, box[2] = {32, 6};
    static const coordinates where[] = {{{0, 0}}, {{16, 2}}, {{16, 9}}, {{48, 3}}};
    for (int s = CU_TENSOR_MAP_SWIZZLE_NONE; s <= CU_TENSOR_MAP_SWIZZLE_128B; s++)
        for (const coordinates &c : where) {
            if (s != 0 && sizeof(T) * 32 > (size_t)16 << s)
                continue; /* the rows are too long */
            tensor t = make(type, sizeof(T), 2, sizes, box, nullptr, (CUtensorMapSwizzle)s);
            T *tensor_elements = (T *)t.host.data();
            for (size_t n = 0; n < t.host.size() / sizeof(T); n++)
                tensor_elements[n] = (T)(random_word() % 1000);
            cudaMemcpy(t.device, t.host.data(), t.host.size(), cudaMemcpyHostToDevice);
            std::vector<unsigned char> in((in_box(t, 32 * 6 - 1) + 1024) / 1024 * 1024);
            tensor padded = t; /* what is written: rows to the end of their last 16 bytes */
            padded.size[0] = (t.size[0] * sizeof(T) + 15) / 16 * 16 / sizeof(T);
            each(padded, c, [&](size_t k, long p) {
                T x = (T)(random_word() % 1000);
                memcpy(&in[in_box(t, k)], &x, sizeof x);
                if (p >= 0) {
                    T *to = (T *)&t.host[(size_t)p];
                    *to = combine(*to, x);
                }
            });
            CUtensorMap map = encode(t);
            cudaMemcpy(device_box, in.data(), in.size(), cudaMemcpyHostToDevice);
            store_box<op><<<1, 32>>>(map, c, (int)in.size(), device_box);
            CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
            std::vector<unsigned char> now(t.host.size());
            cudaMemcpy(now.data(), t.device, now.size(), cudaMemcpyDeviceToHost);
            CHECK(now == t.host);
            cudaFree(t.device);
        }
}

/* Sums of floats that flush: subnormal numbers, what is added and what comes out, are zeros of
 * their sign. */
static void test_flushing()
{
    static const int sizes[2] = {32, 1}, box[2] = {32, 1};
    static const uint32_t words[][3] = {
        /* in memory, added, their sum */
        {0x00000001, 0x00000001, 0x00000000}, {0x80000001, 0x80000001, 0x80000000},
        {0x00400000, 0x3f800000, 0x3f800000}, {0x00800001, 0x80800000, 0x00000000},
        {0x00800000, 0x80400000, 0x00800000}, {0x3f800000, 0x40000000, 0x40400000}};
    static const CUtensorMapDataType types[] = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
                                                CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ};
    for (CUtensorMapDataType type : types) {
        tensor t = make(type, 4, 2, sizes, box, nullptr, CU_TENSOR_MAP_SWIZZLE_NONE);
        uint32_t *bits = (uint32_t *)t.host.data(), added[32];
        for (int n = 0; n < 32; n++) {
            bits[n] = words[n % 6][0];
            added[n] = words[n % 6][1];
        }
        cudaMemcpy(t.device, t.host.data(), sizeof added, cudaMemcpyHostToDevice);
        cudaMemcpy(device_box, added, sizeof added, cudaMemcpyHostToDevice);
        store_box<ADD><<<1, 32>>>(encode(t), {{0, 0}}, (int)sizeof added, device_box);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        cudaMemcpy(added, t.device, sizeof added, cudaMemcpyDeviceToHost);
        int wrong = 0;
        for (int n = 0; n < 32; n++)
            wrong += added[n] != words[n % 6][2];
        CHECK_EQ_INT(wrong, 0);
        cudaFree(t.device);
    }
}

static void test_stores()
{
    test_store<STORE, uint8_t>(CU_TENSOR_MAP_DATA_TYPE_UINT8, [](uint8_t, uint8_t b) { return b; });
    test_store<STORE, float>(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, [](float, float b) { return b; });
    test_store<STORE, uint64_t>(CU_TENSOR_MAP_DATA_TYPE_UINT64,
                                [](uint64_t, uint64_t b) { return b; });
    test_store<ADD, uint32_t>(CU_TENSOR_MAP_DATA_TYPE_UINT32,
                              [](uint32_t a, uint32_t b) { return a + b; });
    test_store<ADD, float>(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, [](float a, float b) { return a + b; });
    test_store<MIN, int>(CU_TENSOR_MAP_DATA_TYPE_INT32, [](int a, int b) { return a < b ? a : b; });
    test_store<MAX, uint64_t>(CU_TENSOR_MAP_DATA_TYPE_UINT64,
                              [](uint64_t a, uint64_t b) { return a > b ? a : b; });
    test_store<INC, uint32_t>(CU_TENSOR_MAP_DATA_TYPE_UINT32,
                              [](uint32_t a, uint32_t b) { return a >= b ? 0 : a + 1; });
    test_store<DEC, uint32_t>(CU_TENSOR_MAP_DATA_TYPE_UINT32,
                              [](uint32_t a, uint32_t b) { return a == 0 || a > b ? b : a - 1; });
    test_store<AND, uint32_t>(CU_TENSOR_MAP_DATA_TYPE_UINT32,
                              [](uint32_t a, uint32_t b) { return a & b; });
    test_store<OR, uint32_t>(CU_TENSOR_MAP_DATA_TYPE_UINT32,
                             [](uint32_t a, uint32_t b) { return a | b; });
    test_store<XOR, uint64_t>(CU_TENSOR_MAP_DATA_TYPE_UINT64,
                              [](uint64_t a, uint64_t b) { return a ^ b; });
}

/* Pixels in the order of a bounding box, over the ends of rows and images. */
static void check_pixels(int rank, const int *size, const int *lower, const int *upper,
                         const int *step, int channels, int columns, coordinates c, offsets o,
                         CUtensorMapSwizzle swizzle)
{
    int box[5] = {1, 1, 1, 1, 1};
    tensor t = make(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, rank, size, box, step, swizzle);
    CUtensorMap map;
    CHECK_EQ_INT(cuTensorMapEncodeIm2col(&map, t.type, (cuuint32_t)rank, t.device, t.size, t.stride,
                                         lower, upper, (cuuint32_t)channels, (cuuint32_t)columns,
                                         t.step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                         CU_TENSOR_MAP_L2_PROMOTION_NONE, t.fill),
                 CUDA_SUCCESS);
    load_pixels<<<1, 32>>>(map, rank, c, o, channels * columns * 2, device_box);
    fetch();
    size_t wrong = 0;
    long at[5];
    for (int d = 0; d < rank; d++)
        at[d] = c.at[d];
    for (int pixel = 0; pixel < columns; pixel++) {
        for (int n = 0; n < channels; n++) {
            long x[5];
            for (int d = 0; d < rank; d++)
                x[d] = at[d] + (d == 0 ? n : d < rank - 1 ? o.at[d - 1] : 0);
            long p = position(t, x);
            uint16_t zero = 0;
            size_t k = (size_t)pixel * (size_t)channels + (size_t)n;
            wrong += memcmp(&got[in_box(swizzle, (size_t)channels, 2, k)],
                            p < 0 ? (void *)&zero : &t.host[(size_t)p], 2) != 0;
        }
        int d = 1;
        for (; d < rank - 1; d++) {
            at[d] += t.step[d];
            if (at[d] < (long)t.size[d] + upper[d - 1])
                break;
            at[d] = lower[d - 1];
        }
        if (d == rank - 1)
            at[d]++;
    }
    CHECK_EQ_INT(wrong, 0);
    cudaFree(t.device);
}

static void test_images()
{
    static const int size3[3] = {40, 13, 4}, lower3[1] = {-1}, upper3[1] = {-1};
    check_pixels(3, size3, lower3, upper3, nullptr, 16, 30, {{8, -1, 0}}, {{0}},
                 CU_TENSOR_MAP_SWIZZLE_NONE);
    check_pixels(3, size3, lower3, upper3, nullptr, 16, 30, {{32, 3, 2}}, {{2}},
                 CU_TENSOR_MAP_SWIZZLE_32B);
    static const int size4[4] = {64, 9, 7, 3}, lower4[2] = {-1, -1}, upper4[2] = {-1, -1};
    for (unsigned short y = 0; y < 3; y++)
        for (unsigned short x = 0; x < 3; x++)
            check_pixels(4, size4, lower4, upper4, nullptr, 64, 64, {{0, 4, 3, 1}}, {{x, y}},
                         CU_TENSOR_MAP_SWIZZLE_128B);
    check_pixels(4, size4, lower4, upper4, nullptr, 16, 64, {{0, 4, 3, 1}}, {{1, 1}},
                 CU_TENSOR_MAP_SWIZZLE_128B); /* channels that are fewer than the swizzle is wide */
    static const int step4[4] = {1, 2, 2, 1};
    check_pixels(4, size4, lower4, upper4, step4, 32, 20, {{32, -1, 1, 0}}, {{1, 2}},
                 CU_TENSOR_MAP_SWIZZLE_64B);
    static const int size5[5] = {16, 5, 4, 3, 2}, lower5[3] = {0, -1, -1}, upper5[3] = {0, 0, -1};
    check_pixels(5, size5, lower5, upper5, nullptr, 16, 70, {{0, 2, 1, 0, 0}}, {{0, 1, 1}},
                 CU_TENSOR_MAP_SWIZZLE_NONE);
}

/* Each block of the cluster loads a part for all. */
__global__ void __cluster_dims__(4, 1, 1)
    to_many(const __grid_constant__ CUtensorMap map, unsigned char *out)
{
    __shared__ __align__(1024) unsigned char box[4096];
    __shared__ __align__(8) uint64_t object;
    uint32_t bar = shared_address(&object), rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0)
        begin(bar, 3072); /* three of the four parts come here */
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        uint16_t set = (uint16_t)(0xf & ~(1u << rank));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(
                         shared_address(box + 1024 * rank)),
                     "l"((uint64_t)&map), "r"(bar), "r"(0), "r"(rank * 8), "h"(set)
                     : "memory");
    }
    wait_for(bar);
    for (int n = threadIdx.x; n < 4096; n += blockDim.x)
        if (n / 1024 != (int)rank)
            out[blockIdx.x * 4096 + n] = box[n];
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

static void test_many()
{
    static const int sizes[2] = {64, 32}, box[2] = {64, 8};
    tensor t = make(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 2, sizes, box, nullptr,
                    CU_TENSOR_MAP_SWIZZLE_128B);
    CUtensorMap map = encode(t);
    to_many<<<4, 32>>>(map, device_box);
    fetch();
    size_t wrong = 0;
    for (size_t block = 0; block < 4; block++)
        each(t, {{0, 0}}, [&](size_t k, long) {
            for (size_t part = 0; part < 4; part++) {
                long at[2] = {(long)(k % 64), (long)(k / 64 + part * 8)};
                if (part != block)
                    wrong += memcmp(&got[block * 4096 + part * 1024 + swizzled(t.swizzle, 2 * k)],
                                    &t.host[(size_t)position(t, at)], 2) != 0;
            }
        });
    CHECK_EQ_INT(wrong, 0);
    cudaFree(t.device);
}

/* A map for another tensor: made from one that lies in shared memory, and put into global memory.
 */
__global__ void change_map(const __grid_constant__ CUtensorMap map, CUtensorMap *out, uint64_t base,
                           uint64_t stride, uint32_t width, uint32_t height)
{
    __shared__ __align__(128) CUtensorMap copy;
    uint32_t at = shared_address(&copy);
    ((uint32_t *)&copy)[threadIdx.x] = ((const uint32_t *)&map)[threadIdx.x];
    __syncwarp();
#define REPLACE(field, type, rest)                                                                 \
    "tensormap.replace.tile." field ".shared::cta.b1024." type " [%0], " rest ";"
    if (threadIdx.x == 0) {
        asm volatile(REPLACE("global_address", "b64", "%1")::"r"(at), "l"(base) : "memory");
        asm volatile(REPLACE("rank", "b32", "%1")::"r"(at), "r"(1) : "memory");
        asm volatile(REPLACE("global_dim", "b32", "0, %1")::"r"(at), "r"(width) : "memory");
        asm volatile(REPLACE("global_dim", "b32", "1, %1")::"r"(at), "r"(height) : "memory");
        asm volatile(REPLACE("global_stride", "b64", "0, %1")::"r"(at), "l"(stride) : "memory");
        asm volatile(REPLACE("box_dim", "b32", "0, %1")::"r"(at), "r"(32) : "memory");
        asm volatile(REPLACE("box_dim", "b32", "1, %1")::"r"(at), "r"(12) : "memory");
        asm volatile(REPLACE("element_stride", "b32", "1, %1")::"r"(at), "r"(2) : "memory");
        asm volatile(REPLACE("elemtype", "b32", "6")::"r"(at) : "memory");
        asm volatile(REPLACE("interleave_layout", "b32", "0")::"r"(at) : "memory");
        asm volatile(REPLACE("swizzle_mode", "b32", "2")::"r"(at) : "memory");
        asm volatile(REPLACE("fill_mode", "b32", "0")::"r"(at) : "memory");
    }
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync"
                 ".aligned [%0], [%1], 128;" ::"l"(out),
                 "r"(at)
                 : "memory");
}

static void test_change()
{
    static const int sizes[2] = {60, 30}, box[2] = {32, 12}, step[2] = {1, 2};
    static const int other_sizes[3] = {16, 4, 4}, other_box[3] = {16, 1, 1};
    tensor t =
        make(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 2, sizes, box, step, CU_TENSOR_MAP_SWIZZLE_64B);
    tensor other = make(CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 3, other_sizes, other_box, nullptr,
                        CU_TENSOR_MAP_SWIZZLE_NONE);
    CUtensorMap map = encode(other), *changed;
    cudaMalloc(&changed, sizeof *changed);
    change_map<<<1, 32>>>(map, changed, (uint64_t)t.device, t.stride[0], 60, 30);
    load_box<<<1, 64>>>(map, changed, 2, {{40, 22}}, 32 * 6 * 2, device_box);
    fetch();
    CHECK_EQ_INT(wrong_elements(t, {{40, 22}}), 0);
    CUtensorMap moved = encode(t);
    t.host.erase(t.host.begin(), t.host.begin() + (long)t.stride[0]);
    CHECK_EQ_INT(cuTensorMapReplaceAddress(&moved, t.device + t.stride[0]), CUDA_SUCCESS);
    t.size[1]--; /* the last row is past the end now: it is not looked at */
    load_box<<<1, 64>>>(moved, nullptr, 2, {{0, 3}}, 32 * 6 * 2, device_box);
    fetch();
    CHECK_EQ_INT(wrong_elements(t, {{0, 3}}), 0);
    cudaFree(t.device);
    cudaFree(other.device);
    cudaFree(changed);
}

/* Slices of 16 or 32 bytes that lie side by side along the first dimension; the last but one counts
 * those of the channels, of which a box has one. */
static void check_interleaved(int slice, int rank, int step)
{
    static const int sizes[3][5] = {{20, 16, 3}, {20, 3, 16, 3}, {20, 3, 2, 16, 3}};
    static const int boxes[3][5] = {{16, 2, 2}, {16, 2, 2, 2}, {16, 2, 2, 16, 2}};
    static const coordinates where[3] = {{{3, 1, 1}}, {{4, 1, 1, 0}}, {{0, 1, 0, 1, 1}}};
    const int channels = rank - 2;
    const coordinates c = where[rank - 3];
    tensor t = {};
    size_t bytes = (size_t)slice, count = 1;
    for (int d = 0; d < rank; d++) {
        t.size[d] = (cuuint64_t)sizes[rank - 3][d];
        t.box[d] = (cuuint32_t)boxes[rank - 3][d];
        t.step[d] = d == 0 ? (cuuint32_t)step : 1;
        bytes = bytes * (d == channels ? 2 : t.size[d]) + (d == 0 ? 64 : 0);
        if (d + 1 < rank)
            t.stride[d] = bytes;
        count *= d == channels ? 1 : (t.box[d] + t.step[d] - 1) / t.step[d];
    }
    t.swizzle = slice == 32 ? CU_TENSOR_MAP_SWIZZLE_32B : CU_TENSOR_MAP_SWIZZLE_NONE;
    t.host.resize(bytes);
    for (unsigned char &b : t.host)
        b = (unsigned char)random_word();
    CHECK_EQ_INT(cudaMalloc(&t.device, bytes), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(t.device, t.host.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
    CUtensorMap map;
    CHECK_EQ_INT(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, (cuuint32_t)rank,
                                        t.device, t.size, t.stride, t.box, t.step,
                                        slice == 32 ? CU_TENSOR_MAP_INTERLEAVE_32B
                                                    : CU_TENSOR_MAP_INTERLEAVE_16B,
                                        t.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, t.fill),
                 CUDA_SUCCESS);
    load_box<<<1, 64>>>(map, nullptr, rank, c, (int)count * slice, device_box);
    fetch();
    std::vector<unsigned char> in((count * (size_t)slice + 1023) / 1024 * 1024), wanted = t.host;
    size_t wrong = 0;
    for (size_t k = 0; k < count; k++) {
        size_t rest = k, at = 0;
        for (int d = 0; d < rank; d++) {
            size_t n = d == channels ? 1 : (t.box[d] + t.step[d] - 1) / t.step[d];
            at += ((size_t)c.at[d] + rest % n * t.step[d]) *
                  (d > 0 ? t.stride[d - 1] : (size_t)slice);
            rest /= n;
        }
        for (size_t part = 0; part < (size_t)slice; part += 16) {
            size_t to = swizzled(t.swizzle, k * (size_t)slice + part);
            wrong += memcmp(&got[to], &t.host[at + part], 16) != 0;
            for (size_t n = 0; n < 16; n++)
                wanted[at + part + n] = in[to + n] = (unsigned char)random_word();
        }
    }
    CHECK_EQ_INT(wrong, 0);
    cudaMemcpy(device_box, in.data(), in.size(), cudaMemcpyHostToDevice);
    store_rank<<<1, 32>>>(map, rank, c, (int)in.size(), device_box);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    cudaMemcpy(t.host.data(), t.device, bytes, cudaMemcpyDeviceToHost);
    CHECK(t.host == wanted);
    cudaFree(t.device);
}

static void test_interleaves()
{
    for (int slice = 16; slice <= 32; slice += 16)
        for (int rank = 3; rank <= 5; rank++)
            for (int step = 1; step <= 2; step++)
                check_interleaved(slice, rank, step);
}

static void test_refusals()
{
    static const int sizes[2] = {64, 8}, box[2] = {32, 4};
    int supported = 0;
    CHECK_EQ_INT(
        cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 0),
        CUDA_SUCCESS);
    CHECK_EQ_INT(supported, 1);
    const tensor good = make(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 2, sizes, box, nullptr,
                             CU_TENSOR_MAP_SWIZZLE_NONE);
    CUtensorMap two[2];
    auto tried = [&](const tensor &t, void *map) {
        return cuTensorMapEncodeTiled((CUtensorMap *)map, t.type, (cuuint32_t)t.rank, t.device,
                                      t.size, t.stride, t.box, t.step,
                                      CU_TENSOR_MAP_INTERLEAVE_NONE, t.swizzle,
                                      CU_TENSOR_MAP_L2_PROMOTION_NONE, t.fill);
    };
    CHECK_EQ_INT(tried(good, two), CUDA_SUCCESS);
    CHECK_EQ_INT(tried(good, nullptr), CUDA_ERROR_INVALID_VALUE);
#define REFUSED(change)                                                                            \
    {                                                                                              \
        tensor t = good;                                                                           \
        change;                                                                                    \
        CHECK_EQ_INT(tried(t, two), CUDA_ERROR_INVALID_VALUE);                                     \
    }
    REFUSED(t.rank = 0)
    REFUSED(t.rank = 6)
    REFUSED(t.device += 8)
    REFUSED(t.stride[0] += 8)
    REFUSED(t.stride[0] = (cuuint64_t)1 << 40)
    REFUSED(t.size[1] = 0)
    REFUSED(t.size[0] = ((cuuint64_t)1 << 32) + 1)
    REFUSED(t.box[0] = 4)
    REFUSED(t.box[1] = 0)
    REFUSED(t.box[1] = 257)
    REFUSED(t.step[1] = 0)
    REFUSED(t.step[1] = 9)
    REFUSED(t.swizzle = CU_TENSOR_MAP_SWIZZLE_32B) /* rows of 64 bytes */
    REFUSED(t.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
            t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
    cudaFree(good.device);
}

int main()
{
    CHECK_EQ_INT(cudaMalloc(&device_box, BOX_BYTES), cudaSuccess);
    test_refusals();
    test_dimensions();
    test_steps();
    test_swizzles();
    test_fills();
    test_floats();
    test_flushing();
    test_stores();
    test_images();
    test_many();
    test_change();
    test_interleaves();
    cudaFree(device_box);
    return check_done();
}
