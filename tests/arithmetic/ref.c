/* ref: integers, bits, comparisons and float arithmetic (see ref.h). */
#include "ref.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

typedef unsigned __int128 u128;
typedef __int128 s128;

uint64_t ones(unsigned bits) { return bits >= 64 ? ~0ull : (1ull << bits) - 1; }

static bool m(const struct ptx_instr *i, enum ptx_mod mod) { return ptx_has(i, mod); }

/* ---- float formats ---- */

const struct format F16 = {5, 10, false, false}, BF16 = {8, 7, false, false},
                    F32 = {8, 23, false, false}, F64 = {11, 52, false, false},
                    TF32 = {8, 10, false, false}, E4M3 = {4, 3, true, false},
                    E5M2 = {5, 2, false, false}, E2M3 = {2, 3, true, true},
                    E3M2 = {3, 2, true, true}, E2M1 = {2, 1, true, true};

const struct format *format_of(unsigned type)
{
    switch (type) {
    case PTX_F16:
    case PTX_F16X2: return &F16;
    case PTX_BF16:
    case PTX_BF16X2: return &BF16;
    case PTX_F32:
    case PTX_F32X2: return &F32;
    case PTX_F64: return &F64;
    default: return NULL;
    }
}

bool is_nan(quad v) { return v != v; }

/* v * 2^n; the power of two is made of its bits. */
static quad scaled(quad v, int n)
{
    u128 raw = (u128)(n + 16383) << 112;
    quad power;
    memcpy(&power, &raw, sizeof power);
    return v * power;
}

quad format_value(const struct format *f, uint64_t bits)
{
    int bias = (1 << (f->exponent - 1)) - 1, e = (int)(bits >> f->fraction & ones(f->exponent));
    uint64_t frac = bits & ones(f->fraction);
    bool neg = bits >> (f->exponent + f->fraction) & 1, top = e == (int)ones(f->exponent);
    quad v;
    if (!f->no_nan && (f->no_inf ? top && frac == ones(f->fraction) : top && frac))
        return __builtin_nan("");
    if (top && !f->no_inf)
        v = __builtin_inf();
    else if (e == 0)
        v = scaled((quad)frac, 1 - bias - f->fraction);
    else
        v = scaled((quad)(frac + (1ull << f->fraction)), e - bias - f->fraction);
    return neg ? -v : v;
}

uint64_t format_nan(const struct format *f) { return ones(f->exponent + f->fraction); }

double max_norm(const struct format *f)
{
    uint64_t inf = ones(f->exponent) << f->fraction;
    return (double)format_value(f, f->no_nan   ? inf + ones(f->fraction)
                                   : f->no_inf ? inf + ones(f->fraction) - 1
                                               : inf - 1);
}

uint64_t format_bits(const struct format *f, quad v, enum mode mode)
{
    uint64_t sign = 1ull << (f->exponent + f->fraction), inf = ones(f->exponent) << f->fraction;
    if (is_nan(v))
        return format_nan(f);
    u128 raw;
    memcpy(&raw, &v, sizeof raw);
    bool neg = raw >> 127;
    uint64_t s = neg ? sign : 0;
    if (neg)
        v = -v;
    if (v == (quad)__builtin_inf())
        return s | inf;
    if (v == 0)
        return s;
    int bias = (1 << (f->exponent - 1)) - 1, e = (int)(raw >> 112 & 0x7fff) - 16383;
    if (e < 1 - bias)
        e = 1 - bias;
    if (e > bias + 1) /* beyond the largest */
        v = scaled(1, e = bias + 1);
    quad units = scaled(v, f->fraction - e); /* in units of the last place */
    uint64_t n = (uint64_t)units;
    quad rest = units - (quad)n;
    bool up = mode == RN    ? rest > 0.5Q || (rest == 0.5Q && n & 1)
              : mode == RNA ? rest >= 0.5Q
              : mode == RP  ? rest > 0 && !neg
              : mode == RM  ? rest > 0 && neg
                            : false;
    n += up;
    uint64_t bits = n; /* a carry moves into the exponent by itself */
    if (n >= 1ull << f->fraction)
        bits = n + ((uint64_t)(e + bias - 1) << f->fraction);
    if (bits >= inf && !f->no_inf)
        bits = mode == RZ || (mode == RM && !neg) || (mode == RP && neg) ? inf - 1 : inf;
    return s | bits;
}

