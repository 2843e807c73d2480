// FLAGS: -arch=sm_90a
// SANITIZERS: copies by tensor maps (src/exec/tensor_copy.c)
/* K2: cp.async.bulk.tensor by images (im2col), of interleaved tensors, and by maps that kernels
 * change. */
#include "tensors.h"

struct offsets {
    unsigned short at[3];
};

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

int main()
{
    CHECK_EQ_INT(cudaMalloc(&device_box, BOX_BYTES), cudaSuccess);
    test_images();
    test_change();
    test_interleaves();
    cudaFree(device_box);
    return check_done();
}
