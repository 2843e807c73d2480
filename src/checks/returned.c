/* returned: whether the code after a call reads what the call returned, told from its instructions.
 *
 * On x86-64 an int comes back in eax, which belongs to nobody across calls: code that wants it
 * reads it before anything writes it, code that does not lets the next call or value write over it.
 * So a walk along the instructions decides in a few steps; at a return it goes on in the caller.
 * Where an instruction is not known, or the machine is another one, the value counts as read. */
#include "checks/checks.h"

#if defined(__x86_64__)

enum { STEPS = 40 }; /* instructions that are looked at */

enum verdict { GOES_ON, READS, WRITES, RETURNS, JUMPS, UNKNOWN };

/* An instruction: its fields as far as they are needed. */
struct decoded {
    const uint8_t *next; /* the instruction after it */
    const uint8_t *jump; /* of JUMPS */
    uint8_t rex, op;
    bool two, wide16;
    uint8_t mod, reg, rm; /* with the bits of REX */
    int base, index;      /* registers of the address; -1: none */
};

static int32_t word_at(const uint8_t *p)
{
    int32_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

/* Takes ModRM, SIB and the displacement. */
static const uint8_t *take_modrm(struct decoded *d, const uint8_t *p)
{
    uint8_t m = *p++;
    d->mod = m >> 6;
    d->reg = (uint8_t)((m >> 3 & 7) | (d->rex & 4) << 1);
    d->rm = (uint8_t)((m & 7) | (d->rex & 1) << 3);
    if (d->mod == 3)
        return p;
    d->base = d->rm;
    if ((m & 7) == 4) {
        uint8_t sib = *p++;
        int index = (sib >> 3 & 7) | (d->rex & 2) << 2;
        d->base = (sib & 7) | (d->rex & 1) << 3;
        d->index = index != 4 ? index : -1;
        if ((sib & 7) == 5 && d->mod == 0) {
            d->base = -1;
            return p + 4;
        }
    } else if ((m & 7) == 5 && d->mod == 0) {
        d->base = -1;
        return p + 4;
    }
    return p + (d->mod == 1 ? 1 : d->mod == 2 ? 4 : 0);
}

static bool is_address_read(const struct decoded *d) { return d->base == 0 || d->index == 0; }

/* reg is read, or rm is: `rm_too` whether an instruction reads its first operand, too. */
static enum verdict arithmetic(const struct decoded *d, bool to_rm, bool reads_first,
                               bool writes_first)
{
    int first = to_rm ? (d->mod == 3 ? d->rm : -1) : d->reg;
    int second = to_rm ? d->reg : (d->mod == 3 ? d->rm : -1);
    if (is_address_read(d) || second == 0 || (first == 0 && reads_first))
        return READS;
    return first == 0 && writes_first ? WRITES : GOES_ON;
}

/* The opcodes 00 to 3f: eight operations, each in six forms. */
static enum verdict early_opcode(struct decoded *d, const uint8_t *p)
{
    unsigned form = d->op & 7, operation = d->op >> 3;
    if (form >= 6)
        return UNKNOWN;
    if (form >= 4) {
        d->next = p + (form == 4 ? 1 : d->wide16 ? 2 : 4);
        return READS;
    }
    d->next = take_modrm(d, p);
    bool zeroes = operation == 6 && d->mod == 3 && d->reg == d->rm; /* xor of a register, itself */
    if (zeroes)
        return d->reg == 0 ? WRITES : GOES_ON;
    return arithmetic(d, form < 2, true, false);
}

static enum verdict group(struct decoded *d, const uint8_t *p)
{
    d->next = take_modrm(d, p);
    unsigned which = d->reg & 7;
    switch (d->op) {
    case 0x80: d->next += 1; break;
    case 0x81: d->next += d->wide16 ? 2 : 4; break;
    case 0x83: d->next += 1; break;
    case 0xc0:
    case 0xc1: d->next += 1; break;
    case 0xf6: d->next += which < 2 ? 1 : 0; break;
    case 0xf7: d->next += which < 2 ? (d->wide16 ? 2 : 4) : 0; break;
    case 0xff:
        if (is_address_read(d) || (d->mod == 3 && d->rm == 0))
            return READS;
        return which == 2 || which == 3 ? WRITES : which >= 4 && which < 6 ? UNKNOWN : GOES_ON;
    default: break;
    }
    if (d->op == 0xf7 && which >= 4)
        return READS; /* multiplies or divides eax */
    return is_address_read(d) || (d->mod == 3 && d->rm == 0) ? READS : GOES_ON;
}

static enum verdict two_bytes(struct decoded *d, const uint8_t *p)
{
    if (d->op >= 0x80 && d->op <= 0x8f) { /* conditional jumps: both ways have the value */
        d->next = p + 4;
        return GOES_ON;
    }
    if (d->op == 0x05 || d->op == 0x0b)
        return UNKNOWN;
    d->next = take_modrm(d, p);
    if (d->op == 0x1e || d->op == 0x1f || d->op == 0x18)
        return GOES_ON; /* endbr64, nop, prefetch */
    if (is_address_read(d))
        return READS;
    if (d->op >= 0x40 && d->op <= 0x4f) /* cmov */
        return d->reg == 0 || (d->mod == 3 && d->rm == 0) ? READS : GOES_ON;
    if (d->op >= 0x90 && d->op <= 0x9f) /* setcc */
        return GOES_ON;
    if (d->op == 0xaf || d->op == 0xb6 || d->op == 0xb7 || d->op == 0xbe || d->op == 0xbf)
        return arithmetic(d, false, d->op == 0xaf, true);
    if (d->op == 0x10 || d->op == 0x11 || d->op == 0x28 || d->op == 0x29 || d->op == 0x57 ||
        d->op == 0x6f || d->op == 0x7f || d->op == 0xef || d->op == 0xd6 || d->op == 0x16 ||
        d->op == 0x17 || d->op == 0x12 || d->op == 0x13)
        return GOES_ON; /* vectors */
    if (d->op == 0x6e || d->op == 0x2a)
        return d->mod == 3 && d->rm == 0 ? READS : GOES_ON;
    return UNKNOWN;
}

static enum verdict one_byte(struct decoded *d, const uint8_t *p)
{
    uint8_t op = d->op;
    d->next = p;
    if (op < 0x40)
        return early_opcode(d, p);
    if (op >= 0x50 && op <= 0x57)
        return op == 0x50 && (d->rex & 1) == 0 ? READS : GOES_ON;
    if (op >= 0x58 && op <= 0x5f)
        return op == 0x58 && (d->rex & 1) == 0 ? WRITES : GOES_ON;
    if (op >= 0x70 && op <= 0x7f) {
        d->next = p + 1;
        return GOES_ON;
    }
    if (op >= 0xb0 && op <= 0xb7) { /* al: how many vectors a call of printf and its kin gets */
        d->next = p + 1;
        return op == 0xb0 && (d->rex & 1) == 0 ? WRITES : GOES_ON;
    }
    if (op >= 0xb8 && op <= 0xbf) {
        d->next = p + ((d->rex & 8) != 0 ? 8 : d->wide16 ? 2 : 4);
        return op == 0xb8 && (d->rex & 1) == 0 ? WRITES : GOES_ON;
    }
    switch (op) {
    case 0x84:
    case 0x85: d->next = take_modrm(d, p); return arithmetic(d, true, true, false);
    case 0x88:
    case 0x89: d->next = take_modrm(d, p); return arithmetic(d, true, false, true);
    case 0x8a:
    case 0x8b:
    case 0x63: d->next = take_modrm(d, p); return arithmetic(d, false, false, true);
    case 0x8d:
        d->next = take_modrm(d, p);
        return is_address_read(d) ? READS : d->reg == 0 ? WRITES : GOES_ON;
    case 0x69:
    case 0x6b:
        d->next = take_modrm(d, p) + (op == 0x6b ? 1 : 4);
        return arithmetic(d, false, false, true);
    case 0x68: d->next = p + 4; return GOES_ON;
    case 0x6a: d->next = p + 1; return GOES_ON;
    case 0x80:
    case 0x81:
    case 0x83:
    case 0xc0:
    case 0xc1:
    case 0xd0:
    case 0xd1:
    case 0xd3:
    case 0xf6:
    case 0xf7:
    case 0xff: return group(d, p);
    case 0xc6:
    case 0xc7:
        d->next = take_modrm(d, p) + (op == 0xc6 ? 1 : d->wide16 ? 2 : 4);
        return is_address_read(d) ? READS : d->mod == 3 && d->rm == 0 ? WRITES : GOES_ON;
    case 0x90:
    case 0xc9: return GOES_ON;
    case 0x98:
    case 0x99:
    case 0xa8:
    case 0xa9: return READS;
    case 0xc3: return RETURNS;
    case 0xe8: return WRITES; /* a call: eax is no argument but for the count of vectors */
    case 0xe9: d->jump = p + 4 + word_at(p); return JUMPS;
    case 0xeb: d->jump = p + 1 + (int8_t)*p; return JUMPS;
    default: return UNKNOWN;
    }
}

static enum verdict decode(struct decoded *d, const uint8_t *p)
{
    *d = (struct decoded){.base = -1, .index = -1};
    for (;; p++) {
        if (*p == 0x66)
            d->wide16 = true;
        else if (*p != 0xf2 && *p != 0xf3 && *p != 0x64 && *p != 0x2e)
            break;
    }
    if ((*p & 0xf0) == 0x40)
        d->rex = *p++;
    d->op = *p++;
    if (d->op == 0xc5 || d->op == 0xc4 || d->op == 0x62)
        return UNKNOWN;
    if (d->op != 0x0f)
        return one_byte(d, p);
    d->two = true;
    d->op = *p++;
    return two_bytes(d, p);
}

bool returned_is_read(const void *const *frames, int count)
{
    const uint8_t *at = count > 0 ? frames[0] : NULL;
    int frame = 0;
    for (int i = 0; i < STEPS && at != NULL; i++) {
        struct decoded d;
        switch (decode(&d, at)) {
        case GOES_ON: at = d.next; break;
        case JUMPS: at = d.jump; break;
        case RETURNS: at = ++frame < count ? frames[frame] : NULL; break;
        case WRITES: return false;
        default: return true;
        }
    }
    return true;
}

#else

bool returned_is_read(const void *const *frames, int count)
{
    (void)frames;
    (void)count;
    return true;
}

#endif
