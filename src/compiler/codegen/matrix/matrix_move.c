/* matrix_move.c: matrices between memory and the registers of a warp: wmma.load, wmma.store,
 * ldmatrix, stmatrix, movmatrix.
 *
 * A tile is loaded in lines (its rows, or its columns where memory has the other order), each one
 * load; joined, they are one long vector, which a constant shuffle brings into the order of lanes.
 * Rows of a factor are in that order as they lie in memory. */
#include <stdio.h>

#include "compiler/codegen/matrix/matrix.h"
#include "compiler/codegen/matrix/mma.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/module_function.h"
#include "compiler/codegen/values.h"

/* Units of the widest tile, eight rows of sixteen bytes' bytes. */
enum { MAX_UNITS = 128, MAX_LINES = 16 };

static LLVMTypeRef unit_type(struct codegen *cg, const struct tile *t)
{
    return LLVMIntTypeInContext(cg->alu.ctx, t->unit_bits);
}

/* Index in the lines' order of unit s of lane l in register r of a tile. */
static unsigned unit_index(const struct tile *t, bool columns, unsigned r, unsigned l, unsigned s)
{
    unsigned c = (l & 3) * t->per_reg * t->regs + r * t->per_reg + s, g = l >> 2;
    return columns ? c * 8 + g : g * tile_width(t) + c;
}

/* Registers (<32 x iN>) of a tile from its lines. */
static void from_lines(struct codegen *cg, const struct tile *t, bool columns, LLVMValueRef *line,
                       LLVMValueRef *reg)
{
    LLVMValueRef all = join_vectors(cg, line, columns ? tile_width(t) : 8);
    unsigned idx[MAX_UNITS], n = JIT_WARP * t->per_reg;
    for (unsigned r = 0; r < t->regs; r++) {
        for (unsigned l = 0; l < n; l++)
            idx[l] = unit_index(t, columns, r, l / t->per_reg, l % t->per_reg);
        reg[r] = LLVMBuildBitCast(cg->alu.b, shuffle(cg, all, NULL, idx, n),
                                  t->unit_bits == 64 ? cg->v32i64 : cg->v32i32, "");
    }
}

/* Lines of a tile from its registers. */
static void to_lines(struct codegen *cg, const struct tile *t, bool columns,
                     const LLVMValueRef *reg, LLVMValueRef *line)
{
    unsigned n = JIT_WARP * t->per_reg, idx[MAX_LINES * MAX_UNITS];
    LLVMTypeRef flat = LLVMVectorType(unit_type(cg, t), n);
    LLVMValueRef v[2] = {NULL, NULL};
    for (unsigned r = 0; r < t->regs; r++) {
        v[r] = LLVMBuildBitCast(cg->alu.b, reg[r], flat, "");
        for (unsigned l = 0; l < n; l++)
            idx[unit_index(t, columns, r, l / t->per_reg, l % t->per_reg)] = r * n + l;
    }
    unsigned lines = columns ? tile_width(t) : 8, len = columns ? 8 : tile_width(t);
    for (unsigned k = 0; k < lines; k++)
        line[k] = shuffle(cg, v[0], v[1], &idx[k * len], len);
}

/* ---- wmma ---- */

/* A matrix in memory. */
struct matrix {
    struct mma shape;
    struct tile tile;
    char which;   /* a, b, c or d */
    bool columns; /* a tile's lines are its columns */
    unsigned groups, columns8, steps, repeat;
    const struct ptx_operand *at, *regs, *stride; /* stride NULL: the matrix is dense */
};

static bool describe_matrix(const struct ptx_instr *i, struct matrix *x)
{
    bool store = ptx_has(i, PTX_M_store);
    *x = (struct matrix){.repeat = 1};
    if (i->noperands < 2 || i->ntypes < 1 || !mma_shape(i, &x->shape))
        return false;
    x->which = store ? 'd' : ptx_has(i, PTX_M_a) ? 'a' : ptx_has(i, PTX_M_b) ? 'b' : 'c';
    x->at = &i->operands[store ? 0 : 1];
    x->regs = &i->operands[store ? 1 : 0];
    x->stride = i->noperands > 2 ? &i->operands[2] : NULL;
    bool factor = x->which == 'a' || x->which == 'b';
    x->tile = mma_tile(i->types[0], !factor);
    bool row = ptx_has(i, PTX_M_row);
    x->columns = x->which == 'b' ? row : !row;
    unsigned tiles;
    if (factor) {
        unsigned groups = (x->which == 'a' ? x->shape.m : x->shape.n) / 8;
        x->steps = mma_steps(&x->shape, &x->tile);
        x->groups = groups;
        tiles = groups * x->steps;
        if (tiles != 0 && i->types[0] == PTX_F16) /* eight registers, whatever the dimensions */
            x->repeat = 8 / tiles;
    } else {
        x->groups = x->shape.m / 8;
        x->columns8 = x->shape.n / 8;
        tiles = x->groups * x->columns8;
    }
    return tiles != 0 && mma_items(x->regs) == tiles * x->tile.regs * x->repeat &&
           !(x->columns && x->tile.unit_elems > 1);
}