uint64_t flush(const struct format *f, uint64_t bits)
{
    return bits >> f->fraction & ones(f->exponent) ? bits
                                                   : bits & 1ull << (f->exponent + f->fraction);
}

enum mode mode_of(const struct ptx_instr *i)
{
    return m(i, PTX_M_rz)    ? RZ
           : m(i, PTX_M_rm)  ? RM
           : m(i, PTX_M_rp)  ? RP
           : m(i, PTX_M_rna) ? RNA
                             : RN;
}

/* ---- f32 and f64 by the CPU ---- */

static const int hardware_mode[] = {
    [RN] = FE_TONEAREST, [RZ] = FE_TOWARDZERO, [RM] = FE_DOWNWARD, [RP] = FE_UPWARD};

static uint64_t hardware(unsigned op, bool is_double, const uint64_t *s, enum mode mode)
{
    volatile float a, b, c, r = 0;
    volatile double x, y, z, q = 0;
    uint32_t w[3];
    uint64_t out = 0;
    for (int k = 0; k < 3; k++)
        w[k] = (uint32_t)s[k];
    memcpy((void *)&a, &w[0], 4), memcpy((void *)&b, &w[1], 4), memcpy((void *)&c, &w[2], 4);
    memcpy((void *)&x, &s[0], 8), memcpy((void *)&y, &s[1], 8), memcpy((void *)&z, &s[2], 8);
    fesetround(hardware_mode[mode]);
    switch (op) {
    case PTX_OP_add: r = a + b, q = x + y; break;
    case PTX_OP_sub: r = a - b, q = x - y; break;
    case PTX_OP_mul: r = a * b, q = x * y; break;
    case PTX_OP_div: r = a / b, q = x / y; break;
    case PTX_OP_rcp: r = 1 / a, q = 1 / x; break;
    case PTX_OP_sqrt: r = sqrtf(a), q = sqrt(x); break;
    default: r = fmaf(a, b, c), q = fma(x, y, z); break;
    }
    fesetround(FE_TONEAREST);
    if (is_double)
        memcpy(&out, (void *)&q, 8);
    else
        memcpy(&out, (void *)&r, 4);
    return out;
}

/* Is v, which is finite, a value of the format or half-way between two? There bits beyond v decide
 * how it is rounded. */
static bool on_edge(const struct format *f, quad v)
{
    uint64_t bits = format_bits(f, v, RZ);
    quad below = format_value(f, bits), beyond = format_value(f, bits + 1) - below;
    if (beyond - beyond !=
        0) /* the greatest value: what follows it is as far as what precedes it */
        beyond = below - format_value(f, bits - 1);
    return v == below || (v - below) * 2 == beyond;
}

/* x + y in quad precision; where bits are lost on an edge, a bit beside it, so that rounding sees
 * on which side the sum lies. */
static quad sum_beside(const struct format *f, quad x, quad y)
{
    quad s = x + y, z = s - x, lost = (x - (s - z)) + (y - z);
    if (!(lost != 0) || is_nan(lost) || !on_edge(f, s))
        return s;
    quad bit = (s < 0 ? -s : s) * (quad)0x1p-100;
    return lost > 0 ? s + bit : s - bit;
}

