/* K1, by the driver API, on a device of compute capability 10.3: copies by tensor maps of the wide
 * im2col modes, pixel by pixel against what the PTX ISA says of them, and maps that are refused. */
#include "common.h"

#include <stdbool.h>

enum { C = 32, W = 9, H = 3, D = 2, N = 20, CHANNELS = 16, PITCH = 64, MOST = 160 };

struct buffer {
    CUtensorMap map;
    uint32_t tensor[N][D][H][W][C];
    uint32_t pixels[MOST][CHANNELS];
};

struct wide_case {
    CUtensorMapIm2ColWideMode mode;
    unsigned rank; /* 3: no H and D, 4: no D */
    int low, high;
    unsigned columns, step;
    int at[5]; /* channel, W, H, D, image */
    unsigned halo, offset;
};

static const struct wide_case cases[] = {
    {CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, 4, 0, 0, 128, 1, {0, 7, 2, 0, 3}, 2, 0},
    {CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, 4, -1, 0, 40, 2, {16, -1, 1, 0, 0}, 1, 0},
    {CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, 4, -1, 0, 40, 2, {0, -1, 1, 0, 0}, 0, 1},
    {CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, 4, -1, -1, 100, 3, {0, -1, 2, 0, 18}, 0, 2},
    {CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, 4, 2, -2, 10, 1, {0, 0, 0, 0, 1}, 0, 0},
    {CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, 4, 0, 0, 10, 1, {0, 0, 3, 0, 1}, 3, 0},
    {CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, 3, 0, 0, 30, 1, {0, 4, 0, 0, 0}, 2, 0},
    {CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, 5, -2, 1, 64, 1, {16, 3, 1, 1, 2}, 5, 1},
    {CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128, 4, 0, 0, 0, 1, {0, 7, 2, 0, 3}, 2, 0},
    {CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128, 5, -1, -1, 7, 2, {16, -1, 0, 1, 0}, 4, 1},
    {CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128, 3, 0, 0, 7, 1, {0, 0, 0, 0, 9}, 0, 0},
};

