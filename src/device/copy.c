/* copy: copies and fills of every shape, cut into pieces that several workers can share, and waits
 * for and writes of single values.
 *
 * A shape is three nested loops; what is contiguous is folded first, so that most copies are one
 * row. Rows longer than a piece are cut, shorter ones are put together. */
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/bits.h"
#include "device/internal.h"
#include "exec/touch.h"
#include "memory/defined.h"

static const uint64_t PIECE = 512 * 1024;
/* Below this a copy is over sooner than another worker would be there. */
static const uint64_t SHARED_MIN = 2 * 512 * 1024;

/* Fills in how a shape of rows is cut. */
static void cut(uint64_t width, uint64_t rows, uint64_t *segments, uint64_t *rows_each,
                uint64_t *pieces)
{
    *segments = 1;
    *rows_each = rows;
    *pieces = width > 0 ? 1 : 0;
    if (width == 0 || width * rows < SHARED_MIN)
        return;
    if (width >= PIECE) {
        *segments = (width + PIECE - 1) / PIECE;
        *rows_each = 1;
    } else {
        *rows_each = PIECE / width;
    }
    *pieces = *segments * ((rows + *rows_each - 1) / *rows_each);
    if (*pieces > UINT32_MAX) { /* more than a grid can count: not cut, rather than wrong */
        *segments = 1;
        *rows_each = rows;
        *pieces = 1;
    }
}

/* The rows and columns of a piece. */
struct piece {
    uint64_t first_row, end_row, column, width;
};

static struct piece piece_of(uint64_t index, uint64_t segments, uint64_t rows_each, uint64_t rows,
                             uint64_t width)
{
    struct piece p;
    uint64_t segment = index % segments, at = segments > 1 ? segment * PIECE : 0;
    p.first_row = index / segments * rows_each;
    p.end_row = p.first_row + rows_each < rows ? p.first_row + rows_each : rows;
    p.column = at;
    p.width = segments > 1 && width - at > PIECE ? PIECE : width - at;
    return p;
}

/* ---- copies ---- */

/* What is so large goes past the caches, however large they are: the memory takes it faster then.
 */
static const uint64_t ALWAYS_STREAMED = (uint64_t)64 << 20;

/* Bytes that the caches cannot hold twice, or would throw out all else for. */
static uint64_t streamed_min(void)
{
    static _Atomic uint64_t known;
    uint64_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
    if (WEIR_UNLIKELY(bytes == 0)) {
        long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
        bytes = cache > (long)SHARED_MIN ? (uint64_t)cache : (uint64_t)32 << 20;
        bytes = bytes < ALWAYS_STREAMED ? bytes : ALWAYS_STREAMED;
        atomic_store_explicit(&known, bytes, memory_order_relaxed);
    }
    return bytes;
}

void copy_args_make(struct copy_args *args, const struct device_copy *copy)
{
    *args = (struct copy_args){.dst = copy->dst,
                               .src = copy->src,
                               .dst_pitch = copy->dst_pitch,
                               .src_pitch = copy->src_pitch,
                               .dst_slice = copy->dst_slice,
                               .src_slice = copy->src_slice,
                               .width = copy->width,
                               .height = at_least_one(copy->height),
                               .depth = at_least_one(copy->depth)};
    /* Slices that follow each other are rows of one slice; rows that do are one row. */
    if (args->depth > 1 && args->dst_slice == args->height * args->dst_pitch &&
        args->src_slice == args->height * args->src_pitch) {
        args->height *= args->depth;
        args->depth = 1;
    }
    if (args->depth == 1 && args->dst_pitch == args->width && args->src_pitch == args->width) {
        args->width *= args->height;
        args->height = 1;
    }
    cut(args->width, args->height * args->depth, &args->segments, &args->rows_each, &args->pieces);
    args->streamed = args->width * args->height * args->depth >= streamed_min();
}

#if defined(__SSE2__)
#include <emmintrin.h>

enum { LINE = 64, ABREAST = 4 };

static inline void copy_line(char *dst, const char *src)
{
    const __m128i *from = (const __m128i *)src;
    __m128i *to = (__m128i *)dst;
    __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1), c = _mm_loadu_si128(from + 2),
            d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
}

/* ABREAST pages side by side, four lines of each at a time: a CPU fetches ahead in each page by
 * itself, so that more lines are under way (20 GB/s on a Xeon, where page after page gets 15). */
static void copy_pages(char *dst, const char *src)
{
    for (uint64_t line = 0; line < WEIR_PAGE; line += 4 * LINE)
        for (uint64_t at = line; at < ABREAST * WEIR_PAGE; at += WEIR_PAGE)
            for (uint64_t n = at; n < at + 4 * LINE; n += LINE)
                copy_line(dst + n, src + n);
}

