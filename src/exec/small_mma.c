/* small_mma: products of matrices of small elements, D = A B + C (abi/small_mma.h).
 *
 * The factors become doubles first. A product of two elements and their scales is exact in them,
 * and so nearly always is the sum, which is rounded once, at its end. */
#include "abi/small_mma.h"
#include "exec/internal.h"

enum { ROWS = 16, COLUMNS = 8, MAX_K = 128, MAX_BLOCKS = 4 };

struct product {
    uint32_t kind, k, blocks;
    uint8_t *const *a, *const *b, *const *c, *const *metadata, *const *scales;
    double left[ROWS][MAX_K], right[MAX_K][COLUMNS];
    double of_row[ROWS][MAX_BLOCKS], of_column[COLUMNS][MAX_BLOCKS];
};

static const struct {
    uint8_t exponent, fraction;
    int bias;
} formats[SMALL_TYPES] = {
    [SMALL_E4M3] = {4, 3, 7},  [SMALL_E5M2] = {5, 2, 15}, [SMALL_E3M2] = {3, 2, 3},
    [SMALL_E2M3] = {2, 3, 1},  [SMALL_E2M1] = {2, 1, 1},  [SMALL_UE8M0] = {8, 0, 127},
    [SMALL_UE4M3] = {4, 3, 7},
};

static double power(int n) { return __builtin_ldexp(1, n); }

/* The value of a code. Only formats of eight bits have NaNs, and e5m2 alone infinities. */
static double value_of(enum small_type type, uint32_t code)
{
    uint32_t e = formats[type].exponent, f = formats[type].fraction;
    uint32_t exponent = code >> f & ((1u << e) - 1), fraction = code & ((1u << f) - 1);
    double sign = (code >> (e + f) & 1) != 0 && type != SMALL_UE4M3 ? -1 : 1;
    if (type == SMALL_UE8M0)
        return code == 0xff ? __builtin_nan("") : power((int)code - formats[type].bias);
    if (type == SMALL_E5M2 && exponent == 31)
        return fraction != 0 ? __builtin_nan("") : sign * __builtin_inf();
    if ((type == SMALL_E4M3 || type == SMALL_UE4M3) && (code & 0x7f) == 0x7f)
        return __builtin_nan("");
    int scale = (exponent != 0 ? (int)exponent : 1) - formats[type].bias - (int)f;
    return sign * (fraction + (exponent != 0 ? 1u << f : 0)) * power(scale);
}

static uint32_t word_of(const uint8_t *registers, uint32_t lane)
{
    uint32_t w;
    memcpy(&w, registers + 4 * (size_t)lane, 4);
    return w;
}

/* Element n of the row or column g of a factor, every `stride`-th of whose registers has it. */
static double element(const struct product *p, uint8_t *const *registers, uint32_t stride,
                      enum small_type type, uint32_t g, uint32_t n)
{
    uint32_t each = (p->kind & SMALL_MMA_PACKED) != 0 ? 8 : 4, across = n % (4 * each);
    uint32_t w = word_of(registers[n / (4 * each) * stride], 4 * g + across / each);
    uint32_t code = w >> across % each * (32 / each);
    if (each == 8)
        code &= 0xf;
    else if (type == SMALL_E2M1)
        code = code >> 2 & 0xf;
    else
        code &= type == SMALL_E3M2 || type == SMALL_E2M3 ? 0x3f : 0xff;
    return value_of(type, code);
}

/* Where element n of a sparse row stands in the whole one. */
static uint32_t place_of(const struct product *p, uint32_t row, uint32_t n)
{
    uint32_t width = (p->kind & SMALL_MMA_PACKED) != 0 ? 2 : 1; /* elements that an index is for */
    uint32_t group = n / (2 * width), g = row % 8, h = row / 8;
    uint32_t w = word_of(p->metadata[0], 4 * g + 2 * (group / 8) + h);
    uint32_t index = w >> (4 * (group % 8) + 2 * (n / width % 2)) & 3;
    return (group * 4 + index) * width + n % width;
}

static void read_factors(struct product *p)
{
    bool sparse = (p->kind & SMALL_MMA_SPARSE) != 0;
    enum small_type a = p->kind >> SMALL_MMA_A & 15, b = p->kind >> SMALL_MMA_B & 15;
    memset(p->left, 0, sizeof p->left);
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t n = 0; n < (sparse ? p->k / 2 : p->k); n++)
            p->left[r][sparse ? place_of(p, r, n) : n] = element(p, p->a + r / 8, 2, a, r % 8, n);
    for (uint32_t c = 0; c < COLUMNS; c++)
        for (uint32_t n = 0; n < p->k; n++)
            p->right[n][c] = element(p, p->b, 1, b, c, n);
}