/* The map of a case; strides of what the tensor has fewer dimensions than the memory leap over. */
static CUresult encode(CUtensorMap *map, CUdeviceptr tensor, const struct wide_case *k,
                       CUtensorMapSwizzle swizzle)
{
    const cuuint64_t sizes[3][5] = {{C, W, N}, {C, W, H, N}, {C, W, H, D, N}};
    const cuuint64_t pixel = C * 4, row = W * pixel, plane = H * row, image = D * plane;
    const cuuint64_t strides[3][4] = {
        {pixel, image}, {pixel, row, image}, {pixel, row, plane, image}};
    const cuuint32_t steps[5] = {1, k->step, 1, 1, 1};
    return cuTensorMapEncodeIm2colWide(map, CU_TENSOR_MAP_DATA_TYPE_UINT32, k->rank, (void *)tensor,
                                       sizes[k->rank - 3], strides[k->rank - 3], k->low, k->high,
                                       CHANNELS, k->columns, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                       k->mode, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

/* The n-th pixel of the walk, one step after the other. */
static uint32_t value_of(const struct wide_case *k, unsigned n, int channel)
{
    int offset = (int)k->offset, w = k->at[1] + offset, image = k->at[4];
    for (; n > 0; n--) {
        w += (int)k->step;
        if (w > W - 1 + k->high + offset) {
            w = k->low + offset;
            image++;
        }
    }
    int c = k->at[0] + channel, h = k->at[2], d = k->at[3];
    bool inside = w >= 0 && w < W && h < H && d < D && image >= 0 && image < N && c < C;
    return inside ? (uint32_t)((((image * D + d) * H + h) * W + w) * C + c) + 1 : 0;
}

static void kernel_text(char *text, size_t size, const struct wide_case *k, unsigned bytes)
{
    char at[80];
    const int *a = k->at;
    if (k->rank == 3)
        snprintf(at, sizeof at, "%d, %d, %d", a[0], a[1], a[4]);
    else if (k->rank == 4)
        snprintf(at, sizeof at, "%d, %d, %d, %d", a[0], a[1], a[2], a[4]);
    else
        snprintf(at, sizeof at, "%d, %d, %d, %d, %d", a[0], a[1], a[2], a[3], a[4]);
    const char *mode = k->mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W ? "im2col::w" : "im2col::w::128";
    snprintf(text, size,
             ".version 9.0\n.target sm_103a\n.address_size 64\n"
             ".visible .entry k(.param .u64 p)\n{\n"
             ".reg .b16 h<3>; .reg .b64 d<3>; .reg .pred q;\n"
             ".shared .align 1024 .b8 tile[16384];\n.shared .align 8 .b64 bar;\n"
             "ld.param.u64 d0, [p];\nmov.b16 h0, %u; mov.b16 h1, %u;\n"
             "mbarrier.init.shared.b64 [bar], 1;\n"
             "mbarrier.arrive.expect_tx.shared.b64 _, [bar], %u;\n"
             "cp.async.bulk.prefetch.tensor.%ud.L2.global.%s [d0, {%s}], {h0, h1};\n"
             "cp.async.bulk.tensor.%ud.shared::cta.global.%s.mbarrier::complete_tx::bytes"
             " [tile], [d0, {%s}], [bar], {h0, h1};\n"
             "again: mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;\n@!q bra again;\n"
             "add.u64 d1, d0, %zu;\n"
             "cp.async.bulk.global.shared::cta.bulk_group [d1], [tile], %u;\n"
             "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nret;\n}\n",
             k->halo, k->offset, bytes, k->rank, mode, at, k->rank, mode, at,
             offsetof(struct buffer, pixels), bytes);
}

/* Where the element of a row of 64 bytes lies, in words. */
static unsigned swizzled(unsigned row, unsigned channel)
{
    unsigned byte = row * PITCH + channel * 4;
    return (byte ^ (byte >> 7 & 3) << 4) / 4;
}

static void copy(const struct wide_case *k, struct buffer *v)
{
    static char text[4096];
    bool grouped = k->mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128;
    unsigned pixels = grouped ? 128 : k->columns, rows = pixels + k->halo * (grouped ? 4 : 1);
    CUmodule module;
    CUdeviceptr p;
    NEED(cuMemAlloc(&p, sizeof *v));
    for (uint32_t n = 0; n < sizeof v->tensor / 4; n++)
        (&v->tensor[0][0][0][0][0])[n] = n + 1;
    NEED(encode(&v->map, p + offsetof(struct buffer, tensor), k, CU_TENSOR_MAP_SWIZZLE_64B));
    NEED(cuMemcpyHtoD(p, v, sizeof *v));
    kernel_text(text, sizeof text, k, rows * PITCH);
    NEED(cuModuleLoadData(&module, text));
    OK(launch(kernel(module, "k"), 1, 1, NULL, (void *[]){&p}));
    OK(cuMemcpyDtoH(v, p, sizeof *v));
    for (unsigned r = 0; r < rows; r++)
        for (unsigned c = 0; c < CHANNELS; c++) {
            unsigned extra = r - pixels;
            unsigned n = r < pixels || !grouped ? r : 32 * (extra % 4 + 1) + extra / 4;
            CHECK_EQ_INT((&v->pixels[0][0])[swizzled(r, c)], value_of(k, n, (int)c));
        }
    OK(cuMemFree(p));
    OK(cuModuleUnload(module));
}

static void refusals(void)
{
    struct wide_case k = cases[0];
    CUtensorMap map;
    CUdeviceptr p = 0x10000;
    CHECK_CU(encode(&map, p, &k, CU_TENSOR_MAP_SWIZZLE_128B), CUDA_SUCCESS);
    CHECK_CU(encode(&map, p, &k, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B), CUDA_SUCCESS);
    CHECK_CU(encode(&map, p, &k, CU_TENSOR_MAP_SWIZZLE_NONE), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(encode(&map, p, &k, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(encode(&map, p, &k, CU_TENSOR_MAP_SWIZZLE_32B), CUDA_ERROR_INVALID_VALUE);
    k.columns = 0;
    CHECK_CU(encode(&map, p, &k, CU_TENSOR_MAP_SWIZZLE_64B), CUDA_ERROR_INVALID_VALUE);
    k.mode = CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128;
    CHECK_CU(encode(&map, p, &k, CU_TENSOR_MAP_SWIZZLE_64B), CUDA_SUCCESS);
    k.low = W, k.high = 0;
    CHECK_CU(encode(&map, p, &k, CU_TENSOR_MAP_SWIZZLE_64B), CUDA_ERROR_INVALID_VALUE);
    k.low = -40000;
    CHECK_CU(encode(&map, p, &k, CU_TENSOR_MAP_SWIZZLE_64B), CUDA_ERROR_INVALID_VALUE);
}

/* A map of the other wide mode than the instruction's. */
static void other_mode(void)
{
    static char text[4096];
    static struct buffer v;
    struct wide_case k = cases[0];
    CUmodule module;
    CUdeviceptr p;
    NEED(cuMemAlloc(&p, sizeof v));
    NEED(encode(&v.map, p + offsetof(struct buffer, tensor), &cases[8], CU_TENSOR_MAP_SWIZZLE_64B));
    NEED(cuMemcpyHtoD(p, &v, sizeof v));
    kernel_text(text, sizeof text, &k, 130 * PITCH);
    NEED(cuModuleLoadData(&module, text));
    OK(launch(kernel(module, "k"), 1, 1, NULL, (void *[]){&p}));
    CHECK_CU(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

int main(void)
{
    static struct buffer v;
    begin();
    refusals();
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        copy(&cases[n], &v);
    other_mode(); /* the last, since the context ends by it */
    return check_done();
}
