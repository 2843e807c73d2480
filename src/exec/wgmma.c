/* wgmma: products of a warp group, D = A B + D, for one of its warps (abi/wgmma.h).
 *
 * The factors are widened to floats or integers of 32 bits first: A row by row, B by k, so that
 * the columns of one k are vectors. Then some rows of D stay in the machine's registers over all of
 * k, which is the order of the sum: each step is one fused multiply-add.
 *
 * Registers of D hold eight columns of eight rows: of words the even columns and then the odd ones,
 * four in a row, of halves all eight. B's columns are put into that order.
 *
 * What is read and written are the program's addresses, so an access may fault; nothing is held. */
#include "abi/wgmma.h"
#include "exec/internal.h"

enum { TILE = 8, MAX_K = 32, MAX_SPARSE_K = 64, STRIDE = WGMMA_COLUMNS + TILE, PIECE = 16 };

typedef float floats __attribute__((vector_size(64), aligned(4)));
typedef int32_t ints __attribute__((vector_size(64), aligned(4)));
typedef uint32_t words __attribute__((vector_size(64), aligned(4)));
typedef uint32_t words8 __attribute__((vector_size(32), aligned(4)));
typedef float floats8 __attribute__((vector_size(32), aligned(4)));
typedef uint16_t shorts8 __attribute__((vector_size(16), aligned(1)));
typedef _Float16 halves8 __attribute__((vector_size(16), aligned(1)));

#define INLINE static inline __attribute__((always_inline))

struct product {
    uint32_t kind;
    uint32_t k, k_of_b; /* words of 32 bits along k after widening; a sparse A has half of B's */
    uint32_t tiles;     /* of eight columns */
    bool adds;
    uint8_t *const *d;
    _Alignas(64) uint32_t a[WGMMA_ROWS * MAX_K]; /* by rows */
    uint8_t from[WGMMA_ROWS * MAX_K];            /* sparse: the k of B that goes with a word of A */
    uint32_t *b;                                 /* by k, STRIDE words each */
};

static enum wgmma_type type_a(uint32_t kind) { return kind >> WGMMA_A_TYPE & 15; }
static enum wgmma_type type_b(uint32_t kind) { return kind >> WGMMA_B_TYPE & 15; }
static enum wgmma_result type_d(uint32_t kind) { return kind >> WGMMA_D_TYPE & 15; }

/* Words that 16 bytes become. */
static uint32_t piece_words(enum wgmma_type type)
{
    switch (type) {
    case WGMMA_F16:
    case WGMMA_BF16: return 8;
    case WGMMA_TF32:
    case WGMMA_B1: return 4;
    default: return 16;
    }
}

/* ---- a factor in shared memory ---- */

struct factor {
    uint64_t window;     /* address of shared memory */
    uint32_t start;      /* the rest in bytes */
    uint32_t lead, step; /* leading and stride dimension */
    uint32_t phase;      /* where the swizzle's pattern starts */
    uint32_t width;      /* pieces of 16 bytes that change places: 1 (none), 2, 4, 8 */
};

static struct factor factor_of(const struct jit_block *j, uint64_t descriptor)
{
    static const uint8_t widths[4] = {1, 8, 4, 2};
    return (struct factor){.window = (uint64_t)j->shared,
                           .start = (uint32_t)(descriptor & 0x3fff) << 4,
                           .lead = (uint32_t)(descriptor >> 16 & 0x3fff) << 4,
                           .step = (uint32_t)(descriptor >> 32 & 0x3fff) << 4,
                           .phase = (uint32_t)(descriptor >> 49 & 7) << 7,
                           .width = widths[descriptor >> 62]};
}

static const uint8_t *piece_at(const struct factor *f, uint32_t offset)
{
    uint32_t at = f->start + offset;
    at ^= ((at - f->phase) >> 7 & (f->width - 1)) << 4;
    return (const uint8_t *)(f->window + at);
}

/* K-major: piece c of a row of A or a column of B. */
static const uint8_t *piece_along_k(const struct factor *f, uint32_t row, uint32_t c)
{
    uint32_t next = f->width == 1 ? f->lead : PIECE;
    return piece_at(f, row % TILE * f->width * PIECE + row / TILE * f->step + c * next);
}

