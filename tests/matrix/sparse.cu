/* K2.12: mma.sp: products whose left factor has two of every four elements, with random elements
 * and metadata, against the product of the whole matrices. Numbers are small integers: sums are
 * exact. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

#include "check.h"

struct lane {
    unsigned a[4], b[4], e;
    float d[4];
};

#define KERNEL(name, text, type, constraint, zero, ...)                                            \
    template <int F> __global__ void name(lane *l)                                                 \
    {                                                                                              \
        lane &x = l[threadIdx.x];                                                                  \
        type d[4];                                                                                 \
        asm volatile("mma.sp" text                                                                 \
                     : "=" constraint(d[0]), "=" constraint(d[1]), "=" constraint(d[2]),           \
                       "=" constraint(d[3])                                                        \
                     : __VA_ARGS__, constraint(zero), "r"(x.e), "n"(F));                           \
        for (int i = 0; i < 4; i++)                                                                \
            x.d[i] = (float)d[i];                                                                  \
    }
#define SHORT "r"(x.a[0]), "r"(x.a[1]), "r"(x.b[0]), "r"(x.b[1])
#define LONG                                                                                       \
    "r"(x.a[0]), "r"(x.a[1]), "r"(x.a[2]), "r"(x.a[3]), "r"(x.b[0]), "r"(x.b[1]), "r"(x.b[2]),     \
        "r"(x.b[3])
#define SHORT_OPERANDS " {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%8, %8, %8, %8}, %9, %10;"
#define LONG_OPERANDS                                                                              \
    " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%12, %12, %12, %12}, %13, %14;"

KERNEL(f16_k16, ".sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" SHORT_OPERANDS, float, "f", 0.f,
       SHORT)
KERNEL(f16_k32, ".sync.aligned.m16n8k32.row.col.f32.f16.f16.f32" LONG_OPERANDS, float, "f", 0.f,
       LONG)
KERNEL(bf16_k32, ".sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32" LONG_OPERANDS, float, "f", 0.f,
       LONG)
KERNEL(tf32_k8, ".sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32" SHORT_OPERANDS, float, "f", 0.f,
       SHORT)
KERNEL(tf32_k16, ".sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32" LONG_OPERANDS, float, "f", 0.f,
       LONG)
KERNEL(s8_k32, ".sync.aligned.m16n8k32.row.col.s32.s8.s8.s32" SHORT_OPERANDS, int, "r", 0, SHORT)
KERNEL(u8s8_k64, ".sync.aligned.m16n8k64.row.col.s32.u8.s8.s32" LONG_OPERANDS, int, "r", 0, LONG)
KERNEL(s4_k64, ".sync.aligned.m16n8k64.row.col.s32.s4.s4.s32" SHORT_OPERANDS, int, "r", 0, SHORT)
KERNEL(u4_k128, ".sync.aligned.m16n8k128.row.col.s32.u4.s4.s32" LONG_OPERANDS, int, "r", 0, LONG)
KERNEL(e4m3_k64, ".sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32" LONG_OPERANDS, float, "f", 0.f,
       LONG)

/* A kind of number: bits of one element, and the bits of small integers. */
struct kind {
    int bits, least, most;
    unsigned (*encode)(int v);
};
static unsigned as_f16(int v)
{
    static const unsigned m[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400};
    return m[abs(v)] | (v < 0 ? 0x8000 : 0);
}
static unsigned as_float(int v)
{
    float f = (float)v;
    unsigned u;
    memcpy(&u, &f, 4);
    return u;
}
static unsigned as_bf16(int v) { return as_float(v) >> 16; }
static unsigned as_e4m3(int v)
{
    static const unsigned m[] = {0, 0x38, 0x40, 0x44, 0x48};
    return m[abs(v)] | (v < 0 ? 0x80 : 0);
}
static unsigned as_e5m2(int v) { return as_f16(v) >> 8; }
static unsigned as_int(int v) { return (unsigned)v; }
static const kind F16 = {16, -4, 4, as_f16}, BF16 = {16, -4, 4, as_bf16},
                  TF32 = {32, -4, 4, as_float}, S8 = {8, -128, 127, as_int},
                  U8 = {8, 0, 255, as_int}, S4 = {4, -8, 7, as_int}, U4 = {4, 0, 15, as_int},
                  E4M3 = {8, -4, 4, as_e4m3}, E5M2 = {8, -4, 4, as_e5m2};

static int pick(const kind &k) { return k.least + rand() % (k.most - k.least + 1); }

static void put(unsigned *regs, int bits, int element, unsigned v)
{
    int per = 32 / bits;
    regs[element / per] |= (v & (unsigned)((1ull << bits) - 1)) << (element % per * bits);
}

static lane *device;

