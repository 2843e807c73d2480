/* Narrowing of integers: expressions at random over bytes and halves of words, of which 8 or 16
 * bits are stored, against the same arithmetic in C at 32 bits. Whether they are narrowed is
 * narrowing.sh's question; here it is whether anybody can tell. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

enum { KERNELS = 48, STEPS = 28, INPUTS = 4, VALUES = INPUTS + STEPS, THREADS = 64, STORES = 3 };

enum op { ADD, SUB, MUL, MULC, SHL, SHR, SAR, AND, OR, XOR, SMIN, SMAX, UMIN, UMAX, ABS, SEL, OPS };

struct step {
    enum op op;
    int a, b; /* numbers of values */
    uint32_t c;
};
struct kernel {
    struct step steps[STEPS];
    int stored[STORES]; /* the first two as bytes, the last as 16 bits */
};

static struct kernel kernels[KERNELS];
static char text[1 << 20];
static size_t length;
static uint8_t bytes[2][THREADS];
static uint16_t words[2][THREADS];

static void put(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    length += (size_t)vsnprintf(text + length, sizeof text - length, format, list);
    va_end(list);
}

static uint32_t draw(uint32_t below)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % below;
}

/* Mostly what images have; sometimes what is at the ends of types. */
static uint32_t some_constant(void)
{
    static const uint32_t ends[] = {
        0,       1,          127,        128,  255,    256,         0x7fff,      0x8000,     0xffff,
        0x10000, 0x7fffffff, 0x80000000, 0xff, 0xfffe, 0xffffff80u, 0xffff8000u, 0xffffffffu};
    return draw(3) ? draw(64) : ends[draw(sizeof ends / sizeof ends[0])];
}

static uint32_t evaluate(const struct step *s, const uint32_t *v)
{
    uint32_t a = v[s->a], b = v[s->b];
    int32_t sa = (int32_t)a, sb = (int32_t)b;
    switch (s->op) {
    case ADD: return a + b;
    case SUB: return a - b;
    case MUL: return a * b;
    case MULC: return a * s->c;
    case SHL: return a << s->c % 20;
    case SHR: return a >> s->c % 20;
    case SAR: return (uint32_t)(sa >> s->c % 20);
    case AND: return a & s->c;
    case OR: return a | b;
    case XOR: return a ^ s->c;
    case SMIN: return sa < sb ? a : b;
    case SMAX: return sa > sb ? a : b;
    case UMIN: return a < b ? a : b;
    case UMAX: return a > b ? a : b;
    case ABS: return sa < 0 ? 0 - a : a;
    default: return sa < (int32_t)s->c ? a : b;
    }
}

static void put_step(int to, const struct step *s)
{
    static const char *const two[OPS] = {
        [ADD] = "add.s32",  [SUB] = "sub.s32",  [MUL] = "mul.lo.s32", [OR] = "or.b32",
        [SMIN] = "min.s32", [SMAX] = "max.s32", [UMIN] = "min.u32",   [UMAX] = "max.u32"};
    static const char *const one[OPS] = {
        [MULC] = "mul.lo.s32", [AND] = "and.b32", [XOR] = "xor.b32"};
    static const char *const shift[OPS] = {[SHL] = "shl.b32", [SHR] = "shr.u32", [SAR] = "shr.s32"};
    if (two[s->op] != NULL)
        put("%s %%v%d, %%v%d, %%v%d;\n", two[s->op], to, s->a, s->b);
    else if (one[s->op] != NULL)
        put("%s %%v%d, %%v%d, %d;\n", one[s->op], to, s->a, (int)s->c);
    else if (shift[s->op] != NULL)
        put("%s %%v%d, %%v%d, %u;\n", shift[s->op], to, s->a, s->c % 20);
    else if (s->op == ABS)
        put("abs.s32 %%v%d, %%v%d;\n", to, s->a);
    else
        put("setp.lt.s32 %%p, %%v%d, %d;\nselp.b32 %%v%d, %%v%d, %%v%d, %%p;\n", s->a, (int)s->c,
            to, s->a, s->b);
}

/* Every third kernel has its stores at an index that wraps around for nobody, but might: what is
 * stored then goes through a phi. */
