/* The texture layer by itself, with coordinates of any bits: whatever they are, a fetch stays inside
 * the texture (every element is 1, what is outside is not; sanitizers see the rest), and a surface
 * access outside is reported, clamped or dropped. Also conversions of texels, for all values of the
 * short types. */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "texture/texture.h"

enum { LANES = TEXTURE_LANES, WIDTH = 7, HEIGHT = 5, DEPTH = 6 };

static uint32_t float_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

static float float_value(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

/* Bits of every sort: small numbers, edges, infinities, NaN, anything. */
static uint32_t any_bits(void)
{
    static const float edges[] = {0.0f,       -0.0f,       1.0f,         -1.0f,    7.0f,
                                  8388608.0f, -8388609.0f, 1.0e30f,      -1.0e38f, INFINITY,
                                  NAN,        -INFINITY,   2147483648.0f};
    uint32_t any = (uint32_t)rand() << 16 ^ (uint32_t)rand();
    switch (rand() % 4) {
    case 0: return any;
    case 1: return float_bits(edges[(size_t)rand() % (sizeof edges / sizeof edges[0])]);
    case 2: return float_bits((float)(rand() % 4096 - 2048) / 64);
    default: return (uint32_t)(rand() % 32 - 16);
    }
}

static struct texture image_of_ones(uint8_t **memory)
{
    size_t count = (size_t)WIDTH * HEIGHT * DEPTH;
    float *elements = malloc(count * sizeof *elements);
    for (size_t n = 0; n < count; n++)
        elements[n] = 1;
    *memory = (uint8_t *)elements;
    return (struct texture){.tag = TEXTURE_TAG,
                            .type = TEXEL_F32,
                            .channels = 1,
                            .element = 4,
                            .base = *memory,
                            .width = WIDTH,
                            .height = HEIGHT,
                            .depth = DEPTH,
                            .pitch = WIDTH * 4,
                            .slice = WIDTH * HEIGHT * 4,
                            .border = {0, 0, 0x80, 0x3f}};
}

static void check_fetch(const struct texture *t, struct texture_instr i)
{
    uint32_t in[GEOMETRY_ROWS][LANES], out[4][LANES];
    for (int k = 0; k < GEOMETRY_ROWS; k++)
        for (int l = 0; l < LANES; l++)
            in[k][l] = any_bits();
    texture_fetch(t, i, (const uint32_t(*)[LANES])in, out);
    int bad = 0;
    for (int l = 0; l < LANES; l++)
        bad += fabsf(float_value(out[0][l]) - 1) > 1e-6f &&
               !((t->buffer || i.integer) && out[0][l] == 0);
    CHECK_EQ_INT(bad, 0);
}

static void test_fetches(void)
{
    uint8_t *memory;
    struct texture t = image_of_ones(&memory);
    for (int round = 0; round < 4000; round++) {
        for (int k = 0; k < 3; k++)
            t.address[k] = (uint8_t)(rand() % 4);
        t.normalized = rand() % 2;
        t.linear = rand() % 2;
        t.buffer = rand() % 8 == 0;
        struct texture_instr i = {.geometry = (unsigned)rand() % 7,
                                  .integer = (unsigned)rand() % 2,
                                  .moved = (unsigned)rand() % 2};
        if (i.geometry == GEOMETRY_CUBE || i.geometry == GEOMETRY_ACUBE)
            i.integer = 0;
        if ((i.geometry == GEOMETRY_2D || i.geometry == GEOMETRY_A2D) && !t.buffer &&
            rand() % 4 == 0) {
            i.gather = 1;
            i.integer = 0;
        }
        check_fetch(&t, i);
    }
    free(memory);
}

static void test_surfaces(void)
{
    uint8_t *memory;
    struct texture t = image_of_ones(&memory);
    t.tag = SURFACE_TAG;
    for (int round = 0; round < 4000; round++) {
        static const uint8_t geometries[] = {GEOMETRY_1D, GEOMETRY_2D, GEOMETRY_3D, GEOMETRY_A1D,
                                             GEOMETRY_A2D};
        struct texture_instr i = {.geometry = geometries[rand() % 5] & 7,
                                  .mode = (unsigned)rand() % 3,
                                  .action = SURFACE_LOAD,
                                  .size = 2,
                                  .count = 1};
        uint32_t in[4][LANES], mask = any_bits();
        uint64_t data[4][LANES];
        for (int k = 0; k < 4; k++)
            for (int l = 0; l < LANES; l++)
                in[k][l] = any_bits() & ~3u;
        memset(data, 0x55, sizeof data);
        uint32_t trapped = surface_access(&t, i, mask, (const uint32_t(*)[LANES])in, data);
        CHECK_EQ_INT(trapped & ~mask, 0);
        CHECK(i.mode == SURFACE_TRAP || trapped == 0);
        int bad = 0;
        for (int l = 0; l < LANES; l++) {
            bool done = mask >> l & 1 && !(trapped >> l & 1);
            uint64_t v = data[0][l];
            bad += done ? v != float_bits(1) && !(i.mode == SURFACE_ZERO && v == 0)
                        : v != 0x5555555555555555u;
        }
        CHECK_EQ_INT(bad, 0);
    }
    free(memory);
}

/* Every half: to a float by loading, and back. */
static void test_halves(void)
{
    int bad = 0;
    for (uint32_t first = 0; first < 65536; first += LANES) {
        uint16_t halves[LANES];
        struct texel_addresses p;
        uint32_t out[1][LANES];
        for (uint32_t l = 0; l < LANES; l++) {
            halves[l] = (uint16_t)(first + l);
            p.at[l] = (uint64_t)l * 2;
        }
        struct texture t = {.type = TEXEL_F16,
                            .channels = 1,
                            .element = 2,
                            .base = (const uint8_t *)halves,
                            .width = LANES};
        texel_load(&t, &p, 1, out);
        for (uint32_t l = 0; l < LANES; l++) {
            uint16_t h = halves[l];
            bool nan = (h & 0x7fff) > 0x7c00;
            bad += nan ? !isnan(float_value(out[0][l])) : texel_half(out[0][l]) != h;
        }
    }
    CHECK_EQ_INT(bad, 0);
    CHECK_EQ_INT(texel_half(float_bits(65519.0f)), 0x7bff);
    CHECK_EQ_INT(texel_half(float_bits(65520.0f)), 0x7c00);
    CHECK_EQ_INT(texel_half(float_bits(1.0f + 0x1p-11f)), 0x3c00); /* ties go to even */
    CHECK_EQ_INT(texel_half(float_bits(1.0f + 3 * 0x1p-11f)), 0x3c02);
    CHECK_EQ_INT(texel_half(float_bits(0x1p-25f)), 0);
    CHECK_EQ_INT(texel_half(float_bits(-0x1.8p-25f)), 0x8001);
}

/* Every integer of 8 and 16 bits, read as a fraction: the quotient by the type's largest. */
static void test_fractions(void)
{
    static const struct {
        enum texel_type type;
        uint8_t channels;
        int32_t low, high;
    } cases[] = {{TEXEL_U8, 1, 0, 255},    {TEXEL_U8, 4, 0, 255},    {TEXEL_S8, 1, -128, 127},
                 {TEXEL_S8, 4, -128, 127}, {TEXEL_U16, 2, 0, 65535}, {TEXEL_S16, 1, -32768, 32767}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        uint32_t bytes = texel_type_bytes(cases[k].type), channels = cases[k].channels;
        int bad = 0;
        for (int32_t first = cases[k].low; first <= cases[k].high; first += LANES) {
            uint8_t memory[LANES * 8];
            struct texture t = {.type = (uint8_t)cases[k].type,
                                .channels = (uint8_t)channels,
                                .as_float = true,
                                .base = memory};
            struct texel_addresses addresses;
            uint32_t out[4][LANES];
            for (uint32_t l = 0; l < LANES; l++) {
                addresses.at[l] = (uint64_t)l * bytes * channels;
                for (uint32_t c = 0; c < channels; c++) {
                    int32_t v = first + (int32_t)((l + c) % LANES);
                    memcpy(memory + addresses.at[l] + c * bytes, &v, bytes); /* the low bytes */
                }
            }
            texel_load(&t, &addresses, 4, out);
            for (uint32_t c = 0; c < 4; c++)
                for (uint32_t l = 0; l < LANES; l++) {
                    float v = (float)(first + (int32_t)((l + c) % LANES));
                    float want = v / (float)cases[k].high;
                    want = c >= channels ? 0 : want < -1 ? -1 : want;
                    bad += float_bits(want) != out[c][l];
                }
        }
        CHECK_EQ_INT(bad, 0);
    }
}

int main(void)
{
    test_fractions();
    test_fetches();
    test_surfaces();
    test_halves();
    return check_done();
}