/* One float result from (unpacked) sources of one type. */
static uint64_t float_arith(const struct ptx_instr *i, unsigned type, const uint64_t *in)
{
    const struct format *f = format_of(type);
    uint64_t s[3] = {0}, r;
    unsigned n = i->noperands - 1u;
    bool ftz = m(i, PTX_M_ftz) && f != &F64; /* rcp.rn.ftz.f64 flushes nothing on a GPU */
    for (unsigned k = 0; k < n; k++)
        s[k] = ftz ? flush(f, in[k]) : in[k];
    for (unsigned k = 0; i->ntypes > 1 && k + 1 < n; k++) /* .f32.f16: all but the last */
        s[k] = format_bits(f, format_value(format_of(i->types[1]), in[k]), RN);
    if (f == &F32 || f == &F64) {
        r = hardware(i->op, f == &F64, s, mode_of(i));
    } else {
        quad a = format_value(f, s[0]), b = format_value(f, s[1]), c = format_value(f, s[2]);
        quad v = i->op == PTX_OP_add   ? a + b
                 : i->op == PTX_OP_sub ? a - b
                 : i->op == PTX_OP_mul ? a * b
                                       : sum_beside(f, a * b, c);
        r = format_bits(f, v, mode_of(i));
    }
    /* the NaN that stands for elements outside of a tensor: what a GPU takes for it */
    if (m(i, PTX_M_oob) && ((in[0] & 0x7fff) == 0x7ff7 || (in[1] & 0x7fff) == 0x7ff7))
        return 0;
    quad v = format_value(f, r);
    if (m(i, PTX_M_sat))
        return !(v > 0) ? 0 : v > 1 ? format_bits(f, 1, RN) : ftz ? flush(f, r) : r;
    if (m(i, PTX_M_relu))
        return is_nan(v) ? format_nan(f) : !(v > 0) ? 0 : ftz ? flush(f, r) : r;
    return ftz ? flush(f, r) : r;
}

static uint64_t float_min_max(const struct ptx_instr *i, unsigned type, const uint64_t *in)
{
    const struct format *f = format_of(type);
    unsigned n = i->noperands - 1u;
    uint64_t sign = 1ull << (f->exponent + f->fraction), s[3], d;
    for (unsigned k = 0; k < n; k++)
        s[k] = m(i, PTX_M_ftz) ? flush(f, in[k]) : in[k];
    uint64_t xorsign = (s[0] ^ s[1]) & sign;
    if (m(i, PTX_M_abs))
        for (unsigned k = 0; k < n; k++)
            s[k] &= ~sign;
    d = s[0];
    for (unsigned k = 1; k < n; k++) {
        quad x = format_value(f, d), y = format_value(f, s[k]);
        if (m(i, PTX_M_NaN) ? is_nan(x) || is_nan(y) : is_nan(x) && is_nan(y))
            d = format_nan(f);
        else if (is_nan(x))
            d = s[k];
        else if (!is_nan(y)) {
            bool less = x < y || (x == y && (d & sign) && !(s[k] & sign));
            d = (i->op == PTX_OP_min) == less ? d : s[k];
        }
    }
    if (m(i, PTX_M_xorsign) && !is_nan(format_value(f, d)))
        d = (d & ~sign) | xorsign;
    return d;
}

/* Applies to both halves of packed types. */
static uint64_t by_halves(const struct ptx_instr *i, const uint64_t *s,
                          uint64_t (*fn)(const struct ptx_instr *, unsigned, const uint64_t *))
{
    unsigned type = i->types[0], n = i->noperands - 1u, bits = ptx_type_bits(type) / 2;
    if (type != PTX_F16X2 && type != PTX_BF16X2 && type != PTX_F32X2)
        return fn(i, type, s);
    uint64_t r = 0;
    for (unsigned h = 0; h < 2; h++) {
        uint64_t part[3] = {0};
        for (unsigned k = 0; k < n; k++)
            part[k] = s[k] >> bits * h & ones(bits);
        r |= fn(i, type, part) << bits * h;
    }
    return r;
}

