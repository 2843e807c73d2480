/* K2.12: mma.m8n8k4 on halves: four products of eight lanes each, all layouts and accumulators.
 * Elements are where the ISA's section on fragments says; numbers are small integers, so sums are
 * exact. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "check.h"

struct lane {
    unsigned a[2], b[2], c[8], d[8];
};

#define IN(x) "r"(x.a[0]), "r"(x.a[1]), "r"(x.b[0]), "r"(x.b[1])
#define C4(x) "r"(x.c[0]), "r"(x.c[1]), "r"(x.c[2]), "r"(x.c[3])
#define C8(x)                                                                                      \
    "f"(__uint_as_float(x.c[0])), "f"(__uint_as_float(x.c[1])), "f"(__uint_as_float(x.c[2])),      \
        "f"(__uint_as_float(x.c[3])), "f"(__uint_as_float(x.c[4])), "f"(__uint_as_float(x.c[5])),  \
        "f"(__uint_as_float(x.c[6])), "f"(__uint_as_float(x.c[7]))
#define D8                                                                                         \
    "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]), "=f"(d[7])
#define D4 "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])

#define KERNELS(al, bl)                                                                            \
    __global__ void f32_##al##_##bl(lane *l)                                                       \
    {                                                                                              \
        lane &x = l[threadIdx.x];                                                                  \
        float d[8];                                                                                \
        asm volatile("mma.sync.aligned.m8n8k4." #al "." #bl                                        \
                     ".f32.f16.f16.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%10, %11},"    \
                     " {%12, %13, %14, %15, %16, %17, %18, %19};"                                  \
                     : D8                                                                          \
                     : IN(x), C8(x));                                                              \
        for (int i = 0; i < 8; i++)                                                                \
            x.d[i] = __float_as_uint(d[i]);                                                        \
    }                                                                                              \
    __global__ void f16_##al##_##bl(lane *l)                                                       \
    {                                                                                              \
        lane &x = l[threadIdx.x];                                                                  \
        unsigned d[4];                                                                             \
        asm volatile("mma.sync.aligned.m8n8k4." #al "." #bl                                        \
                     ".f16.f16.f16.f16 {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%8, %9, %10, %11};"  \
                     : D4                                                                          \
                     : IN(x), C4(x));                                                              \
        for (int i = 0; i < 4; i++)                                                                \
            x.d[i] = d[i];                                                                         \
    }
KERNELS(row, col)
KERNELS(row, row)
KERNELS(col, col)
KERNELS(col, row)

static lane *device;

static unsigned half_bits(int v)
{
    static const unsigned m[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400};
    return m[abs(v)] | (v < 0 ? 0x8000 : 0);
}

static void put(unsigned *regs, int i, unsigned h) { regs[i / 2] |= h << (i % 2 * 16); }

static void run(void (*kernel)(lane *), const char *name, bool a_col, bool b_row, bool wide)
{
    static int a[4][8][4], b[4][4][8], c[4][8][8];
    lane h[32];
    memset(h, 0, sizeof h);
    for (int l = 0; l < 32; l++) {
        int q = l / 4 % 4, up = l < 16 ? 0 : 4;
        for (int i = 0; i < 4; i++) {
            int va = rand() % 9 - 4, vb = rand() % 9 - 4;
            a[q][up + (a_col ? i : l % 4)][a_col ? l % 4 : i] = va;
            b[q][b_row ? l % 4 : i][up + (b_row ? i : l % 4)] = vb;
            put(h[l].a, i, half_bits(va));
            put(h[l].b, i, half_bits(vb));
        }
        for (int i = 0; i < 8; i++) {
            int v = rand() % 9 - 4;
            float f = (float)v;
            c[q][wide ? up + (l & 1) + (i & 2) : up + l % 4]
             [wide ? (i & 4) + (l & 2) + (i & 1) : i] = v;
            if (wide)
                memcpy(&h[l].c[i], &f, 4);
            else
                put(h[l].c, i, half_bits(v));
        }
    }
    cudaMemcpy(device, h, sizeof h, cudaMemcpyHostToDevice);
    kernel<<<1, 32>>>(device);
    CHECK_EQ_INT(cudaMemcpy(h, device, sizeof h, cudaMemcpyDeviceToHost), cudaSuccess);
    int bad = 0;
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < 8; i++) {
            int q = l / 4 % 4, up = l < 16 ? 0 : 4;
            int r = wide ? up + (l & 1) + (i & 2) : up + l % 4;
            int n = wide ? (i & 4) + (l & 2) + (i & 1) : i;
            int sum = c[q][r][n];
            for (int k = 0; k < 4; k++)
                sum += a[q][r][k] * b[q][k][n];
            float got;
            if (wide) {
                memcpy(&got, &h[l].d[i], 4);
            } else {
                __half_raw raw;
                raw.x = (unsigned short)(h[l].d[i / 2] >> (i % 2 * 16));
                got = __half2float(__half(raw));
            }
            bad += got != (float)sum;
        }
    if (!check_count(bad == 0))
        printf("%s: %d elements are wrong\n", name, bad);
}

int main()
{
    CHECK_EQ_INT(cudaMalloc(&device, 32 * sizeof *device), cudaSuccess);
    run(f32_row_col, "f32 row col", false, false, true);
    run(f32_row_row, "f32 row row", false, true, true);
    run(f32_col_col, "f32 col col", true, false, true);
    run(f32_col_row, "f32 col row", true, true, true);
    run(f16_row_col, "f16 row col", false, false, false);
    run(f16_row_row, "f16 row row", false, true, false);
    run(f16_col_col, "f16 col col", true, false, false);
    run(f16_col_row, "f16 col row", true, true, false);
    cudaFree(device);
    return check_done();
}