/* M- or N-major: eight elements of one k, the group of eight rows or columns. */
static const uint8_t *piece_across(const struct factor *f, uint32_t group, uint32_t k)
{
    uint32_t far_group = f->width == 1 ? f->step : f->lead;
    uint32_t far_k = f->width == 1 ? f->lead : f->step;
    return piece_at(f, group % f->width * PIECE + group / f->width * far_group +
                           k % TILE * f->width * PIECE + k / TILE * far_k);
}

/* ---- widening ---- */

/* A byte of e4m3 has a half's fraction one bit lower, a bias of 7 and no infinities. */
INLINE uint32_t from_e4m3(uint8_t v)
{
    uint32_t low = v & 0x7f, sign = (uint32_t)(v & 0x80) << 24, bits;
    float f;
    if (low == 0x7f)
        return sign | 0x7fffffff;
    if (low < 8) {
        f = (float)low * 0x1p-9f;
        memcpy(&bits, &f, 4);
        return sign | bits;
    }
    return sign | ((low << 20) + ((127 - 7) << 23));
}

INLINE void widen_halves(const void *p, uint32_t *out)
{
    halves8 h;
    memcpy(&h, p, sizeof h);
    floats8 f = __builtin_convertvector(h, floats8);
    memcpy(out, &f, sizeof f);
}

/* 16 bytes of a factor as words. */
INLINE void widen(enum wgmma_type type, const uint8_t *p, uint32_t *out)
{
    shorts8 s;
    switch (type) {
    case WGMMA_F16: widen_halves(p, out); return;
    case WGMMA_BF16: {
        memcpy(&s, p, sizeof s);
        words8 w = __builtin_convertvector(s, words8) << 16;
        memcpy(out, &w, sizeof w);
        return;
    }
    case WGMMA_TF32: /* the lower 13 bits are ignored */
        memcpy(out, p, PIECE);
        for (int n = 0; n < 4; n++)
            out[n] &= 0xffffe000;
        return;
    case WGMMA_B1: memcpy(out, p, PIECE); return;
    case WGMMA_E5M2: /* a half's upper byte */
        for (int half = 0; half < 2; half++) {
            for (int n = 0; n < 8; n++)
                s[n] = (uint16_t)(p[8 * half + n] << 8);
            widen_halves(&s, out + (size_t)8 * half);
        }
        return;
    default: break;
    }
    for (int n = 0; n < PIECE; n++)
        out[n] = type == WGMMA_E4M3 ? from_e4m3(p[n])
                 : type == WGMMA_S8 ? (uint32_t)(int32_t)(int8_t)p[n]
                                    : p[n];
}