static uint64_t float_sign(const struct ptx_instr *i, unsigned type, const uint64_t *s)
{
    const struct format *f = format_of(type);
    uint64_t sign = 1ull << (f->exponent + f->fraction),
             v = m(i, PTX_M_ftz) ? flush(f, s[0]) : s[0];
    return i->op == PTX_OP_neg ? v ^ sign : v & ~sign;
}

/* ---- comparisons ---- */

static bool compare(const struct ptx_instr *i, unsigned type, uint64_t a, uint64_t b)
{
    const struct format *f = format_of(type);
    bool lt, eq, nan = false;
    if (f != NULL) {
        if (m(i, PTX_M_ftz))
            a = flush(f, a), b = flush(f, b);
        quad x = format_value(f, a), y = format_value(f, b);
        nan = is_nan(x) || is_nan(y);
        lt = x < y, eq = x == y;
    } else if (ptx_type_is_signed(type)) {
        unsigned bits = ptx_type_bits(type);
        lt = sign_extend(a, bits) < sign_extend(b, bits), eq = a == b;
    } else {
        lt = a < b, eq = a == b;
    }
    bool gt = !lt && !eq && !nan;
    for (int k = 0; k < i->nmods; k++) {
        switch (i->mods[k]) {
        case PTX_M_eq: return eq;
        case PTX_M_ne: return !eq && !nan;
        case PTX_M_lt:
        case PTX_M_lo: return lt;
        case PTX_M_le:
        case PTX_M_ls: return lt || eq;
        case PTX_M_gt:
        case PTX_M_hi: return gt;
        case PTX_M_ge:
        case PTX_M_hs: return gt || eq;
        case PTX_M_equ: return eq || nan;
        case PTX_M_neu: return !eq || nan;
        case PTX_M_ltu: return lt || nan;
        case PTX_M_leu: return lt || eq || nan;
        case PTX_M_gtu: return gt || nan;
        case PTX_M_geu: return gt || eq || nan;
        case PTX_M_num: return !nan;
        case PTX_M_nan: return nan;
        default: break;
        }
    }
    return false;
}

static bool boolean(const struct ptx_instr *i, bool t, uint64_t c)
{
    return m(i, PTX_M_and) ? t && c : m(i, PTX_M_or) ? t || c : m(i, PTX_M_xor) ? t != (c != 0) : t;
}

static void ref_setp(const struct ptx_instr *i, const uint64_t *s, uint64_t *d)
{
    unsigned t = i->types[0];
    if (t == PTX_F16X2 || t == PTX_BF16X2) {
        for (unsigned h = 0; h < 2; h++)
            d[h] =
                boolean(i, compare(i, t, s[0] >> 16 * h & 0xffff, s[1] >> 16 * h & 0xffff), s[2]);
        return;
    }
    bool r = compare(i, t, s[0], s[1]);
    d[0] = boolean(i, r, s[2]);
    d[1] = boolean(i, !r, s[2]);
}

static void ref_set(const struct ptx_instr *i, const uint64_t *s, uint64_t *d)
{
    unsigned t = i->types[0], u = i->types[1];
    const struct format *f = format_of(t);
    bool pair = u == PTX_F16X2 || u == PTX_BF16X2;
    uint64_t yes = f != NULL ? format_bits(f, 1, RN) : pair ? 0xffff : ones(ptx_type_bits(t));
    d[0] = 0;
    for (unsigned h = 0; h < (pair ? 2u : 1u); h++) {
        uint64_t a = pair ? s[0] >> 16 * h & 0xffff : s[0],
                 b = pair ? s[1] >> 16 * h & 0xffff : s[1];
        d[0] |= (boolean(i, compare(i, u, a, b), s[2]) ? yes : 0) << 16 * h;
    }
}

