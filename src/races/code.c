/* code: host functions, instruction by instruction: where they store what may be a flag, and
 * whether they wait for one in a loop. x86-64 only.
 *
 * An instruction is decoded as far as its length, its opcode and its address. What is not known
 * ends the function: a store that is missed there is not taken for a flag. */
#include <string.h>

#include "races/code.h"
#include "races/internal.h"

#if defined(__x86_64__)

enum { LOOP_BYTES = 96 };

static bool in(uint8_t op, uint8_t first, uint8_t last) { return op >= first && op <= last; }

static const uint8_t *take_modrm(struct instruction *i, const uint8_t *p)
{
    uint8_t m = *p++, mod = m >> 6;
    i->has_modrm = true;
    i->reg = (uint8_t)((m >> 3 & 7) | (i->rex & 4) << 1);
    i->rm = (uint8_t)((m & 7) | (i->rex & 1) << 3);
    i->memory = mod != 3;
    if (!i->memory)
        return p;
    i->base = i->rm;
    if ((m & 7) == 4) {
        uint8_t sib = *p++;
        int index = (sib >> 3 & 7) | (i->rex & 2) << 2;
        i->base = (sib & 7) | (i->rex & 1) << 3;
        i->index = index != 4 ? index : NONE;
        if ((sib & 7) == 5 && mod == 0) {
            i->base = NONE;
            mod = 2;
        }
    } else if ((m & 7) == 5 && mod == 0) {
        i->base = NONE;
        i->relative = true;
        mod = 2;
    }
    if (mod == 1)
        i->distance = (int8_t)*p;
    else if (mod == 2)
        memcpy(&i->distance, p, sizeof i->distance);
    return p + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/* Of opcodes of one byte: ModRM; bytes of the immediate, -1: it is not known. */
static bool one_has_modrm(uint8_t op)
{
    return (op < 0x40 && (op & 7) < 4) || op == 0x63 || op == 0x69 || op == 0x6b ||
           in(op, 0x80, 0x8f) || op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 ||
           in(op, 0xd0, 0xd3) || in(op, 0xd8, 0xdf) || op == 0xf6 || op == 0xf7 || op >= 0xfe;
}

static int one_immediate(const struct instruction *i)
{
    uint8_t op = i->op;
    int z = i->wide16 ? 2 : 4;
    if (op < 0x40)
        return (op & 7) == 4 ? 1 : (op & 7) == 5 ? z : (op & 7) < 4 ? 0 : -1;
    if (in(op, 0xb8, 0xbf))
        return (i->rex & 8) != 0 ? 8 : z;
    if (op == 0x68 || op == 0x69 || op == 0x81 || op == 0xa9 || op == 0xc7)
        return z;
    if (op == 0xe8 || op == 0xe9)
        return 4;
    if (op == 0x6a || op == 0x6b || in(op, 0x70, 0x80) || op == 0x83 || op == 0xa8 ||
        in(op, 0xb0, 0xb7) || op == 0xc0 || op == 0xc1 || op == 0xc6 || in(op, 0xe0, 0xe3) ||
        op == 0xeb)
        return 1;
    if (op == 0xf6 || op == 0xf7)
        return (i->reg & 7) < 2 ? (op == 0xf6 ? 1 : z) : 0;
    if (op == 0xc2)
        return 2;
    if (in(op, 0x50, 0x5f) || op == 0x63 || in(op, 0x84, 0x99) || in(op, 0xa4, 0xa7) ||
        in(op, 0xaa, 0xaf) || op == 0xc3 || op == 0xc9 || op == 0xcc || in(op, 0xd0, 0xd3) ||
        in(op, 0xd8, 0xdf) || op >= 0xf8)
        return 0;
    return -1;
}

static bool two_has_modrm(uint8_t op)
{
    return !(in(op, 0x80, 0x8f) || in(op, 0xc8, 0xcf) || op == 0x05 || op == 0x0b || op == 0x31 ||
             op == 0x77 || op == 0xa2);
}

static int two_immediate(uint8_t op)
{
    if (in(op, 0x80, 0x8f))
        return 4;
    return in(op, 0x70, 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 ||
           in(op, 0xc4, 0xc6);
}

/* Takes VEX and EVEX, up to the opcode. */
static const uint8_t *take_vector(struct instruction *i, const uint8_t *p, uint8_t first)
{
    i->vector = true;
    i->map = first == 0xc5 ? 1 : p[0] & (first == 0x62 ? 7 : 31);
    if (first != 0xc5) /* bits of REX, inverted */
        i->rex = (uint8_t)(~p[0] >> 5 & 7);
    return p + (first == 0xc5 ? 1 : first == 0xc4 ? 2 : 3);
}

bool code_decode(struct instruction *i, const uint8_t *p)
{
    *i = (struct instruction){.base = NONE, .index = NONE};
    for (;; p++) {
        i->wide16 |= *p == 0x66;
        if (*p != 0x66 && *p != 0xf0 && *p != 0xf2 && *p != 0xf3 && *p != 0x64 && *p != 0x2e &&
            *p != 0x3e)
            break;
    }
    if ((*p & 0xf0) == 0x40)
        i->rex = *p++;
    i->op = *p++;
    if (i->op == 0xc4 || i->op == 0xc5 || i->op == 0x62) {
        p = take_vector(i, p, i->op);
        i->op = *p++;
    } else if (i->op == 0x0f) {
        i->op = *p++;
        i->map = i->op == 0x38 ? 2 : i->op == 0x3a ? 3 : 1;
        if (i->map > 1)
            i->op = *p++;
    }
    bool modrm = i->map == 0 ? one_has_modrm(i->op) : i->map == 1 ? two_has_modrm(i->op) : true;
    if (modrm)
        p = take_modrm(i, p);
    int immediate = i->map == 0   ? one_immediate(i)
                    : i->map == 1 ? two_immediate(i->op)
                                  : i->map == 3;
    i->next = p + (immediate > 0 ? immediate : 0);
    return immediate >= 0 && i->map <= 3;
}

/* A plain store of a number. */
static bool is_store(const struct instruction *i)
{
    return i->map == 0 && !i->vector && i->memory &&
           (i->op == 0x88 || i->op == 0x89 || i->op == 0xc6 || i->op == 0xc7);
}

bool code_is_load(const struct instruction *i)
{
    if (!i->memory || i->vector)
        return false;
    if (i->map == 1)
        return i->op == 0xb6 || i->op == 0xb7 || i->op == 0xbe || i->op == 0xbf;
    return i->map == 0 &&
           (in(i->op, 0x38, 0x3b) || i->op == 0x84 || i->op == 0x85 || i->op == 0x8a ||
            i->op == 0x8b || (in(i->op, 0x80, 0x83) && (i->reg & 7) == 7) ||
            ((i->op == 0xf6 || i->op == 0xf7) && (i->reg & 7) < 2));
}

bool code_is_of_stack(const struct instruction *i, bool frame)
{
    return i->memory && (i->base == RSP || (frame && i->base == RBP));
}

/* Register `r` gets a value that is computed: no load puts it there. */
static bool moves_register(const struct instruction *i, int r)
{
    if (i->map != 0 || i->vector)
        return false;
    if (i->op < 0x40 && (i->op & 7) < 4 && i->op >> 3 != 7)
        return (i->op & 2) != 0 ? i->reg == r : !i->memory && i->rm == r;
    if (i->op == 0x8d)
        return i->reg == r;
    return (in(i->op, 0x80, 0x83) || i->op == 0xff || in(i->op, 0xd0, 0xd3)) && !i->memory &&
           i->rm == r && !(i->op < 0x84 && (i->reg & 7) == 7);
}

/* Whether the loop does nothing but look at the same memory, or call, again and again. */
static bool is_poll(const uint8_t *low, const uint8_t *high, bool frame)
{
    bool looks = false;
    struct instruction i, k;
    for (const uint8_t *p = low; p < high; p = i.next) {
        if (!code_decode(&i, p))
            return false;
        if (is_store(&i) && !code_is_of_stack(&i, frame))
            return false;
        looks |= i.map == 0 && i.op == 0xe8 && high - low <= LOOP_BYTES / 2;
        if (!code_is_load(&i) || code_is_of_stack(&i, frame) || i.index != NONE)
            continue;
        bool same = true;
        for (const uint8_t *q = low; q < high && i.base != NONE; q = k.next) {
            if (!code_decode(&k, q))
                return false;
            same = same && !moves_register(&k, i.base);
        }
        looks |= same;
    }
    return looks;
}

const uint8_t *code_jumps_to(const struct instruction *i)
{
    bool near = (i->map == 0 && i->op == 0xe9) || (i->map == 1 && in(i->op, 0x80, 0x8f));
    if (i->map == 0 && (in(i->op, 0x70, 0x7f) || i->op == 0xeb))
        return i->next + (int8_t)i->next[-1];
    int32_t distance = 0;
    if (near)
        memcpy(&distance, i->next - 4, sizeof distance);
    return near ? i->next + distance : NULL;
}

bool code_sets_frame(const struct instruction *i)
{
    return i->map == 0 && (i->op == 0x89 || i->op == 0x8b) && !i->memory &&
           (i->op == 0x89 ? i->reg == RSP && i->rm == RBP : i->rm == RSP && i->reg == RBP);
}

void code_look(const uint8_t *low, const uint8_t *high, struct handover *out)
{
    bool frame = false; /* rbp is where the function's variables are */
    struct instruction i;
    for (const uint8_t *p = low; p < high && code_decode(&i, p) && i.next <= high; p = i.next) {
        frame |= code_sets_frame(&i);
        if (is_store(&i) && !code_is_of_stack(&i, frame) && out->store_count < HANDOVER_STORES)
            out->stores[out->store_count++] = p;
        const uint8_t *to = code_jumps_to(&i);
        if (to != NULL && to >= low && to <= p && p - to <= LOOP_BYTES)
            out->polls |= is_poll(to, i.next, frame);
    }
}

#else

void code_look(const uint8_t *low, const uint8_t *high, struct handover *out)
{
    (void)low;
    (void)high;
    (void)out;
}

#endif
