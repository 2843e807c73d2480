/* ref_video: the video instructions (see ref.h). */
#include "ref.h"

static bool m(const struct ptx_instr *i, enum ptx_mod mod) { return ptx_has(i, mod); }

typedef __int128 wide;

static wide clamp(wide v, unsigned bits, bool sg)
{
    wide max = ((wide)1 << (bits - sg)) - 1, min = sg ? -max - 1 : 0;
    return v < min ? min : v > max ? max : v;
}

static wide part(uint64_t v, unsigned select, bool sg)
{
    unsigned bits = select == 0 ? 32 : select <= 4 ? 8 : 16;
    unsigned at = bits == 32 ? 0 : bits == 8 ? 8 * (select - 1) : 16 * (select - 5);
    v = v >> at & ones(bits);
    return sg ? sign_extend(v, bits) : (wide)v;
}

static bool holds(const struct ptx_instr *i, wide a, wide b)
{
    return m(i, PTX_M_eq)   ? a == b
           : m(i, PTX_M_ne) ? a != b
           : m(i, PTX_M_lt) ? a < b
           : m(i, PTX_M_le) ? a <= b
           : m(i, PTX_M_gt) ? a > b
                            : a >= b;
}

static wide absolute(wide v) { return v < 0 ? -v : v; }

static uint64_t finish(const struct ptx_instr *i, wide t, bool sg, uint64_t third)
{
    unsigned dsel = i->operands[0].select;
    unsigned bits = dsel == 0   ? 32
                    : dsel <= 4 ? 8
                                : 16,
             at = bits == 8 ? 8 * (dsel - 1) : 16 * (dsel - 5);
    wide c = sg ? (wide)(int32_t)third : (wide)third;
    if (m(i, PTX_M_sat))
        t = clamp(t, bits, sg);
    if (dsel)
        return ((uint64_t)t & ones(bits)) << at | (third & ~(ones(bits) << at));
    t = m(i, PTX_M_add)   ? t + c
        : m(i, PTX_M_min) ? (t < c ? t : c)
        : m(i, PTX_M_max) ? (t > c ? t : c)
                          : t;
    return (uint32_t)t;
}

static uint64_t vmad(const struct ptx_instr *i, const uint64_t *s)
{
    const struct ptx_operand *o = i->operands;
    bool sa = i->types[1] == PTX_S32, sb = i->types[2] == PTX_S32, neg = o[1].neg != o[2].neg;
    bool sg = sa || sb || neg || o[3].neg;
    wide t = part(s[0], o[1].select, sa) * part(s[1], o[2].select, sb), lsb = 0;
    uint32_t c = (uint32_t)s[2];
    if (m(i, PTX_M_po))
        lsb = 1;
    else if (neg)
        t = ~t, lsb = 1;
    else if (o[3].neg)
        c = ~c, lsb = 1;
    t = t + (sg ? (wide)(int32_t)c : (wide)c) + lsb;
    t = m(i, PTX_M_shr7) ? t >> 7 : m(i, PTX_M_shr15) ? t >> 15 : t;
    return (uint32_t)(m(i, PTX_M_sat) ? clamp(t, 32, sg) : t);
}

static wide simd_part(const struct ptx_operand *o, const uint64_t *s, unsigned n, unsigned k,
                      bool second, bool sg)
{
    unsigned from = o->select >= 7 ? (unsigned)(o->imm >> 4 * k) & 15 : second ? n + k : k;
    uint64_t both = s[1] << 32 | s[0], v = both >> 32 / n * from & ones(32 / n);
    return sg ? sign_extend(v, 32 / n) : (wide)v;
}

