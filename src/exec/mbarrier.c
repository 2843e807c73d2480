/* mbarrier: barrier objects in shared memory, and the bulk copies that tell them of their bytes.
 *
 * An object is 64 bits (PTX leaves their meaning open): arrivals that are missing in this phase,
 * arrivals that later phases expect, bytes that are to come, and the phase. A phase ends when
 * neither arrivals nor bytes are missing. A state that an arrival gives is the object as it was.
 *
 * The blocks of a cluster run on one thread at a time, so nothing here is atomic. Addresses are the
 * program's: an access may fault, so nothing is held. */
#include <string.h>

#include "exec/bulk.h"
#include "exec/cdp.h"
#include "exec/check.h"
#include "exec/threads.h"

/* An object's fields. */
enum { COUNT_BITS = 20, EXPECTED_AT = 20, BYTES_AT = 40, BYTES_BITS = 21, PHASE_AT = 61 };

struct object {
    uint32_t missing, expected; /* arrivals in this phase, in each later one */
    int32_t bytes;              /* to come; less than 0: came before they were expected */
    uint32_t phase;             /* modulo 8 */
};

static struct object unpack(uint64_t v)
{
    const uint64_t count = (1u << COUNT_BITS) - 1;
    int64_t bytes = (int64_t)(v << (64 - BYTES_AT - BYTES_BITS)) >> (64 - BYTES_BITS);
    return (struct object){(uint32_t)(v & count), (uint32_t)(v >> EXPECTED_AT & count),
                           (int32_t)bytes, (uint32_t)(v >> PHASE_AT)};
}

static uint64_t pack(struct object o)
{
    const uint64_t count = (1u << COUNT_BITS) - 1, bytes = (1u << BYTES_BITS) - 1;
    return (o.missing & count) | (o.expected & count) << EXPECTED_AT |
           ((uint64_t)(int64_t)o.bytes & bytes) << BYTES_AT | (uint64_t)(o.phase & 7) << PHASE_AT;
}

void bulk_check_aligned(struct jit_block *j, uint64_t address, uint64_t bytes, uint32_t lane)
{
    struct grid_block *b = j->grid;
    if (address % bytes != 0)
        fault_leave(b->worker, &(struct trouble){.kind = GRID_FAULT_MISALIGNED,
                                                 .has_address = true,
                                                 .address = address,
                                                 .mask = (uint32_t)1 << lane});
}

static void end_phase(struct object *o)
{
    if (o->missing != 0 || o->bytes != 0)
        return;
    o->missing = o->expected;
    o->phase++;
}

/* Tells what an operation by a lane orders. */
static void tell(struct grid_block *b, uint64_t address, uint32_t op, uint32_t lane,
                 uint64_t before, uint64_t out)
{
    switch (op) {
    case JIT_MBARRIER_INIT:
    case JIT_MBARRIER_INVAL: threads_object(b, address, lane, OBJECT_INIT); return;
    case JIT_MBARRIER_ARRIVE:
    case JIT_MBARRIER_DROP: threads_object(b, address, lane, OBJECT_ARRIVE); break;
    case JIT_MBARRIER_COMPLETE_TX: threads_object(b, address, lane, OBJECT_COPIES); break;
    case JIT_MBARRIER_TEST:
    case JIT_MBARRIER_TEST_PARITY:
        if (out != 0)
            threads_object(b, address, lane, OBJECT_PASSED);
        return;
    default: break;
    }
    if (unpack(before).phase != unpack(*(uint64_t *)address).phase)
        threads_object(b, address, lane, OBJECT_PHASE_ENDS);
}

