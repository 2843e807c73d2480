/* Lanes that share a list by twos and fours and go through it together, each with a row of its own:
 * with all lanes of a group active and with some, with a branch in the loop that a group takes
 * alike, stores and 64-bit sums. Against the same in C. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cuda.h>

#include "../check.h"

enum { ROWS = 1000, BLOCK = 128, LISTS = ROWS / 2 + 1, MOST = 9, ITEMS = LISTS * MOST, ROUNDS = 6 };

static uint64_t draw(uint64_t below)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static int32_t start[LISTS + 1], item[ITEMS], skip[ROWS];
static float value[ITEMS * 16], x[64];

struct result {
    float sum;
    uint32_t bits;
    uint64_t total;
};

static CUfunction compiled(CUmodule *module, unsigned shift)
{
    char text[8192];
    CUfunction f;
    snprintf(
        text, sizeof text,
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 start, .param .u64 item, .param .u64 value, .param .u64 x,\n"
        "  .param .u64 skip, .param .u64 out, .param .u64 trail, .param .u32 n)\n{\n"
        ".reg .b32 %%row, %%n, %%t, %%u, %%th, %%ct, %%g, %%r, %%i, %%end, %%c, %%d, %%e, %%f, "
        "%%bits;\n"
        ".reg .pred %%p, %%q, %%s, %%h;\n"
        ".reg .b64 %%start, %%item, %%value, %%x, %%skip, %%out, %%trail, %%total;\n"
        ".reg .b64 %%a<9>, %%b<9>, %%w<9>, %%xa<9>, %%xb<9>, %%xw<9>;\n"
        ".reg .f32 %%v, %%y, %%sum;\n"
        "mov.u32 %%ct, %%ctaid.x; mov.u32 %%t, %%ntid.x; mov.u32 %%th, %%tid.x;\n"
        "mad.lo.s32 %%row, %%ct, %%t, %%th; ld.param.u32 %%n, [n];\n"
        "setp.ge.s32 %%p, %%row, %%n;\n@%%p bra OUT;\n"
        "ld.param.u64 %%skip, [skip]; mul.wide.s32 %%xa1, %%row, 4; add.s64 %%a1, %%skip, %%xa1;\n"
        "ld.global.u32 %%u, [%%a1]; setp.ne.s32 %%h, %%u, 0;\n@%%h bra OUT;\n"
        "ld.param.u64 %%start, [start]; ld.param.u64 %%item, [item]; ld.param.u64 %%value, "
        "[value];\n"
        "ld.param.u64 %%x, [x]; ld.param.u64 %%out, [out]; ld.param.u64 %%trail, [trail];\n"
        "shr.u32 %%g, %%row, %u; and.b32 %%r, %%row, %u; mul.wide.s32 %%xa2, %%g, 4;\n"
        "add.s64 %%a2, %%start, %%xa2; ld.global.u32 %%i, [%%a2]; ld.global.u32 %%end, [%%a2+4];\n"
        "mov.f32 %%sum, 0f00000000; mov.u32 %%bits, 0; mov.u64 %%total, 0;\n"
        "setp.ge.s32 %%s, %%i, %%end;\n@%%s bra DONE;\nLOOP:\n"
        "mul.wide.s32 %%xa3, %%i, 4; add.s64 %%a3, %%item, %%xa3; ld.global.u32 %%c, [%%a3];\n"
        "shl.b32 %%f, %%i, 2; add.s32 %%d, %%f, %%r; mul.wide.s32 %%xb1, %%d, 16;\n"
        "add.s64 %%b1, %%value, %%xb1; ld.global.f32 %%v, [%%b1];\n"
        "and.b32 %%e, %%c, 63; mul.wide.u32 %%xw1, %%e, 4; add.s64 %%w1, %%x, %%xw1;\n"
        "ld.global.f32 %%y, [%%w1]; fma.rn.f32 %%sum, %%v, %%y, %%sum;\n"
        "setp.lt.s32 %%q, %%c, 40; setp.gt.and.s32 %%q, %%c, 3, %%q;\n@%%q bra ELSE;\n"
        "add.s32 %%bits, %%bits, %%d; mad.wide.u32 %%total, %%d, %%c, %%total;\nbra NEXT;\nELSE:\n"
        "xor.b32 %%bits, %%bits, %%c; shl.b32 %%bits, %%bits, 1; mul.wide.s32 %%xw2, %%row, 8;\n"
        "add.s64 %%w2, %%trail, %%xw2; st.global.u32 [%%w2], %%bits;\nNEXT:\n"
        "add.s32 %%i, %%i, 1; setp.lt.s32 %%s, %%i, %%end;\n@%%s bra LOOP;\nDONE:\n"
        "mul.wide.s32 %%xa4, %%row, 16; add.s64 %%a4, %%out, %%xa4; st.global.f32 [%%a4], %%sum;\n"
        "st.global.u32 [%%a4+4], %%bits; st.global.u64 [%%a4+8], %%total;\nOUT:\nret;\n}\n",
        shift, (1u << shift) - 1);
    CHECK_EQ_INT(cuModuleLoadData(module, text), 0);
    CHECK_EQ_INT(cuModuleGetFunction(&f, *module, "k"), 0);
    return f;
}

static void fill(int round)
{
    for (int g = 0; g < LISTS; g++)
        start[g + 1] = start[g] + (int32_t)draw(MOST);
    for (int i = 0; i < ITEMS; i++)
        item[i] = (int32_t)draw(64);
    for (int i = 0; i < ITEMS * 16; i++)
        value[i] = (float)draw(1000) / 7;
    for (int i = 0; i < 64; i++)
        x[i] = (float)draw(1000) / 3;
    for (int i = 0; i < ROWS; i++)
        skip[i] = round % 3 == 0 ? 0 : round % 3 == 1 ? draw(8) == 0 : draw(2) == 0;
}

static void expect(unsigned shift, int rows, struct result *out, uint32_t *trail)
{
    for (int row = 0; row < rows; row++) {
        struct result r = {0};
        for (int i = start[row >> shift]; !skip[row] && i < start[(row >> shift) + 1]; i++) {
            uint32_t c = (uint32_t)item[i], d = (uint32_t)(i * 4 + (row & ((1 << shift) - 1)));
            r.sum = fmaf(value[4 * d], x[c], r.sum);
            if (c > 3 && c < 40) {
                r.bits = (r.bits ^ c) << 1;
                trail[2 * row] = r.bits;
            } else {
                r.bits += d;
                r.total += (uint64_t)d * c;
            }
        }
        if (!skip[row])
            out[row] = r;
    }
}

static CUdeviceptr copied(const void *from, size_t bytes)
{
    CUdeviceptr p;
    CHECK_EQ_INT(cuMemAlloc(&p, bytes), 0);
    CHECK_EQ_INT(cuMemcpyHtoD(p, from, bytes), 0);
    return p;
}

static void compare(CUfunction f, unsigned shift, int rows)
{
    static struct result got[ROWS], want[ROWS];
    static uint32_t got_trail[2 * ROWS], want_trail[2 * ROWS];
    memset(want, 0, sizeof want);
    memset(want_trail, 0, sizeof want_trail);
    CUdeviceptr in[] = {copied(start, sizeof start),
                        copied(item, sizeof item),
                        copied(value, sizeof value),
                        copied(x, sizeof x),
                        copied(skip, sizeof skip),
                        copied(want, sizeof want),
                        copied(want_trail, sizeof want_trail)};
    void *args[] = {&in[0], &in[1], &in[2], &in[3], &in[4], &in[5], &in[6], &rows};
    expect(shift, rows, want, want_trail);
    CHECK_EQ_INT(
        cuLaunchKernel(f, (ROWS + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, args, NULL), 0);
    CHECK_EQ_INT(cuMemcpyDtoH(got, in[5], sizeof got), 0);
    CHECK_EQ_INT(cuMemcpyDtoH(got_trail, in[6], sizeof got_trail), 0);
    CHECK_EQ_INT(memcmp(got, want, sizeof got), 0);
    CHECK_EQ_INT(memcmp(got_trail, want_trail, sizeof got_trail), 0);
    for (size_t n = 0; n < sizeof in / sizeof *in; n++)
        CHECK_EQ_INT(cuMemFree(in[n]), 0);
}

int main(void)
{
    CUcontext ctx;
    CHECK_EQ_INT(cuInit(0), 0);
    CHECK_EQ_INT(cuDevicePrimaryCtxRetain(&ctx, 0), 0);
    CHECK_EQ_INT(cuCtxSetCurrent(ctx), 0);
    for (unsigned shift = 1; shift <= 2; shift++) {
        CUmodule module;
        CUfunction f = compiled(&module, shift);
        for (int round = 0; round < ROUNDS; round++) {
            fill(round);
            compare(f, shift, round % 2 == 0 ? ROWS : ROWS - 3 - (int)draw(64));
        }
        CHECK_EQ_INT(cuModuleUnload(module), 0);
    }
    return check_done();
}