static uint64_t ref_testp(const struct ptx_instr *i, uint64_t v)
{
    const struct format *f = format_of(i->types[0]);
    uint64_t e = v >> f->fraction & ones(f->exponent), frac = v & ones(f->fraction);
    bool top = e == ones(f->exponent), nan = top && frac, inf = top && !frac, sub = e == 0 && frac;
    return m(i, PTX_M_finite)       ? !top
           : m(i, PTX_M_infinite)   ? inf
           : m(i, PTX_M_number)     ? !nan
           : m(i, PTX_M_notanumber) ? nan
           : m(i, PTX_M_subnormal)  ? sub
                                    : !top && !sub;
}

/* ---- integers ---- */

static s128 wide_value(uint64_t v, unsigned type)
{
    return ptx_type_is_signed(type) ? (s128)sign_extend(v, ptx_type_bits(type)) : (s128)v;
}

static uint64_t clamp32(s128 v)
{
    return (uint32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v);
}

static bool ref_int(const struct ptx_instr *i, const uint64_t *s, uint64_t *d)
{
    unsigned t = i->types[0], n = ptx_type_bits(t);
    bool sg = ptx_type_is_signed(t);
    s128 a = wide_value(s[0], t), b = wide_value(s[1], t), c = wide_value(s[2], t), r;
    u128 limit = (u128)1 << n;
    switch (i->op) {
    case PTX_OP_add:
    case PTX_OP_addc: {
        u128 sum = (u128)s[0] + s[1] + (i->op == PTX_OP_addc ? s[2] : 0);
        d[0] = m(i, PTX_M_sat) ? clamp32(a + b) : (uint64_t)sum & ones(n);
        d[1] = sum >= limit;
        return true;
    }
    case PTX_OP_sub:
    case PTX_OP_subc: {
        s128 diff = (s128)s[0] - s[1] - (i->op == PTX_OP_subc ? (s128)s[2] : 0);
        d[0] = m(i, PTX_M_sat) ? clamp32(a - b) : (uint64_t)diff & ones(n);
        d[1] = diff < 0;
        return true;
    }
    case PTX_OP_mul:
    case PTX_OP_mad:
    case PTX_OP_madc: {
        u128 p = sg ? (u128)(a * b) : (u128)a * (u128)b;
        if (m(i, PTX_M_wide)) {
            d[0] = (uint64_t)(p + (i->op == PTX_OP_mul ? 0 : s[2])) & ones(2 * n);
            return true;
        }
        uint64_t half = (uint64_t)(m(i, PTX_M_hi) ? p >> n : p) & ones(n);
        if (i->op == PTX_OP_mul) {
            d[0] = half;
            return true;
        }
        u128 sum = (u128)half + s[2] + (i->op == PTX_OP_madc ? s[3] : 0);
        d[0] = m(i, PTX_M_sat) ? clamp32(wide_value(half, t) + c) : (uint64_t)sum & ones(n);
        d[1] = sum >= limit;
        return true;
    }
    case PTX_OP_mul24:
    case PTX_OP_mad24: {
        int64_t x = sg ? sign_extend(s[0] & 0xffffff, 24) : (int64_t)(s[0] & 0xffffff);
        int64_t y = sg ? sign_extend(s[1] & 0xffffff, 24) : (int64_t)(s[1] & 0xffffff);
        uint32_t p = (uint32_t)(m(i, PTX_M_hi) ? x * y >> 16 : x * y);
        d[0] = i->op == PTX_OP_mul24 ? p
               : m(i, PTX_M_sat)     ? clamp32((s128)(int32_t)p + c)
                                     : (uint32_t)(p + s[2]);
        return true;
    }
    case PTX_OP_sad: r = (a < b ? b - a : a - b) + c; break;
    case PTX_OP_div: r = s[1] == 0 ? -1 : a / b; break;
    case PTX_OP_rem: r = s[1] == 0 ? -1 : a % b; break; /* as GPUs do */
    case PTX_OP_abs: r = a < 0 ? -a : a; break;
    case PTX_OP_neg: r = -a; break;
    case PTX_OP_min: r = a < b ? a : b; break;
    case PTX_OP_max: r = a > b ? a : b; break;
    default: return false;
    }
    if (m(i, PTX_M_relu) && r < 0)
        r = 0;
    d[0] = (uint64_t)r & ones(n);
    return true;
}