static uint64_t act(struct grid_block *b, uint64_t address, uint32_t op, uint64_t arg)
{
    uint64_t *at = (uint64_t *)address, before = *at;
    struct object o = unpack(before);
    uint32_t n = (uint32_t)arg;
    switch (op) {
    case JIT_MBARRIER_INIT: o = (struct object){n, n, 0, 0}; break;
    case JIT_MBARRIER_INVAL: o = (struct object){0}; break;
    case JIT_MBARRIER_EXPECT_TX: o.bytes += (int32_t)n; break;
    case JIT_MBARRIER_COMPLETE_TX:
        o.bytes -= (int32_t)n;
        end_phase(&o);
        break;
    case JIT_MBARRIER_DROP:
    case JIT_MBARRIER_ARRIVE:
        if (op == JIT_MBARRIER_DROP)
            o.expected -= n < o.expected ? n : o.expected;
        o.missing -= n < o.missing ? n : o.missing;
        end_phase(&o);
        break;
    case JIT_MBARRIER_TEST: return o.phase != unpack(arg).phase;
    default: return (o.phase & 1) != (n & 1); /* TEST_PARITY */
    }
    *at = pack(o);
    block_event(b);
    return before;
}

/* The same, by a lane whose accesses may be compared with others'. */
static uint64_t act_for(struct grid_block *b, uint64_t address, uint32_t op, uint64_t arg,
                        uint32_t lane)
{
    if (!threads_will_compare(b))
        return act(b, address, op, arg);
    uint64_t before = *(uint64_t *)address, out = act(b, address, op, arg);
    tell(b, address, op, lane, before, out);
    return out;
}

void weir_rt_mbarrier(struct jit_block *j, uint32_t op, uint32_t mask,
                      const uint64_t address[JIT_WARP], const uint64_t arg[JIT_WARP],
                      uint64_t out[JIT_WARP])
{
    bool waits = op == JIT_MBARRIER_TEST || op == JIT_MBARRIER_TEST_PARITY;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        bulk_check_aligned(j, address[lane], 8, lane);
        out[lane] = act_for(j->grid, address[lane], op, arg[lane], lane);
        if (waits && out[lane] == 0 && j->budget > 1)
            j->budget = 1; /* whoever is to arrive should run now */
    }
}

void bulk_complete(struct jit_block *j, uint64_t barrier, uint64_t bytes, uint32_t lane)
{
    act_for(j->grid, barrier, JIT_MBARRIER_COMPLETE_TX, bytes, lane);
}

/* ---- bulk copies ---- */

