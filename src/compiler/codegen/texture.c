/* texture.c: textures and surfaces: a call of a helper for the whole warp, with the handles and
 * coordinates of 32 lanes in rows, and a word that describes the instruction (abi/texture_instr.h).
 */
#include "abi/texture_instr.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/values.h"

/* ---- what an instruction says ---- */

static bool texture_geometry_of(const struct ptx_instr *i, unsigned *g)
{
    static const struct {
        uint16_t mod;
        uint8_t geometry;
    } known[] = {{PTX_M__1d, GEOMETRY_1D},     {PTX_M__2d, GEOMETRY_2D},
                 {PTX_M__3d, GEOMETRY_3D},     {PTX_M_a1d, GEOMETRY_A1D},
                 {PTX_M_a2d, GEOMETRY_A2D},    {PTX_M_cube, GEOMETRY_CUBE},
                 {PTX_M_acube, GEOMETRY_ACUBE}};
    for (size_t n = 0; n < WEIR_COUNT(known); n++)
        if (ptx_has(i, known[n].mod)) {
            *g = known[n].geometry;
            return true;
        }
    return false;
}

/* Which operand is [handle, {coordinates}]. */
static int handle_operand(const struct ptx_instr *i)
{
    for (int n = 0; n < i->noperands; n++)
        if (i->operands[n].kind == PTX_OPR_TEXMEM)
            return n;
    return -1;
}

static const struct ptx_operand *item(const struct ptx_operand *v, unsigned n)
{
    if (v->kind != PTX_OPR_VEC)
        return n == 0 ? v : NULL;
    return n < (unsigned)v->nitems ? &v->items[n] : NULL;
}

static const struct ptx_operand *coordinate_operand(const struct ptx_operand *mem, unsigned n)
{
    return item(&mem->items[mem->nitems - 1], n);
}

/* What may follow the coordinates and the level of detail or gradients: an offset, and a value that
 * elements of a depth texture are compared with. There are no depth textures; of others the element
 * is read as without such a value, as a GPU does. */
struct extras {
    const struct ptx_operand *offset, *compare; /* NULL: none */
    bool too_many;
};

static unsigned texture_mip(const struct ptx_instr *i)
{
    return ptx_has(i, PTX_M_level) ? MIP_LEVEL : ptx_has(i, PTX_M_grad) ? MIP_GRADIENTS : MIP_BASE;
}

/* Where they begin; noperands if there are none. */
static int first_extra(const struct ptx_instr *i)
{
    static const int picks[] = {[MIP_BASE] = 0, [MIP_LEVEL] = 1, [MIP_GRADIENTS] = 2};
    return handle_operand(i) + 1 + picks[texture_mip(i)];
}

/* A single value is an offset only along the one axis there is, and no float. */
static struct extras find_extras(const struct ptx_instr *i, unsigned axes)
{
    int first = first_extra(i), count = i->noperands - first;
    struct extras x = {.too_many = count > 2};
    if (count <= 0)
        return x;
    const struct ptx_operand *o = &i->operands[first];
    bool is_float = o->kind == PTX_OPR_FIMM || (o->kind == PTX_OPR_REG && o->is_f32);
    if (count > 1 || o->kind == PTX_OPR_VEC || (axes == 1 && !is_float))
        x.offset = o;
    else
        x.compare = o;
    if (count > 1)
        x.compare = o + 1;
    return x;
}

static unsigned texture_surface_mode(const struct ptx_instr *i)
{
    return ptx_has(i, PTX_M_clamp)  ? SURFACE_CLAMP
           : ptx_has(i, PTX_M_zero) ? SURFACE_ZERO
                                    : SURFACE_TRAP;
}

