/* mma_quads.c: mma.m8n8k4 of halves, which makes four products at once: each by eight lanes, quad q
 * of the warp's lower half and that of the upper half. Fragments are in an order of their own (the
 * ISA's section on m8n8k4), so elements are gathered one by one; the products themselves are made a
 * row at a time, like all others. */
#include "compiler/codegen/matrix/mma.h"
#include "compiler/codegen/values.h"

/* Element i of a lane in registers of two halves each, or of one float. */
static LLVMValueRef element_pointer(struct codegen *cg, const LLVMValueRef *regs, bool halves,
                                    unsigned lane, unsigned i)
{
    return halves ? byte_offset(cg, regs[i / 2], c64(cg, lane * 4 + i % 2 * 2))
                  : byte_offset(cg, regs[i], c64(cg, lane * 4));
}

static unsigned quad_lane(unsigned q, unsigned upper, unsigned in_quad)
{
    return 4 * q + (upper ? 16 : 0) + in_quad;
}

static LLVMValueRef load_element(struct codegen *cg, LLVMTypeRef t, LLVMValueRef p, unsigned align)
{
    LLVMValueRef v = LLVMBuildLoad2(cg->alu.b, t, p, "");
    LLVMSetAlignment(v, align);
    return v;
}

/* Element k of row `major` of A, or of column `major` of B: either may be what lanes differ in. */
static LLVMValueRef factor_at(struct codegen *cg, const LLVMValueRef *regs, unsigned q,
                              unsigned major, unsigned k, bool lanes_are_major)
{
    unsigned lane = quad_lane(q, major >= 4, lanes_are_major ? major % 4 : k);
    return element_pointer(cg, regs, true, lane, lanes_are_major ? k : major % 4);
}

/* Index of element (r, c) of an accumulator. */
static LLVMValueRef accumulator_pointer(struct codegen *cg, const LLVMValueRef *regs, bool halves,
                                        unsigned q, unsigned r, unsigned c)
{
    unsigned x = r % 4;
    if (halves)
        return element_pointer(cg, regs, true, quad_lane(q, r >= 4, x), c);
    return element_pointer(cg, regs, false, quad_lane(q, r >= 4, (x & 1) + (c & 2)),
                           (x & 2) + (c & 4) + (c & 1));
}

static LLVMValueRef put(struct codegen *cg, LLVMValueRef v, LLVMValueRef x, unsigned n)
{
    return LLVMBuildInsertElement(cg->alu.b, v, x, c32(cg, n), "");
}

/* Row r of C. */
static LLVMValueRef load_c(struct codegen *cg, const struct mma *m, const LLVMValueRef *c,
                           unsigned q, unsigned r)
{
    bool halves = m->c == PTX_F16;
    LLVMTypeRef t = halves ? cg->i16 : cg->f32;
    LLVMValueRef v = LLVMGetPoison(LLVMVectorType(t, 8));
    for (unsigned n = 0; n < 8; n++)
        v = put(cg, v,
                load_element(cg, t, accumulator_pointer(cg, c, halves, q, r, n), halves ? 2 : 4),
                n);
    return halves ? alu_f16_to_f32(&cg->alu, v) : v;
}

static void store_d(struct codegen *cg, const struct mma *m, const LLVMValueRef *d, unsigned q,
                    unsigned r, LLVMValueRef v)
{
    bool halves = m->d == PTX_F16;
    if (halves)
        v = alu_f32_to_f16_nearest(&cg->alu, v);
    for (unsigned n = 0; n < 8; n++) {
        LLVMValueRef x = LLVMBuildExtractElement(cg->alu.b, v, c32(cg, n), "");
        x = LLVMBuildStore(cg->alu.b, x, accumulator_pointer(cg, d, halves, q, r, n));
        LLVMSetAlignment(x, halves ? 2 : 4);
    }
}

void mma_quads_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    const struct mma *m = arg;
    LLVMValueRef regs[MAX_MMA_REGS], b[4], acc[8];
    unsigned nc = m->c == PTX_F16 ? 4 : 8, nd = m->d == PTX_F16 ? 4 : 8;
    for (unsigned n = 0; n < 4 + nc + nd; n++)
        regs[n] = LLVMGetParam(fn, n + 1);
    LLVMTypeRef row = LLVMVectorType(cg->f32, 8);
    for (unsigned q = 0; q < 4; q++) {
        for (unsigned k = 0; k < 4; k++) {
            b[k] = LLVMGetPoison(LLVMVectorType(cg->i16, 8));
            for (unsigned n = 0; n < 8; n++)
                b[k] = put(
                    cg, b[k],
                    load_element(cg, cg->i16, factor_at(cg, regs + 2, q, n, k, !m->b_row), 2), n);
            b[k] = alu_f16_to_f32(&cg->alu, b[k]);
        }
        for (unsigned r = 0; r < 8; r++) {
            LLVMValueRef a = LLVMGetPoison(LLVMVectorType(cg->i16, 4));
            for (unsigned k = 0; k < 4; k++)
                a = put(cg, a,
                        load_element(cg, cg->i16, factor_at(cg, regs, q, r, k, !m->a_column), 2),
                        k);
            a = alu_f16_to_f32(&cg->alu, a);
            acc[r] = load_c(cg, m, regs + 4, q, r);
            for (unsigned k = 0; k < 4; k++) {
                LLVMValueRef x = LLVMBuildExtractElement(cg->alu.b, a, c32(cg, k), "");
                LLVMValueRef args[3] = {splat(cg, x, 8), b[k], acc[r]};
                acc[r] = intrinsic(cg, "llvm.fma", &row, 1, args, 3);
            }
        }
        for (unsigned r = 0; r < 8; r++)
            store_d(cg, m, regs + 4 + nc, q, r, acc[r]);
    }
}