static uint64_t packed_int(const struct ptx_instr *i, const uint64_t *s)
{
    bool sg = i->types[0] == PTX_S16X2;
    uint64_t r = 0;
    for (unsigned h = 0; h < 2; h++) {
        int64_t a = (int64_t)(s[0] >> 16 * h & 0xffff), b = (int64_t)(s[1] >> 16 * h & 0xffff), v;
        if (sg)
            a = sign_extend((uint64_t)a, 16), b = sign_extend((uint64_t)b, 16);
        v = i->op == PTX_OP_add ? a + b : (i->op == PTX_OP_min) == (a < b) ? a : b;
        if (m(i, PTX_M_relu) && v < 0)
            v = 0;
        r |= ((uint64_t)v & 0xffff) << 16 * h;
    }
    return r;
}

static uint64_t dot(const struct ptx_instr *i, const uint64_t *s)
{
    unsigned n = i->op == PTX_OP_dp4a ? 4 : 2, abits = 32 / n,
             first = n == 2 && m(i, PTX_M_hi) ? 2 : 0;
    uint64_t sum = s[2];
    for (unsigned k = 0; k < n; k++) {
        uint64_t a = s[0] >> abits * k & ones(abits), b = s[1] >> 8 * (first + k) & 0xff;
        int64_t x = i->types[0] == PTX_S32 ? sign_extend(a, abits) : (int64_t)a;
        sum += (uint64_t)(x * (i->types[1] == PTX_S32 ? sign_extend(b, 8) : (int64_t)b));
    }
    return sum & 0xffffffff;
}

/* ---- bits ---- */

static uint64_t bit(uint64_t v, uint64_t k) { return v >> k & 1; }

/* Positions and lengths: fields of 32 bits see their low byte, fields of 64 bits all of them. */
static uint64_t field_amount(unsigned t, uint64_t v)
{
    return ptx_type_bits(t) == 32 ? v & 0xff : (uint32_t)v;
}

static uint64_t ref_bfe(unsigned t, const uint64_t *s)
{
    unsigned msb = ptx_type_bits(t) - 1;
    uint64_t pos = field_amount(t, s[1]), len = field_amount(t, s[2]), d = 0, sbit = 0;
    if (ptx_type_is_signed(t) && len)
        sbit = bit(s[0], pos + len - 1 < msb ? pos + len - 1 : msb);
    for (unsigned k = 0; k <= msb; k++)
        d |= (k < len && pos + k <= msb ? bit(s[0], pos + k) : sbit) << k;
    return d;
}

static uint64_t ref_bfi(unsigned t, const uint64_t *s)
{
    unsigned msb = ptx_type_bits(t) - 1;
    uint64_t pos = field_amount(t, s[2]), len = field_amount(t, s[3]), f = s[1];
    for (unsigned k = 0; k < len && pos + k <= msb; k++)
        f = (f & ~(1ull << (pos + k))) | bit(s[0], k) << (pos + k);
    return f;
}

static uint64_t ref_bfind(const struct ptx_instr *i, uint64_t a)
{
    unsigned n = ptx_type_bits(i->types[0]), msb = n - 1;
    if (ptx_type_is_signed(i->types[0]) && bit(a, msb))
        a = ~a & ones(n);
    for (int k = (int)msb; k >= 0; k--)
        if (bit(a, (unsigned)k))
            return m(i, PTX_M_shiftamt) ? msb - (unsigned)k : (unsigned)k;
    return 0xffffffff;
}

