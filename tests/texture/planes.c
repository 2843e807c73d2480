/* Module texture (plane_lanes.h): bilinear reads by the CPU's vectors give the bits that the
 * functions for all textures give: every address mode, normalized coordinates or not, rows, planes,
 * layers and volumes of all formats, images of many sizes, with elements of all magnitudes (tiny
 * ones, infinities and NaN among them), coordinates anywhere, at the edges above all, and sums that
 * lie halfway between two floats. */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "texture/plane.h"

enum { LANES = TEXTURE_LANES, ROUNDS = 6000, MOST = 70 };

static uint32_t random_bits(void) { return (uint32_t)rand() << 16 ^ (uint32_t)rand(); }

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

/* How much the elements of an image differ. */
enum spread { NEAR, FAR, ANY, WHOLE };

static uint32_t element(enum spread s)
{
    float part = (float)(random_bits() >> 8) * 0x1p-24f, sign = rand() % 2 ? 1 : -1;
    switch (rand() % 16 == 0 ? WHOLE : s) {
    case NEAR: return bits_of(sign * (part + 1));
    case FAR: return bits_of(sign * ldexpf(part + 1, rand() % 60 - 30));
    case ANY: return random_bits();
    default: return bits_of(ldexpf((float)(rand() % 8), rand() % 4 * 8)); /* ties */
    }
}

/* All of them: small ones, infinities and NaN. */
static uint16_t half(enum spread s)
{
    uint32_t any = random_bits(), exponent = s == NEAR  ? 15
                                             : s == FAR ? any >> 10 & 31
                                                        : any >> 12 & 7;
    if (s != ANY && exponent == 31)
        exponent = 30;
    return rand() % 16 == 0 ? (uint16_t)(any & 0x8000)
                            : (uint16_t)((any & 0x83ff) | exponent << 10);
}

static float coordinate(const struct texture *t, uint32_t size)
{
    float n = (float)size, x = (float)(random_bits() >> 8) * 0x1p-24f * (n + 4) - 2;
    switch (rand() % 8) {
    case 0: x = (float)(rand() % 1024) / 512 - 0.5f; break;
    case 1: x = n - (float)(rand() % 1024) / 512; break;
    case 2: x = (float)(rand() % (int)(size * 512)) / 512; break;
    default: break;
    }
    return t->normalized ? x / n + (rand() % 4 ? 0 : (float)(rand() % 9 - 4)) : x;
}

static uint32_t wild_coordinate(void)
{
    static const float wild[] = {0,      -0.0f,     1,       -1,      0x1p-130f, -0x1p-130f,
                                 0x1p9f, -0x1p10f,  0x1p30f, 1e30f,   -1e38f,    NAN,
                                 -1e-9f, 1 - 1e-7f, 511.99f, INFINITY};
    return rand() % 2 ? bits_of(wild[(size_t)rand() % (sizeof wild / sizeof wild[0])])
                      : random_bits();
}

static void fill_coordinates(const struct texture *t, bool layered, uint32_t (*in)[LANES])
{
    bool wild = rand() % 8 == 0, inside = rand() % 2;
    for (int l = 0; l < LANES; l++) {
        if (layered)
            in[0][l] = rand() % 8 == 0 ? random_bits() : (uint32_t)(rand() % 6);
        for (int k = 0; k < 3; k++) {
            float size = (float)(k == 0 ? t->width : k == 1 ? t->height : t->depth);
            float x = coordinate(t, (uint32_t)size);
            float least = t->normalized ? 1 / size : 1;
            float most = t->normalized ? 1 - 1 / size : size - 1;
            if (inside)
                x = x < least ? least : x > most ? most : x;
            in[layered + k][l] = wild && rand() % 4 == 0 ? wild_coordinate() : bits_of(x);
        }
    }
}

/* NaN are one value. */
static bool same(uint32_t a, uint32_t b)
{
    bool nan_a = (a & 0x7fffffff) > 0x7f800000, nan_b = (b & 0x7fffffff) > 0x7f800000;
    return nan_a || nan_b ? nan_a && nan_b : a == b;
}