/* Past the caches: a store that goes there first fetches what it overwrites, a third of all that
 * the memory has to move. The ends are not whole lines, and go the common way. */
static void copy_past(char *dst, const char *src, uint64_t bytes)
{
    uint64_t head = -(uintptr_t)dst % LINE;
    if (bytes < 16 * LINE) {
        memmove(dst, src, bytes);
        return;
    }
    memcpy(dst, src, head);
    uint64_t end = head + (bytes - head) / LINE * LINE, at = head;
    for (; at + ABREAST * WEIR_PAGE <= end; at += ABREAST * WEIR_PAGE)
        copy_pages(dst + at, src + at);
    for (; at < end; at += LINE)
        copy_line(dst + at, src + at);
    memcpy(dst + end, src + end, bytes - end);
    _mm_sfence(); /* such stores are in no order with others */
}
#else
static void copy_past(char *dst, const char *src, uint64_t bytes) { memmove(dst, src, bytes); }
#endif

static void copy_piece(const struct copy_args *p, uint64_t index)
{
    struct piece q = piece_of(index, p->segments, p->rows_each, p->height * p->depth, p->width);
    for (uint64_t row = q.first_row; row < q.end_row; row++) {
        uint64_t y = row % p->height, z = row / p->height;
        char *dst = p->dst + z * p->dst_slice + y * p->dst_pitch + q.column;
        const char *src = p->src + z * p->src_slice + y * p->src_pitch + q.column;
        if (p->streamed)
            copy_past(dst, src, q.width);
        else
            memmove(dst, src, q.width);
    }
}

void copy_all(void *args)
{
    const struct copy_args *p = args;
    for (uint64_t i = 0; i < p->pieces; i++)
        copy_piece(p, i);
}

static uint32_t copy_block(struct jit_block *block)
{
    copy_piece((const struct copy_args *)block->params, block->ctaid[0]);
    return JIT_DONE;
}

/* While accesses are looked at: copies and fills by kernels, of which nobody else is told (of the
 * host's observers are). Before them, so that a race is one even where they fault. */
static uint32_t copy_block_told(struct jit_block *block)
{
    const struct copy_args *p = (const struct copy_args *)block->params;
    struct piece q =
        piece_of(block->ctaid[0], p->segments, p->rows_each, p->height * p->depth, p->width);
    for (uint64_t row = q.first_row; row < q.end_row; row++) {
        uint64_t y = row % p->height, z = row / p->height;
        const char *dst = p->dst + z * p->dst_slice + y * p->dst_pitch + q.column;
        const char *src = p->src + z * p->src_slice + y * p->src_pitch + q.column;
        if (touch_is_told()) {
            touch_block(block, src, q.width, false, NULL);
            touch_block(block, dst, q.width, true, NULL);
        }
        if (defined_on)
            defined_copied((uint64_t)dst, (uint64_t)src, q.width);
    }
    copy_piece(p, block->ctaid[0]);
    return JIT_DONE;
}

struct grid_kernel copy_told_kernel = {.run = copy_block_told, .name = "memcpy", .builtin = true};
struct grid_kernel copy_kernel = {.run = copy_block, .name = "memcpy", .builtin = true};

/* ---- fills ---- */

void set_args_make(struct set_args *args, const struct device_set *set)
{
    *args = (struct set_args){.dst = set->dst,
                              .pitch = set->pitch,
                              .slice = set->slice,
                              .width = set->width * set->element,
                              .height = at_least_one(set->height),
                              .depth = at_least_one(set->depth),
                              .element = set->element,
                              .value = set->value};
    if (args->depth > 1 && args->slice == args->height * args->pitch) {
        args->height *= args->depth;
        args->depth = 1;
    }
    if (args->depth == 1 && args->pitch == args->width) {
        args->width *= args->height;
        args->height = 1;
    }
    cut(args->width, args->height * args->depth, &args->segments, &args->rows_each, &args->pieces);
    args->streamed = args->width * args->height * args->depth >= streamed_min();
}

/* Types without alignment, so that a program's odd pointer does no more than run slower. */
typedef uint16_t any16 __attribute__((aligned(1), may_alias));
typedef uint32_t any32 __attribute__((aligned(1), may_alias));

static void set_row(char *dst, uint64_t bytes, uint32_t element, uint32_t value)
{
    if (element == 1) {
        memset(dst, (int)(value & 0xff), bytes);
    } else if (element == 2) {
        any16 *p = (any16 *)dst;
        for (uint64_t i = 0; i < bytes / 2; i++)
            p[i] = (uint16_t)value;
    } else {
        any32 *p = (any32 *)dst;
        for (uint64_t i = 0; i < bytes / 4; i++)
            p[i] = value;
    }
}