static void read_scales(struct product *p, uint32_t selectors)
{
    enum small_type type = p->kind >> SMALL_MMA_SCALE & 15;
    uint32_t byte_a = selectors >> SMALL_MMA_BYTE_A & 3, thread_a = selectors >> SMALL_MMA_THREAD_A;
    uint32_t byte_b = selectors >> SMALL_MMA_BYTE_B & 3, thread_b = selectors >> SMALL_MMA_THREAD_B;
    for (uint32_t s = 0; s < p->blocks; s++) {
        for (uint32_t r = 0; r < ROWS; r++) {
            uint32_t w = word_of(p->scales[0], 4 * (r % 8) + 2 * (thread_a & 1) + r / 8);
            p->of_row[r][s] = value_of(type, w >> ((byte_a + s) & 3) * 8 & 0xff);
        }
        for (uint32_t c = 0; c < COLUMNS; c++) {
            uint32_t w = word_of(p->scales[1], 4 * c + (thread_b & 3));
            p->of_column[c][s] = value_of(type, w >> ((byte_b + s) & 3) * 8 & 0xff);
        }
    }
}

/* Row r of the sums without C. */
static void sum_row(const struct product *p, uint32_t r, double sum[COLUMNS])
{
    uint32_t blocks = p->blocks != 0 ? p->blocks : 1, length = p->k / blocks;
    for (uint32_t s = 0; s < blocks; s++) {
        double part[COLUMNS] = {0};
        for (uint32_t n = s * length; n < (s + 1) * length; n++)
            for (uint32_t c = 0; c < COLUMNS; c++)
                part[c] += p->left[r][n] * p->right[n][c];
        for (uint32_t c = 0; c < COLUMNS; c++)
            sum[c] += p->blocks != 0 ? part[c] * (p->of_row[r][s] * p->of_column[c][s]) : part[c];
    }
}

/* Where element (r, c) of C or D lies. */
static uint8_t *accumulator(uint8_t *const *registers, bool halves, uint32_t r, uint32_t c)
{
    size_t lane = 4 * (r % 8) + c / 2;
    return halves ? registers[r / 8] + 4 * lane + 2 * (size_t)(c % 2)
                  : registers[r / 8 * 2 + c % 2] + 4 * lane;
}

static double read_c(const struct product *p, uint32_t r, uint32_t c)
{
    bool halves = (p->kind & SMALL_MMA_HALVES) != 0;
    const uint8_t *at = accumulator(p->c, halves, r, c);
    _Float16 h;
    float f;
    if (halves) {
        memcpy(&h, at, sizeof h);
        return (double)(float)h;
    }
    memcpy(&f, at, sizeof f);
    return f;
}

static void write_d(bool halves, uint8_t *at, double v)
{
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (f != f)
        bits = 0x7fffffff;
    if (halves) {
        _Float16 h = (_Float16)f;
        uint16_t half;
        memcpy(&half, &h, sizeof half);
        half = f != f ? 0x7fff : half;
        memcpy(at, &half, sizeof half);
    } else {
        memcpy(at, &bits, sizeof bits);
    }
}

void weir_rt_small_mma(uint32_t kind, uint32_t selectors, uint8_t *const *registers)
{
    bool halves = (kind & SMALL_MMA_HALVES) != 0, sparse = (kind & SMALL_MMA_SPARSE) != 0;
    uint32_t nd = halves ? 2 : 4;
    struct product p;
    double d[ROWS][COLUMNS];
    p.kind = kind;
    p.k = ((kind & SMALL_MMA_PACKED) != 0 ? 64 : 32) << sparse;
    p.blocks = kind >> SMALL_MMA_BLOCKS & 15;
    p.a = registers + nd;
    p.b = p.a + 4;
    p.c = p.b + (sparse ? 4 : 2);
    p.metadata = p.c + nd;
    p.scales = p.metadata + sparse;
    read_factors(&p);
    if (p.blocks != 0)
        read_scales(&p, selectors);
    for (uint32_t r = 0; r < ROWS; r++) {
        memset(d[r], 0, sizeof d[r]);
        sum_row(&p, r, d[r]);
        for (uint32_t c = 0; c < COLUMNS; c++)
            d[r][c] += read_c(&p, r, c);
    }
    /* D may be where a factor or C was */
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t c = 0; c < COLUMNS; c++)
            write_d(halves, accumulator(registers, halves, r, c), d[r][c]);
}
