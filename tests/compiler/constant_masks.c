/* Loads and stores by lanes that follow from constants: runs of lanes of a warp, of elements of
 * each size. Each kernel's threads from `first` on, `count` of them, add one to what is some
 * elements further in one array of shared memory and store that in their own place of another.
 * Against the same in C. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <cuda.h>

#include "../check.h"

enum { THREADS = 64, AHEAD = 7, TEXT = 4096 };

/* Threads first to first + count - 1 of a block of 64. */
static const struct run {
    int first, count;
} runs[] = {{0, 16}, {0, 2},  {0, 1},   {8, 8},   {16, 16}, {31, 1},  {3, 4},  {5, 3},
            {0, 31}, {30, 2}, {24, 16}, {48, 16}, {63, 1},  {28, 34}, {17, 8}, {16, 32}};

static const struct element {
    const char *type, *reg;
    unsigned bytes;
} elements[] = {{"u8", "b16", 1}, {"u16", "b16", 2}, {"u32", "b32", 4}, {"f64", "f64", 8}};

static void write_kernel(char *text, size_t size, const struct element *e, const struct run *r)
{
    const char *one =
        e->reg[0] == 'f' ? (e->bytes == 4 ? "0f3f800000" : "0d3ff0000000000000") : "1";
    const char *add = e->reg[0] == 'f' ? e->type : e->bytes == 1 ? "u16" : e->type;
    snprintf(text, size,
             ".version 8.0\n.target sm_80\n.address_size 64\n"
             ".visible .entry k(.param .u64 data)\n{\n.shared .align 16 .b8 s[%u], q[%u];\n"
             ".reg .b32 %%t, %%s, %%o, %%d, %%q, %%r; .reg .b64 %%a, %%w; .reg .%s %%v; .reg .pred "
             "%%p;\n"
             "mov.u32 %%t, %%tid.x; ld.param.u64 %%a, [data]; mul.wide.u32 %%w, %%t, %u;\n"
             "add.u64 %%a, %%a, %%w; mov.u32 %%s, s; mad.lo.u32 %%o, %%t, %u, %%s;\n"
             "mov.u32 %%q, q; mad.lo.u32 %%r, %%t, %u, %%q;\n"
             "ld.global.%s %%v, [%%a]; st.shared.%s [%%o], %%v; st.shared.%s [%%r], %%v;\n"
             "bar.sync 0;\n"
             "sub.u32 %%d, %%t, %d; setp.ge.u32 %%p, %%d, %d;\n@%%p bra OTHERS;\n"
             "ld.shared.%s %%v, [%%o+%u]; add.%s %%v, %%v, %s; st.shared.%s [%%r], %%v;\nOTHERS:\n"
             "bar.sync 0;\nld.shared.%s %%v, [%%r]; st.global.%s [%%a], %%v;\nret;\n}\n",
             (THREADS + AHEAD) * e->bytes, THREADS * e->bytes, e->reg, e->bytes, e->bytes, e->bytes,
             e->type, e->type, e->type, r->first, r->count, e->type, AHEAD * e->bytes, add, one,
             e->type, e->type, e->type);
}

/* Element n, which is a small number. */
static uint64_t element(const struct element *e, const uint8_t *p, unsigned n)
{
    uint64_t bits = 0;
    float f;
    double d;
    memcpy(&bits, p + n * e->bytes, e->bytes);
    if (e->reg[0] != 'f')
        return bits;
    memcpy(&f, &bits, sizeof f);
    memcpy(&d, &bits, sizeof d);
    return (uint64_t)(e->bytes == 4 ? (double)f : d);
}

static void set_element(const struct element *e, uint8_t *p, unsigned n, uint64_t value)
{
    float f = (float)value;
    double d = (double)value;
    const void *from = e->reg[0] != 'f' ? (void *)&value : e->bytes == 4 ? (void *)&f : (void *)&d;
    memcpy(p + n * e->bytes, from, e->bytes);
}

static bool wrong(const struct run *r, unsigned t, uint64_t got)
{
    if (t - (unsigned)r->first >= (unsigned)r->count)
        return got != 3 * t + 1;
    return t + AHEAD < THREADS && got != 3 * (t + AHEAD) + 2; /* beyond the end is anything */
}

static void run_kernel(const struct element *e, const struct run *r, CUdeviceptr data)
{
    static char text[TEXT];
    uint8_t host[THREADS * sizeof(uint64_t)];
    CUmodule module;
    CUfunction k;
    write_kernel(text, sizeof text, e, r);
    for (unsigned t = 0; t < THREADS; t++)
        set_element(e, host, t, 3 * t + 1);
    CHECK_EQ_INT(cuModuleLoadData(&module, text), CUDA_SUCCESS);
    CHECK_EQ_INT(cuModuleGetFunction(&k, module, "k"), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemcpyHtoD(data, host, THREADS * e->bytes), CUDA_SUCCESS);
    CHECK_EQ_INT(cuLaunchKernel(k, 1, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){&data}, NULL),
                 CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemcpyDtoH(host, data, THREADS * e->bytes), CUDA_SUCCESS);
    for (unsigned t = 0; t < THREADS; t++)
        if (!check_count(!wrong(r, t, element(e, host, t))))
            printf("%s, threads %d to %d: thread %u has %llu\n", e->type, r->first,
                   r->first + r->count - 1, t, (unsigned long long)element(e, host, t));
    CHECK_EQ_INT(cuModuleUnload(module), CUDA_SUCCESS);
}

int main(void)
{
    CUdevice device;
    CUcontext context;
    CUdeviceptr data;
    CHECK_EQ_INT(cuInit(0), CUDA_SUCCESS);
    CHECK_EQ_INT(cuDeviceGet(&device, 0), CUDA_SUCCESS);
    CHECK_EQ_INT(cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    CHECK_EQ_INT(cuCtxSetCurrent(context), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemAlloc(&data, THREADS * sizeof(uint64_t)), CUDA_SUCCESS);
    for (size_t e = 0; e < sizeof elements / sizeof *elements; e++)
        for (size_t r = 0; r < sizeof runs / sizeof *runs; r++)
            run_kernel(&elements[e], &runs[r], data);
    return check_done();
}