static unsigned texture_surface_action(const struct ptx_instr *i)
{
    static const struct {
        uint16_t mod;
        uint8_t action;
    } ops[] = {{PTX_M_add, SURFACE_ADD},
               {PTX_M_min, SURFACE_MIN},
               {PTX_M_max, SURFACE_MAX},
               {PTX_M_and, SURFACE_AND},
               {PTX_M_or, SURFACE_OR}};
    if (i->op == PTX_OP_suld)
        return SURFACE_LOAD;
    if (i->op == PTX_OP_sust)
        return ptx_has(i, PTX_M_p) ? SURFACE_STORE_TEXELS : SURFACE_STORE;
    for (size_t n = 0; n < WEIR_COUNT(ops); n++)
        if (ptx_has(i, ops[n].mod))
            return ops[n].action;
    return SURFACE_OR;
}

static bool texture_question(const struct ptx_instr *i, unsigned *q)
{
    static const struct {
        uint16_t mod;
        uint8_t question;
    } known[] = {{PTX_M_width, QUERY_WIDTH},
                 {PTX_M_height, QUERY_HEIGHT},
                 {PTX_M_depth, QUERY_DEPTH},
                 {PTX_M_channel_data_type, QUERY_DATA_TYPE},
                 {PTX_M_channel_order, QUERY_ORDER},
                 {PTX_M_normalized_coords, QUERY_NORMALIZED},
                 {PTX_M_array_size, QUERY_LAYERS},
                 {PTX_M_num_mipmap_levels, QUERY_LEVELS},
                 {PTX_M_num_samples, QUERY_SAMPLES},
                 {PTX_M_force_unnormalized_coords, QUERY_FORCED_UNNORMALIZED},
                 {PTX_M_filter_mode, QUERY_FILTER},
                 {PTX_M_addr_mode_0, QUERY_ADDRESS_0},
                 {PTX_M_addr_mode_1, QUERY_ADDRESS_1},
                 {PTX_M_addr_mode_2, QUERY_ADDRESS_2},
                 {PTX_M_memory_layout, QUERY_MEMORY_LAYOUT}};
    for (size_t n = 0; n < WEIR_COUNT(known); n++)
        if (ptx_has(i, known[n].mod)) {
            *q = known[n].question;
            return true;
        }
    return false;
}

static unsigned gathered_component(const struct ptx_instr *i)
{
    if (i->op != PTX_OP_tld4)
        return 0;
    return ptx_has(i, PTX_M_r) ? 1 : ptx_has(i, PTX_M_g) ? 2 : ptx_has(i, PTX_M_b) ? 3 : 4;
}

static struct texture_instr describe(const struct ptx_instr *i)
{
    unsigned g = GEOMETRY_1D, q = QUERY_WIDTH, type = i->types[i->ntypes - 1];
    texture_geometry_of(i, &g);
    struct texture_instr t = {.geometry = g & 7};
    if (i->op == PTX_OP_tex || i->op == PTX_OP_tld4) {
        t.integer = type == PTX_S32;
        t.halves = i->types[0] == PTX_F16X2 || i->types[0] == PTX_F16;
        t.gather = gathered_component(i) & 7;
        t.mip = texture_mip(i) & 3;
    } else if (i->op == PTX_OP_txq || i->op == PTX_OP_suq) {
        texture_question(i, &q);
        t.question = q & 15;
        t.surface = i->op == PTX_OP_suq;
        t.mip = texture_mip(i) & 3;
    } else {
        unsigned bytes = ptx_type_bits((enum ptx_type)type) / 8;
        t.mode = texture_surface_mode(i) & 3;
        t.action = texture_surface_action(i) & 7;
        t.texels = i->op == PTX_OP_sured && ptx_has(i, PTX_M_p);
        t.is_signed = type == PTX_S32 || type == PTX_S64;
        t.size = (unsigned)__builtin_ctz(bytes) & 3;
        t.count = i->vec & 7;
    }
    return t;
}

/* ---- what is refused ---- */

/* A variable of type .texref or .surfref: what its address leads to is what an object's handle is.
 */
static bool is_reference(const struct ptx_operand *o)
{
    return o->var != NULL && (o->var->type == PTX_TEXREF || o->var->type == PTX_SURFREF);
}