/* One element's reduction in integers; false: no such. */
#define REDUCE_INT(name, type)                                                                     \
    static void name(uint32_t op, type *to, type x)                                                \
    {                                                                                              \
        type old = __atomic_load_n(to, __ATOMIC_RELAXED), v;                                       \
        do {                                                                                       \
            switch (op) {                                                                          \
            case JIT_REDUCE_ADD: v = (type)(old + x); break;                                       \
            case JIT_REDUCE_MIN: v = old < x ? old : x; break;                                     \
            case JIT_REDUCE_MAX: v = old > x ? old : x; break;                                     \
            case JIT_REDUCE_INC: v = old >= x ? 0 : (type)(old + 1); break;                        \
            case JIT_REDUCE_DEC: v = old == 0 || old > x ? x : (type)(old - 1); break;             \
            case JIT_REDUCE_AND: v = old & x; break;                                               \
            case JIT_REDUCE_OR: v = old | x; break;                                                \
            default: v = old ^ x; break;                                                           \
            }                                                                                      \
        } while (                                                                                  \
            !__atomic_compare_exchange_n(to, &old, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); \
    }
REDUCE_INT(reduce_u32, uint32_t)
REDUCE_INT(reduce_s32, int32_t)
REDUCE_INT(reduce_u64, uint64_t)
REDUCE_INT(reduce_s64, int64_t)
#undef REDUCE_INT

/* Bits of an element as a float or double, to add or compare; halves are exact in a float. */
static double widen(uint32_t type, uint64_t bits)
{
    float f;
    double d;
    uint32_t w = (uint32_t)bits;
    switch (type) {
    case JIT_F64: memcpy(&d, &bits, 8); return d;
    case JIT_BF16: w <<= 16; break;
    case JIT_F16: {
        _Float16 h;
        uint16_t u = (uint16_t)bits;
        memcpy(&h, &u, 2);
        return (double)h;
    }
    default: break;
    }
    memcpy(&f, &w, 4);
    return (double)f;
}

/* The sum of two elements, rounded to nearest even once: two floats' or halves' is exact or rightly
 * rounded as a double (their exponents may differ too much, but then the smaller one only decides
 * where the tie goes, which the sticky last bit keeps). */
static uint64_t narrow(uint32_t type, double d)
{
    uint64_t bits;
    float f = (float)d;
    uint32_t w;
    switch (type) {
    case JIT_F64: memcpy(&bits, &d, 8); return bits;
    case JIT_F16: {
        if (d != d)
            return 0x7fff;
        _Float16 h = (_Float16)d;
        uint16_t u;
        memcpy(&u, &h, 2);
        return u;
    }
    case JIT_BF16: {
        /* 32 bits are enough: a sum of two bf16 that is a tie in bf16 is exact in a float, or far
         * from one */
        memcpy(&w, &f, 4);
        if (f != f)
            return 0x7fff;
        w += 0x7fff + (w >> 16 & 1);
        return w >> 16;
    }
    default: memcpy(&w, &f, 4); return f != f ? 0x7fffffff : w;
    }
}

static uint64_t combine_floats(uint32_t type, uint32_t op, uint64_t a, uint64_t b)
{
    double x = widen(type, a), y = widen(type, b);
    if (op == JIT_REDUCE_ADD && type == JIT_F32)
        return narrow(type, (double)((float)x + (float)y));
    if (op == JIT_REDUCE_ADD)
        return narrow(type, x + y);
    if (x != x && y != y)
        return 0x7fff;
    if (x != x || y != y)
        return x != x ? b : a;
    if (x == y) /* zeros in the order of their signs */
        return op == JIT_REDUCE_MIN ? a | b : a & b;
    return (x < y) == (op == JIT_REDUCE_MIN) ? a : b;
}

#define REDUCE_FLOAT(name, word)                                                                   \
    static void name(uint32_t type, uint32_t op, word *to, word x)                                 \
    {                                                                                              \
        word old = __atomic_load_n(to, __ATOMIC_RELAXED), v;                                       \
        do                                                                                         \
            v = (word)combine_floats(type, op, old, x);                                            \
        while (                                                                                    \
            !__atomic_compare_exchange_n(to, &old, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); \
    }
REDUCE_FLOAT(reduce_half, uint16_t)
REDUCE_FLOAT(reduce_float, uint32_t)
REDUCE_FLOAT(reduce_double, uint64_t)
#undef REDUCE_FLOAT

/* A float's bits; a subnormal number's as those of the zero of its sign. */
static uint32_t flushed(uint32_t bits)
{
    return (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits;
}

void bulk_add_flushing(uint64_t to, uint64_t from, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += 4) {
        uint32_t *d = (uint32_t *)(to + at), old = __atomic_load_n(d, __ATOMIC_RELAXED), v;
        uint32_t x = flushed(*(const uint32_t *)(from + at));
        do
            v = flushed((uint32_t)combine_floats(JIT_F32, JIT_REDUCE_ADD, flushed(old), x));
        while (!__atomic_compare_exchange_n(d, &old, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    }
}

void bulk_reduce(uint32_t op, uint32_t type, uint64_t to, uint64_t from, uint64_t bytes)
{
    static const uint8_t sizes[] = {[JIT_U32] = 4, [JIT_S32] = 4,  [JIT_U64] = 8, [JIT_S64] = 8,
                                    [JIT_F16] = 2, [JIT_BF16] = 2, [JIT_F32] = 4, [JIT_F64] = 8};
    uint64_t size = sizes[type & 7];
    for (uint64_t at = 0; at < bytes; at += size) {
        void *d = (void *)(to + at);
        const void *s = (const void *)(from + at);
        switch (type) {
        case JIT_U32: reduce_u32(op, d, *(const uint32_t *)s); break;
        case JIT_S32: reduce_s32(op, d, *(const int32_t *)s); break;
        case JIT_U64: reduce_u64(op, d, *(const uint64_t *)s); break;
        case JIT_S64: reduce_s64(op, d, *(const int64_t *)s); break;
        case JIT_F32: reduce_float(type, op, d, *(const uint32_t *)s); break;
        case JIT_F64: reduce_double(type, op, d, *(const uint64_t *)s); break;
        default: reduce_half(type, op, d, *(const uint16_t *)s); break;
        }
    }
}

static void move(struct jit_block *j, uint32_t op, uint64_t to, uint64_t from, uint64_t bytes)
{
    if (op == 0)
        memmove((void *)to, (const void *)from, bytes);
    else
        bulk_reduce((op & 0xff) - 1, op >> 8, to, from, bytes);
    grid_wrote(j, (const void *)to, bytes);
}

/* The bytes of each 16 that the set has. */
static void move_masked(uint64_t to, uint64_t from, uint64_t bytes, uint64_t set)
{
    for (uint64_t n = 0; n < bytes; n++)
        if ((set >> n % 16 & 1) != 0)
            memcpy((uint8_t *)to + n, (const uint8_t *)from + n, 1);
}

void weir_rt_bulk_zero(struct jit_block *j, uint32_t mask, const uint64_t to[JIT_WARP],
                       const uint64_t bytes[JIT_WARP])
{
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        bulk_check_aligned(j, to[lane] | bytes[lane], 8, lane);
        check_others(j, (uint32_t)1 << lane, to[lane], __builtin_return_address(0));
        if (threads_will_compare(j->grid))
            threads_copy_side(j->grid, lane, to[lane], bytes[lane], true,
                              __builtin_return_address(0));
        memset((void *)to[lane], 0, bytes[lane]);
        grid_wrote(j, (const void *)to[lane], bytes[lane]);
    }
}

void weir_rt_bulk(struct jit_block *j, uint32_t op, uint32_t mask, const uint64_t to[JIT_WARP],
                  const uint64_t from[JIT_WARP], const uint64_t bytes[JIT_WARP],
                  const uint64_t *barrier, const uint64_t *ctas)
{
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        bulk_check_aligned(j, to[lane] | from[lane] | bytes[lane], 16, lane);
        check_others(j, (uint32_t)1 << lane, to[lane], __builtin_return_address(0));
        check_others(j, (uint32_t)1 << lane, from[lane], __builtin_return_address(0));
        bool masked = (op & JIT_BULK_MASKED) != 0;
        if (threads_will_compare(j->grid) && (ctas == NULL || masked))
            threads_copy(j->grid, lane, to[lane], from[lane], bytes[lane],
                         __builtin_return_address(0));
        if (masked) {
            move_masked(to[lane], from[lane], bytes[lane], ctas[lane]);
            grid_wrote(j, (const void *)to[lane], bytes[lane]);
            continue;
        }
        if (ctas == NULL) {
            move(j, op, to[lane], from[lane], bytes[lane]);
            if (barrier != NULL)
                bulk_complete(j, barrier[lane], bytes[lane], lane);
            continue;
        }
        for (uint32_t rank = 0; rank < j->cluster_size; rank++) {
            if ((ctas[lane] >> rank & 1) == 0)
                continue;
            if (threads_will_compare(j->grid))
                threads_copy(j->grid, lane, cluster_map(j, to[lane], rank), from[lane], bytes[lane],
                             __builtin_return_address(0));
            move(j, op, cluster_map(j, to[lane], rank), from[lane], bytes[lane]);
            bulk_complete(j, cluster_map(j, barrier[lane], rank), bytes[lane], lane);
        }
    }
}