bool wmma_move_supported(const struct ptx_instr *i, struct diag *d)
{
    struct matrix x;
    if (!describe_matrix(i, &x))
        return diag_set(d, i->line, i->column, "wmma.%s of this shape and type is not supported",
                        ptx_has(i, PTX_M_store) ? "store" : "load");
    return true;
}

LLVMValueRef mma_uniform(struct codegen *cg, const struct ptx_operand *o, unsigned type)
{
    struct uniformity s = operand_uniformity(cg->k, o);
    if (is_uniform(&s))
        return operand_scalar(cg, o, type, SEG_WARP, 0);
    LLVMValueRef args[2] = {mask_bits(cg), LLVMConstInt(cg->i1, 0, false)};
    LLVMValueRef lane = intrinsic(cg, "llvm.cttz", &cg->i32, 1, args, 2);
    return LLVMBuildExtractElement(cg->alu.b, operand_vector(cg, o, type), lane, "");
}

static LLVMValueRef matrix_start(struct codegen *cg, const struct ptx_instr *i,
                                 const struct matrix *x)
{
    LLVMBuilderRef b = cg->alu.b;
    struct ptx_operand o = *x->at;
    LLVMValueRef at;
    if (o.reg >= 0) {
        o.kind = PTX_OPR_REG;
        at = mma_uniform(cg, &o, PTX_U64);
        if (o.offset)
            at = LLVMBuildAdd(b, at, c64(cg, (uint64_t)o.offset), "");
    } else if (o.var != NULL) {
        o.kind = PTX_OPR_SYM;
        at = operand_scalar(cg, &o, PTX_U64, SEG_WARP, 0);
    } else {
        at = c64(cg, (uint64_t)o.offset);
    }
    return mem_space(i) == PTX_SPACE_SHARED ? byte_offset(cg, cg->block.shared, at)
                                            : LLVMBuildIntToPtr(b, at, cg->ptr, "");
}

/* Bytes from one line of memory to the next. */
static LLVMValueRef line_pitch(struct codegen *cg, const struct matrix *x)
{
    unsigned bits = x->tile.unit_bits / x->tile.unit_elems;
    if (x->stride != NULL) {
        LLVMValueRef n = LLVMBuildZExt(cg->alu.b, mma_uniform(cg, x->stride, PTX_U32), cg->i64, "");
        n = LLVMBuildMul(cg->alu.b, n, c64(cg, bits), "");
        return LLVMBuildLShr(cg->alu.b, n, c64(cg, 3), "");
    }
    unsigned across = x->which == 'a' || x->which == 'b' ? x->shape.k : x->shape.n;
    unsigned down = x->which == 'b' ? x->shape.n : x->shape.m;
    return c64(cg, (uint64_t)(x->columns ? down : across) * bits / 8);
}

/* Pointer to line k of a tile that starts at row `row` and unit `unit` of that row. */
static LLVMValueRef line_pointer(struct codegen *cg, const struct matrix *x, LLVMValueRef start,
                                 LLVMValueRef pitch, unsigned row, unsigned unit, unsigned k)
{
    unsigned major = (x->columns ? unit : row) + k, minor = x->columns ? row : unit;
    LLVMValueRef off = LLVMBuildMul(cg->alu.b, pitch, c64(cg, major), "");
    return byte_offset(cg, byte_offset(cg, start, off),
                       c64(cg, (uint64_t)minor * x->tile.unit_bits / 8));
}

/* First register, row and unit of a tile of a factor (group, step along k) or of an accumulator
 * (group of rows, of columns). */
struct tile_origin {
    unsigned reg, row, unit;
};

static unsigned tile_count(const struct matrix *x)
{
    return x->groups * (x->columns8 ? x->columns8 : x->steps);
}

static struct tile_origin tile_origin_of(const struct matrix *x, unsigned n)
{
    unsigned group = n % x->groups, other = n / x->groups;
    struct tile_origin s = {.row = group * 8, .unit = other * tile_width(&x->tile)};
    if (x->which == 'a')
        s.reg = mma_a_index(&x->shape, x->steps, group, other);
    else if (x->which == 'b')
        s.reg = group * x->steps + other;
    else
        s.reg = n * x->tile.regs;
    return s;
}

