/* mma_sparse.c: the left factor of mma.sp. Two of every four elements are present (of tf32 one of
 * two, of nibbles two pairs of four); a nibble of metadata says which. Here the rows are expanded,
 * with zeros between, and then multiplied like any others.
 *
 * The lane that has the nibble for a row and a group of four was determined on a GPU for every one:
 * rows r and r + 8 share a lane where elements have 16 bits and more; otherwise two lanes have
 * them. The instruction's selector chooses among the lanes of a quad that are not needed. */
#include "compiler/codegen/matrix/mma.h"
#include "compiler/codegen/values.h"

/* Groups along k that a nibble is for. */
static unsigned groups_per_nibble(const struct mma *m)
{
    unsigned unit = m->a == PTX_TF32 ? 2 : m->a == PTX_S4 || m->a == PTX_U4 ? 8 : 4;
    return m->k / unit;
}

static bool narrow(unsigned type)
{
    return type != PTX_F16 && type != PTX_BF16 && type != PTX_TF32;
}

unsigned mma_sparse_selectors(const struct mma *m)
{
    unsigned lanes = groups_per_nibble(m) / 4; /* of a quad that have metadata */
    return lanes == 0 || lanes > 4 ? 0 : 4 / lanes;
}

/* The lane of a quad and the nibble that are for group q of rows in half h of the matrix. */
static void metadata_position(const struct mma *m, unsigned h, unsigned q, unsigned *lane,
                              unsigned *nibble)
{
    if (narrow(m->a)) {
        *lane = 2 * (groups_per_nibble(m) == 8 ? m->selector : q / 8) + h;
        *nibble = q % 8;
    } else {
        *lane = groups_per_nibble(m) == 4 ? m->selector : 2 * m->selector + q / 4;
        *nibble = 4 * h + q % 4;
    }
}

struct spread {
    struct codegen *cg;
    const struct mma *m;
    LLVMTypeRef elem;      /* what a nibble's two indices are for */
    unsigned bytes;        /* of that */
    LLVMValueRef metadata; /* pointer to the quad's lane 0 */
    LLVMValueRef row;      /* where the row goes */
};

static void store_at(struct spread *s, LLVMValueRef v, LLVMValueRef index)
{
    LLVMBuilderRef b = s->cg->alu.b;
    index = LLVMBuildZExt(b, index, s->cg->i64, "");
    LLVMValueRef at = LLVMBuildGEP2(b, s->elem, s->row, &index, 1, "");
    LLVMSetAlignment(LLVMBuildStore(b, v, at), s->bytes);
}

/* The elements of group q; v: all that the register's row has, from group `first` on. */
static void spread_group(struct spread *s, unsigned h, unsigned q, unsigned first, LLVMValueRef v)
{
    struct codegen *cg = s->cg;
    LLVMBuilderRef b = cg->alu.b;
    unsigned lane, nibble, each = s->m->a == PTX_TF32 ? 1 : 2;
    metadata_position(s->m, h, q, &lane, &nibble);
    LLVMValueRef word =
        LLVMBuildLoad2(b, cg->i32, byte_offset(cg, s->metadata, c64(cg, 4 * lane)), "");
    for (unsigned n = 0; n < each; n++) {
        LLVMValueRef index = LLVMBuildLShr(b, word, c32(cg, 4 * nibble + 2 * n), "");
        index = LLVMBuildAnd(b, index, c32(cg, 3), "");
        if (each == 1)
            index = LLVMBuildLShr(b, index, c32(cg, 1), "");
        index = LLVMBuildAdd(b, index, c32(cg, (uint64_t)q * 2 * each), "");
        unsigned from = (q - first) * each + n;
        store_at(s, LLVMBuildExtractElement(b, v, c32(cg, from), ""), index);
    }
}

/* Rows 8 h .. 8 h + 7, one after the other in a loop. */
static void spread_half(struct spread *s, LLVMValueRef fn, const struct mma_layout *p,
                        const LLVMValueRef *regs, LLVMValueRef metadata, LLVMValueRef buffer,
                        unsigned h, unsigned row_bytes)
{
    struct codegen *cg = s->cg;
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
    LLVMBasicBlockRef loop = LLVMAppendBasicBlockInContext(cg->alu.ctx, fn, "row");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(cg->alu.ctx, fn, "spread");
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef g = LLVMBuildPhi(b, cg->i64, "");
    LLVMValueRef sixteen = LLVMBuildMul(b, g, c64(cg, 16), "");
    s->metadata = byte_offset(cg, metadata, sixteen);
    s->row = byte_offset(cg, buffer, LLVMBuildMul(b, g, c64(cg, row_bytes), ""));
    s->row = byte_offset(cg, s->row, c64(cg, (uint64_t)8 * h * row_bytes));
    for (unsigned r = 0; r < p->a_steps; r++) {
        LLVMValueRef at = regs[mma_a_index(s->m, p->a_steps, h, r)];
        LLVMValueRef v = mma_row(cg, s->m->a, byte_offset(cg, at, sixteen));
        unsigned total = mma_row_elements(s->m->a);
        if (s->elem == cg->i16) {
            total *= 2;
            v = LLVMBuildBitCast(b, v, LLVMVectorType(cg->i16, total), "");
        }
        unsigned count = total / (s->m->a == PTX_TF32 ? 1 : 2);
        for (unsigned q = 0; q < count; q++)
            spread_group(s, h, r * count + q, r * count, v);
    }
    LLVMValueRef next = LLVMBuildAdd(b, g, c64(cg, 1), "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(b);
    LLVMAddIncoming(g, (LLVMValueRef[]){c64(cg, 0), next}, (LLVMBasicBlockRef[]){before, end}, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, c64(cg, 8), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, done);
}

void mma_sparse_rows(struct codegen *cg, LLVMValueRef fn, const struct mma *m,
                     const struct mma_layout *p, const LLVMValueRef *regs, LLVMValueRef metadata,
                     LLVMValueRef buffer, unsigned steps_k)
{
    bool bytes = m->a == PTX_S8 || m->a == PTX_U8;
    struct spread s = {.cg = cg, .m = m, .elem = bytes ? cg->i16 : mma_element(cg, m->a)};
    s.bytes = bytes ? 2 : 4;
    LLVMBuildMemSet(cg->alu.b, buffer, LLVMConstInt(cg->i8, 0, false),
                    c64(cg, (uint64_t)m->m * steps_k * 4), 16);
    for (unsigned h = 0; h < p->groups; h++)
        spread_half(&s, fn, p, regs, metadata, buffer, h, steps_k * 4);
}