static uint64_t ref_fns(const uint64_t *s)
{
    int64_t offset = (int32_t)s[2], pos = (int64_t)s[1];
    if (offset == 0)
        return pos < 32 && bit(s[0], (uint64_t)pos) ? s[1] : 0xffffffff;
    int64_t count = (offset < 0 ? -offset : offset) - 1, inc = offset > 0 ? 1 : -1;
    for (; pos >= 0 && pos < 32; pos += inc)
        if (bit(s[0], (uint64_t)pos) && count-- == 0)
            return (uint64_t)pos;
    return 0xffffffff;
}

static uint64_t ref_bmsk(const struct ptx_instr *i, const uint64_t *s)
{
    uint64_t a1 = s[0] & 31, b1 = s[1] & 31, sum = a1 + b1;
    uint32_t mask0 = 0xffffffffu << a1, mask1 = sum < 32 ? 0xffffffffu << sum : 0;
    bool over = sum >= 32;
    if (m(i, PTX_M_clamp)) {
        if (s[0] >= 32)
            over = true, mask0 = 0;
        over |= s[1] >= 32;
    }
    if (over)
        mask1 = 0;
    else if (b1 == 0)
        mask1 = ~0u;
    return mask0 & ~mask1;
}

static uint64_t ref_szext(const struct ptx_instr *i, const uint64_t *s)
{
    uint32_t b1 = s[1] & 31, a = (uint32_t)s[0];
    bool large = s[1] >= 32 && m(i, PTX_M_clamp);
    uint32_t mask = large ? 0 : ~0u << b1, sign_pos = (b1 - 1) & 31;
    bool sign = !(b1 == 0 || large || i->types[0] != PTX_S32) && (a >> sign_pos & 1);
    return (a & ~mask) | (sign ? mask : 0);
}

static uint64_t ref_prmt(const struct ptx_instr *i, const uint64_t *s)
{
    static const char *const digits[][4] = {
        {"3210", "4321", "5432", "6543"}, {"5670", "6701", "7012", "0123"},
        {"0000", "1111", "2222", "3333"}, {"3210", "3211", "3222", "3333"},
        {"0000", "1110", "2210", "3210"}, {"1010", "3232", "1010", "3232"}};
    static const uint16_t modes[] = {PTX_M_f4e, PTX_M_b4e, PTX_M_rc8,
                                     PTX_M_ecl, PTX_M_ecr, PTX_M_rc16};
    uint64_t bytes = s[1] << 32 | s[0], r = 0;
    for (unsigned k = 0; k < 4; k++) {
        unsigned ctl = s[2] >> 4 * k & 15;
        for (unsigned q = 0; q < 6; q++)
            if (m(i, modes[q]))
                ctl = (unsigned)(digits[q][s[2] & 3][3 - k] - '0');
        uint64_t byte = bytes >> 8 * (ctl & 7) & 0xff;
        if (ctl & 8)
            byte = byte & 0x80 ? 0xff : 0;
        r |= byte << 8 * k;
    }
    return r;
}

static uint64_t ref_lop3(const uint64_t *s)
{
    uint64_t r = 0;
    for (unsigned k = 0; k < 32; k++)
        r |= bit(s[3], bit(s[0], k) << 2 | bit(s[1], k) << 1 | bit(s[2], k)) << k;
    return r;
}

