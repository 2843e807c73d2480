// FLAGS: -arch=sm_90a
// SANITIZERS: copies by tensor maps (src/exec/tensor_copy.c)
/* K2: cp.async.bulk.tensor: boxes of tensors of 1 to 5 dimensions into shared memory and back, with
 * steps, swizzles and fills, to many blocks of a cluster, and reductions. Images and interleaved
 * tensors are in tensor_images.cu. */
#include "tensors.h"

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
    test_many();
    cudaFree(device_box);
    return check_done();
}
