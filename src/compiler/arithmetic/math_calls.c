/* math_calls: makes calls of device math functions: as a PTX instruction, as calls of SLEEF's
 * vector functions, as a C function over the lanes, or inline.
 *
 * SLEEF's deterministic functions are used (Sleef_finz_, with fused multiply-add, and Sleef_cinz_
 * without): a lane's result depends on that lane alone and is the same at every vector width, so a
 * scalar call gives what the warp's would. */
#include "compiler/arithmetic/math_table.h"
#include "compiler/arithmetic/table.h"

#include <stdio.h>
#include <string.h>

/* ---- instructions given as text ---- */

static bool same(const char *name, const char *s, size_t n)
{
    return name != NULL && strlen(name) == n && !memcmp(name, s, n);
}

static bool find_op(const char *s, size_t n, uint16_t *op)
{
    for (unsigned k = 0; k < PTX_OP_COUNT; k++)
        if (same(ptx_op_name(k), s, n)) {
            *op = (uint16_t)k;
            return true;
        }
    return false;
}

static bool add_suffix(struct ptx_instr *i, const char *s, size_t n)
{
    for (unsigned k = 1; k < PTX_TYPE_COUNT; k++)
        if (same(ptx_type_name(k), s, n)) {
            i->types[i->ntypes++] = (uint8_t)k;
            return true;
        }
    for (unsigned k = 1; k < PTX_M_COUNT; k++)
        if (same(ptx_mod_name(k), s, n)) {
            i->mods[i->nmods++] = (uint16_t)k;
            return true;
        }
    return false;
}

/* The text as an instruction of nsrc sources and one result, with operands that select nothing. */
static bool read_instr(const char *text, unsigned nsrc, struct ptx_operand operands[4],
                       struct ptx_instr *i)
{
    memset(i, 0, sizeof *i);
    memset(operands, 0, 4 * sizeof operands[0]);
    i->guard = -1;
    i->vec = 1;
    i->operands = operands;
    i->noperands = (uint16_t)(1 + nsrc);
    size_t n = strcspn(text, ".");
    if (!find_op(text, n, &i->op))
        return false;
    for (text += n; *text; text += n) {
        n = strcspn(++text, ".");
        if (!add_suffix(i, text, n))
            return false;
    }
    return true;
}

static bool emit_text(struct alu *a, const char *text, const val *s, unsigned nsrc, val *d)
{
    struct ptx_instr i;
    struct ptx_operand operands[4];
    return read_instr(text, nsrc, operands, &i) && alu_emit(a, &i, s, d);
}

bool alu_math_instruction(const char *name, struct ptx_operand operands[4], struct ptx_instr *i)
{
    struct math_name made;
    struct alu_sig sig;
    const struct math_fn *f = math_find(name, &made);
    return f != NULL && f->kind == MATH_PTX && alu_math_known(name, &sig) && sig.nsrc < 4 &&
           read_instr(f->how, sig.nsrc, operands, i);
}

/* ---- SLEEF ---- */

struct sleef_call {
    char symbol[64];
    unsigned nargs;
};

static val sleef_piece(struct alu *a, const val *args, void *arg)
{
    const struct sleef_call *c = arg;
    return ir_call_pure(a, c->symbol, LLVMTypeOf(args[0]), args, c->nargs);
}

val math_sleef(struct alu *a, const char *how, const val *s, unsigned nargs)
{
    unsigned bits = ir_bits(s[0]), lanes = a->simd_bits / bits;
    bool scalar = ir_lanes(s[0]) == 1;
    size_t n = strcspn(how, " ");
    const char *isa = scalar                      ? (a->has_fma ? "purecfma" : "purec")
                      : a->simd_bits == 512       ? "avx512f"
                      : a->simd_bits == 256       ? "avx2"
                      : a->has_fma && a->has_avx2 ? "avx2128"
                                                  : "sse2";
    struct sleef_call c = {.nargs = nargs};
    if (scalar)
        lanes = 1;
    snprintf(c.symbol, sizeof c.symbol, "Sleef_%s_%.*s%c%u_%s%s", a->has_fma ? "finz" : "cinz",
             (int)n, how, bits == 32 ? 'f' : 'd', lanes, how + n + 1, isa);
    return ir_pieces(a, lanes, s, nargs, sleef_piece, &c);
}

/* ---- calls ---- */

static void emit_lanes(struct alu *a, const char *how, const struct alu_sig *sig, const val *s,
                       val *d)
{
    char symbol[48];
    snprintf(symbol, sizeof symbol, "weir_alu_%s", how);
    for (unsigned k = 0; k < sig->ndst; k++)
        d[k] = LLVMConstNull(alu_type(a, sig->dst[k]));
    ir_call_lanes(a, symbol, NULL, s, sig->nsrc, d, sig->ndst);
}

static void emit_sleef(struct alu *a, const struct math_fn *f, const val *s, unsigned nargs, val *d)
{
    d[0] = math_sleef(a, f->how, s, nargs);
    if (f->limit == 0)
        return;
    char symbol[48];
    snprintf(symbol, sizeof symbol, "weir_alu_%s", f->name);
    val rare = ir_fcmp(a, LLVMRealOGE, ir_fabs(a, s[0]), ir_kf(s[0], f->limit));
    ir_patch(a, symbol, rare, s, nargs, d, 1);
}

bool alu_math_emit(struct alu *a, const char *name, const LLVMValueRef *src, LLVMValueRef *dst)
{
    struct math_name made;
    struct alu_sig sig;
    if (!alu_math_known(name, &sig))
        return false;
    const struct math_fn *f = math_find(name, &made);
    if (f == NULL)
        return math_simd_emit(a, name + 5, src, dst);
    switch (f->kind) {
    case MATH_PTX: return emit_text(a, f->how, src, sig.nsrc, dst);
    case MATH_SLEEF: emit_sleef(a, f, src, sig.nsrc, dst); break;
    case MATH_LANES: emit_lanes(a, f->how, &sig, src, dst); break;
    default: f->emit(a, src, dst); break;
    }
    return true;
}