static void put_kernel(int number, const struct kernel *k)
{
    put(".visible .entry k%d(.param .u64 b0, .param .u64 b1, .param .u64 w0, .param .u64 w1,\n"
        ".param .u64 o0, .param .u64 o1, .param .u64 o2, .param .u32 from)\n{\n"
        ".reg .b32 %%v<%d>, %%t, %%i, %%from;\n.reg .b64 %%p<8>, %%a<8>, %%x<3>, %%y, %%z;\n.reg "
        ".pred %%p;\n"
        "mov.u32 %%t, %%tid.x;\ncvt.u64.u32 %%x0, %%t;\nshl.b64 %%x1, %%x0, 1;\nld.param.u32 "
        "%%from, [from];\n",
        number, VALUES);
    static const char *const inputs[INPUTS] = {"b0", "b1", "w0", "w1"}, *const types[INPUTS] = {
                                                                            "u8", "s8", "u16",
                                                                            "s16"};
    for (int n = 0; n < INPUTS; n++)
        put("ld.param.u64 %%p%d, [%s];\nadd.u64 %%a%d, %%p%d, %%x%d;\nld.global.%s %%v%d, "
            "[%%a%d];\n",
            n, inputs[n], n, n, n / 2, types[n], n, n);
    for (int n = 0; n < STEPS; n++)
        put_step(INPUTS + n, &k->steps[n]);
    if (number % 3 == 0)
        put("add.s32 %%i, %%t, %%from;\ncvt.s64.s32 %%z, %%i;\nshl.b64 %%y, %%z, 1;\n");
    else
        put("mov.u64 %%z, %%x0;\nmov.u64 %%y, %%x1;\n");
    for (int n = 0; n < STORES; n++)
        put("ld.param.u64 %%p%d, [o%d];\nadd.u64 %%a%d, %%p%d, %s;\nst.global.%s [%%a%d], %%v%d;\n",
            INPUTS + n, n, INPUTS + n, INPUTS + n, n == STORES - 1 ? "%y" : "%z",
            n == STORES - 1 ? "u16" : "u8", INPUTS + n, k->stored[n]);
    put("ret;\n}\n");
}

static void make(void)
{
    put(".version 8.0\n.target sm_80\n.address_size 64\n");
    for (int n = 0; n < KERNELS; n++) {
        struct kernel *k = &kernels[n];
        for (int s = 0; s < STEPS; s++) {
            int known = INPUTS + s, late = known > 10 ? known - 10 : 0;
            k->steps[s] = (struct step){.op = (enum op)draw(OPS),
                                        .a = late + (int)draw((uint32_t)(known - late)),
                                        .b = late + (int)draw((uint32_t)(known - late)),
                                        .c = some_constant()};
        }
        for (int s = 0; s < STORES; s++)
            k->stored[s] = VALUES - 1 - (int)draw(6);
        put_kernel(n, k);
    }
}

static int failed;
#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #x);                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void compare(int number, const uint8_t *o0, const uint8_t *o1, const uint16_t *o2)
{
    const struct kernel *k = &kernels[number];
    for (int t = 0; t < THREADS; t++) {
        uint32_t v[VALUES] = {bytes[0][t], (uint32_t)(int8_t)bytes[1][t], words[0][t],
                              (uint32_t)(int16_t)words[1][t]};
        for (int s = 0; s < STEPS; s++)
            v[INPUTS + s] = evaluate(&k->steps[s], v);
        if (o0[t] != (uint8_t)v[k->stored[0]] || o1[t] != (uint8_t)v[k->stored[1]] ||
            o2[t] != (uint16_t)v[k->stored[2]]) {
            printf("kernel %d, thread %d: %x %x %x instead of %x %x %x\n", number, t, o0[t], o1[t],
                   o2[t], (uint8_t)v[k->stored[0]], (uint8_t)v[k->stored[1]],
                   (uint16_t)v[k->stored[2]]);
            failed++;
        }
    }
}

int main(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUdeviceptr in[INPUTS], out[STORES];
    unsigned from = 0;
    make();
    for (int t = 0; t < THREADS; t++) {
        bytes[0][t] = (uint8_t)draw(256);
        bytes[1][t] = t < 4 ? (uint8_t[]){0, 127, 128, 255}[t] : (uint8_t)draw(256);
        words[0][t] = t < 4 ? (uint16_t[]){0, 0x7fff, 0x8000, 0xffff}[t] : (uint16_t)draw(65536);
        words[1][t] = t < 4 ? (uint16_t[]){0x8000, 0xffff, 0, 0x7fff}[t] : (uint16_t)draw(65536);
    }
    CHECK(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS);
    CHECK(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    CHECK(cuModuleLoadData(&module, text) == CUDA_SUCCESS);
    for (int n = 0; n < INPUTS; n++) {
        CHECK(cuMemAlloc(&in[n], sizeof words[0]) == CUDA_SUCCESS);
        CHECK(cuMemcpyHtoD(in[n], n < 2 ? (void *)bytes[n] : (void *)words[n - 2],
                           n < 2 ? sizeof bytes[0] : sizeof words[0]) == CUDA_SUCCESS);
    }
    for (int n = 0; n < STORES; n++)
        CHECK(cuMemAlloc(&out[n], sizeof words[0]) == CUDA_SUCCESS);
    for (int n = 0; n < KERNELS; n++) {
        char name[16];
        uint8_t o0[THREADS], o1[THREADS];
        uint16_t o2[THREADS];
        CUfunction f;
        void *arguments[] = {&in[0], &in[1], &in[2], &in[3], &out[0], &out[1], &out[2], &from};
        snprintf(name, sizeof name, "k%d", n);
        CHECK(cuModuleGetFunction(&f, module, name) == CUDA_SUCCESS);
        CHECK(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL) == CUDA_SUCCESS);
        CHECK(cuMemcpyDtoH(o0, out[0], sizeof o0) == CUDA_SUCCESS);
        CHECK(cuMemcpyDtoH(o1, out[1], sizeof o1) == CUDA_SUCCESS);
        CHECK(cuMemcpyDtoH(o2, out[2], sizeof o2) == CUDA_SUCCESS);
        compare(n, o0, o1, o2);
    }
    return failed != 0;
}