static bool ref_bits(const struct ptx_instr *i, const uint64_t *s, uint64_t *d)
{
    unsigned t = i->types[0], n = ptx_type_bits(t);
    uint64_t count = s[1] > n ? n : s[1];
    switch (i->op) {
    case PTX_OP_and: d[0] = s[0] & s[1]; break;
    case PTX_OP_or: d[0] = s[0] | s[1]; break;
    case PTX_OP_xor: d[0] = s[0] ^ s[1]; break;
    case PTX_OP_not: d[0] = ~s[0] & ones(n); break;
    case PTX_OP_cnot: d[0] = s[0] == 0; break;
    case PTX_OP_shl: d[0] = (uint64_t)((u128)s[0] << count) & ones(n); break;
    case PTX_OP_shr:
        d[0] = ptx_type_is_signed(t) ? (uint64_t)((s128)sign_extend(s[0], n) >> count) & ones(n)
                                     : (uint64_t)((u128)s[0] >> count);
        break;
    case PTX_OP_shf: {
        uint64_t k = m(i, PTX_M_wrap) ? s[2] & 31 : s[2] > 32 ? 32 : s[2], both = s[1] << 32 | s[0];
        d[0] = (uint32_t)(m(i, PTX_M_l) ? (both << k) >> 32 : both >> k);
        break;
    }
    case PTX_OP_popc: d[0] = (uint64_t)__builtin_popcountll(s[0]); break;
    case PTX_OP_clz:
        for (d[0] = 0; d[0] < n && !bit(s[0], n - 1 - d[0]);)
            d[0]++;
        break;
    case PTX_OP_brev:
        d[0] = 0;
        for (unsigned k = 0; k < n; k++)
            d[0] |= bit(s[0], k) << (n - 1 - k);
        break;
    case PTX_OP_bfind: d[0] = ref_bfind(i, s[0]); break;
    case PTX_OP_fns: d[0] = ref_fns(s); break;
    case PTX_OP_bfe: d[0] = ref_bfe(t, s); break;
    case PTX_OP_bfi: d[0] = ref_bfi(t, s); break;
    case PTX_OP_bmsk: d[0] = ref_bmsk(i, s); break;
    case PTX_OP_szext: d[0] = ref_szext(i, s); break;
    case PTX_OP_prmt: d[0] = ref_prmt(i, s); break;
    case PTX_OP_lop3:
        d[0] = ref_lop3(s);
        d[1] = m(i, PTX_M_and) ? d[0] && s[4] : d[0] || s[4];
        break;
    case PTX_OP_dp4a:
    case PTX_OP_dp2a: d[0] = dot(i, s); break;
    default: return false;
    }
    return true;
}

/* ---- all ---- */

bool ref_run(const struct ptx_instr *i, const uint64_t *s, uint64_t *d)
{
    unsigned t = i->types[0];
    bool is_float = ptx_type_is_float(t);
    switch (i->op) {
    case PTX_OP_cvt: return ref_cvt(i, s, d);
    case PTX_OP_setp: ref_setp(i, s, d); return true;
    case PTX_OP_set: ref_set(i, s, d); return true;
    case PTX_OP_selp: d[0] = s[2] ? s[0] : s[1]; return true;
    case PTX_OP_slct: {
        uint64_t c = m(i, PTX_M_ftz) ? flush(&F32, s[2]) : s[2];
        d[0] =
            (i->types[1] == PTX_S32 ? (int32_t)c >= 0 : format_value(&F32, c) >= 0) ? s[0] : s[1];
        return true;
    }
    case PTX_OP_testp: d[0] = ref_testp(i, s[0]); return true;
    case PTX_OP_copysign: {
        uint64_t sign = 1ull << (ptx_type_bits(t) - 1);
        d[0] = (s[1] & ~sign) | (s[0] & sign);
        return true;
    }
    default: break;
    }
    if (is_float) {
        switch (i->op) {
        case PTX_OP_min:
        case PTX_OP_max: d[0] = by_halves(i, s, float_min_max); return true;
        case PTX_OP_abs:
        case PTX_OP_neg: d[0] = by_halves(i, s, float_sign); return true;
        case PTX_OP_add:
        case PTX_OP_sub:
        case PTX_OP_mul:
        case PTX_OP_fma:
        case PTX_OP_mad:
        case PTX_OP_div:
        case PTX_OP_rcp:
        case PTX_OP_sqrt: d[0] = by_halves(i, s, float_arith); return true;
        default: return false;
        }
    }
    if (t == PTX_U16X2 || t == PTX_S16X2) {
        d[0] = packed_int(i, s);
        return true;
    }
    return ref_bits(i, s, d) || ref_video(i, s, d) || ref_int(i, s, d);
}