static uint64_t simd(const struct ptx_instr *i, const uint64_t *s, unsigned n, unsigned base)
{
    bool set = base == PTX_OP_vset2;
    bool sa = i->types[set ? 0 : 1] == PTX_S32, sb = i->types[set ? 1 : 2] == PTX_S32;
    const struct ptx_operand *o = i->operands;
    unsigned bits = 32 / n, mask = 0;
    if (o[0].select == 0)
        mask = (1u << n) - 1;
    else if (o[0].select < 7)
        mask = 1u << (o[0].select <= 4 ? o[0].select - 1 : o[0].select - 5);
    else
        for (unsigned k = 0; k < 4; k++)
            mask |= k == 0 || o[0].imm >> 4 * k ? 1u << (o[0].imm >> 4 * k & 15) : 0;
    uint64_t sum = s[2], merged = s[2];
    for (unsigned k = 0; k < n; k++) {
        wide a = simd_part(&o[1], s, n, k, false, sa), b = simd_part(&o[2], s, n, k, true, sb), t;
        switch (base) {
        case PTX_OP_vadd2: t = a + b; break;
        case PTX_OP_vsub2: t = a - b; break;
        case PTX_OP_vavrg2: t = a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1; break;
        case PTX_OP_vabsdiff2: t = absolute(a - b); break;
        case PTX_OP_vmin2: t = a < b ? a : b; break;
        case PTX_OP_vmax2: t = a > b ? a : b; break;
        default: t = holds(i, a, b); break;
        }
        if (m(i, PTX_M_sat))
            t = clamp(t, bits, i->types[0] == PTX_S32);
        if (!(mask >> k & 1))
            continue;
        sum += (uint64_t)t;
        merged = (merged & ~(ones(bits) << bits * k)) | ((uint64_t)t & ones(bits)) << bits * k;
    }
    return (uint32_t)(m(i, PTX_M_add) ? sum : merged);
}

static bool is_scalar(const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_vadd:
    case PTX_OP_vsub:
    case PTX_OP_vabsdiff:
    case PTX_OP_vmin:
    case PTX_OP_vmax:
    case PTX_OP_vshl:
    case PTX_OP_vshr:
    case PTX_OP_vset:
    case PTX_OP_vmad: return true;
    default: return false;
    }
}

bool ref_video(const struct ptx_instr *i, const uint64_t *s, uint64_t *d)
{
    static const uint16_t four[][2] = {
        {PTX_OP_vadd4, PTX_OP_vadd2},   {PTX_OP_vsub4, PTX_OP_vsub2},
        {PTX_OP_vavrg4, PTX_OP_vavrg2}, {PTX_OP_vabsdiff4, PTX_OP_vabsdiff2},
        {PTX_OP_vmin4, PTX_OP_vmin2},   {PTX_OP_vmax4, PTX_OP_vmax2},
        {PTX_OP_vset4, PTX_OP_vset2}};
    for (unsigned k = 0; k < WEIR_COUNT(four); k++)
        if (i->op == four[k][0] || i->op == four[k][1]) {
            d[0] = simd(i, s, i->op == four[k][0] ? 4 : 2, four[k][1]);
            return true;
        }
    if (!is_scalar(i))
        return false; /* others may have fewer operands */
    const struct ptx_operand *o = i->operands;
    bool set = i->op == PTX_OP_vset;
    wide a = part(s[0], o[1].select, i->types[set ? 0 : 1] == PTX_S32);
    wide b = part(s[1], o[2].select, i->types[set ? 1 : 2] == PTX_S32), t;
    switch (i->op) {
    case PTX_OP_vadd: t = a + b; break;
    case PTX_OP_vsub: t = a - b; break;
    case PTX_OP_vabsdiff: t = absolute(a - b); break;
    case PTX_OP_vmin: t = a < b ? a : b; break;
    case PTX_OP_vmax: t = a > b ? a : b; break;
    case PTX_OP_vshl:
    case PTX_OP_vshr:
        b = m(i, PTX_M_wrap) ? b & 31 : b > 32 ? 32 : b;
        t = i->op == PTX_OP_vshl ? a * ((wide)1 << b) : a >> b;
        break;
    case PTX_OP_vset: d[0] = finish(i, holds(i, a, b), false, s[2]); return true;
    case PTX_OP_vmad: d[0] = vmad(i, s); return true;
    default: return false;
    }
    d[0] = finish(i, t, i->types[0] == PTX_S32, s[2]);
    return true;
}