/* How many fetches the function did, of ROUNDS. */
static int compare(plane_function *f, enum texel_type type, uint8_t channels)
{
    static const enum texture_geometry geometries[] = {GEOMETRY_1D, GEOMETRY_2D, GEOMETRY_A1D,
                                                       GEOMETRY_A2D, GEOMETRY_3D};
    const uint32_t bytes = texel_type_bytes(type) * channels;
    uint8_t *memory = malloc((size_t)MOST * MOST * bytes);
    int done = 0, bad = 0;
    struct texture t = {.tag = TEXTURE_TAG,
                        .type = (uint8_t)type,
                        .channels = channels,
                        .element = (uint8_t)bytes,
                        .depth = 1,
                        .linear = true,
                        .as_float = true};
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t in[4][LANES], want[4][LANES], have[4][LANES];
        enum spread s = (enum spread)(rand() % 4);
        if (round % 32 == 0)
            for (uint32_t n = 0; n < MOST * MOST * bytes / 4; n++) {
                uint32_t e = type == TEXEL_F32   ? element(s)
                             : type == TEXEL_F16 ? (uint32_t)half(s) | (uint32_t)half(s) << 16
                                                 : random_bits();
                memcpy(memory + (size_t)n * 4, &e, 4);
            }
        t.width = 1 + (uint32_t)rand() % MOST;
        t.height = 1 + (uint32_t)rand() % MOST;
        enum texture_geometry g = geometries[rand() % 5];
        bool layered = geometry_layered(g);
        if (geometry_axes(g) == 1)
            t.height = 1;
        t.depth = layered || g == GEOMETRY_3D ? 1 + (uint32_t)rand() % (MOST / t.height) : 1;
        t.pitch = (uint64_t)t.width * bytes;
        t.slice = t.pitch * t.height;
        /* at the end of what was allocated: sanitizers see what is read after it */
        t.base = memory + (size_t)MOST * MOST * bytes - t.slice * t.depth;
        t.normalized = rand() % 2;
        for (int k = 0; k < 3; k++)
            t.address[k] = (uint8_t)(rand() % 4);
        for (uint32_t n = 0; n < bytes && n < sizeof t.border; n++)
            t.border[n] = (uint8_t)rand();
        fill_coordinates(&t, layered, in);
        if (!f(&t, g, (const uint32_t(*)[LANES])in, have))
            continue;
        done++;
        texture_fetch(&t, (struct texture_instr){.geometry = g & 7}, (const uint32_t(*)[LANES])in,
                      want);
        for (int c = 0; c < 4; c++)
            for (int l = 0; l < LANES; l++)
                bad += !same(have[c][l], want[c][l]);
    }
    free(memory);
    CHECK_EQ_INT(bad, 0);
    return done;
}

static void test_function(plane_function *f)
{
    static const struct {
        enum texel_type type;
        uint8_t channels;
    } formats[] = {{TEXEL_F32, 1}, {TEXEL_F32, 2}, {TEXEL_F32, 4}, {TEXEL_F16, 1}, {TEXEL_F16, 2},
                   {TEXEL_F16, 4}, {TEXEL_U8, 1},  {TEXEL_U8, 2},  {TEXEL_U8, 4},  {TEXEL_U16, 1},
                   {TEXEL_U16, 2}, {TEXEL_U16, 4}, {TEXEL_S16, 1}, {TEXEL_S16, 2}, {TEXEL_S16, 4}};
    for (size_t n = 0; n < sizeof formats / sizeof formats[0]; n++)
        CHECK(compare(f, formats[n].type, formats[n].channels) > ROUNDS / 4);
    CHECK_EQ_INT(compare(f, TEXEL_S8, 1), 0); /* left to others */
    CHECK_EQ_INT(compare(f, TEXEL_S8, 4), 0);
}

int main(void)
{
    static const unsigned widths[] = {256, 512};
    for (int n = 0; n < 2; n++) {
        texture_use_vectors(widths[n]);
        plane_function *f = plane_fetch_here();
        texture_use_vectors(0); /* texture_fetch leaves it out */
        CHECK(plane_fetch_here() == NULL);
        if (f != NULL)
            test_function(f);
        else
            printf("no vectors of %u bits here\n", widths[n]);
    }
    return check_done();
}