/* Eight rows of eight words become columns. */
INLINE void transpose(const uint32_t *from, size_t from_stride, uint32_t *to, size_t to_stride)
{
    words8 v[8], t[8];
    for (size_t n = 0; n < 8; n++)
        memcpy(&v[n], from + n * from_stride, sizeof v[n]);
    for (int n = 0; n < 8; n += 2) {
        t[n] = __builtin_shufflevector(v[n], v[n + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        t[n + 1] = __builtin_shufflevector(v[n], v[n + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int n = 0; n < 8; n += 4)
        for (int k = 0; k < 2; k++) {
            v[n + k] = __builtin_shufflevector(t[n + k], t[n + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            v[n + k + 2] =
                __builtin_shufflevector(t[n + k], t[n + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (size_t n = 0; n < 4; n++) {
        t[n] = __builtin_shufflevector(v[n], v[n + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        t[n + 4] = __builtin_shufflevector(v[n], v[n + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (size_t n = 0; n < 8; n++)
        memcpy(to + n * to_stride, &t[n], sizeof t[n]);
}

/* Column of a tile at index i of its vectors. */
INLINE uint32_t column(uint32_t kind, uint32_t i)
{
    return type_d(kind) == WGMMA_TO_F16 ? i : i < 4 ? 2 * i : 2 * (i - 4) + 1;
}

INLINE void widen_a(struct product *p, const struct factor *f, uint32_t warp,
                    uint8_t *const *registers)
{
    enum wgmma_type type = type_a(p->kind);
    uint32_t per = piece_words(type);
    if ((p->kind & WGMMA_A_ROWS) != 0) {
        uint32_t eight[8];
        for (uint32_t k = 0; k < p->k; k++)
            for (uint32_t g = 0; g < 2; g++) {
                widen(type, piece_across(f, 2 * warp + g, k), eight);
                for (uint32_t r = 0; r < 8; r++)
                    p->a[(8 * g + r) * p->k + k] = eight[r];
            }
    } else {
        for (uint32_t r = 0; r < WGMMA_ROWS; r++)
            for (uint32_t c = 0; c < 2; c++) {
                const uint8_t *piece = registers != NULL
                                           ? registers[r / 8 + 2 * c] + (size_t)PIECE * (r % 8)
                                           : piece_along_k(f, WGMMA_ROWS * warp + r, c);
                widen(type, piece, p->a + (size_t)r * p->k + (size_t)c * per);
            }
    }
    for (uint32_t n = 0; (p->kind & WGMMA_NEGATES) != 0 && n < WGMMA_ROWS * p->k; n++)
        p->a[n] ^= 0x80000000;
}

INLINE void widen_b(struct product *p, const struct factor *f)
{
    enum wgmma_type type = type_b(p->kind);
    uint32_t per = piece_words(type);
    _Alignas(64) uint32_t rows[TILE * MAX_SPARSE_K];
    for (uint32_t t = 0; t < p->tiles; t++) {
        if ((p->kind & WGMMA_B_ROWS) != 0) {
            for (uint32_t k = 0; k < p->k_of_b; k++) {
                uint32_t *to = p->b + (size_t)k * STRIDE + (size_t)t * TILE;
                widen(type, piece_across(f, t, k), rows);
                for (uint32_t i = 0; i < TILE; i++)
                    to[i] = rows[column(p->kind, i)];
            }
            continue;
        }
        for (uint32_t i = 0; i < TILE; i++)
            for (uint32_t c = 0; c < p->k_of_b / per; c++)
                widen(type, piece_along_k(f, TILE * t + column(p->kind, i), c),
                      rows + (size_t)i * p->k_of_b + (size_t)c * per);
        for (uint32_t k = 0; k < p->k_of_b; k += 8)
            transpose(rows + k, p->k_of_b, p->b + (size_t)k * STRIDE + (size_t)t * TILE, STRIDE);
    }
    for (uint32_t k = 0; k < p->k_of_b && p->tiles % 2 != 0;
         k++) /* two tiles are multiplied at once */
        memset(p->b + (size_t)k * STRIDE + (size_t)p->tiles * TILE, 0, TILE * sizeof(uint32_t));
}

/* The k of B for each word of a sparse A, from the metadata of 32 lanes (abi/wgmma.h). */
static void find_k(struct product *p, const uint8_t *metadata)
{
    enum wgmma_type type = type_a(p->kind);
    bool wide = type == WGMMA_F16 || type == WGMMA_BF16 || type == WGMMA_TF32;
    uint32_t each = type == WGMMA_TF32 ? 1 : 2, other = (p->kind & WGMMA_SELECTOR) != 0 ? 2 : 0;
    for (uint32_t r = 0; r < WGMMA_ROWS; r++)
        for (uint32_t k = 0; k < p->k; k++) {
            uint32_t q = k / each, h = r / 8, word;
            uint32_t lane = wide ? other + q / 4 : h + q / 8 * 2;
            uint32_t bit = wide ? 16 * h + q % 4 * 4 : q % 8 * 4;
            memcpy(&word, metadata + (size_t)4 * (r % 8 * 4 + lane), sizeof word);
            uint32_t index = word >> (bit + k % each * 2) & 3;
            p->from[r * p->k + k] = (uint8_t)(2 * each * q + (each == 1 ? index >> 1 : index));
        }
}

/* ---- the product ---- */

/* Row r of a tile: `out` gets its eight elements as floats or integers. */
INLINE void load_d(const struct product *p, uint32_t tile, uint32_t r, uint32_t *out)
{
    if (type_d(p->kind) == WGMMA_TO_F16) {
        widen_halves(p->d[2 * tile + r / 8] + (size_t)PIECE * (r % 8), out);
        return;
    }
    uint8_t *const *d = p->d + (size_t)4 * tile + (size_t)2 * (r / 8);
    memcpy(out, d[0] + (size_t)PIECE * (r % 8), PIECE);
    memcpy(out + 4, d[1] + (size_t)PIECE * (r % 8), PIECE);
}

INLINE void store_d(const struct product *p, uint32_t tile, uint32_t r, const uint32_t *in)
{
    if (type_d(p->kind) == WGMMA_TO_F16) {
        floats8 f;
        memcpy(&f, in, sizeof f);
        halves8 h = __builtin_convertvector(f, halves8);
        memcpy(p->d[2 * tile + r / 8] + (size_t)PIECE * (r % 8), &h, sizeof h);
        return;
    }
    uint8_t *const *d = p->d + (size_t)4 * tile + (size_t)2 * (r / 8);
    memcpy(d[0] + (size_t)PIECE * (r % 8), in, PIECE);
    memcpy(d[1] + (size_t)PIECE * (r % 8), in + 4, PIECE);
}

/* Rows first .. first + 3 of two tiles; the second one may not exist. */
INLINE void multiply_floats(const struct product *p, uint32_t tile, uint32_t first, bool sparse)
{
    floats acc[4] = {0};
    bool two = tile + 1 < p->tiles;
    for (uint32_t r = 0; r < 4 && p->adds; r++) {
        uint32_t d[16] = {0};
        load_d(p, tile, first + r, d);
        if (two)
            load_d(p, tile + 1, first + r, d + 8);
        memcpy(&acc[r], d, sizeof d);
    }
    const uint32_t *a = p->a + (size_t)first * p->k, *b = p->b + (size_t)tile * TILE;
    const uint8_t *from = p->from + (size_t)first * p->k;
    for (uint32_t k = 0; k < p->k; k++) {
        for (uint32_t r = 0; r < 4; r++) {
            floats row;
            float x;
            memcpy(&row, b + (size_t)(sparse ? from[r * p->k + k] : k) * STRIDE, sizeof row);
            memcpy(&x, &a[r * p->k + k], 4);
            floats all = {x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
            acc[r] = __builtin_elementwise_fma(all, row, acc[r]);
        }
    }
    for (uint32_t r = 0; r < 4; r++) {
        uint32_t d[16];
        memcpy(d, &acc[r], sizeof d);
        store_d(p, tile, first + r, d);
        if (two)
            store_d(p, tile + 1, first + r, d + 8);
    }
}

/* Adds the number of bits of each word of `v` (a pointer: how a vector is passed depends on the
 * CPU). */
INLINE void add_bits(words *sum, const words *in)
{
    words v = *in;
    v = v - (v >> 1 & 0x55555555);
    v = (v & 0x33333333) + (v >> 2 & 0x33333333);
    *sum += ((v + (v >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

/* What an integer sum becomes with D, which is where it may saturate. */
INLINE int32_t finish(const struct product *p, int32_t d, int32_t sum)
{
    int64_t all = (int64_t)d + sum;
    if ((p->kind & WGMMA_SATURATES) != 0)
        return (int32_t)(all > INT32_MAX ? INT32_MAX : all < INT32_MIN ? INT32_MIN : all);
    return (int32_t)((uint32_t)d + (uint32_t)sum);
}

INLINE void multiply_ints(const struct product *p, uint32_t tile, uint32_t first, bool sparse)
{
    words acc[4] = {0};
    const uint32_t *a = p->a + (size_t)first * p->k, *b = p->b + (size_t)tile * TILE;
    const uint8_t *from = p->from + (size_t)first * p->k;
    bool bits = type_a(p->kind) == WGMMA_B1;
    for (uint32_t k = 0; k < p->k; k++) {
        for (uint32_t r = 0; r < 4; r++) {
            words row;
            uint32_t x = a[r * p->k + k];
            memcpy(&row, b + (size_t)(sparse ? from[r * p->k + k] : k) * STRIDE, sizeof row);
            words both = row & x;
            if (bits)
                add_bits(&acc[r], &both);
            else
                acc[r] += row * x;
        }
    }
    for (uint32_t r = 0; r < 4; r++)
        for (uint32_t t = 0; t < 2 && tile + t < p->tiles; t++) {
            uint32_t d[8] = {0};
            if (p->adds)
                load_d(p, tile + t, first + r, d);
            for (uint32_t i = 0; i < 8; i++)
                d[i] = (uint32_t)finish(p, (int32_t)d[i], (int32_t)acc[r][8 * t + i]);
            store_d(p, tile + t, first + r, d);
        }
}

INLINE void multiply(const struct product *p, bool sparse)
{
    for (uint32_t tile = 0; tile < p->tiles; tile += 2)
        for (uint32_t first = 0; first < WGMMA_ROWS; first += 4)
            if (type_d(p->kind) == WGMMA_TO_S32)
                multiply_ints(p, tile, first, sparse);
            else
                multiply_floats(p, tile, first, sparse);
}

INLINE void make_product(struct product *p, const struct factor *a, const struct factor *b,
                         uint32_t warp, uint8_t *const *a_registers)
{
    widen_a(p, a, warp, a_registers);
    widen_b(p, b);
    if ((p->kind & WGMMA_SPARSE) != 0)
        multiply(p, true);
    else
        multiply(p, false);
}

/* The same for generations of CPUs. */
#define PRODUCT_FOR(name, attributes)                                                              \
    attributes static void name(struct product *p, const struct factor *a, const struct factor *b, \
                                uint32_t warp, uint8_t *const *a_registers)                        \
    {                                                                                              \
        make_product(p, a, b, warp, a_registers);                                                  \
    }
PRODUCT_FOR(product_plain, )
#if defined(__x86_64__)
PRODUCT_FOR(product_avx2, __attribute__((target("avx2,fma,f16c"))))
PRODUCT_FOR(product_avx512, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma,f16c"))))
#endif

static void choose_product(struct product *p, const struct jit_block *j, uint64_t a, uint64_t b,
                           uint8_t *const *a_registers)
{
    const struct factor fa = factor_of(j, a), fb = factor_of(j, b);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        product_avx512(p, &fa, &fb, j->warp % 4, a_registers);
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        product_avx2(p, &fa, &fb, j->warp % 4, a_registers);
    else
#endif
        product_plain(p, &fa, &fb, j->warp % 4, a_registers);
}

/* B has twice as many rows where A is sparse: its memory is of the function that knows. */
static __attribute__((noinline)) void sparse_product(struct product *p, const struct jit_block *j,
                                                     uint64_t a, uint64_t b,
                                                     uint8_t *const *registers)
{
    _Alignas(64) uint32_t memory[MAX_SPARSE_K * STRIDE];
    bool in_registers = (p->kind & WGMMA_A_REGISTERS) != 0;
    p->b = memory;
    p->k_of_b = 2 * p->k;
    find_k(p, registers[in_registers ? WGMMA_MAX_A : 0]);
    choose_product(p, j, a, b, in_registers ? registers : NULL);
}

static __attribute__((noinline)) void dense_product(struct product *p, const struct jit_block *j,
                                                    uint64_t a, uint64_t b,
                                                    uint8_t *const *registers)
{
    _Alignas(64) uint32_t memory[MAX_K * STRIDE];
    p->b = memory;
    p->k_of_b = p->k;
    choose_product(p, j, a, b, (p->kind & WGMMA_A_REGISTERS) != 0 ? registers : NULL);
}

void weir_rt_wgmma(struct jit_block *j, uint32_t kind, uint32_t columns, uint32_t adds, uint64_t a,
                   uint64_t b, uint8_t *const *registers)
{
    struct product p; /* the buffers need not be cleared */
    p.kind = kind;
    p.k = 2 * piece_words(type_a(kind));
    p.tiles = columns / TILE;
    p.adds = adds != 0;
    p.d = registers;
    registers += p.tiles * (type_d(kind) == WGMMA_TO_F16 ? 2 : 4);
    if ((kind & WGMMA_SPARSE) != 0)
        sparse_product(&p, j, a, b, registers);
    else
        dense_product(&p, j, a, b, registers);
}
