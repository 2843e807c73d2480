/* match.c: lanes with equal values find each other.
 *
 * Two lanes have the same value if they vote alike on each bit in which values differ. The votes on
 * a few neighbouring bits are a table of masks, one for each number that these bits may be, from
 * which a permutation takes each lane's: with registers of eight words three bits at a time, of
 * sixteen four. */
#include "compiler/codegen/values.h"
#include "compiler/codegen/warp/warp.h"
#include "compiler/llvm/llvm_values.h"

/* Values that differ in more bits are compared value by value. */
enum { FEW_BITS = 12 };

/* A loop that takes the lowest bit of an integer until none is left, and changes a vector. */
struct bit_loop {
    LLVMBasicBlockRef head, body, done;
    LLVMValueRef left, value, bit; /* phis; the number of the bit, in the body */
};

static struct bit_loop bit_loop_open(struct codegen *cg, LLVMValueRef bits, LLVMValueRef value)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef type = LLVMTypeOf(bits);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(b);
    struct bit_loop l = {.head = new_bb(cg, "match"),
                         .body = new_bb(cg, "match_bit"),
                         .done = new_bb(cg, "matched")};
    LLVMBuildBr(b, l.head);
    LLVMPositionBuilderAtEnd(b, l.head);
    l.left = LLVMBuildPhi(b, type, "");
    l.value = LLVMBuildPhi(b, LLVMTypeOf(value), "");
    LLVMAddIncoming(l.left, &bits, &from, 1);
    LLVMAddIncoming(l.value, &value, &from, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, l.left, LLVMConstNull(type), ""), l.done,
                    l.body);
    LLVMPositionBuilderAtEnd(b, l.body);
    l.bit = intrinsic(cg, "llvm.cttz", &type, 1,
                      (LLVMValueRef[]){l.left, LLVMConstInt(cg->i1, 1, false)}, 2);
    return l;
}

/* The vector that it leaves with. */
static LLVMValueRef bit_loop_close(struct codegen *cg, const struct bit_loop *l, LLVMValueRef left,
                                   LLVMValueRef value)
{
    LLVMBasicBlockRef end = LLVMGetInsertBlock(cg->alu.b);
    LLVMBuildBr(cg->alu.b, l->head);
    LLVMAddIncoming(l->left, &left, &end, 1);
    LLVMAddIncoming(l->value, &value, &end, 1);
    LLVMPositionBuilderAtEnd(cg->alu.b, l->done);
    return l->value;
}

/* By a vote on each bit in which values differ: those that vote like a lane have its bit. */
static LLVMValueRef match_by_bits(struct codegen *cg, LLVMValueRef v, LLVMValueRef differ)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef type = LLVMTypeOf(differ), vector = LLVMTypeOf(v);
    struct bit_loop l = bit_loop_open(cg, differ, LLVMConstAllOnes(cg->v32i32));
    LLVMValueRef top = LLVMConstInt(type, LLVMGetIntTypeWidth(type) - 1, false);
    LLVMValueRef up = splat(cg, LLVMBuildSub(b, top, l.bit, ""), JIT_WARP);
    LLVMValueRef yes =
        LLVMBuildICmp(b, LLVMIntSLT, LLVMBuildShl(b, v, up, ""), LLVMConstNull(vector), "");
    LLVMValueRef no = splat(cg, LLVMBuildNot(b, bits_of(cg, yes), ""), JIT_WARP);
    LLVMValueRef like = LLVMBuildXor(b, no, LLVMBuildSExt(b, yes, cg->v32i32, ""), "");
    LLVMValueRef rest =
        LLVMBuildAnd(b, l.left, LLVMBuildSub(b, l.left, LLVMConstInt(type, 1, false), ""), "");
    return bit_loop_close(cg, &l, rest, LLVMBuildAnd(b, l.value, like, ""));
}

/* i32: how lanes vote on a bit of their bytes, which a shift makes the sign. */
static LLVMValueRef vote_of_bytes(struct codegen *cg, LLVMValueRef bytes, unsigned bit)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef type = LLVMTypeOf(bytes), halves = LLVMVectorType(cg->i16, JIT_WARP / 2);
    LLVMValueRef up[JIT_WARP / 2];
    for (unsigned n = 0; n < JIT_WARP / 2; n++)
        up[n] = LLVMConstInt(cg->i16, 7 - bit, false);
    LLVMValueRef v = LLVMBuildBitCast(b, bytes, halves, "");
    v = LLVMBuildShl(b, v, LLVMConstVector(up, JIT_WARP / 2), "");
    v = LLVMBuildBitCast(b, v, type, "");
    return bits_of(cg, LLVMBuildICmp(b, LLVMIntSLT, v, LLVMConstNull(type), ""));
}

/* For each number of so many bits as a register has words, the lanes whose bytes are that. */
static LLVMValueRef lanes_by_number(struct codegen *cg, LLVMValueRef bytes, unsigned bits)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned words = 1u << bits;
    LLVMValueRef table = NULL, unlike[16];
    for (unsigned bit = 0; bit < bits; bit++) {
        for (unsigned n = 0; n < words; n++)
            unlike[n] = c32(cg, n >> bit & 1 ? 0 : 0xffffffffu);
        LLVMValueRef yes = splat(cg, vote_of_bytes(cg, bytes, bit), words);
        LLVMValueRef like = LLVMBuildXor(b, yes, LLVMConstVector(unlike, words), "");
        table = table == NULL ? like : LLVMBuildAnd(b, table, like, "");
    }
    return table;
}

