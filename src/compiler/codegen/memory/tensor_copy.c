/* tensor_copy.c: cp.async.bulk.tensor and its reductions, which copy a box of a tensor that a
 * tensor map describes, and tensormap, which changes such a map. Helpers of the exec module do both
 * (abi/kernel_abi.h), at once: a group that is waited for has ended, and a barrier object counts
 * the copy's bytes when it is issued. All addresses are generic here (front/lower.c). */
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"

static unsigned dimensions(const struct ptx_instr *i)
{
    static const uint16_t mods[] = {PTX_M__1d, PTX_M__2d, PTX_M__3d, PTX_M__4d, PTX_M__5d};
    for (unsigned n = 0; n < WEIR_COUNT(mods); n++)
        if (ptx_has(i, mods[n]))
            return n + 1;
    return 0;
}

static unsigned items(const struct ptx_operand *o)
{
    return o->kind == PTX_OPR_VEC ? (unsigned)o->nitems : 1;
}

static const struct ptx_operand *item(const struct ptx_operand *o, unsigned n)
{
    return o->kind == PTX_OPR_VEC ? &o->items[n] : o;
}

static bool is_wide(const struct ptx_instr *i)
{
    return ptx_has(i, PTX_M_im2col__w) || ptx_has(i, PTX_M_im2col__w__128);
}

static bool is_im2col(const struct ptx_instr *i)
{
    return ptx_has(i, PTX_M_im2col) || ptx_has(i, PTX_M_im2col_no_offs) || is_wide(i);
}

/* Which operand is [map, {coordinates}]. */
static int map_operand(const struct ptx_instr *i)
{
    int n = 0;
    while (n < i->noperands && i->operands[n].kind != PTX_OPR_TEXMEM)
        n++;
    return n;
}

/* tile::gather4 and tile::scatter4 name four rows of a tensor of two dimensions. */
static bool has_four_rows(const struct ptx_instr *i)
{
    return ptx_has(i, PTX_M_tile__gather4) || ptx_has(i, PTX_M_tile__scatter4);
}

static unsigned coordinates(const struct ptx_instr *i)
{
    return has_four_rows(i) ? 5 : dimensions(i);
}

bool tensor_copy_supported(const struct ptx_instr *i, struct diag *d)
{
    const struct ptx_operand *map = &i->operands[map_operand(i)];
    unsigned dims = dimensions(i), axes = is_wide(i) ? 2 : dims - 2;
    bool loads = ptx_has(i, PTX_M_mbarrier__complete_tx__bytes);
    if (map->nitems != 2 || items(&map->items[1]) != coordinates(i))
        return diag_set(d, i->line, i->column,
                        "a copy by a tensor map of %u dimensions needs %u coordinates", dims,
                        coordinates(i));
    if (is_im2col(i) && dims < 3)
        return diag_set(d, i->line, i->column, "im2col needs tensors of 3 to 5 dimensions");
    if (is_im2col(i) && loads && items(&i->operands[3]) != axes)
        return diag_set(d, i->line, i->column, "im2col of %u dimensions needs %u offsets", dims,
                        axes);
    return true;
}

/* Two 32-bit numbers of each lane as one, `high` NULL: zero. */
static LLVMValueRef pair(struct codegen *cg, const struct ptx_operand *low,
                         const struct ptx_operand *high)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef v = LLVMBuildZExt(b, operand_vector(cg, low, PTX_U32), cg->v32i64, "");
    if (high == NULL)
        return v;
    LLVMValueRef h = LLVMBuildZExt(b, operand_vector(cg, high, PTX_U32), cg->v32i64, "");
    return LLVMBuildOr(b, v, LLVMBuildShl(b, h, splat(cg, c64(cg, 32), JIT_WARP), ""), "");
}

static LLVMValueRef halfword(struct codegen *cg, const struct ptx_operand *o)
{
    return LLVMBuildZExt(cg->alu.b, operand_vector(cg, o, PTX_U16), cg->v32i64, "");
}

static void store_offsets(struct codegen *cg, const struct ptx_operand *offsets)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef all = LLVMConstNull(cg->v32i64);
    for (unsigned n = 0; offsets != NULL && n < items(offsets); n++) {
        LLVMValueRef shift = splat(cg, c64(cg, 16 * n), JIT_WARP);
        all = LLVMBuildOr(b, all, LLVMBuildShl(b, halfword(cg, item(offsets, n)), shift, ""), "");
    }
    helper_row_store(cg, JIT_TENSOR_OFFSETS, all);
}

