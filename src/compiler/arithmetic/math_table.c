/* math_table: names of CUDA's device math functions and what each becomes. The names and types are
 * those that clang's CUDA headers declare (__nv_*); families of names that differ in rounding or
 * types only are recognised by pattern. */
#include "compiler/arithmetic/math_table.h"

#include <stdio.h>
#include <string.h>

#define PTX(name, sig, how)   {name, sig, MATH_PTX, how, NULL, 0}
#define SLEEF(name, sig, how) {name, sig, MATH_SLEEF, how, NULL, 0}
#define LANES(name, sig)      {name, sig, MATH_LANES, name, NULL, 0}
#define SLEEF2(name, how)     SLEEF(name "f", "f:f", how), SLEEF(name, "d:d", how)
/* SLEEF's function overflows long before the result does. */
#define SLEEF_BELOW(name, how, f, d)                                                               \
    {name "f", "f:f", MATH_SLEEF, how, NULL, f}, { name, "d:d", MATH_SLEEF, how, NULL, d }
#define LANES2(name) LANES(name "f", "f:f"), LANES(name, "d:d")

static const struct math_fn table[] = {
    /* elementary functions */
    SLEEF2("acos", "acos u10"),
    SLEEF_BELOW("acosh", "acosh u10", 1e18, 1e153),
    SLEEF2("asin", "asin u10"),
    SLEEF_BELOW("asinh", "asinh u10", 1e18, 1e153),
    SLEEF2("atan", "atan u10"),
    SLEEF2("atanh", "atanh u10"),
    SLEEF2("cbrt", "cbrt u10"),
    SLEEF_BELOW("cosh", "cosh u10", 88.5, 709),
    SLEEF2("erf", "erf u10"),
    SLEEF2("erfc", "erfc u15"),
    SLEEF("exp10", "d:d", "exp10 u10"),
    SLEEF("exp2", "d:d", "exp2 u10"),
    SLEEF2("expm1", "expm1 u10"),
    SLEEF("log", "d:d", "log u10"),
    SLEEF("log10", "d:d", "log10 u10"),
    SLEEF_BELOW("log1p", "log1p u10", 1e37, 1e306),
    SLEEF("log2", "d:d", "log2 u10"),
    SLEEF_BELOW("sinh", "sinh u10", 88.5, 709),
    SLEEF2("tanh", "tanh u10"),
    SLEEF("exp", "d:d", "exp u10"),
    SLEEF("atan2f", "f:ff", "atan2 u10"),
    SLEEF("atan2", "d:dd", "atan2 u10"),
    SLEEF("powf", "f:ff", "pow u10"),
    SLEEF("pow", "d:dd", "pow u10"),
    SLEEF("cos", "d:d", "cos u10"),
    SLEEF("sin", "d:d", "sin u10"),
    SLEEF("tan", "d:d", "tan u10"),

    /* rare ones, by the C library or by C of our own */
    LANES2("tgamma"),
    LANES2("lgamma"),
    LANES2("j0"),
    LANES2("j1"),
    LANES2("y0"),
    LANES2("y1"),
    LANES2("erfinv"),
    LANES2("erfcinv"),
    LANES2("erfcx"),
    LANES2("normcdf"),
    LANES2("normcdfinv"),
    LANES2("cyl_bessel_i0"),
    LANES2("cyl_bessel_i1"),
    LANES2("rcbrt"),
    LANES2("logb"),
    LANES("jnf", "f:sf"),
    LANES("jn", "d:sd"),
    LANES("ynf", "f:sf"),
    LANES("yn", "d:sd"),
    LANES("fmodf", "f:ff"),
    LANES("fmod", "d:dd"),
    LANES("remainderf", "f:ff"),
    LANES("remainder", "d:dd"),
    LANES("nextafterf", "f:ff"),
    LANES("nextafter", "d:dd"),
    LANES("rhypotf", "f:ff"),
    LANES("rhypot", "d:dd"),
    LANES("norm3df", "f:fff"),
    LANES("norm3d", "d:ddd"),
    LANES("rnorm3df", "f:fff"),
    LANES("rnorm3d", "d:ddd"),
    LANES("ilogbf", "s:f"),
    LANES("ilogb", "s:d"),
    LANES("frexpf", "f|s:f"),
    LANES("frexp", "d|s:d"),
    LANES("remquof", "f|s:ff"),
    LANES("remquo", "d|s:dd"),
    LANES("ldexpf", "f:fs"),
    LANES("ldexp", "d:ds"),
    {"scalbnf", "f:fs", MATH_LANES, "ldexpf", NULL, 0},
    {"scalbn", "d:ds", MATH_LANES, "ldexp", NULL, 0},

    /* single instructions */
    PTX("abs", "s:s", "abs.s32"),
    PTX("llabs", "l:l", "abs.s64"),
    PTX("brev", "s:s", "brev.b32"),
    PTX("brevll", "l:l", "brev.b64"),
    PTX("byte_perm", "s:sss", "prmt.b32"),
    PTX("clz", "s:s", "clz.b32"),
    PTX("clzll", "s:l", "clz.b64"),
    PTX("popc", "s:s", "popc.b32"),
    PTX("popcll", "s:l", "popc.b64"),
    PTX("max", "s:ss", "max.s32"),
    PTX("min", "s:ss", "min.s32"),
    PTX("umax", "u:uu", "max.u32"),
    PTX("umin", "u:uu", "min.u32"),
    PTX("llmax", "l:ll", "max.s64"),
    PTX("llmin", "l:ll", "min.s64"),
    PTX("ullmax", "m:mm", "max.u64"),
    PTX("ullmin", "m:mm", "min.u64"),
    PTX("mul24", "s:ss", "mul24.lo.s32"),
    PTX("umul24", "u:uu", "mul24.lo.u32"),
    PTX("mulhi", "s:ss", "mul.hi.s32"),
    PTX("umulhi", "u:uu", "mul.hi.u32"),
    PTX("mul64hi", "l:ll", "mul.hi.s64"),
    PTX("umul64hi", "m:mm", "mul.hi.u64"),
    PTX("sad", "s:sss", "sad.s32"),
    PTX("usad", "u:uuu", "sad.u32"),
    PTX("fabsf", "f:f", "abs.f32"),
    PTX("fabs", "d:d", "abs.f64"),
    PTX("fmaxf", "f:ff", "max.f32"),
    PTX("fmax", "d:dd", "max.f64"),
    PTX("fminf", "f:ff", "min.f32"),
    PTX("fmin", "d:dd", "min.f64"),
    PTX("fmaf", "f:fff", "fma.rn.f32"),
    PTX("fma", "d:ddd", "fma.rn.f64"),
    PTX("sqrtf", "f:f", "sqrt.rn.f32"),
    PTX("sqrt", "d:d", "sqrt.rn.f64"),
    PTX("rsqrtf", "f:f", "rsqrt.approx.f32"),
    PTX("rsqrt", "d:d", "rsqrt.approx.f64"),
    PTX("frsqrt_rn", "f:f", "rsqrt.approx.f32"),
    PTX("ceilf", "f:f", "cvt.rpi.f32.f32"),
    PTX("ceil", "d:d", "cvt.rpi.f64.f64"),
    PTX("floorf", "f:f", "cvt.rmi.f32.f32"),
    PTX("floor", "d:d", "cvt.rmi.f64.f64"),
    PTX("truncf", "f:f", "cvt.rzi.f32.f32"),
    PTX("trunc", "d:d", "cvt.rzi.f64.f64"),
    PTX("rintf", "f:f", "cvt.rni.f32.f32"),
    PTX("rint", "d:d", "cvt.rni.f64.f64"),
    PTX("nearbyintf", "f:f", "cvt.rni.f32.f32"),
    PTX("nearbyint", "d:d", "cvt.rni.f64.f64"),
    PTX("llrintf", "l:f", "cvt.rni.s64.f32"),
    PTX("llrint", "l:d", "cvt.rni.s64.f64"),
    PTX("saturatef", "f:f", "cvt.sat.f32.f32"),
    PTX("rcp64h", "d:d", "rcp.approx.ftz.f64"),
    PTX("fast_sinf", "f:f", "sin.approx.f32"),
    PTX("fast_cosf", "f:f", "cos.approx.f32"),
    PTX("fast_log2f", "f:f", "lg2.approx.f32"),
    PTX("fast_fdividef", "f:ff", "div.approx.f32"),
};