/* The level or the gradients. */
static bool mip_supported(const struct ptx_instr *i, unsigned g, struct diag *d)
{
#define REFUSE(...) diag_set(d, i->line, i->column, __VA_ARGS__)
    const char *name = ptx_op_name(i->op);
    int first = handle_operand(i) + 1, count = first_extra(i) - first;
    if (i->noperands < first + count)
        return REFUSE("%s has too few operands", name);
    if (texture_mip(i) != MIP_GRADIENTS)
        return true;
    if (i->types[i->ntypes - 1] == PTX_S32)
        return REFUSE("%s by indices takes no gradients", name);
    unsigned last = geometry_gradients((enum texture_geometry)g) - 1;
    return (item(&i->operands[first], last) != NULL &&
            item(&i->operands[first + 1], last) != NULL) ||
           REFUSE("%s has too short gradients", name);
#undef REFUSE
}

/* Offsets and comparisons. */
static bool extras_supported(const struct ptx_instr *i, unsigned g, struct diag *d)
{
#define REFUSE(...) diag_set(d, i->line, i->column, __VA_ARGS__)
    const char *name = ptx_op_name(i->op);
    unsigned axes = geometry_axes((enum texture_geometry)g);
    struct extras x = find_extras(i, axes);
    if (x.too_many)
        return REFUSE("%s has too many operands", name);
    bool by_index = i->types[i->ntypes - 1] == PTX_S32;
    if (x.compare != NULL && (by_index || g == GEOMETRY_3D))
        return REFUSE("%s of volumes or by indices takes no value to compare with", name);
    if (x.offset == NULL)
        return true;
    if (g == GEOMETRY_CUBE || g == GEOMETRY_ACUBE)
        return REFUSE("%s of a cube map takes no offset", name);
    return item(x.offset, axes - 1) != NULL || REFUSE("%s has too few offsets", name);
#undef REFUSE
}

bool texture_supported(const struct ptx_instr *i, struct diag *d)
{
#define REFUSE(...) diag_set(d, i->line, i->column, __VA_ARGS__)
    const char *name = ptx_op_name(i->op);
    unsigned g;
    if (i->op == PTX_OP_txq || i->op == PTX_OP_suq) {
        const struct ptx_operand *h = &i->operands[1];
        return h->kind == PTX_OPR_MEM && (h->reg >= 0 || is_reference(h))
                   ? true
                   : REFUSE("this form of %s is not supported", name);
    }
    int at = handle_operand(i);
    if (ptx_has(i, PTX_M__2dms) || ptx_has(i, PTX_M_a2dms))
        return REFUSE("%s of textures with several samples is not supported", name);
    if (at < 0 || !texture_geometry_of(i, &g))
        return REFUSE("this form of %s is not supported", name);
    const struct ptx_operand *mem = &i->operands[at];
    if (mem->nitems != 2)
        return REFUSE("%s with a separate sampler is not supported", name);
    if (mem->items[0].kind != PTX_OPR_REG && !is_reference(&mem->items[0]))
        return REFUSE("%s needs a texture or surface", name);
    if (coordinate_operand(mem, geometry_coordinates((enum texture_geometry)g) - 1) == NULL)
        return REFUSE("%s has too few coordinates", name);
    if (i->op != PTX_OP_tex && i->op != PTX_OP_tld4)
        return true;
    return mip_supported(i, g, d) && extras_supported(i, g, d);
#undef REFUSE
}

/* ---- code ---- */

/* Rows of 32 values on the stack. */
static LLVMValueRef new_rows(struct codegen *cg, LLVMTypeRef row, unsigned n, const char *name)
{
    return new_slot(cg, LLVMArrayType2(row, n), name);
}

static LLVMValueRef row_at(struct codegen *cg, LLVMValueRef rows, unsigned n, unsigned bytes)
{
    return byte_offset(cg, rows, c64(cg, (uint64_t)n * JIT_WARP * bytes));
}

static LLVMValueRef store_handles(struct codegen *cg, const struct ptx_operand *o)
{
    LLVMValueRef slot = new_rows(cg, cg->v32i64, 1, "handles");
    LLVMBuildStore(cg->alu.b, operand_vector(cg, o, PTX_B64), slot);
    return slot;
}