/* `unit`: elements along k that a nibble of metadata is for; `narrow`: rows r and r + 8 have lanes
 * of their own. */
static void run(void (*kernel)(lane *), const char *name, const kind &ka, const kind &kb, int k,
                int selector, int unit, bool narrow)
{
    static int a[16][128], b[128][8];
    lane h[32];
    memset(a, 0, sizeof a);
    memset(h, 0, sizeof h);
    int groups = k / unit, per_a = 32 / ka.bits, per_b = 32 / kb.bits, each = unit == 2 ? 1 : 2;
    int pair = unit == 8 ? 2 : 1; /* nibbles move in pairs */
    for (int r = 0; r < 16; r++)
        for (int q = 0; q < groups; q++) {
            int place[2] = {rand() % 3, 0};
            place[1] = place[0] + 1 + rand() % (3 - place[0]);
            unsigned nibble = (unsigned)(place[0] | place[1] << 2);
            if (unit == 2) {
                place[0] = rand() % 2;
                nibble = place[0] ? 0xe : 0x4;
            }
            int l = narrow        ? 2 * (groups == 8 ? selector : q / 8) + r / 8
                    : groups == 4 ? selector
                                  : 2 * selector + q / 4;
            int n = narrow ? q % 8 : 4 * (r / 8) + q % 4;
            h[r % 8 * 4 + l].e |= nibble << (4 * n);
            for (int i = 0; i < each * pair; i++) {
                int v = pick(ka),
                    stored = q * each * pair + i; /* of the row's elements there are */
                a[r][q * unit + place[i / pair] * pair + i % pair] = v;
                int reg = stored / (4 * per_a) * 2 + r / 8, t = stored / per_a % 4;
                put(h[r % 8 * 4 + t].a, ka.bits, reg * per_a + stored % per_a, ka.encode(v));
            }
        }
    for (int n = 0; n < 8; n++)
        for (int i = 0; i < k; i++) {
            b[i][n] = pick(kb);
            put(h[n * 4 + i / per_b % 4].b, kb.bits, i / (4 * per_b) * per_b + i % per_b,
                kb.encode(b[i][n]));
        }
    cudaMemcpy(device, h, sizeof h, cudaMemcpyHostToDevice);
    kernel<<<1, 32>>>(device);
    CHECK_EQ_INT(cudaMemcpy(h, device, sizeof h, cudaMemcpyDeviceToHost), cudaSuccess);
    int bad = 0;
    for (int r = 0; r < 16; r++)
        for (int n = 0; n < 8; n++) {
            int sum = 0;
            for (int i = 0; i < k; i++)
                sum += a[r][i] * b[i][n];
            bad += h[r % 8 * 4 + n / 2].d[r / 8 * 2 + n % 2] != (float)sum;
        }
    if (!check_count(bad == 0))
        printf("%s, selector %d: %d elements are wrong\n", name, selector, bad);
}

int main()
{
    CHECK_EQ_INT(cudaMalloc(&device, 32 * sizeof *device), cudaSuccess);
    for (int turn = 0; turn < 3; turn++) {
        run(f16_k16<0>, "f16 k16", F16, F16, 16, 0, 4, false);
        run(f16_k16<1>, "f16 k16", F16, F16, 16, 1, 4, false);
        run(f16_k16<3>, "f16 k16", F16, F16, 16, 3, 4, false);
        run(f16_k32<0>, "f16 k32", F16, F16, 32, 0, 4, false);
        run(f16_k32<1>, "f16 k32", F16, F16, 32, 1, 4, false);
        run(bf16_k32<1>, "bf16 k32", BF16, BF16, 32, 1, 4, false);
        run(tf32_k8<2>, "tf32 k8", TF32, TF32, 8, 2, 2, false);
        run(tf32_k16<0>, "tf32 k16", TF32, TF32, 16, 0, 2, false);
        run(tf32_k16<1>, "tf32 k16", TF32, TF32, 16, 1, 2, false);
        run(s8_k32<0>, "s8 k32", S8, S8, 32, 0, 4, true);
        run(s8_k32<1>, "s8 k32", S8, S8, 32, 1, 4, true);
        run(u8s8_k64<0>, "u8 s8 k64", U8, S8, 64, 0, 4, true);
        run(s4_k64<0>, "s4 k64", S4, S4, 64, 0, 8, true);
        run(s4_k64<1>, "s4 k64", S4, S4, 64, 1, 8, true);
        run(u4_k128<0>, "u4 s4 k128", U4, S4, 128, 0, 8, true);
        run(e4m3_k64<0>, "e4m3 e5m2 k64", E4M3, E5M2, 64, 0, 4, true);
    }
    cudaFree(device);
    return check_done();
}
