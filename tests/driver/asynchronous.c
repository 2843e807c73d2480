/* K1, by the driver API, on a device of compute capability 10.3: what later devices do beside a
 * kernel: stores and reductions that release, zeros in bulk, copies of some bytes, four rows
 * of a tensor, and clusters that are taken over before they begin. */
#include "common.h"

#include <stdbool.h>

enum { BLOCKS = 3000, COLUMNS = 64, ROWS = 32 };

/* A kernel of one warp; `more` stands before its body. */
static CUmodule module_of(const char *more, const char *body)
{
    static char text[8192];
    snprintf(text, sizeof text,
             ".version 9.0\n.target sm_103a\n.address_size 64\n"
             ".visible .entry k(.param .u64 p)\n%s\n{\n"
             ".reg .b16 h<4>; .reg .b32 r<16>; .reg .b64 d<12>; .reg .b128 q<2>; .reg .pred p<4>;\n"
             ".shared .align 128 .b8 tile[1024];\n.shared .align 16 .b8 response[16];\n"
             ".shared .align 8 .b64 bar;\n"
             "ld.param.u64 d0, [p];\nmov.u32 r0, %%tid.x;\nsetp.eq.u32 p0, r0, 0;\n"
             "%s\nret;\n}\n",
             more, body);
    CUmodule module;
    NEED(cuModuleLoadData(&module, text));
    return module;
}

static void run(const char *more, const char *body, unsigned blocks, void *data, size_t size)
{
    CUmodule module = module_of(more, body);
    CUdeviceptr p;
    NEED(cuMemAlloc(&p, size));
    NEED(cuMemcpyHtoD(p, data, size));
    OK(launch(kernel(module, "k"), blocks, 32, NULL, (void *[]){&p}));
    OK(cuMemcpyDtoH(data, p, size));
    OK(cuMemFree(p));
    OK(cuModuleUnload(module));
}

static void stores(void)
{
    uint32_t v[32] = {0};
    v[3] = 40, v[4] = 7, v[5] = 0xff;
    run("",
        "mov.u32 r1, 17; mov.b16 h1, 5; mov.b64 d1, 0x100000002;\n"
        "@p0 st.async.mmio.release.sys.global.u32 [d0], r1;\n"
        "@p0 st.async.release.gpu.b16 [d0+4], h1;\n"
        "@p0 st.async.release.sys.global.b64 [d0+24], d1;\n"
        "@p0 red.async.mmio.release.sys.global.add.u32 [d0+12], 2;\n"
        "@p0 red.async.release.gpu.global.max.s32 [d0+16], r1;\n"
        "@p0 red.async.mmio.release.gpu.global.and.b32 [d0+20], 0x3c;\n"
        "red.async.release.sys.global.add.u32 [d0+32], 1;",
        1, v, sizeof v);
    CHECK_EQ_INT(v[0], 17);
    CHECK_EQ_INT(v[1], 5);
    CHECK_EQ_INT(v[3], 42);
    CHECK_EQ_INT(v[4], 17);
    CHECK_EQ_INT(v[5], 0x3c);
    CHECK_EQ_INT(v[6], 2);
    CHECK_EQ_INT(v[7], 1);
    CHECK_EQ_INT(v[8], 32);
}

/* 128 bytes of shared memory count up; 24 from byte 8 on become zeros; then bytes 0, 1, 4 to 7 of
 * each 16 of all are copied. */
static void bytes(void)
{
    uint8_t v[128];
    memset(v, 0xee, sizeof v);
    run("",
        "mul.lo.u32 r1, r0, 0x04040404; add.u32 r1, r1, 0x03020100;\n"
        "mov.u32 r2, tile; shl.b32 r3, r0, 2; add.u32 r4, r2, r3; st.shared.u32 [r4], r1;\n"
        "bar.sync 0;\n@!p0 ret;\nmov.b64 d1, 24;\nst.bulk.weak.shared::cta [tile+8], d1, 0;\n"
        "fence.proxy.async.shared::cta;\nmov.b16 h1, 0x00f3;\n"
        "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [d0], [tile], 128, h1;\n"
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;",
        1, v, sizeof v);
    for (int n = 0; n < 128; n++) {
        bool copied = (0x00f3 >> n % 16 & 1) != 0, zero = n >= 8 && n < 32;
        CHECK_EQ_INT(v[n], copied ? zero ? 0 : n : 0xee);
    }
}

