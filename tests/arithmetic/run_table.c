/* run_table: runs the case table (table.c) on whatever device libcuda drives, and says where its
 * results are not those of the reference. Usage: run_table FILE.ptx FILE.bin {cases shown {step
 * {gpu}}} With a step of n it runs every n-th kernel only. With "gpu" what is known of NVIDIA's
 * devices is counted separately: the cases that SAYS marks in cases.def, and .ftz, which they
 * decide before rounding. Needs nothing but cuda.h, libcuda, the two files and table_format.h: nvcc
 * -o run_table run_table.c -lcuda */
#include <cuda.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table_format.h"

static int failed, known, gpu, shown, limit = 40;

static void check(CUresult r, const char *what)
{
    const char *name = "?";
    if (r == CUDA_SUCCESS)
        return;
    cuGetErrorName(r, &name);
    printf("%s: %s\n", what, name);
    exit(1);
}

static char *read_all(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        printf("%s cannot be read\n", path);
        exit(1);
    }
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *p = (char *)malloc(*size + 1);
    if (p == NULL || fread(p, 1, *size, f) != *size)
        exit(1);
    p[*size] = 0;
    fclose(f);
    return p;
}

static int small_nan(uint64_t v, int fraction)
{
    return (v & 0x7fff) > (uint64_t)(0x7fff >> fraction << fraction);
}

/* Same bits, or both NaN. */
static int agree(uint32_t kind, uint64_t x, uint64_t y)
{
    if (x == y)
        return 1;
    switch (kind) {
    case KIND_F16: return small_nan(x, 10) && small_nan(y, 10);
    case KIND_BF16: return small_nan(x, 7) && small_nan(y, 7);
    case KIND_F32: return (x & 0x7fffffff) > 0x7f800000 && (y & 0x7fffffff) > 0x7f800000;
    case KIND_F64: return (x << 1) > 0xffe0000000000000u && (y << 1) > 0xffe0000000000000u;
    case KIND_F16X2:
    case KIND_BF16X2:
        kind = kind == KIND_F16X2 ? KIND_F16 : KIND_BF16;
        return agree(kind, x & 0xffff, y & 0xffff) && agree(kind, x >> 16, y >> 16);
    default: return 0;
    }
}

/* 0 where rounding makes the least normal number: what is flushed is decided before that. */
static int flushed(const struct table_case *c, uint64_t got, uint64_t want)
{
    int half = c->kind[0] == KIND_F16X2, bits = c->kind[0] == KIND_F64 ? 64 : 32;
    uint64_t least = half ? 0x400 : c->kind[0] == KIND_F64 ? 1ull << 52 : 1u << 23;
    if (!gpu || strstr(c->text, ".ftz") == NULL)
        return 0;
    for (int at = 0; at < bits; at += half ? 16 : bits) {
        uint64_t mask = half ? 0x7fff : ~0ull >> (65 - bits);
        uint64_t g = got >> at & mask, w = want >> at & mask;
        if (g != w && (g != 0 || w != least))
            return 0;
    }
    return 1;
}

static double value(uint32_t kind, uint64_t bits)
{
    double d;
    float f;
    uint32_t w = (uint32_t)bits;
    int e = (int)(bits >> 10 & 31), m = (int)(bits & 1023);
    switch (kind) {
    case KIND_F64: memcpy(&d, &bits, 8); return d;
    case KIND_BF16: w <<= 16; break;
    case KIND_F16:
        d = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
        return bits >> 15 & 1 ? -d : d;
    default: break;
    }
    memcpy(&f, &w, 4);
    return f;
}

/* Is an approximation as near as it must be? */
static int near(const struct table_case *c, uint64_t got_bits, uint64_t want_bits)
{
    static const int fraction[] = {0, 10, 7, 23, 52}, least[] = {0, -14, -126, -126, -1022};
    double got = value(c->kind[0], got_bits), want;
    int f = fraction[c->kind[0]];
    memcpy(&want, &want_bits, 8);
    if (want == 0x1.23456789p-1000)
        return 1;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (got == want || fabs(want) < ldexp(1, least[c->kind[0]]))
        return got == want || fabs(got) <= ldexp(1, least[c->kind[0]]);
    double top = ldexp(1, 1 - least[c->kind[0]] - (c->kind[0] == KIND_F64 ? 1 : 0));
    if (isinf(want) || isinf(got))
        return fabs(want) >= top && (isinf(got) || fabs(got) >= top);
    double diff = fabs(got - want);
    switch (c->measure) {
    case TABLE_ABS: return diff <= c->bound;
    case TABLE_REL: return diff <= c->bound * fabs(want) + ldexp(1, ilogb(want) - f - 1);
    case TABLE_LOG: return diff <= c->bound * (fabs(want) < 1 ? 1 : fabs(want));
    default: return diff <= c->bound * ldexp(1, ilogb(want) - f);
    }
}