bool emit_tensor_copy(struct codegen *cg, const struct ptx_instr *i)
{
    const struct ptx_operand *o = i->operands, *map = &o[map_operand(i)];
    const struct ptx_operand *where = &map->items[1];
    bool loads = ptx_has(i, PTX_M_mbarrier__complete_tx__bytes);
    bool many = ptx_has(i, PTX_M_multicast__cluster);
    unsigned dims = dimensions(i), count = coordinates(i);
    if (ptx_has(i, PTX_M_prefetch))
        return true;
    helper_row_store(cg, JIT_TENSOR_SHARED,
                     address_vector(cg, &o[loads ? 0 : 1], PTX_SPACE_GENERIC));
    helper_row_store(cg, JIT_TENSOR_MAP, operand_vector(cg, &map->items[0], PTX_U64));
    if (loads)
        helper_row_store(cg, JIT_TENSOR_BARRIER, address_vector(cg, &o[2], PTX_SPACE_GENERIC));
    if (many)
        helper_row_store(cg, JIT_TENSOR_CTAS, halfword(cg, &o[is_im2col(i) ? 4 : 3]));
    for (unsigned n = 0; n < count; n += 2)
        helper_row_store(cg, JIT_TENSOR_COORDINATES + n / 2,
                         pair(cg, item(where, n), n + 1 < count ? item(where, n + 1) : NULL));
    store_offsets(cg, is_im2col(i) && loads ? &o[3] : NULL);
    uint32_t op = dims | (loads ? 0 : JIT_TENSOR_STORES) | (is_im2col(i) ? JIT_TENSOR_IM2COL : 0) |
                  (many ? JIT_TENSOR_MANY : 0) | (has_four_rows(i) ? JIT_TENSOR_FOUR : 0) |
                  (ptx_has(i, PTX_M_cta_group__2) ? JIT_TENSOR_PAIRS : 0) |
                  (ptx_has(i, PTX_M_im2col__w) ? JIT_TENSOR_WIDE : 0) |
                  (ptx_has(i, PTX_M_im2col__w__128) ? JIT_TENSOR_WIDE_128 : 0) |
                  bulk_reduction(i) << JIT_TENSOR_REDUCTION;
    LLVMValueRef args[4] = {cg->block.ptr, c32(cg, op), mask_bits(cg), helper_rows(cg, 0)};
    call_helper(cg, "weir_rt_tensor_copy", LLVMVoidTypeInContext(cg->alu.ctx), args, 4);
    return true;
}

/* ---- tensormap ---- */

static const struct {
    enum ptx_mod mod;
    enum jit_tensor_field field;
} fields[] = {{PTX_M_global_address, JIT_TENSOR_ADDRESS},
              {PTX_M_rank, JIT_TENSOR_RANK},
              {PTX_M_box_dim, JIT_TENSOR_BOX},
              {PTX_M_global_dim, JIT_TENSOR_SIZE},
              {PTX_M_global_stride, JIT_TENSOR_STRIDE},
              {PTX_M_element_stride, JIT_TENSOR_STEP},
              {PTX_M_elemtype, JIT_TENSOR_TYPE},
              {PTX_M_interleave_layout, JIT_TENSOR_INTERLEAVE},
              {PTX_M_swizzle_mode, JIT_TENSOR_SWIZZLE},
              {PTX_M_swizzle_atomicity, JIT_TENSOR_ATOMICITY},
              {PTX_M_fill_mode, JIT_TENSOR_FILL},
              {PTX_M_cp_fenceproxy, JIT_TENSOR_COPY}};

static enum jit_tensor_field field_of(const struct ptx_instr *i)
{
    for (size_t n = 0; n < WEIR_COUNT(fields); n++)
        if (ptx_has(i, fields[n].mod))
            return fields[n].field;
    return JIT_TENSOR_COPY;
}

bool tensormap_supported(const struct ptx_instr *i, struct diag *d)
{
    enum jit_tensor_field field = field_of(i);
    const struct ptx_operand *value = &i->operands[i->noperands - 1];
    uint64_t v = value->imm;
    if (field == JIT_TENSOR_COPY && v != 128)
        return diag_set(d, i->line, i->column, "a tensor map has 128 bytes");
    bool known = (field != JIT_TENSOR_TYPE || v <= 12) &&
                 (field != JIT_TENSOR_INTERLEAVE || v <= 2) &&
                 (field != JIT_TENSOR_SWIZZLE || v <= 3) &&
                 (field != JIT_TENSOR_ATOMICITY || v <= 3) && (field != JIT_TENSOR_FILL || v <= 1);
    if (value->kind == PTX_OPR_IMM && field >= JIT_TENSOR_TYPE && field < JIT_TENSOR_COPY && !known)
        return diag_set(d, i->line, i->column,
                        "tensormap.replace.tile.%s with %llu is not supported",
                        ptx_mod_name(fields[field].mod), (unsigned long long)v);
    return true;
}

bool emit_tensormap(struct codegen *cg, const struct ptx_instr *i)
{
    const struct ptx_operand *o = i->operands;
    enum jit_tensor_field field = field_of(i);
    LLVMValueRef value;
    uint32_t op = field;
    helper_row_store(cg, 0, address_vector(cg, &o[0], PTX_SPACE_GENERIC));
    if (field == JIT_TENSOR_COPY) {
        value = address_vector(cg, &o[1], PTX_SPACE_GENERIC);
    } else if (i->types[0] == PTX_B64) {
        value = operand_vector(cg, &o[i->noperands - 1], PTX_U64);
    } else {
        value = operand_vector(cg, &o[i->noperands - 1], PTX_U32);
        value = LLVMBuildZExt(cg->alu.b, value, cg->v32i64, "");
    }
    if (field != JIT_TENSOR_COPY && i->noperands == 3)
        op |= (uint32_t)o[1].imm << 8;
    helper_row_store(cg, 1, value);
    LLVMValueRef args[5] = {cg->block.ptr, c32(cg, op), mask_bits(cg), helper_rows(cg, 0),
                            helper_rows(cg, 1)};
    call_helper(cg, "weir_rt_tensor_replace", LLVMVoidTypeInContext(cg->alu.ctx), args, 5);
    return true;
}