/* ---- four rows ---- */

#define WAIT(bar, phase)                                                                           \
    "again" phase ": mbarrier.try_wait.parity.shared::cta.b64 p1, [" bar "], " phase               \
    ";\n@!p1 bra again" phase ";\n"

struct rows {
    CUtensorMap map;
    uint32_t tensor[ROWS][COLUMNS], box[2][4][16];
};

/* The buffer: the map, the tensor, and what comes into shared memory. */
static void run_rows(const char *more, const char *body, unsigned blocks, struct rows *v)
{
    CUmodule module = module_of(more, body);
    CUdeviceptr p;
    cuuint64_t dims[2] = {COLUMNS, ROWS}, strides[1] = {4 * COLUMNS};
    cuuint32_t box[2] = {16, 1}, steps[2] = {1, 1};
    for (uint32_t n = 0; n < ROWS * COLUMNS; n++)
        v->tensor[n / COLUMNS][n % COLUMNS] = n;
    memset(v->box, 0xee, sizeof v->box);
    NEED(cuMemAlloc(&p, sizeof *v));
    NEED(cuTensorMapEncodeTiled(
        &v->map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, (void *)(p + offsetof(struct rows, tensor)),
        dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    NEED(cuMemcpyHtoD(p, v, sizeof *v));
    OK(launch(kernel(module, "k"), blocks, 32, NULL, (void *[]){&p}));
    OK(cuMemcpyDtoH(v, p, sizeof *v));
    OK(cuMemFree(p));
    OK(cuModuleUnload(module));
}

/* Rows 3, 31, none and 7 from column 16 on; back to rows 5, 40 (which is not there), 0 and 6 from
 * column 32 on. */
static void four_rows(void)
{
    static struct rows v;
    static const int from[4] = {3, 31, -1, 7}, to[4] = {5, 40, 0, 6};
    run_rows(
        "",
        "@!p0 bra out;\nmbarrier.init.shared.b64 [bar], 1;\n"
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\n"
        "mov.u32 r1, 16; mov.u32 r2, 3; mov.u32 r3, 31; mov.u32 r4, -1; mov.u32 r5, 7;\n"
        "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [d0, {r1,r2,r3,r4,r5}];\n"
        "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4"
        ".mbarrier::complete_tx::bytes [tile], [d0, {r1,r2,r3,r4,r5}], [bar];\n" WAIT(
            "bar",
            "0") "mov.u32 r1, 32; mov.u32 r2, 5; mov.u32 r3, 40; mov.u32 r4, 0; mov.u32 r5, 6;\n"
                 "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group "
                 "[d0, {r1,r2,r3,r4,r5}], [tile];\n"
                 "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
                 "add.u64 d1, d0, 8320;\ncp.async.bulk.global.shared::cta.bulk_group [d1], [tile], "
                 "256;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nout:",
        1, &v);
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 16; c++) {
            uint32_t want = from[r] < 0 ? 0 : (uint32_t)(from[r] * COLUMNS + 16 + c);
            CHECK_EQ_INT(v.box[0][r][c], want);
            if (to[r] < ROWS)
                CHECK_EQ_INT(v.tensor[to[r]][32 + c], want);
        }
    CHECK_EQ_INT(v.tensor[5][31], 5 * COLUMNS + 31);
    CHECK_EQ_INT(v.tensor[5][48], 5 * COLUMNS + 48);
}

/* Both blocks of a pair get the rows, and the barrier of the first one is told of both. */
static void rows_of_pairs(void)
{
    static struct rows v;
    run_rows(".reqnctapercluster 2, 1, 1",
             "mov.u32 r9, %cluster_ctarank;\nsetp.ne.u32 p2, r9, 0;\n"
             "@p0 mbarrier.init.shared.b64 [bar], 1;\n"
             "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
             "@p2 bra wait;\n@!p0 bra wait;\n"
             "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;\n"
             "mov.u32 r1, 0; mov.u32 r2, 1; mov.u32 r3, 2; mov.u32 r4, 9; mov.u32 r5, 4;\n"
             "mov.b16 h1, 3;\n"
             "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4"
             ".mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2 [tile], "
             "[d0, {r1,r2,r3,r4,r5}], [bar], h1;\n" WAIT(
                 "bar", "0") "wait:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
                             "@!p0 bra out;\nmad.wide.u32 d1, r9, 256, d0;\n"
                             "cp.async.bulk.global.shared::cta.bulk_group [d1+8320], [tile], 256;\n"
                             "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nout:",
             2, &v);
    static const int from[4] = {1, 2, 9, 4};
    for (int n = 0; n < 2 * 4 * 16; n++) {
        int r = n / 16 % 4, c = n % 16;
        CHECK_EQ_INT(v.box[n / 64][r][c], from[r] * COLUMNS + c);
    }
}

/* ---- clusters that are taken over ---- */

/* Counts: for each block how often its part was done, and at the end how many were taken over. */
static void takeovers(void)
{
    static uint32_t v[BLOCKS + 1];
    memset(v, 0, sizeof v);
    run("",
        "mov.u32 r1, %ctaid.x;\nmov.u32 r2, 0;\n@p0 mbarrier.init.shared.b64 [bar], 1;\n"
        "bar.sync 0;\n"
        "part: mad.wide.u32 d1, r1, 4, d0;\n@p0 red.global.add.u32 [d1], 1;\n"
        "@p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;\n"
        "@p0 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 "
        "[response], [bar];\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 p1, [bar], r2;\n@!p1 bra again;\n"
        "xor.b32 r2, r2, 1;\nld.shared.b128 q0, [response];\n"
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p1, q0;\n@!p1 bra out;\n"
        "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {r1, r3, r4, _}, q0;\n"
        "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 r5, q0;\n"
        "clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 r6, q0;\n"
        "clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 r7, q0;\n"
        "or.b32 r6, r6, r7; or.b32 r6, r6, r3; or.b32 r6, r6, r4; add.u32 r1, r5, r6;\n"
        "@p0 red.global.add.u32 [d0+12000], 1;\nbar.sync 0;\nbra part;\nout:",
        BLOCKS, v, sizeof v);
    int wrong = 0;
    for (int n = 0; n < BLOCKS; n++)
        wrong += v[n] != 1;
    CHECK_EQ_INT(wrong, 0);
    CHECK(v[BLOCKS] > 0 && v[BLOCKS] < BLOCKS);
}

/* The same by clusters of two, where both blocks are told. */
static void takeovers_of_clusters(void)
{
    static uint32_t v[BLOCKS + 1];
    memset(v, 0, sizeof v);
    run(".reqnctapercluster 2, 1, 1",
        "mov.u32 r1, %ctaid.x;\nmov.u32 r2, 0;\nmov.u32 r9, %cluster_ctarank;\n"
        "setp.eq.and.u32 p2, r9, 0, p0;\n@p0 mbarrier.init.shared.b64 [bar], 1;\n"
        "part: barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
        "mad.wide.u32 d1, r1, 4, d0;\n@p0 red.global.add.u32 [d1], 1;\n"
        "@p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;\n"
        "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
        "@p2 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
        ".multicast::cluster::all.b128 [response], [bar];\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 p1, [bar], r2;\n@!p1 bra again;\n"
        "xor.b32 r2, r2, 1;\nld.shared.b128 q0, [response];\n"
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p1, q0;\n@!p1 bra out;\n"
        "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 r1, q0;\n"
        "add.u32 r1, r1, r9;\n@p0 red.global.add.u32 [d0+12000], 1;\nbra part;\nout:",
        BLOCKS, v, sizeof v);
    int wrong = 0;
    for (int n = 0; n < BLOCKS; n++)
        wrong += v[n] != 1;
    CHECK_EQ_INT(wrong, 0);
    CHECK(v[BLOCKS] > 0 && v[BLOCKS] % 2 == 0 && v[BLOCKS] < BLOCKS);
}

int main(void)
{
    begin();
    stores();
    bytes();
    four_rows();
    rows_of_pairs();
    takeovers();
    takeovers_of_clusters();
    OK(cuDevicePrimaryCtxRelease(0));
    return check_done();
}
