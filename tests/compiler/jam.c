/* Unroll-and-jam of loops over warps: what kernels compute is the same, where the warps stay on the
 * usual path and where one of them leaves it; and a fault is told of the warp that made it. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>
#include <weir/fault.h>

enum { WARPS = 8, THREADS = WARPS * 32, ROWS = 16, PITCH = 61 };

static int failed;
#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #x);                                 \
            failed++;                                                                              \
        }                                                                                          \
    } while (0)

/* products: sums over what all threads have left in shared memory, in a loop.
 * indices: in[from + t], where the index of 32 bits may wrap around within a warp, which so leaves
 * the path.
 * counts: atomics on shared memory, which warps must not do side by side.
 * rows: each warp reads rows of its own, from an address that a table has.
 * product: the same in rows of 16 threads, with rows of another matrix that all warps share. There
 * the compiler lets the warps take turns. */
static const char source[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.shared .align 4 .b8 tile[1024];\n"
    ".visible .entry products(.param .u64 out, .param .u64 in, .param .u32 n)\n{\n"
    ".reg .b64 %out, %in, %at, %x;\n.reg .b32 %t, %k, %n, %a, %r;\n.reg .f32 %s, %v, %w, %u;\n"
    ".reg .pred %p;\n.pragma \"weir_jam\";\n"
    "ld.param.u64 %out, [out];\nld.param.u64 %in, [in];\nld.param.u32 %n, [n];\n"
    "mov.u32 %t, %tid.x;\nshl.b32 %r, %t, 2;\ncvt.u64.u32 %x, %r;\nadd.u64 %at, %in, %x;\n"
    "ld.global.f32 %v, [%at];\nmov.u32 %a, tile;\nadd.u32 %a, %a, %r;\nst.shared.f32 [%a], %v;\n"
    "bar.sync 0;\nmov.f32 %s, 0f00000000;\nmov.u32 %k, 0;\nmov.u32 %a, tile;\n"
    "LOOP:\nld.shared.f32 %w, [%a];\nld.shared.f32 %u, [%a+4];\nfma.rn.f32 %s, %v, %w, %s;\n"
    "fma.rn.f32 %s, %s, %u, %v;\nadd.u32 %a, %a, 8;\nadd.u32 %k, %k, 2;\n"
    "setp.lt.u32 %p, %k, %n;\n@%p bra LOOP;\nadd.u64 %at, %out, %x;\nst.global.f32 [%at], %s;\n"
    "ret;\n}\n"
    ".visible .entry indices(.param .u64 out, .param .u64 in, .param .u32 from)\n{\n"
    ".reg .b64 %out, %in, %at, %x;\n.reg .b32 %t, %i, %from;\n.reg .f32 %v, %w;\n"
    ".pragma \"weir_jam\";\n"
    "ld.param.u64 %out, [out];\nld.param.u64 %in, [in];\nld.param.u32 %from, [from];\n"
    "mov.u32 %t, %tid.x;\nadd.u32 %i, %t, %from;\nmul.wide.u32 %x, %i, 4;\n"
    "add.u64 %at, %in, %x;\nld.global.f32 %v, [%at];\n"
    "mul.wide.u32 %x, %t, 4;\nadd.u64 %at, %out, %x;\nbar.sync 0;\nfma.rn.f32 %w, %v, %v, %v;\n"
    "st.global.f32 [%at], %w;\nret;\n}\n"
    /* the same with an index modulo the number of threads, whose neighbours are no neighbours where
     * it begins anew */
    ".visible .entry wraps(.param .u64 out, .param .u64 in, .param .u32 from)\n{\n"
    ".reg .b64 %out, %in, %at, %x;\n.reg .b32 %t, %i, %from;\n.reg .f32 %v, %w;\n"
    ".pragma \"weir_jam\";\n"
    "ld.param.u64 %out, [out];\nld.param.u64 %in, [in];\nld.param.u32 %from, [from];\n"
    "mov.u32 %t, %tid.x;\nadd.u32 %i, %t, %from;\nand.b32 %i, %i, 255;\nmul.wide.u32 %x, %i, 4;\n"
    "add.u64 %at, %in, %x;\nld.global.f32 %v, [%at];\n"
    "mul.wide.u32 %x, %t, 4;\nadd.u64 %at, %out, %x;\nbar.sync 0;\nfma.rn.f32 %w, %v, %v, %v;\n"
    "st.global.f32 [%at], %w;\nret;\n}\n"
    ".visible .entry counts(.param .u64 out, .param .u64 in, .param .u32 n)\n{\n"
    ".reg .b64 %out, %x, %at;\n.reg .b32 %t, %c, %a, %b, %r, %n;\n.reg .pred %p;\n"
    ".pragma \"weir_jam\";\n"
    "ld.param.u64 %out, [out];\nld.param.u32 %n, [n];\nmov.u32 %t, %tid.x;\n"
    "shl.b32 %r, %t, 2;\nmov.u32 %a, tile;\nadd.u32 %a, %a, %r;\nmov.u32 %c, 0;\n"
    "st.shared.u32 [%a], %c;\nbar.sync 0;\n"
    "red.shared.add.u32 [tile], 1;\natom.shared.add.u32 %b, [tile+4], %n;\nbar.sync 0;\n"
    "ld.shared.u32 %c, [tile];\nld.shared.u32 %b, [tile+4];\nadd.u32 %c, %c, %b;\n"
    "cvt.rn.f32.u32 %c, %c;\nmul.wide.u32 %x, %t, 4;\nadd.u64 %at, %out, %x;\n"
    "st.global.b32 [%at], %c;\nret;\n}\n"
    ".visible .entry rows(.param .u64 out, .param .u64 table, .param .u32 n)\n{\n"
    ".reg .b64 %out, %table, %at, %row, %rd<9>;\n.reg .b32 %t, %w, %lane, %k, %n;\n"
    ".reg .f32 %s, %v;\n.reg .pred %p;\n.pragma \"weir_jam\";\n"
    "ld.param.u64 %out, [out];\nld.param.u64 %table, [table];\nld.param.u32 %n, [n];\n"
    "mov.u32 %t, %tid.x;\nshr.u32 %w, %t, 5;\nmul.wide.u32 %rd1, %w, 8;\n"
    "add.u64 %rd2, %table, %rd1;\nld.global.u64 %row, [%rd2];\nand.b32 %lane, %t, 31;\n"
    "mul.wide.u32 %rd3, %lane, 4;\nadd.u64 %at, %row, %rd3;\nmov.f32 %s, 0f00000000;\n"
    "mov.u32 %k, 0;\nbar.sync 0;\n"
    "LOOP:\nld.global.f32 %v, [%at];\nfma.rn.f32 %s, %v, %v, %s;\nadd.u32 %k, %k, 1;\n"
    "add.u64 %at, %at, 128;\nsetp.lt.u32 %p, %k, %n;\n@%p bra LOOP;\n"
    "mul.wide.u32 %rd4, %t, 4;\nadd.u64 %rd5, %out, %rd4;\nst.global.f32 [%rd5], %s;\nret;\n}\n"
    ".visible .global .align 64 .b8 columns[4096];\n"
    ".visible .entry product(.param .u64 out, .param .u64 table, .param .u32 n)\n{\n"
    ".reg .b64 %out, %table, %at, %row, %rd<9>;\n.reg .b32 %x, %y, %i, %j, %k, %n;\n"
    ".reg .f32 %s, %v, %w;\n.reg .pred %p;\n.pragma \"weir_jam\";\n"
    "ld.param.u64 %out, [out];\nld.param.u64 %table, [table];\nld.param.u32 %n, [n];\n"
    "mov.u32 %x, %tid.x;\nmov.u32 %y, %tid.y;\nmul.wide.u32 %rd1, %y, 8;\n"
    "add.u64 %rd2, %table, %rd1;\nld.global.u64 %row, [%rd2];\nmov.u64 %rd4, columns;\n"
    "mov.f32 %s, 0f00000000;\nmov.u32 %k, 0;\nmov.u32 %i, %x;\n"
    "LOOP:\nmul.wide.s32 %rd3, %i, 4;\nadd.u64 %at, %rd4, %rd3;\n"
    "ld.global.f32 %v, [%row];\nld.global.f32 %w, [%at];\nfma.rn.f32 %s, %v, %w, %s;\n"
    "add.u32 %k, %k, 1;\nadd.u64 %row, %row, 4;\nadd.u32 %i, %i, 16;\n"
    "setp.lt.u32 %p, %k, %n;\n@%p bra LOOP;\nmad.lo.u32 %j, %y, 16, %x;\n"
    "mul.wide.u32 %rd5, %j, 4;\nadd.u64 %rd6, %out, %rd5;\nst.global.f32 [%rd6], %s;\nret;\n}\n";

static CUdeviceptr out, in;
static float given[4 * THREADS], got[THREADS];
static CUmodule module;

static void open_device(void)
{
    CUcontext context;
    CUdevice device;
    CHECK(cuInit(0) == CUDA_SUCCESS);
    CHECK(cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS);
    CHECK(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    CHECK(cuModuleLoadData(&module, source) == CUDA_SUCCESS);
    CHECK(cuMemAlloc(&out, sizeof got) == CUDA_SUCCESS);
    CHECK(cuMemAlloc(&in, sizeof given) == CUDA_SUCCESS);
    for (int n = 0; n < 4 * THREADS; n++)
        given[n] = (float)(n % 37) / 64 - 0.25F;
    CHECK(cuMemcpyHtoD(in, given, sizeof given) == CUDA_SUCCESS);
}

static CUresult run_in_rows(const char *kernel, CUdeviceptr from, unsigned n, unsigned columns)
{
    CUfunction f;
    void *arguments[] = {&out, &from, &n};
    CHECK(cuModuleGetFunction(&f, module, kernel) == CUDA_SUCCESS);
    CHECK(cuMemsetD8(out, 0xff, sizeof got) == CUDA_SUCCESS);
    CHECK(cuLaunchKernel(f, 1, 1, 1, columns, THREADS / columns, 1, 0, NULL, arguments, NULL) ==
          CUDA_SUCCESS);
    CUresult r = cuCtxSynchronize();
    if (r == CUDA_SUCCESS)
        CHECK(cuMemcpyDtoH(got, out, sizeof got) == CUDA_SUCCESS);
    return r;
}

static CUresult run(const char *kernel, CUdeviceptr from, unsigned n)
{
    return run_in_rows(kernel, from, n, THREADS);
}

static void test_products(void)
{
    for (unsigned n = 2; n <= 64; n += 6) {
        CHECK(run("products", in, n) == CUDA_SUCCESS);
        for (unsigned t = 0; t < THREADS; t++) {
            float s = 0;
            for (unsigned k = 0; k < n; k += 2)
                s = fmaf(fmaf(given[t], given[k], s), given[k + 1], given[t]);
            CHECK(got[t] == s);
        }
    }
}

/* The index wraps around after so many threads: the array is where its first and its last elements
 * are, and nothing between is there. */
static void test_indices(void)
{
    for (unsigned after = 0; after < THREADS; after += 13) {
        CHECK(run("indices", in, after) == CUDA_SUCCESS);
        for (unsigned t = 0; t < THREADS; t++)
            CHECK(got[t] == fmaf(given[t + after], given[t + after], given[t + after]));
        CHECK(run("wraps", in, 0U - after) == CUDA_SUCCESS);
        for (unsigned t = 0; t < THREADS; t++) {
            unsigned at = t < after ? THREADS - after + t : t - after;
            CHECK(got[t] == fmaf(given[at], given[at], given[at]));
        }
    }
}

static void test_counts(void)
{
    CHECK(run("counts", in, 3) == CUDA_SUCCESS);
    for (unsigned t = 0; t < THREADS; t++)
        CHECK(got[t] == 4 * THREADS);
}

static void test_rows(void)
{
    CUdeviceptr rows[WARPS], table;
    CHECK(cuMemAlloc(&table, sizeof rows) == CUDA_SUCCESS);
    for (unsigned w = 0; w < WARPS; w++)
        rows[w] = in + (CUdeviceptr)((w * 5 % WARPS) * 128);
    CHECK(cuMemcpyHtoD(table, rows, sizeof rows) == CUDA_SUCCESS);
    CHECK(run("rows", table, 7) == CUDA_SUCCESS);
    for (unsigned t = 0; t < THREADS; t++) {
        float s = 0;
        for (unsigned k = 0; k < 7; k++) {
            float v = given[(t / 32 * 5 % WARPS) * 32 + k * 32 + t % 32];
            s = fmaf(v, v, s);
        }
        CHECK(got[t] == s);
    }
}

/* Rows of the one matrix begin so many elements after each other; `bad` is where row `odd` begins.
 */
static CUresult run_product(unsigned n, unsigned odd, CUdeviceptr bad)
{
    CUdeviceptr rows[ROWS], table, columns;
    size_t bytes;
    CHECK(cuModuleGetGlobal(&columns, &bytes, module, "columns") == CUDA_SUCCESS);
    CHECK(cuMemcpyHtoD(columns, given, bytes) == CUDA_SUCCESS);
    CHECK(cuMemAlloc(&table, sizeof rows) == CUDA_SUCCESS);
    for (unsigned r = 0; r < ROWS; r++)
        rows[r] = r == odd ? bad : in + (CUdeviceptr)(r * PITCH * sizeof(float));
    CHECK(cuMemcpyHtoD(table, rows, sizeof rows) == CUDA_SUCCESS);
    return run_in_rows("product", table, n, THREADS / ROWS);
}

static void test_product(void)
{
    for (unsigned n = 1; n <= 57; n += 7) {
        CHECK(run_product(n, ROWS, 0) == CUDA_SUCCESS);
        for (unsigned t = 0; t < THREADS; t++) {
            float s = 0;
            for (unsigned k = 0; k < n; k++)
                s = fmaf(given[t / ROWS * PITCH + k], given[k * ROWS + t % ROWS], s);
            CHECK(got[t] == s);
        }
    }
}

static void test_product_fault(unsigned row, CUdeviceptr bad)
{
    struct weir_fault f = {.bytes = sizeof f};
    open_device();
    CHECK(run_product(20, row, bad) != CUDA_SUCCESS);
    CHECK(weir_last_fault(&f) == 1);
    CHECK(f.frame_count == 1 && f.frames[0].thread[1] / 2 == row / 2);
}

/* One warp reads where nothing is, or from an odd address. */
static void test_fault(unsigned warp, CUdeviceptr bad)
{
    CUdeviceptr rows[WARPS], table;
    struct weir_fault f = {.bytes = sizeof f};
    open_device();
    CHECK(cuMemAlloc(&table, sizeof rows) == CUDA_SUCCESS);
    for (unsigned w = 0; w < WARPS; w++)
        rows[w] = w == warp ? bad : in;
    CHECK(cuMemcpyHtoD(table, rows, sizeof rows) == CUDA_SUCCESS);
    CHECK(run("rows", table, 4) != CUDA_SUCCESS);
    CHECK(weir_last_fault(&f) == 1);
    CHECK(f.frame_count == 1 && f.frames[0].thread[0] / 32 == warp);
}

static void in_child(void (*test)(unsigned, CUdeviceptr), unsigned which, CUdeviceptr bad)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        test(which, bad);
        fflush(stdout);
        _exit(failed != 0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    for (unsigned warp = 0; warp < WARPS; warp++) {
        in_child(test_fault, warp, 4096);
        in_child(test_fault, warp, 4098);
        in_child(test_product_fault, 2 * warp, 4096);
        in_child(test_product_fault, 2 * warp + 1, 4098);
    }
    open_device();
    test_products();
    test_indices();
    test_counts();
    test_rows();
    test_product();
    return failed != 0;
}