/* Rows of 32 bits from `first` on; an operand that is none has no row. */
static void store_rows(struct codegen *cg, LLVMValueRef rows, unsigned first,
                       const struct ptx_operand *o, unsigned count, unsigned type)
{
    for (unsigned k = 0; o != NULL && k < count; k++)
        LLVMBuildStore(cg->alu.b, operand_vector(cg, item(o, k), type),
                       row_at(cg, rows, first + k, 4));
}

static LLVMValueRef store_coordinates(struct codegen *cg, const struct ptx_operand *mem,
                                      unsigned geometry, bool more)
{
    enum texture_geometry g = (enum texture_geometry)geometry;
    LLVMValueRef slot =
        new_rows(cg, cg->v32i32, more ? GEOMETRY_ROWS : GEOMETRY_OFFSETS, "coordinates");
    store_rows(cg, slot, 0, &mem->items[mem->nitems - 1], geometry_coordinates(g), PTX_B32);
    return slot;
}

/* void name(block, i32 instruction, i32 mask, handles [, coordinates], results or data); `handles`
 * is a row of them, or one where the function takes one */
static void call_texture(struct codegen *cg, const char *name, struct texture_instr t,
                         LLVMValueRef handles, LLVMValueRef coordinates, LLVMValueRef data)
{
    LLVMTypeRef params[6] = {cg->ptr, cg->i32, cg->i32, LLVMTypeOf(handles), cg->ptr, cg->ptr};
    LLVMValueRef args[6] = {cg->block.ptr, c32(cg, texture_instr_word(t)), mask_bits(cg), handles};
    unsigned n = 4;
    if (coordinates != NULL)
        args[n++] = coordinates;
    args[n++] = data;
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(cg->alu.ctx), params, n, false);
    LLVMValueRef f = LLVMGetNamedFunction(cg->alu.module, name);
    if (f == NULL)
        f = LLVMAddFunction(cg->alu.module, name, type);
    LLVMBuildCall2(cg->alu.b, type, f, args, n, "");
}

/* Rows into the registers of an operand. */
static void write_rows(struct codegen *cg, const struct ptx_operand *d, LLVMValueRef rows,
                       LLVMTypeRef row, unsigned bytes, unsigned type)
{
    int n = d->kind == PTX_OPR_VEC ? d->nitems : 1;
    for (int k = 0; k < n; k++) {
        const struct ptx_operand *o = d->kind == PTX_OPR_VEC ? &d->items[k] : d;
        if (o->kind != PTX_OPR_REG)
            continue;
        LLVMValueRef v = LLVMBuildLoad2(cg->alu.b, row, row_at(cg, rows, (unsigned)k, bytes), "");
        write_vector(cg, o->reg, v, type);
    }
}

/* The halves of two rows into four registers of 16 bits. */
static void write_halves(struct codegen *cg, const struct ptx_operand *d, LLVMValueRef rows)
{
    LLVMTypeRef narrow = LLVMVectorType(LLVMInt16TypeInContext(cg->alu.ctx), JIT_WARP);
    for (int k = 0; k < d->nitems; k++) {
        if (d->items[k].kind != PTX_OPR_REG)
            continue;
        LLVMValueRef v =
            LLVMBuildLoad2(cg->alu.b, cg->v32i32, row_at(cg, rows, (unsigned)k / 2, 4), "");
        if (k % 2 != 0)
            v = LLVMBuildLShr(cg->alu.b, v, splat(cg, c32(cg, 16), JIT_WARP), "");
        write_vector(cg, d->items[k].reg, LLVMBuildTrunc(cg->alu.b, v, narrow, ""), PTX_B16);
    }
}