#if defined(__SSE2__)
/* Past the caches, as copy_past. */
static void set_past(char *dst, uint64_t bytes, uint32_t element, uint32_t value)
{
    uint64_t head = -(uintptr_t)dst % LINE;
    if (bytes < 16 * LINE || head % element != 0) {
        set_row(dst, bytes, element, value);
        return;
    }
    set_row(dst, head, element, value);
    uint64_t end = head + (bytes - head) / LINE * LINE;
    uint32_t four = element == 1   ? (value & 0xff) * 0x01010101u
                    : element == 2 ? (value & 0xffff) * 0x00010001u
                                   : value;
    __m128i v = _mm_set1_epi32((int)four);
    for (uint64_t at = head; at < end; at += LINE)
        for (int i = 0; i < LINE / 16; i++)
            _mm_stream_si128((__m128i *)(dst + at) + i, v);
    set_row(dst + end, bytes - end, element, value);
    _mm_sfence();
}
#else
static void set_past(char *dst, uint64_t bytes, uint32_t element, uint32_t value)
{
    set_row(dst, bytes, element, value);
}
#endif

static void set_piece(const struct set_args *p, uint64_t index)
{
    struct piece q = piece_of(index, p->segments, p->rows_each, p->height * p->depth, p->width);
    for (uint64_t row = q.first_row; row < q.end_row; row++) {
        uint64_t y = row % p->height, z = row / p->height;
        char *dst = p->dst + z * p->slice + y * p->pitch + q.column;
        if (p->streamed)
            set_past(dst, q.width, p->element, p->value);
        else
            set_row(dst, q.width, p->element, p->value);
    }
}

void set_all(void *args)
{
    const struct set_args *p = args;
    for (uint64_t i = 0; i < p->pieces; i++)
        set_piece(p, i);
}

static uint32_t set_block(struct jit_block *block)
{
    set_piece((const struct set_args *)block->params, block->ctaid[0]);
    return JIT_DONE;
}

static uint32_t set_block_told(struct jit_block *block)
{
    const struct set_args *p = (const struct set_args *)block->params;
    struct piece q =
        piece_of(block->ctaid[0], p->segments, p->rows_each, p->height * p->depth, p->width);
    uint32_t value = p->element == 1   ? (p->value & 0xff) * 0x01010101u
                     : p->element == 2 ? (p->value & 0xffff) * 0x00010001u
                                       : p->value;
    for (uint64_t row = q.first_row; row < q.end_row; row++) {
        uint64_t y = row % p->height, z = row / p->height;
        const char *dst = p->dst + z * p->slice + y * p->pitch + q.column;
        if (touch_is_told())
            touch_block(block, dst, q.width, true, &value);
        if (defined_on)
            defined_written((uint64_t)dst, q.width);
    }
    set_piece(p, block->ctaid[0]);
    return JIT_DONE;
}

struct grid_kernel set_told_kernel = {.run = set_block_told, .name = "memset", .builtin = true};

struct grid_kernel set_kernel = {.run = set_block, .name = "memset", .builtin = true};

/* ---- values ---- */

static bool value_met(const struct value_args *p)
{
    uint64_t now;
    int64_t ahead;
    if (p->bytes == 4) {
        now = __atomic_load_n((const uint32_t *)p->address, __ATOMIC_ACQUIRE);
        ahead = (int32_t)((uint32_t)now - (uint32_t)p->value);
    } else {
        now = __atomic_load_n((const uint64_t *)p->address, __ATOMIC_ACQUIRE);
        ahead = (int64_t)(now - p->value);
    }
    uint64_t mask = p->bytes == 4 ? UINT32_MAX : UINT64_MAX;
    switch ((enum device_value_test)p->test) {
    case DEVICE_VALUE_GEQ: return ahead >= 0;
    case DEVICE_VALUE_EQ: return ahead == 0;
    case DEVICE_VALUE_AND: return (now & p->value & mask) != 0;
    case DEVICE_VALUE_NOR: return (~(now | p->value) & mask) != 0;
    }
    return true;
}

/* A block that waits: it is parked as a kernel that spins would be. */
static uint32_t wait_value_block(struct jit_block *block)
{
    return value_met((const struct value_args *)block->params) ? JIT_DONE : JIT_SUSPENDED;
}

struct grid_kernel wait_value_kernel = {
    .run = wait_value_block, .name = "wait for a value", .builtin = true, .can_suspend = true};

void value_write(const struct value_args *args)
{
    if (args->bytes == 4)
        __atomic_store_n((uint32_t *)args->address, (uint32_t)args->value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((uint64_t *)args->address, args->value, __ATOMIC_RELEASE);
}