/* The same by a few bits at a time, from the lowest one in which values differ. */
static LLVMValueRef match_by_numbers(struct codegen *cg, LLVMValueRef v, LLVMValueRef differ)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef type = LLVMTypeOf(differ);
    unsigned bits = cg->alu.has_avx512 ? 4 : 3, words = 1u << bits, idx[16];
    struct bit_loop l = bit_loop_open(cg, differ, LLVMConstAllOnes(cg->v32i32));
    LLVMValueRef number = LLVMBuildLShr(b, v, splat(cg, l.bit, JIT_WARP), "");
    if (type != cg->i32)
        number = LLVMBuildTrunc(b, number, cg->v32i32, "");
    number = LLVMBuildAnd(b, number, splat(cg, c32(cg, words - 1), JIT_WARP), "");
    LLVMValueRef bytes = cg->alu.has_avx512
                             ? LLVMBuildTrunc(b, number, LLVMVectorType(cg->i8, JIT_WARP), "")
                             : packed_words(b, number, false);
    LLVMValueRef table = lanes_by_number(cg, bytes, bits), part[JIT_WARP / 8];
    for (unsigned g = 0; g < JIT_WARP / words; g++) {
        for (unsigned n = 0; n < words; n++)
            idx[n] = g * words + n;
        LLVMValueRef by[2] = {table, shuffle(cg, number, NULL, idx, words)};
        part[g] = machine_call(
            b, cg->alu.has_avx512 ? "llvm.x86.avx512.permvar.si.512" : "llvm.x86.avx2.permd", by,
            2);
    }
    LLVMValueRef like = join_vectors(cg, part, JIT_WARP / words);
    LLVMValueRef seen = LLVMBuildShl(b, LLVMConstInt(type, words - 1, false), l.bit, "");
    LLVMValueRef rest = LLVMBuildAnd(b, l.left, LLVMBuildNot(b, seen, ""), "");
    return bit_loop_close(cg, &l, rest, LLVMBuildAnd(b, l.value, like, ""));
}

/* Value by value, each that of the first lane which is left. */
static LLVMValueRef match_by_values(struct codegen *cg, LLVMValueRef v)
{
    LLVMBuilderRef b = cg->alu.b;
    struct bit_loop l = bit_loop_open(cg, mask_bits(cg), LLVMConstNull(cg->v32i32));
    LLVMValueRef x = splat(cg, LLVMBuildExtractElement(b, v, l.bit, ""), JIT_WARP);
    LLVMValueRef same = LLVMBuildICmp(b, LLVMIntEQ, v, x, ""), bits = bits_of(cg, same);
    LLVMValueRef rest = LLVMBuildAnd(b, l.left, LLVMBuildNot(b, bits, ""), "");
    return bit_loop_close(cg, &l, rest,
                          LLVMBuildSelect(b, same, splat(cg, bits, JIT_WARP), l.value, ""));
}

/* For each active lane the lanes that have its value, and perhaps others that are not active. */
static LLVMValueRef matching_lanes(struct codegen *cg, LLVMValueRef v)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef vector = LLVMTypeOf(v), type = LLVMGetElementType(vector);
    LLVMValueRef differ = LLVMBuildXor(b, v, splat(cg, first_active(cg, v), JIT_WARP), "");
    if (cg->mask != NULL)
        differ = LLVMBuildSelect(b, mask_vector(cg), differ, LLVMConstNull(vector), "");
    differ = intrinsic(cg, "llvm.vector.reduce.or", &vector, 1, &differ, 1);
    LLVMValueRef count = intrinsic(cg, "llvm.ctpop", &type, 1, &differ, 1);
    LLVMBasicBlockRef few = new_bb(cg, "few_bits"), many = new_bb(cg, "many_bits"),
                      join = new_bb(cg, "match_end"), from[2];
    LLVMValueRef r[2];
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULE, count, LLVMConstInt(type, FEW_BITS, false), ""),
                    few, many);
    LLVMPositionBuilderAtEnd(b, few);
    r[0] = cg->alu.has_avx2 ? match_by_numbers(cg, v, differ) : match_by_bits(cg, v, differ);
    from[0] = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, many);
    r[1] = match_by_values(cg, v);
    from[1] = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
    LLVMValueRef out = LLVMBuildPhi(b, cg->v32i32, "");
    LLVMAddIncoming(out, r, from, 2);
    return out;
}

bool emit_match(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    int nd = jit_ndst(i);
    LLVMValueRef own = operand_vector(cg, &i->operands[nd + 1], PTX_B32);
    own = LLVMBuildAnd(b, own, splat(cg, mask_bits(cg), JIT_WARP), "");
    LLVMValueRef v = operand_vector(cg, &i->operands[nd], i->types[0]);
    LLVMValueRef r = LLVMBuildAnd(b, matching_lanes(cg, v), own, "");
    if (ptx_has(i, PTX_M_all)) {
        LLVMValueRef eq = LLVMBuildICmp(b, LLVMIntEQ, r, own, "");
        r = LLVMBuildSelect(b, eq, r, LLVMConstNull(cg->v32i32), "");
        if (nd > 1 && i->operands[1].kind == PTX_OPR_REG)
            write_vector(cg, i->operands[1].reg, eq, PTX_PRED);
    }
    if (i->operands[0].kind == PTX_OPR_REG)
        write_vector(cg, i->operands[0].reg, r, PTX_B32);
    return true;
}