static void load_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    const struct matrix *x = arg;
    LLVMValueRef start = LLVMGetParam(fn, 0), pitch = LLVMGetParam(fn, 1);
    unsigned width = tile_width(&x->tile), lines = x->columns ? width : 8;
    LLVMTypeRef t = LLVMVectorType(unit_type(cg, &x->tile), x->columns ? 8 : width);
    for (unsigned n = 0; n < tile_count(x); n++) {
        struct tile_origin s = tile_origin_of(x, n);
        LLVMValueRef v[MAX_LINES], out[2];
        for (unsigned k = 0; k < lines; k++) {
            v[k] = LLVMBuildLoad2(cg->alu.b, t, line_pointer(cg, x, start, pitch, s.row, s.unit, k),
                                  "");
            LLVMSetAlignment(v[k], x->tile.unit_bits / 8);
        }
        from_lines(cg, &x->tile, x->columns, v, out);
        for (unsigned r = 0; r < x->tile.regs; r++)
            LLVMSetAlignment(LLVMBuildStore(cg->alu.b, out[r], LLVMGetParam(fn, 2 + s.reg + r)),
                             64);
    }
}

static void store_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    const struct matrix *x = arg;
    LLVMValueRef start = LLVMGetParam(fn, 0), pitch = LLVMGetParam(fn, 1);
    LLVMTypeRef t = x->tile.unit_bits == 64 ? cg->v32i64 : cg->v32i32;
    unsigned lines = x->columns ? tile_width(&x->tile) : 8;
    for (unsigned n = 0; n < tile_count(x); n++) {
        struct tile_origin s = tile_origin_of(x, n);
        LLVMValueRef v[MAX_LINES], reg[2];
        for (unsigned r = 0; r < x->tile.regs; r++) {
            reg[r] = LLVMBuildLoad2(cg->alu.b, t, LLVMGetParam(fn, 2 + s.reg + r), "");
            LLVMSetAlignment(reg[r], 64);
        }
        to_lines(cg, &x->tile, x->columns, reg, v);
        for (unsigned k = 0; k < lines; k++) {
            LLVMValueRef st = LLVMBuildStore(cg->alu.b, v[k],
                                             line_pointer(cg, x, start, pitch, s.row, s.unit, k));
            LLVMSetAlignment(st, x->tile.unit_bits / 8);
        }
    }
}

static void check_matrix(struct codegen *cg, const struct ptx_instr *i, const struct matrix *x,
                         LLVMValueRef start, LLVMValueRef pitch)
{
    unsigned bits = x->tile.unit_bits / x->tile.unit_elems;
    unsigned across = x->which == 'a' || x->which == 'b' ? x->shape.k : x->shape.n;
    unsigned down = x->which == 'b' ? x->shape.n : x->shape.m;
    check_lines(cg, mem_space(i), start, pitch, x->columns ? across : down,
                (x->columns ? down : across) * bits / 8, x->which == 'd');
}

/* Calls the function for this kind of matrix: void (ptr start, i64 pitch, ptr to each register). */
static void call_move(struct codegen *cg, const struct ptx_instr *i, const struct matrix *x,
                      const LLVMValueRef *slot, unsigned regs)
{
    char name[96];
    snprintf(name, sizeof name, "weir_wmma_%c_m%un%uk%u_%s_%s", x->which, x->shape.m, x->shape.n,
             x->shape.k, ptx_type_name((enum ptx_type)i->types[0]), x->columns ? "lines" : "rows");
    LLVMTypeRef params[2 + MAX_MMA_REGS] = {cg->ptr, cg->i64};
    LLVMValueRef args[2 + MAX_MMA_REGS] = {matrix_start(cg, i, x), line_pitch(cg, x)};
    check_matrix(cg, i, x, args[0], args[1]);
    for (unsigned n = 0; n < regs; n++) {
        params[2 + n] = cg->ptr;
        args[2 + n] = slot[n];
    }
    LLVMValueRef fn =
        module_function(cg, name, params, 2 + regs, x->which == 'd' ? store_body : load_body, x);
    LLVMBuildCall2(cg->alu.b, LLVMGlobalGetValueType(fn), fn, args, 2 + regs, "");
}

bool emit_wmma_load(struct codegen *cg, const struct ptx_instr *i)
{
    struct matrix x;
    describe_matrix(i, &x);
    LLVMTypeRef t = x.tile.unit_bits == 64 ? cg->v32i64 : cg->v32i32;
    LLVMValueRef slot[MAX_MMA_REGS];
    unsigned regs = tile_count(&x) * x.tile.regs;
    for (unsigned n = 0; n < regs; n++)
        slot[n] = mma_target(cg, mma_item(x.regs, n), n, &x.tile);
    call_move(cg, i, &x, slot, regs);
    for (unsigned n = 0; n < regs; n++)
        mma_written(cg, mma_item(x.regs, n), slot[n], &x.tile);
    for (unsigned n = regs; n < regs * x.repeat; n++) {
        LLVMValueRef v = LLVMBuildLoad2(cg->alu.b, t, slot[n % regs], "");
        LLVMSetAlignment(v, 64);
        mma_write(cg, mma_item(x.regs, n), v, &x.tile);
    }
    return true;
}

