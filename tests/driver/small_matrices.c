/* K1, by the driver API, on a device of compute capability 12.0: matrices whose elements have four,
 * six and eight bits: mma with .kind, with scales for blocks and without, dense and sparse;
 * ldmatrix and stmatrix of bytes. Compared with a model that is written from the PTX ISA's
 * description (of the fragments of ldmatrix.m16n16, which it only draws, from CUTLASS's layouts).
 */
#include "common.h"

#include <math.h>
#include <stdbool.h>

/* The kernel: each thread loads `in` words from its row of the buffer, runs the body, and stores
 * `out` words r0.. to a row after all of those. r0 to r9 are results. */
static void run(const char *body, const uint32_t *data, int in, uint32_t *result, int out)
{
    static char text[16384];
    int n = snprintf(text, sizeof text,
                     ".version 9.0\n.target sm_120a\n.address_size 64\n"
                     ".visible .entry k(.param .u64 p)\n{\n"
                     ".reg .b32 a<32>; .reg .b32 r<32>; .reg .b16 h<4>; .reg .b64 d<4>;\n"
                     ".shared .align 16 .b8 tile[1024];\n"
                     "ld.param.u64 d0, [p];\nmov.u32 a31, %%tid.x;\n"
                     "mad.wide.u32 d1, a31, %d, d0;\nmad.wide.u32 d2, a31, %d, d0;\n",
                     4 * in, 4 * out);
    for (int i = 0; i < in; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "ld.global.u32 a%d, [d1+%d];\n", i, 4 * i);
    n += snprintf(text + n, sizeof text - (size_t)n, "%s\n", body);
    for (int i = 0; i < out; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "st.global.u32 [d2+%d], r%d;\n",
                      4 * (32 * in + i), i);
    snprintf(text + n, sizeof text - (size_t)n, "ret;\n}\n");
    CUmodule module;
    CUfunction f;
    CUdeviceptr p;
    NEED(cuModuleLoadData(&module, text));
    NEED(cuModuleGetFunction(&f, module, "k"));
    NEED(cuMemAlloc(&p, (size_t)128 * (size_t)(in + out)));
    NEED(cuMemcpyHtoD(p, data, (size_t)128 * (size_t)in));
    void *arguments[] = {&p};
    NEED(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    NEED(cuMemcpyDtoH(result, p + (size_t)128 * (size_t)in, (size_t)128 * (size_t)out));
    NEED(cuMemFree(p));
    NEED(cuModuleUnload(module));
}

static uint32_t next(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

/* ---- formats ---- */

struct format {
    const char *name;
    int exponent, fraction, bias, bits;
};
static const struct format formats[] = {{"e4m3", 4, 3, 7, 8},
                                        {"e5m2", 5, 2, 15, 8},
                                        {"e3m2", 3, 2, 3, 6},
                                        {"e2m3", 2, 3, 1, 6},
                                        {"e2m1", 2, 1, 1, 4}};

static double decoded(const struct format *f, unsigned code)
{
    unsigned fraction = code & ((1u << f->fraction) - 1);
    int exponent = (int)(code >> f->fraction & ((1u << f->exponent) - 1));
    double v = exponent == 0
                   ? ldexp(fraction, 1 - f->bias - f->fraction)
                   : ldexp(fraction + (1u << f->fraction), exponent - f->bias - f->fraction);
    return code >> (f->exponent + f->fraction) & 1 ? -v : v;
}

/* ---- mma ---- */

struct kind {
    const char *name, *scale; /* of scales: NULL: none */
    int k, blocks;
    bool packed, halves, sparse;
    int a, b; /* formats */
};

static double left[16][128], right[128][8], of_row[16][4], of_column[8][4];

/* A code that is a number, not too large for sums to stay exact. */
static unsigned random_code(const struct format *f)
{
    unsigned code = next() & ((1u << f->bits) - 1);
    if (f->bits == 8) /* neither NaN nor infinity, and near 1 */
        code = (code & 0x80) |
               ((unsigned)(f->bias - 2) << f->fraction) + (next() & ((4u << f->fraction) - 1));
    return code;
}

static void put(uint32_t *lane, int bit, int bits, unsigned code)
{
    lane[bit / 32] |= (code & ((1u << bits) - 1)) << bit % 32;
}

/* Where an element stands in its lane's word: four to a byte each, six low, four in the middle. */
static unsigned contained(const struct kind *q, const struct format *f, unsigned code)
{
    return !q->packed && f->bits == 4 ? code << 2 : code;
}

enum { IN = 24 };

static void fill_factors(const struct kind *q, uint32_t in[32][IN])
{
    int each = q->packed ? 8 : 4, bits = 32 / each, ka = q->sparse ? q->k / 2 : q->k;
    const struct format *fa = &formats[q->a], *fb = &formats[q->b];
    memset(left, 0, sizeof left);
    uint32_t metadata[32] = {0};
    int width = q->packed ? 2 : 1;
    for (int row = 0; row < 16; row++) {
        int places[64];
        for (int group = 0; group < ka / (2 * width); group++) {
            static const int pairs[6] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}; /* ascending indices */
            unsigned nibble = (unsigned)pairs[next() % 6];
            metadata[4 * (row % 8) + 2 * (group / 8) + row / 8] |= nibble << 4 * (group % 8);
            for (int n = 0; n < 2 * width; n++)
                places[group * 2 * width + n] =
                    (group * 4 + (int)(nibble >> 2 * (n / width) & 3)) * width + n % width;
        }
        for (int n = 0; n < ka; n++) {
            unsigned code = random_code(fa);
            int chunk = n / (4 * each), t = n / each % 4, lane = 4 * (row % 8) + t;
            left[row][q->sparse ? places[n] : n] = decoded(fa, code);
            put(in[lane], 32 * (2 * chunk + row / 8) + n % each * bits, bits,
                contained(q, fa, code));
        }
    }
    for (int column = 0; column < 8; column++)
        for (int n = 0; n < q->k; n++) {
            unsigned code = random_code(fb);
            int chunk = n / (4 * each), lane = 4 * column + n / each % 4;
            right[n][column] = decoded(fb, code);
            put(in[lane], 32 * (4 + chunk) + n % each * bits, bits, contained(q, fb, code));
        }
    for (int lane = 0; lane < 32; lane++)
        in[lane][12] = metadata[lane];
}

/* Scales: `byte` of the word of lanes 2 thread and 2 thread + 1 of four, or of lane `thread`. */
static void fill_scales(const struct kind *q, uint32_t in[32][IN], int byte_a, int thread_a,
                        int byte_b, int thread_b)
{
    for (int lane = 0; lane < 32; lane++)
        in[lane][13] = next(), in[lane][14] = next();
    bool exponents = strcmp(q->scale, "ue8m0") == 0;
    for (int side = 0; side < 2; side++)
        for (int line = 0; line < (side ? 8 : 16); line++)
            for (int s = 0; s < q->blocks; s++) {
                int lane = side ? 4 * line + thread_b : 4 * (line % 8) + 2 * thread_a + line / 8;
                int shift = 8 * ((side ? byte_b : byte_a) + s);
                unsigned code = exponents ? 125 + next() % 5 : 0x28 + next() % 0x20;
                in[lane][13 + side] &= ~(0xffu << shift);
                in[lane][13 + side] |= code << shift;
                double v = exponents ? ldexp(1, (int)code - 127) : decoded(&formats[0], code);
                if (side)
                    of_column[line][s] = v;
                else
                    of_row[line][s] = v;
            }
}

static float half_value(uint16_t bits)
{
    _Float16 h;
    memcpy(&h, &bits, sizeof h);
    return (float)h;
}

/* C, from numbers that all results can be added to. */
static double random_c(const struct kind *q, uint32_t in[32][IN], int row, int column)
{
    double c = (double)(next() % 64) / 4 - 8;
    int lane = 4 * (row % 8) + column / 2;
    if (q->halves) {
        _Float16 h = (_Float16)(float)c;
        uint16_t bits;
        memcpy(&bits, &h, sizeof bits);
        in[lane][8 + row / 8] |= (uint32_t)bits << 16 * (column % 2);
    } else {
        float f = (float)c;
        memcpy(&in[lane][8 + row / 8 * 2 + column % 2], &f, sizeof f);
    }
    return c;
}

static void one_product(const struct kind *q, int byte_a, int thread_a, int byte_b, int thread_b,
                        bool in_registers)
{
    static uint32_t in[32][IN], out[32][4];
    char body[1024], scales[256] = "", vector[32] = "", c[32];
    double sum[16][8];
    memset(in, 0, sizeof in);
    fill_factors(q, in);
    if (q->scale != NULL)
        fill_scales(q, in, byte_a, thread_a, byte_b, thread_b);
    for (int row = 0; row < 16; row++)
        for (int column = 0; column < 8; column++) {
            sum[row][column] = random_c(q, in, row, column);
            for (int n = 0; n < q->k; n++) {
                int s = q->scale != NULL ? n * q->blocks / q->k : 0;
                double scale = q->scale != NULL ? of_row[row][s] * of_column[column][s] : 1;
                sum[row][column] += left[row][n] * right[n][column] * scale;
            }
        }
    const char *type = q->halves ? "f16" : "f32", *d = q->halves ? "{r0,r1}" : "{r0,r1,r2,r3}";
    snprintf(c, sizeof c, "%s", q->halves ? "{a8,a9}" : "{a8,a9,a10,a11}");
    if (q->scale != NULL) {
        snprintf(vector, sizeof vector, ".block_scale.scale_vec::%dX", q->blocks);
        if (in_registers)
            snprintf(scales, sizeof scales, ", a13, {h0, h1}, a14, {h2, h3}");
        else
            snprintf(scales, sizeof scales, ", a13, {%d, %d}, a14, {%d, %d}", byte_a, thread_a,
                     byte_b, thread_b);
    }
    snprintf(
        body, sizeof body,
        "mov.u32 r2, 0; mov.u32 r3, 0;\n"
        "mov.b16 h0, %d; mov.b16 h1, %d; mov.b16 h2, %d; mov.b16 h3, %d;\n"
        "mma%s.sync.aligned.m16n8k%d.row.col.kind::%s%s.%s.%s.%s.%s%s%s %s, {a0,a1,a2,a3}, %s, "
        "%s%s%s;",
        byte_a, thread_a, byte_b, thread_b, q->sparse ? ".sp::ordered_metadata" : "", q->k, q->name,
        vector, type, formats[q->a].name, formats[q->b].name, type, q->scale != NULL ? "." : "",
        q->scale != NULL ? q->scale : "", d, q->sparse ? "{a4,a5,a6,a7}" : "{a4,a5}", c,
        q->sparse ? ", a12, 0" : "", scales);
    run(body, &in[0][0], IN, &out[0][0], 4);
    int wrong = 0;
    for (int row = 0; row < 16; row++)
        for (int column = 0; column < 8; column++) {
            const uint32_t *lane = out[4 * (row % 8) + column / 2];
            float got, want = (float)sum[row][column];
            if (q->halves) {
                got = half_value((uint16_t)(lane[row / 8] >> 16 * (column % 2)));
                want = (float)(_Float16)want;
            } else {
                memcpy(&got, &lane[row / 8 * 2 + column % 2], sizeof got);
            }
            wrong += got != want;
        }
    if (!check_count(wrong == 0))
        printf("%s: %d of 128 elements are wrong\n", body, wrong);
}

static void products(void)
{
    for (int a = 0; a < 5; a++)
        for (int n = 0; n < 2; n++) { /* each format with two others */
            int b = (a + 1 + 3 * n) % 5;
            bool sparse = (a + n) % 2 != 0;
            struct kind q = {"f8f6f4", NULL, sparse ? 64 : 32, 0, false, n != 0, sparse, a, b};
            one_product(&q, 0, 0, 0, 0, false);
            q = (struct kind){"mxf8f6f4", "ue8m0", sparse ? 32 : 64, 1, false, false, !sparse,
                              a,          b};
            one_product(&q, (a + b) % 4, a % 2, b % 4, (a + 1) % 4, n != 0);
        }
    static const struct {
        const char *name, *scale;
        int blocks;
    } packed[] = {{"mxf4", "ue8m0", 2}, {"mxf4nvf4", "ue8m0", 2}, {"mxf4nvf4", "ue4m3", 4}};
    for (int n = 0; n < 3; n++)
        for (int sparse = 0; sparse < 2; sparse++) {
            struct kind q = {packed[n].name,
                             packed[n].scale,
                             sparse ? 128 : 64,
                             packed[n].blocks,
                             true,
                             false,
                             sparse != 0,
                             4,
                             4};
            one_product(&q, 0, 1, 0, 2, false);
            one_product(&q, packed[n].blocks == 2 ? 2 : 0, 0, 0, 3, true);
        }
}

/* A NaN among the elements or the scales makes NaNs, of one kind. */
static void not_numbers(void)
{
    static uint32_t in[32][IN], out[32][4];
    memset(in, 0, sizeof in);
    in[0][13] = 0xff; /* row 0 */
    run("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e2m3.e2m1.f32.ue8m0 "
        "{r0,r1,r2,r3}, {a0,a1,a2,a3}, {a4,a5}, {a8,a9,a10,a11}, a13, {0,0}, a14, {0,0};",
        &in[0][0], IN, &out[0][0], 4);
    CHECK_EQ_INT(out[0][0], 0x7fffffff);
    CHECK_EQ_INT(out[3][1], 0x7fffffff);
    CHECK_EQ_INT(out[0][2], 0);
    CHECK_EQ_INT(out[4][0], 0);
}

/* What no such instruction has is refused when the module is read. */
static void refusals(void)
{
    static const struct {
        const char *body, *message;
    } cases[] = {
        {"mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0 "
         "{r0,r1,r2,r3}, {r4,r5,r6,r7}, {r8,r9}, {r0,r1,r2,r3}, r4, {1,0}, r4, {0,0};",
         "no such byte and thread of scales"},
        {"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32 {r0,r1,r2,r3}, "
         "{r4,r5}, {r8,r9}, {r0,r1,r2,r3};",
         "other numbers of registers"},
        {"ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {r0,r1}, [r2];", "has 4 registers"},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        char text[1024];
        CUmodule module;
        snprintf(text, sizeof text,
                 ".version 9.0\n.target sm_120a\n.address_size 64\n.visible .entry k()\n{\n"
                 ".reg .b32 r<12>;\n%s\nret;\n}\n",
                 cases[n].body);
        CHECK(cuModuleLoadData(&module, text) != CUDA_SUCCESS);
        if (!check_count(strstr(weir_last_message(), cases[n].message) != NULL))
            printf("%s: %s\n", cases[n].body, weir_last_message());
    }
}

/* ---- ldmatrix, stmatrix ---- */

/* Element c of a line of 16 bytes that holds elements of so many bits. */
static unsigned line_element(const uint8_t *line, int c, int bits)
{
    unsigned at = (unsigned)(c * bits), two = line[at / 8];
    if (at / 8 + 1 < 16)
        two |= (unsigned)line[at / 8 + 1] << 8;
    return two >> at % 8 & ((1u << bits) - 1);
}

/* Lines are stored to shared memory in an order of their own: line n at 16 * (n * 5 % 32). */
static void loads(void)
{
    static const char *const sources[] = {"b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64"};
    static const int bits[] = {8, 6, 4};
    for (int form = 0; form < 3; form++)
        for (int count = 1; count <= 4; count *= 2)
            for (int turned = 0; turned < 2; turned++) {
                if ((turned && count == 4) || (!turned && form == 0))
                    continue;
                static uint32_t in[32][4], out[32][4];
                static const char *const lists[] = {"", "{r0}", "{r0,r1}", "", "{r0,r1,r2,r3}"};
                int regs = turned ? 2 * count : count, lines = turned ? 16 : 8;
                char body[1024];
                for (int l = 0; l < 32; l++)
                    for (int w = 0; w < 4; w++)
                        in[l][w] = next();
                snprintf(body, sizeof body,
                         "mul.lo.u32 a4, a31, 5; and.b32 a4, a4, 31; shl.b32 a4, a4, 4;\n"
                         "mov.u32 a5, tile; add.u32 a4, a4, a5;\n"
                         "st.shared.v4.b32 [a4], {a0,a1,a2,a3};\nbar.sync 0;\n"
                         "mov.u32 r0,0; mov.u32 r1,0; mov.u32 r2,0; mov.u32 r3,0;\n"
                         "ldmatrix.sync.aligned.%s.x%d%s.shared.%s %s, [a4];",
                         turned ? "m16n16" : "m8n16", count, turned ? ".trans" : "", sources[form],
                         lists[regs]);
                run(body, &in[0][0], 4, &out[0][0], 4);
                int wrong = 0;
                for (int lane = 0; lane < 32; lane++)
                    for (int r = 0; r < regs; r++)
                        for (int n = 0; n < 4; n++) {
                            int g = lane / 4, t = lane % 4, matrix = turned ? r / 2 : r;
                            int line = turned ? 4 * t + 2 * (r % 2) + n % 2 : g;
                            int c = turned ? g + 8 * (n / 2) : 4 * t + n;
                            const uint8_t *from = (const uint8_t *)in[matrix * lines + line];
                            wrong +=
                                (out[lane][r] >> 8 * n & 0xff) != line_element(from, c, bits[form]);
                        }
                if (!check_count(wrong == 0))
                    printf("%s: %d elements are wrong\n", body, wrong);
            }
}

static void stores(void)
{
    for (int count = 1; count <= 4; count *= 2) {
        static uint32_t in[32][4], out[32][4];
        static const char *const lists[] = {"", "{a0}", "{a0,a1}", "", "{a0,a1,a2,a3}"};
        char body[1024];
        for (int l = 0; l < 32; l++)
            for (int w = 0; w < 4; w++)
                in[l][w] = next();
        snprintf(body, sizeof body,
                 "shl.b32 a4, a31, 4; mov.u32 a5, tile; add.u32 a4, a4, a5;\n"
                 "mov.u32 a6, 0; st.shared.v4.b32 [a4], {a6,a6,a6,a6};\nbar.sync 0;\n"
                 "stmatrix.sync.aligned.m16n8.x%d.trans.shared.b8 [a4], %s;\nbar.sync 0;\n"
                 "ld.shared.v4.b32 {r0,r1,r2,r3}, [a4];",
                 count, lists[count]);
        run(body, &in[0][0], 4, &out[0][0], 4);
        int wrong = 0;
        for (int line = 0; line < 32; line++)
            for (int row = 0; row < 16; row++) {
                int column = line % 8, matrix = line / 8;
                int lane = 4 * (row % 8) + column / 2, n = column % 2 + 2 * (row / 8);
                unsigned want = matrix < count ? in[lane][matrix] >> 8 * n & 0xff : 0;
                wrong += (out[line][row / 4] >> 8 * (row % 4) & 0xff) != want;
            }
        if (!check_count(wrong == 0))
            printf("%s: %d elements are wrong\n", body, wrong);
    }
}

int main(void)
{
    begin();
    products();
    not_numbers();
    refusals();
    loads();
    stores();
    OK(cuDevicePrimaryCtxRelease(0));
    return check_done();
}
