// FLAGS: -arch=sm_90a
/* K2: a matrix product as libraries write it for sm_90a: one warp loads tiles by tensor maps into a
 * ring of stages, two warp groups multiply what has come (wgmma) and give a stage back by one
 * thread of theirs, while products of the next one are under way. A stage that is given back before
 * all four warps of a group have read it shows in the sums. */
#include <cstdint>
#include <cstdio>
#include <cuda.h>
#include <cuda_fp16.h>
#include <vector>

#include "check.h"

enum {
    TILE_M = 128,
    TILE_N = 64,
    TILE_K = 64,
    STAGES = 3,
    A_BYTES = TILE_M * TILE_K * 2,
    B_BYTES = TILE_N * TILE_K * 2,
    SHARED = 1024 + STAGES * (A_BYTES + B_BYTES),
    ROWS = 256,
    COLUMNS = 192,
    DEPTH = 640,
};

__device__ uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ void wait_for(uint32_t bar, uint32_t parity)
{
    asm volatile("{ .reg .pred p;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@p bra done;\n bra again;\n done: }" ::"r"(bar),
                 "r"(parity)
                 : "memory");
}

__device__ void load(uint32_t to, const CUtensorMap *map, uint32_t bar, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
                 "l"(map), "r"(bar), "r"(x), "r"(y)
                 : "memory");
}

/* Rows of 128 bytes, swizzled. */
__device__ uint64_t descriptor(uint32_t address)
{
    return (uint64_t)(address >> 4 & 0x3fff) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 |
           (uint64_t)1 << 62;
}

#define ALL_D                                                                                      \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "  \
    "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"

__device__ void multiply(float (&d)[32], uint64_t a, uint64_t b, int adds)
{
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " ALL_D ", %32, %33, p, 1, 1, 0, 0; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b), "r"(adds));
}

__device__ void produce(const CUtensorMap *a, const CUtensorMap *b, uint32_t tiles, uint32_t full,
                        uint32_t empty)
{
    int leads = 0;
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }"
                 : "=r"(leads));
    if (threadIdx.x / 32 != 0 || !leads)
        return;
    for (int n = 0; n < DEPTH / TILE_K; n++) {
        uint32_t stage = (uint32_t)(n % STAGES), turn = (uint32_t)(n / STAGES);
        uint32_t at = tiles + stage * (A_BYTES + B_BYTES);
        wait_for(empty + 8 * stage, (turn & 1) ^ 1);
        asm volatile(
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full + 8 * stage),
            "r"(A_BYTES + B_BYTES)
            : "memory");
        load(at, a, full + 8 * stage, n * TILE_K, (int)blockIdx.y * TILE_M);
        load(at + A_BYTES, b, full + 8 * stage, n * TILE_K, (int)blockIdx.x * TILE_N);
    }
}

__device__ void consume(float *out, uint32_t tiles, uint32_t full, uint32_t empty, int group)
{
    float d[32];
    int thread = (int)threadIdx.x % 128;
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    for (int n = 0; n < DEPTH / TILE_K; n++) {
        uint32_t stage = (uint32_t)(n % STAGES), turn = (uint32_t)(n / STAGES);
        uint32_t at = tiles + stage * (A_BYTES + B_BYTES);
        wait_for(full + 8 * stage, turn & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (uint32_t k = 0; k < TILE_K / 16; k++)
            multiply(d, descriptor(at + (uint32_t)group * (A_BYTES / 2) + 32 * k),
                     descriptor(at + A_BYTES + 32 * k), n > 0 || k > 0);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (n > 0 && thread == 0) /* the stage before has been read */
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(
                             empty + 8 * ((stage + STAGES - 1) % STAGES))
                         : "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    int row = (int)blockIdx.y * TILE_M + group * 64 + thread / 32 * 16 + thread % 32 / 4;
    int column = (int)blockIdx.x * TILE_N + thread % 4 * 2;
    for (int n = 0; n < 32; n++)
        out[(size_t)(row + n % 4 / 2 * 8) * COLUMNS + column + n / 4 * 8 + n % 2] = d[n];
}

__global__ void __launch_bounds__(384) product(const __grid_constant__ CUtensorMap a,
                                               const __grid_constant__ CUtensorMap b, float *out)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    uint32_t full = shared_address(memory), empty = full + 8 * STAGES, tiles = full + 1024;
    if (threadIdx.x == 0) {
        for (uint32_t n = 0; n < STAGES; n++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full + 8 * n) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(empty + 8 * n) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("prefetch.tensormap [%0];" ::"l"(&a) : "memory");
    }
    __syncthreads();
    if (threadIdx.x < 128)
        produce(&a, &b, tiles, full, empty);
    else
        consume(out, tiles, full, empty, (int)threadIdx.x / 128 - 1);
}

static CUtensorMap map_of(const __half *p, int rows, int box)
{
    CUtensorMap map;
    const cuuint64_t sizes[2] = {DEPTH, (cuuint64_t)rows}, strides[1] = {DEPTH * 2};
    const cuuint32_t boxes[2] = {TILE_K, (cuuint32_t)box}, steps[2] = {1, 1};
    CHECK_EQ_INT(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, (void *)p, sizes,
                                        strides, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
                 CUDA_SUCCESS);
    return map;
}

int main()
{
    std::vector<__half> a((size_t)ROWS * DEPTH), b((size_t)COLUMNS * DEPTH);
    unsigned state = 3;
    for (auto *m : {&a, &b})
        for (__half &x : *m) {
            state = state * 1664525u + 1013904223u;
            x = __float2half((float)((int)(state >> 16) % 9 - 4));
        }
    __half *da, *db;
    float *out;
    CHECK_EQ_INT(cudaMalloc(&da, a.size() * 2), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&db, b.size() * 2), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&out, (size_t)ROWS * COLUMNS * 4), cudaSuccess);
    cudaMemcpy(da, a.data(), a.size() * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), b.size() * 2, cudaMemcpyHostToDevice);
    CHECK_EQ_INT(cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED),
                 cudaSuccess);
    product<<<dim3(COLUMNS / TILE_N, ROWS / TILE_M), 384, SHARED>>>(
        map_of(da, ROWS, TILE_M), map_of(db, COLUMNS, TILE_N), out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int wrong = 0;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
            float sum = 0;
            for (int k = 0; k < DEPTH; k++)
                sum +=
                    __half2float(a[(size_t)r * DEPTH + k]) * __half2float(b[(size_t)c * DEPTH + k]);
            wrong += sum != out[(size_t)r * COLUMNS + c];
        }
    CHECK_EQ_INT(wrong, 0);
    cudaFree(da);
    cudaFree(db);
    cudaFree(out);
    return check_done();
}