bool emit_wmma_store(struct codegen *cg, const struct ptx_instr *i)
{
    struct matrix x;
    describe_matrix(i, &x);
    LLVMValueRef slot[MAX_MMA_REGS];
    unsigned regs = tile_count(&x) * x.tile.regs;
    for (unsigned n = 0; n < regs; n++)
        slot[n] = mma_source(cg, mma_item(x.regs, n), n, &x.tile);
    call_move(cg, i, &x, slot, regs);
    return true;
}

/* ---- eight by eight halves ---- */

static const struct tile halves_tile = {16, 1, 2, 1, PTX_B32};

LLVMValueRef matrix_row_addresses(struct codegen *cg, const struct ptx_instr *i,
                                  const struct ptx_operand *at, unsigned rows, LLVMValueRef scratch)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef v = address_vector(cg, at, mem_space(i));
    uint32_t used = rows == JIT_WARP ? 0xffffffffu : (1u << rows) - 1;
    LLVMValueRef low = LLVMBuildAnd(b, v, splat(cg, c64(cg, 15), JIT_WARP), "");
    LLVMValueRef odd = bits_of(cg, LLVMBuildICmp(b, LLVMIntNE, low, LLVMConstNull(cg->v32i64), ""));
    odd = LLVMBuildAnd(b, LLVMBuildAnd(b, odd, mask_bits(cg), ""), c32(cg, used), "");
    fault_misaligned_lanes(cg, odd, v);
    if (cg->mask != NULL) {
        LLVMValueRef rest = splat(cg, LLVMBuildPtrToInt(b, scratch, cg->i64, ""), JIT_WARP);
        v = LLVMBuildSelect(b, mask_vector(cg), v, rest, "");
    }
    return v;
}

LLVMValueRef matrix_row_pointer(struct codegen *cg, LLVMValueRef rows, unsigned lane)
{
    LLVMValueRef p = LLVMBuildExtractElement(cg->alu.b, rows, c32(cg, lane), "");
    return LLVMBuildIntToPtr(cg->alu.b, p, cg->ptr, "");
}

static unsigned matrix_count(const struct ptx_instr *i)
{
    return ptx_has(i, PTX_M_x4) ? 4 : ptx_has(i, PTX_M_x2) ? 2 : 1;
}

bool emit_matrix_move(struct codegen *cg, const struct ptx_instr *i)
{
    if (is_matrix_of_bytes(i))
        return emit_matrix_of_bytes(cg, i);
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef row = LLVMVectorType(cg->i16, 8);
    bool trans = ptx_has(i, PTX_M_trans);
    LLVMValueRef line[8], reg;
    if (i->op == PTX_OP_movmatrix) {
        reg = mma_read(cg, &i->operands[1], &halves_tile);
        to_lines(cg, &halves_tile, false, &reg, line);
        from_lines(cg, &halves_tile, true, line, &reg);
        mma_write(cg, &i->operands[0], reg, &halves_tile);
        return true;
    }
    unsigned count = matrix_count(i);
    bool load = i->op == PTX_OP_ldmatrix;
    const struct ptx_operand *regs = &i->operands[load ? 0 : 1];
    LLVMValueRef scratch = cg->safe, out[4];
    if (!load && cg->mask != NULL)
        scratch = new_slot(cg, row, "row");
    LLVMSetAlignment(scratch, 16);
    LLVMValueRef rows = matrix_row_addresses(cg, i, &i->operands[load ? 1 : 0], 8 * count, scratch);
    for (unsigned n = 0; n < count; n++) {
        if (!load) {
            reg = mma_read(cg, mma_item(regs, n), &halves_tile);
            to_lines(cg, &halves_tile, trans, &reg, line);
        }
        for (unsigned g = 0; g < 8; g++) {
            LLVMValueRef p = matrix_row_pointer(cg, rows, 8 * n + g);
            LLVMValueRef x = load ? LLVMBuildLoad2(b, row, p, "") : LLVMBuildStore(b, line[g], p);
            LLVMSetAlignment(x, 16);
            if (cg->mask == NULL)
                tag_memory(cg, x, mem_space(i));
            if (load)
                line[g] = x;
        }
        if (load)
            from_lines(cg, &halves_tile, trans, line, &out[n]);
    }
    for (unsigned n = 0; load && n < count; n++)
        mma_write(cg, mma_item(regs, n), out[n], &halves_tile);
    return true;
}
