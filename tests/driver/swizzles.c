/* K1, by the driver API, on a device of compute capability 10.3: tensor maps whose swizzle of 128
 * bytes keeps 32 or 64 bytes together, against the tables of the PTX ISA; there and back. */
#include "common.h"

#include <stdbool.h>

enum { ROWS = 16, WORDS = 32, PIECES = 8 };

struct buffer {
    CUtensorMap map;
    uint32_t tensor[ROWS][WORDS], shared[ROWS][WORDS], back[ROWS][WORDS];
};

/* Which 16 bytes of a row come to each place of it, in the rows of a pattern. */
static const uint8_t by_32[4][PIECES] = {{0, 1, 2, 3, 4, 5, 6, 7},
                                         {2, 3, 0, 1, 6, 7, 4, 5},
                                         {4, 5, 6, 7, 0, 1, 2, 3},
                                         {6, 7, 4, 5, 2, 3, 0, 1}};
static const uint8_t by_64[2][PIECES] = {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 0, 1, 2, 3}};

/* Copies the tensor into shared memory, this as it is, and the box by the map to %d1's tensor. */
static void kernel_text(char *text, size_t size, const char *change, bool stores)
{
    snprintf(text, size,
             ".version 9.0\n.target sm_103a\n.address_size 64\n"
             ".visible .entry k(.param .u64 p)\n{\n"
             ".reg .b64 d<4>; .reg .pred q; .reg .b32 r<2>;\n"
             ".shared .align 1024 .b8 tile[2048];\n.shared .align 8 .b64 bar;\n"
             "ld.param.u64 d0, [p]; mov.u32 r0, 0;\n%s"
             "mbarrier.init.shared.b64 [bar], 1;\n"
             "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 2048;\n"
             "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
             " [tile], [d0, {r0, r0}], [bar];\n"
             "again: mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;\n@!q bra again;\n"
             "add.u64 d1, d0, %zu;\n"
             "cp.async.bulk.global.shared::cta.bulk_group [d1], [tile], 2048;\n"
             "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n%s"
             "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nret;\n}\n",
             change, offsetof(struct buffer, shared),
             stores ? "add.u64 d2, d0, 4224;\n"
                      "tensormap.replace.tile.global_address.global.b1024.b64 [d0], d2;\n"
                      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
                      " [d0, {r0, r0}], [tile];\n"
                    : "");
}
_Static_assert(offsetof(struct buffer, back) == 4224, "as the kernel has it");

static CUresult encode(CUtensorMap *map, CUdeviceptr tensor, CUtensorMapSwizzle swizzle)
{
    cuuint64_t sizes[2] = {WORDS, ROWS}, strides[1] = {4 * WORDS};
    cuuint32_t box[2] = {WORDS, ROWS}, steps[2] = {1, 1};
    return cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, (void *)tensor, sizes,
                                  strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

/* `change`: instructions that change the map first, which is then of `made`. */
static CUresult copy(struct buffer *v, CUtensorMapSwizzle made, const char *change, bool stores)
{
    static char text[4096];
    CUmodule module;
    CUdeviceptr p;
    memset(v, 0, sizeof *v);
    for (uint32_t n = 0; n < ROWS * WORDS; n++)
        v->tensor[n / WORDS][n % WORDS] = n + 1;
    NEED(cuMemAlloc(&p, sizeof *v));
    NEED(encode(&v->map, p + offsetof(struct buffer, tensor), made));
    NEED(cuMemcpyHtoD(p, v, sizeof *v));
    kernel_text(text, sizeof text, change, stores);
    NEED(cuModuleLoadData(&module, text));
    OK(launch(kernel(module, "k"), 1, 1, NULL, (void *[]){&p}));
    CUresult r = cuMemcpyDtoH(v, p, sizeof *v);
    if (r == CUDA_SUCCESS) {
        OK(cuMemFree(p));
        OK(cuModuleUnload(module));
    }
    return r;
}

static void check(const struct buffer *v, const uint8_t (*pattern)[PIECES], int repeats, bool flip,
                  bool stored)
{
    for (int r = 0; r < ROWS; r++)
        for (int n = 0; n < WORDS; n++) {
            int from = pattern[r % repeats][n / 4] * 4 + (flip && r % 2 != 0 ? n % 4 ^ 2 : n % 4);
            CHECK_EQ_INT(v->shared[r][n], v->tensor[r][from]);
            CHECK_EQ_INT(v->back[r][n], stored ? v->tensor[r][n] : 0);
        }
}

int main(void)
{
    static struct buffer v;
    static const char by_replacing[] =
        "tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [d0], 3;\n";
    begin();
    OK(copy(&v, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B, "", true));
    check(&v, by_32, 4, false, true);
    OK(copy(&v, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B, "", true));
    check(&v, by_64, 2, false, true);
    OK(copy(&v, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B, "", false));
    check(&v, by_32, 4, true, false);
    OK(copy(&v, CU_TENSOR_MAP_SWIZZLE_128B, by_replacing, true));
    check(&v, by_64, 2, false, true);
    CHECK_CU(encode(&v.map, 0x10000, (CUtensorMapSwizzle)7), CUDA_ERROR_INVALID_VALUE);
    /* the last, since the context ends by it */
    CHECK_CU(copy(&v, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B, "", true),
             CUDA_ERROR_ILLEGAL_INSTRUCTION);
    return check_done();
}