/* ---- families ---- */

/* CUDA's rounding letters and PTX's: nearest, zero, down, up. */
static bool rounding_letters(const char *s, char *out)
{
    static const char *const pairs[] = {"rnn", "rzz", "rdm", "rup"};
    for (size_t k = 0; k < WEIR_COUNT(pairs); k++)
        if (s[0] == 'r' && s[1] == pairs[k][1] && !s[2]) {
            *out = pairs[k][2];
            return true;
        }
    return false;
}

static const struct {
    const char *name, *ptx;
    char letter;
} types[] = {{"double", "f64", 'd'}, {"float", "f32", 'f'}, {"uint", "u32", 'u'},
             {"int", "s32", 's'},    {"ull", "u64", 'm'},   {"ll", "s64", 'l'}};

static int type_named(const char **p)
{
    for (size_t k = 0; k < WEIR_COUNT(types); k++) {
        size_t n = strlen(types[k].name);
        if (!strncmp(*p, types[k].name, n)) {
            *p += n;
            return (int)k;
        }
    }
    return -1;
}

/* float2int_rd, ull2double_rn ... */
static bool conversion(const char *name, char how[48], char sig[8])
{
    char round;
    int from = type_named(&name);
    if (from < 0 || *name != '2')
        return false;
    name++;
    int to = type_named(&name);
    if (to < 0 || *name != '_' || !rounding_letters(name + 1, &round))
        return false;
    bool to_int = types[to].ptx[0] != 'f', exact = to == 0 && from > 1 && from < 4;
    snprintf(how, 48, "cvt.r%c%s.%s.%s", exact ? 'n' : round, to_int ? "i" : "", types[to].ptx,
             types[from].ptx);
    snprintf(sig, 8, "%c:%c", types[to].letter, types[from].letter);
    return true;
}

