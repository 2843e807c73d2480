/* ref_cvt: conversions (see ref.h). */
#include "ref.h"

#include <string.h>

static bool m(const struct ptx_instr *i, enum ptx_mod mod) { return ptx_has(i, mod); }

static bool is_int(unsigned t) { return t >= PTX_U8 && t <= PTX_S64; }

/* Smallest and largest of an integer type, as values. */
static __int128 low_of(unsigned bits, bool sg) { return sg ? -((__int128)1 << (bits - 1)) : 0; }
static __int128 high_of(unsigned bits, bool sg) { return ((__int128)1 << (bits - sg)) - 1; }

static quad integral(const struct ptx_instr *i, quad v)
{
    quad ref_cvt_m = v < 0 ? -v : v;
    if (is_nan(v) || ref_cvt_m >= 0x1p64 || ref_cvt_m == 0)
        return v;
    unsigned long long n = (unsigned long long)ref_cvt_m;
    quad rest = ref_cvt_m - (quad)n;
    bool neg = v < 0;
    bool up = m(i, PTX_M_rni)   ? rest > 0.5Q || (rest == 0.5Q && n & 1)
              : m(i, PTX_M_rpi) ? rest > 0 && !neg
              : m(i, PTX_M_rmi) ? rest > 0 && neg
                                : false;
    quad r = (quad)n + up;
    return neg ? -r : r;
}

static uint64_t to_int(const struct ptx_instr *i, quad v)
{
    unsigned t = i->types[0], bits = ptx_type_bits(t);
    bool sg = ptx_type_is_signed(t);
    if (is_nan(v))
        return i->types[1] == PTX_F64 || bits == 64 ? 1ull << (bits - 1) : 0;
    v = integral(i, v);
    __int128 low = low_of(bits, sg), high = high_of(bits, sg);
    __int128 r = v<(quad)low ? low : v>(quad) high ? high : (__int128)v;
    return (uint64_t)r & ones(bits);
}

/* To a float format with the clamps of cvt. */
static uint64_t to_format(const struct ptx_instr *i, const struct format *f, quad v,
                          bool sat_finite)
{
    if (m(i, PTX_M_sat)) {
        v = !(v > 0) ? 0 : v > 1 ? 1 : v;
    } else if (!is_nan(v)) {
        if (m(i, PTX_M_relu) && !(v > 0))
            v = 0;
        quad max = max_norm(f);
        if (sat_finite)
            v = v > max ? max : v < -max ? -max : v;
    }
    return f->no_nan && is_nan(v) ? format_nan(f) : format_bits(f, v, mode_of(i));
}

static const struct format *tiny_of(unsigned t)
{
    switch (t) {
    case PTX_E4M3X2: return &E4M3;
    case PTX_E5M2X2: return &E5M2;
    case PTX_E2M3X2: return &E2M3;
    case PTX_E3M2X2: return &E3M2;
    case PTX_E2M1X2: return &E2M1;
    default: return NULL;
    }
}

/* A magnitude as a power of two: code c is 2^(c - 127). */
static uint64_t to_exponent(const struct ptx_instr *i, quad v)
{
    if (is_nan(v))
        return 0xff;
    v = v < 0 ? -v : v;
    uint64_t c = 0;
    if (v == (quad)__builtin_inf()) {
        c = 0xff;
    } else if (m(i, PTX_M_rp)) { /* the least that is not below */
        for (quad p = 0x1p-127Q; p < v; p *= 2)
            c++;
    } else { /* the largest that is not above, or the least */
        for (quad p = 0x1p-126Q; p <= v; p *= 2)
            c++;
    }
    return m(i, PTX_M_satfinite) && c == 0xff ? 0xfe : c;
}

static uint64_t from_exponent(uint64_t c)
{
    quad v = 0x1p-127Q;
    for (uint64_t k = 0; k < c; k++)
        v *= 2;
    return c == 0xff ? format_nan(&BF16) : format_bits(&BF16, v, RN);
}