static bool emit_fetch(struct codegen *cg, const struct ptx_instr *i)
{
    struct texture_instr t = describe(i);
    const struct ptx_operand *mem = &i->operands[handle_operand(i)];
    struct extras x = find_extras(i, geometry_axes((enum texture_geometry)t.geometry));
    enum texture_geometry g = (enum texture_geometry)t.geometry;
    const struct ptx_operand *pick = mem + 1; /* the level or the gradients */
    t.moved = x.offset != NULL;
    LLVMValueRef out = new_rows(cg, cg->v32i32, 4, "texels");
    LLVMValueRef where = store_coordinates(cg, mem, t.geometry, t.moved != 0 || t.mip != MIP_BASE);
    store_rows(cg, where, GEOMETRY_OFFSETS, x.offset, geometry_axes(g), PTX_B32);
    if (t.mip == MIP_LEVEL) {
        store_rows(cg, where, GEOMETRY_LEVEL, pick, 1, t.integer ? PTX_S32 : PTX_F32);
    } else if (t.mip == MIP_GRADIENTS) {
        store_rows(cg, where, GEOMETRY_GRADIENT_X, pick, geometry_gradients(g), PTX_F32);
        store_rows(cg, where, GEOMETRY_GRADIENT_Y, pick + 1, geometry_gradients(g), PTX_F32);
    }
    struct uniformity handle = operand_uniformity(cg->k, &mem->items[0]);
    if (is_uniform(&handle))
        call_texture(cg, "weir_rt_tex_one", t,
                     operand_scalar(cg, &mem->items[0], PTX_B64, SEG_WARP, 0), where, out);
    else
        call_texture(cg, "weir_rt_tex", t, store_handles(cg, &mem->items[0]), where, out);
    if (i->types[0] == PTX_F16)
        write_halves(cg, &i->operands[0], out);
    else
        write_rows(cg, &i->operands[0], out, cg->v32i32, 4, PTX_B32);
    if (i->pair && i->operands[1].kind == PTX_OPR_REG) /* all of it is in memory */
        write_vector(cg, i->operands[1].reg, LLVMConstAllOnes(cg->v32i1), PTX_PRED);
    return true;
}

static bool emit_query(struct codegen *cg, const struct ptx_instr *i)
{
    struct ptx_operand handle = i->operands[1];
    handle.kind = handle.var != NULL ? PTX_OPR_SYM : PTX_OPR_REG;
    LLVMValueRef out = new_rows(cg, cg->v32i32, 1, "answers");
    if (ptx_has(i, PTX_M_level))
        store_rows(cg, out, 0, &i->operands[2], 1, PTX_S32);
    call_texture(cg, "weir_rt_texture_query", describe(i), store_handles(cg, &handle), NULL, out);
    write_rows(cg, &i->operands[0], out, cg->v32i32, 4, PTX_B32);
    return true;
}

static bool emit_surface(struct codegen *cg, const struct ptx_instr *i)
{
    struct texture_instr t = describe(i);
    int at = handle_operand(i);
    const struct ptx_operand *mem = &i->operands[at];
    unsigned type = i->types[i->ntypes - 1];
    LLVMValueRef data = new_rows(cg, cg->v32i64, 4, "data");
    if (i->op != PTX_OP_suld) {
        const struct ptx_operand *s = &i->operands[at + 1];
        for (unsigned k = 0; k < t.count; k++) {
            const struct ptx_operand *o = s->kind == PTX_OPR_VEC ? &s->items[k] : s;
            LLVMValueRef v = coerce(cg, operand_vector(cg, o, type), PTX_U64, false);
            LLVMBuildStore(cg->alu.b, v, row_at(cg, data, k, 8));
        }
    }
    LLVMValueRef where = store_coordinates(cg, mem, t.geometry, false);
    call_texture(cg, "weir_rt_surface", t, store_handles(cg, &mem->items[0]), where, data);
    if (i->op == PTX_OP_suld)
        write_rows(cg, &i->operands[0], data, cg->v32i64, 8, PTX_B64);
    return true;
}

bool emit_texture(struct codegen *cg, const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_tex:
    case PTX_OP_tld4: return emit_fetch(cg, i);
    case PTX_OP_txq:
    case PTX_OP_suq: return emit_query(cg, i);
    default: return emit_surface(cg, i);
    }
}