static void compare(const struct table_case *c, const uint64_t *in, const uint64_t *want,
                    const uint64_t *got)
{
    int wrong = 0, explained = 0;
    for (int l = 0; l < TABLE_LANES; l++)
        for (uint32_t k = 0; k < c->results; k++) {
            uint64_t g = got[k * TABLE_LANES + l], w = want[k * TABLE_LANES + l];
            int ok = c->measure == TABLE_EXACT ? agree(c->kind[k], g, w) : near(c, g, w);
            if (ok)
                continue;
            if (gpu && (c->says || flushed(c, g, w))) {
                explained++;
                continue;
            }
            if (wrong++ == 0 && shown++ < limit) {
                printf("%s: result %u of", c->text, k);
                for (uint32_t s = 0; s < c->sources; s++)
                    printf(" %llx", (unsigned long long)in[s * TABLE_LANES + l]);
                printf(" is %llx, not %llx\n", (unsigned long long)g, (unsigned long long)w);
            }
        }
    failed += wrong != 0;
    known += explained != 0;
    if (wrong > 1 && shown <= limit)
        printf("  %s: %d results are wrong\n", c->text, wrong);
}

int main(int argc, char **argv)
{
    size_t ptx_size, size, at = sizeof(struct table_header);
    const size_t slots = (size_t)TABLE_SLOTS * TABLE_LANES, group = slots * TABLE_GROUP * 8;
    if (argc < 3)
        return 2;
    if (argc > 3)
        limit = atoi(argv[3]);
    gpu = argc > 5 && strcmp(argv[5], "gpu") == 0;
    uint32_t step = argc > 4 ? (uint32_t)atoi(argv[4]) : 1, done = 0;
    char *ptx = read_all(argv[1], &ptx_size), *data = read_all(argv[2], &size);
    struct table_header h;
    memcpy(&h, data, sizeof h);
    if (h.magic != TABLE_MAGIC)
        return 2;
    char log[4096] = "";
    CUjit_option options[2] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[2] = {log, (void *)sizeof log};
    CUdevice dev;
    CUcontext ctx;
    CUmodule module;
    CUdeviceptr in, out;
    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&dev, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&ctx, dev), "context");
    check(cuCtxSetCurrent(ctx), "context");
    CUresult loaded = cuModuleLoadDataEx(&module, ptx, 2, options, values);
    if (loaded != CUDA_SUCCESS)
        printf("%s\n", log);
    check(loaded, "module");
    check(cuMemAlloc(&in, group), "memory");
    check(cuMemAlloc(&out, group), "memory");
    uint64_t *host = (uint64_t *)malloc(group);
    for (uint32_t first = 0; first < h.cases; first += TABLE_GROUP) {
        uint32_t count = h.cases - first < TABLE_GROUP ? h.cases - first : TABLE_GROUP;
        const char *begin[TABLE_GROUP];
        struct table_case c[TABLE_GROUP];
        char name[32];
        CUfunction f;
        memset(host, 0, group);
        for (uint32_t n = 0; n < count; n++) {
            memcpy(&c[n], data + at, sizeof c[n]);
            begin[n] = data + at + sizeof c[n];
            memcpy(host + n * slots, begin[n], (size_t)c[n].sources * TABLE_LANES * 8);
            at += sizeof c[n] + (size_t)(c[n].sources + c[n].results) * TABLE_LANES * 8;
        }
        if (first / TABLE_GROUP % step != 0)
            continue;
        done += count;
        check(cuMemcpyHtoD(in, host, group), "copy");
        check(cuMemsetD8(out, 0, group), "set");
        snprintf(name, sizeof name, "case_%u", first / TABLE_GROUP);
        check(cuModuleGetFunction(&f, module, name), name);
        void *args[] = {&in, &out};
        check(cuLaunchKernel(f, 1, 1, 1, TABLE_LANES, 1, 1, 0, NULL, args, NULL), name);
        check(cuMemcpyDtoH(host, out, group), name);
        for (uint32_t n = 0; n < count; n++) {
            const uint64_t *source = (const uint64_t *)begin[n];
            compare(&c[n], source, source + (size_t)c[n].sources * TABLE_LANES, host + n * slots);
        }
    }
    free(host);
    free(data);
    free(ptx);
    printf("%u cases of %d operands, %d with differences", done, TABLE_LANES, failed);
    printf(gpu ? ", %d where GPUs are known to differ\n" : "\n", known);
    return failed != 0;
}