/* fadd_rz, dsqrt_ru, fma_rd, fmaf_ieee_rn ... */
static bool rounded(const char *name, char how[48], char sig[8])
{
    static const struct {
        const char *name, *op, *type, *sig;
    } ops[] = {
        {"fadd", "add", "f32", "f:ff"},       {"fsub", "sub", "f32", "f:ff"},
        {"fmul", "mul", "f32", "f:ff"},       {"fdiv", "div", "f32", "f:ff"},
        {"frcp", "rcp", "f32", "f:f"},        {"fsqrt", "sqrt", "f32", "f:f"},
        {"dadd", "add", "f64", "d:dd"},       {"dsub", "sub", "f64", "d:dd"},
        {"dmul", "mul", "f64", "d:dd"},       {"ddiv", "div", "f64", "d:dd"},
        {"drcp", "rcp", "f64", "d:d"},        {"dsqrt", "sqrt", "f64", "d:d"},
        {"fmaf_ieee", "fma", "f32", "f:fff"}, {"fmaf", "fma", "f32", "f:fff"},
        {"fma", "fma", "f64", "d:ddd"},
    };
    char round;
    for (size_t k = 0; k < WEIR_COUNT(ops); k++) {
        size_t n = strlen(ops[k].name);
        if (strncmp(name, ops[k].name, n) != 0 || name[n] != '_' ||
            !rounding_letters(name + n + 1, &round))
            continue;
        snprintf(how, 48, "%s.r%c.%s", ops[k].op, round, ops[k].type);
        snprintf(sig, 8, "%s", ops[k].sig);
        return true;
    }
    return false;
}

static const struct math_fn *in_table(const struct math_fn *t, size_t n, const char *name)
{
    for (size_t k = 0; k < n; k++)
        if (!strcmp(t[k].name, name))
            return &t[k];
    return NULL;
}

const struct math_fn *math_find(const char *name, struct math_name *made)
{
    if (strncmp(name, "__nv_", 5) != 0)
        return NULL;
    name += 5;
    const struct math_fn *f = in_table(table, WEIR_COUNT(table), name);
    if (f == NULL)
        f = in_table(math_inline_table, math_inline_count, name);
    if (f == NULL)
        f = in_table(math_fast_table, math_fast_count, name);
    if (f == NULL)
        f = in_table(math_explog_table, math_explog_count, name);
    if (f != NULL)
        return f;
    if (conversion(name, made->how, made->sig) || rounded(name, made->how, made->sig)) {
        made->fn =
            (struct math_fn){.name = name, .sig = made->sig, .kind = MATH_PTX, .how = made->how};
        return &made->fn;
    }
    return NULL;
}

/* ---- signatures ---- */

static enum ptx_type letter_type(char c)
{
    switch (c) {
    case 'f': return PTX_F32;
    case 'd': return PTX_F64;
    case 's': return PTX_S32;
    case 'u': return PTX_U32;
    case 'l': return PTX_S64;
    case 'm': return PTX_U64;
    default: return PTX_U16;
    }
}

static void read_sig(const char *text, struct alu_sig *sig)
{
    memset(sig, 0, sizeof *sig);
    bool pointers = false, sources = false;
    for (const char *p = text; *p; p++) {
        if (*p == '|') {
            pointers = true;
            sig->pointer_first = sig->ndst;
        } else if (*p == ':') {
            sources = true;
        } else if (sources) {
            sig->src[sig->nsrc++] = letter_type(*p);
        } else {
            sig->dst[sig->ndst++] = letter_type(*p);
        }
    }
    if (!pointers)
        sig->pointer_first = sig->ndst;
}

bool alu_math_known(const char *name, struct alu_sig *sig)
{
    struct math_name made;
    struct alu_sig ignored;
    const struct math_fn *f = math_find(name, &made);
    const char *text = f != NULL                   ? f->sig
                       : strncmp(name, "__nv_", 5) ? NULL
                                                   : math_simd_sig(name + 5);
    if (text == NULL)
        return false;
    read_sig(text, sig != NULL ? sig : &ignored);
    return true;
}