static uint64_t pack(const struct ptx_instr *i, const uint64_t *s)
{
    unsigned bits = ptx_type_bits(i->types[0]);
    bool sg = ptx_type_is_signed(i->types[0]);
    uint64_t part[2];
    for (unsigned k = 0; k < 2; k++) {
        __int128 v = (int32_t)s[k];
        v = v < low_of(bits, sg) ? low_of(bits, sg) : v > high_of(bits, sg) ? high_of(bits, sg) : v;
        part[k] = (uint64_t)v & ones(bits);
    }
    uint64_t d = part[0] << bits | part[1];
    return bits == 16 ? d : (uint32_t)(d | s[2] << 2 * bits);
}

bool ref_cvt(const struct ptx_instr *i, const uint64_t *s, uint64_t *d)
{
    unsigned t = i->types[0], u = i->types[1];
    const struct format *from = format_of(u), *to = format_of(t), *tiny = tiny_of(t);
    bool finite = m(i, PTX_M_satfinite);
    if (m(i, PTX_M_pack)) {
        d[0] = pack(i, s);
        return true;
    }
    if (tiny_of(u) != NULL) { /* to f16x2 */
        unsigned bits = ptx_type_bits(u) / 2;
        d[0] = 0;
        for (unsigned h = 0; h < 2; h++) {
            quad v = format_value(tiny_of(u), s[0] >> bits * h & ones(bits));
            d[0] |= to_format(i, &F16, v, false) << 16 * h;
        }
        return true;
    }
    if (u == PTX_UE8M0X2) { /* to bf16x2 */
        d[0] = from_exponent(s[0] >> 8 & 0xff) << 16 | from_exponent(s[0] & 0xff);
        return true;
    }
    if (tiny != NULL || t == PTX_F16X2 || t == PTX_BF16X2 || t == PTX_UE8M0X2) {
        quad v[2]; /* high, low */
        for (unsigned k = 0; k < 2; k++)
            v[k] = u == PTX_F32 ? format_value(&F32, s[k])
                                : format_value(from, s[0] >> (k ? 0 : 16) & 0xffff);
        unsigned bits = ptx_type_bits(t) / 2;
        if (t == PTX_UE8M0X2) {
            d[0] = to_exponent(i, v[0]) << 8 | to_exponent(i, v[1]);
            return true;
        }
        d[0] = to_format(i, tiny != NULL ? tiny : to, v[0], finite) << bits |
               to_format(i, tiny != NULL ? tiny : to, v[1], finite);
        return true;
    }
    if (t == PTX_TF32) {
        quad v = format_value(&F32, s[0]);
        if (is_nan(v)) /* as GPUs do: the ISA is silent */
            d[0] = m(i, PTX_M_rna) ? s[0] & 0xffffe000 : 0x7fffe000;
        else
            d[0] = to_format(i, &TF32, v, finite) << 13;
        return true;
    }
    if (is_int(t) && is_int(u)) {
        unsigned bits = ptx_type_bits(t), ubits = ptx_type_bits(u);
        bool sg = ptx_type_is_signed(t);
        __int128 v = ptx_type_is_signed(u) ? (__int128)sign_extend(s[0], ubits) : (__int128)s[0];
        if (m(i, PTX_M_sat))
            v = v < low_of(bits, sg)    ? low_of(bits, sg)
                : v > high_of(bits, sg) ? high_of(bits, sg)
                                        : v;
        d[0] = (uint64_t)v & ones(bits);
        return true;
    }
    quad v;
    if (from != NULL)
        v = format_value(from, from == &F32 && m(i, PTX_M_ftz) ? flush(&F32, s[0]) : s[0]);
    else
        v = ptx_type_is_signed(u) ? (quad)sign_extend(s[0], ptx_type_bits(u)) : (quad)s[0];
    if (is_int(t)) {
        d[0] = to_int(i, v);
        return true;
    }
    if (m(i, PTX_M_rni) || m(i, PTX_M_rzi) || m(i, PTX_M_rmi) || m(i, PTX_M_rpi))
        v = integral(i, v);
    d[0] = to_format(i, to, v, finite);
    if (m(i, PTX_M_ftz) && to == &F32)
        d[0] = flush(to, d[0]);
    return true;
}
