/* matrix_bytes.c: ldmatrix and stmatrix of matrices with elements of eight bits, or fewer that
 * become eight.
 *
 * All of them move lines of 16 bytes, one for each lane that gives an address. An 8x16 matrix is
 * loaded as it lies: lane 4 g + t has the columns 4 t to 4 t + 3 of row g. A 16x16 matrix is
 * turned: line c has its column c; register 0 of lane 4 g + t has rows g and g + 8 of columns 4 t
 * and 4 t + 1, two bytes each, and register 1 those of the next two columns. A 16x8 matrix is
 * stored so, too, from registers as a product leaves them: rows g and g + 8 of columns 2 t and 2 t
 * + 1. */
#include "compiler/codegen/matrix/matrix.h"
#include "compiler/codegen/matrix/mma.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"

enum { LINE = 16, MAX_LINES = 16 };

/* What one matrix has. */
struct shape {
    unsigned lines, regs; /* of memory, of each lane */
    bool turned;
};

static struct shape shape_of(const struct ptx_instr *i)
{
    if (ptx_has(i, PTX_M_m16n16))
        return (struct shape){16, 2, true};
    if (ptx_has(i, PTX_M_m16n8))
        return (struct shape){8, 1, true};
    return (struct shape){8, 1, false}; /* m8n16 */
}

bool is_matrix_of_bytes(const struct ptx_instr *i)
{
    return ptx_has(i, PTX_M_m16n16) || ptx_has(i, PTX_M_m16n8) || ptx_has(i, PTX_M_m8n16);
}

static unsigned matrices(const struct ptx_instr *i)
{
    return ptx_has(i, PTX_M_x4) ? 4 : ptx_has(i, PTX_M_x2) ? 2 : 1;
}

bool matrix_of_bytes_supported(const struct ptx_instr *i, struct diag *d)
{
    if (!is_matrix_of_bytes(i))
        return true;
    unsigned regs = shape_of(i).regs * matrices(i);
    if (mma_items(&i->operands[i->op == PTX_OP_ldmatrix ? 0 : 1]) != regs)
        return diag_set(d, i->line, i->column, "%s of this shape has %u registers",
                        ptx_op_name((enum ptx_op)i->op), regs);
    return true;
}

/* Where byte n of register r of a lane is among the bytes of the lines. */
static unsigned place_of(const struct shape *s, unsigned r, unsigned lane, unsigned n)
{
    unsigned g = lane / 4, t = lane % 4;
    if (!s->turned)
        return g * LINE + 4 * t + n;
    unsigned line = s->regs == 2 ? 4 * t + 2 * r + n % 2 : 2 * t + n % 2;
    return line * LINE + g + (n >= 2 ? 8 : 0);
}

/* 16 elements of `bits` bits, packed at the start of a line, as bytes. */
static LLVMValueRef unpacked(struct codegen *cg, LLVMValueRef line, unsigned bits)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef bytes = LLVMTypeOf(line), whole = LLVMIntTypeInContext(cg->alu.ctx, 16 * bits);
    LLVMTypeRef narrow = LLVMVectorType(LLVMIntTypeInContext(cg->alu.ctx, bits), LINE);
    LLVMValueRef v = LLVMBuildBitCast(b, line, LLVMIntTypeInContext(cg->alu.ctx, 8 * LINE), "");
    v = LLVMBuildBitCast(b, LLVMBuildTrunc(b, v, whole, ""), narrow, "");
    return LLVMBuildZExt(b, v, bytes, "");
}

static LLVMValueRef read_line(struct codegen *cg, const struct ptx_instr *i, LLVMValueRef at)
{
    LLVMTypeRef bytes = LLVMVectorType(cg->i8, LINE);
    LLVMValueRef v = LLVMBuildLoad2(cg->alu.b, bytes, at, "");
    LLVMSetAlignment(v, LINE);
    if (cg->mask == NULL)
        tag_memory(cg, v, mem_space(i));
    if (ptx_has(i, PTX_M_b6x16_p32))
        return unpacked(cg, v, 6);
    return ptx_has(i, PTX_M_b4x16_p64) ? unpacked(cg, v, 4) : v;
}

static void load(struct codegen *cg, const struct ptx_instr *i, LLVMValueRef rows)
{
    static const struct tile word = {32, 1, 1, 1, PTX_B32};
    struct shape s = shape_of(i);
    LLVMValueRef line[MAX_LINES], out[4];
    unsigned index[JIT_WARP * 4], count = matrices(i);
    for (unsigned m = 0; m < count; m++) {
        for (unsigned l = 0; l < s.lines; l++)
            line[l] = read_line(cg, i, matrix_row_pointer(cg, rows, m * s.lines + l));
        LLVMValueRef all = join_vectors(cg, line, s.lines);
        for (unsigned r = 0; r < s.regs; r++) {
            for (unsigned n = 0; n < JIT_WARP * 4; n++)
                index[n] = place_of(&s, r, n / 4, n % 4);
            LLVMValueRef v = shuffle(cg, all, NULL, index, JIT_WARP * 4);
            out[m * s.regs + r] = LLVMBuildBitCast(cg->alu.b, v, cg->v32i32, "");
        }
    }
    for (unsigned n = 0; n < count * s.regs; n++) /* a register may be an address, too */
        mma_write(cg, mma_item(&i->operands[0], n), out[n], &word);
}

static void store(struct codegen *cg, const struct ptx_instr *i, LLVMValueRef rows)
{
    static const struct tile word = {32, 1, 1, 1, PTX_B32};
    struct shape s = shape_of(i);
    unsigned index[MAX_LINES * LINE];
    for (unsigned n = 0; n < JIT_WARP * 4; n++)
        index[place_of(&s, 0, n / 4, n % 4)] = n;
    for (unsigned m = 0; m < matrices(i); m++) {
        LLVMValueRef v = mma_read(cg, mma_item(&i->operands[1], m), &word);
        v = LLVMBuildBitCast(cg->alu.b, v, LLVMVectorType(cg->i8, JIT_WARP * 4), "");
        for (unsigned l = 0; l < s.lines; l++) {
            LLVMValueRef part = shuffle(cg, v, NULL, &index[(size_t)l * LINE], LINE);
            LLVMValueRef st =
                LLVMBuildStore(cg->alu.b, part, matrix_row_pointer(cg, rows, m * s.lines + l));
            LLVMSetAlignment(st, LINE);
            if (cg->mask == NULL)
                tag_memory(cg, st, mem_space(i));
        }
    }
}

bool emit_matrix_of_bytes(struct codegen *cg, const struct ptx_instr *i)
{
    bool loads = i->op == PTX_OP_ldmatrix;
    unsigned lines = matrices(i) * shape_of(i).lines;
    LLVMValueRef scratch = cg->safe;
    if (!loads && cg->mask != NULL)
        scratch = new_slot(cg, LLVMVectorType(cg->i8, LINE), "row");
    LLVMSetAlignment(scratch, LINE);
    LLVMValueRef rows = matrix_row_addresses(cg, i, &i->operands[loads ? 1 : 0], lines, scratch);
    if (loads)
        load(cg, i, rows);
    else
        store(cg, i, rows);
    return true;
}
