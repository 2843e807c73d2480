/* K1.5: libraries that a program loads, uses and unloads again and again, as programs that generate
 * kernels do: each one's kernels are its own, whatever a handle stood for before. */
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

/* A kernel `name` that adds a number to what its argument points to. */
static void write_ptx(char *text, size_t size, const char *name, int number)
{
    snprintf(text, size,
             ".version 7.0\n"
             ".target sm_70\n"
             ".address_size 64\n"
             ".visible .entry %s(.param .u64 p)\n"
             "{\n"
             "    .reg .b64 %%a;\n"
             "    .reg .b32 %%v;\n"
             "    ld.param.u64 %%a, [p];\n"
             "    ld.global.u32 %%v, [%%a];\n"
             "    add.u32 %%v, %%v, %d;\n"
             "    st.global.u32 [%%a], %%v;\n"
             "    ret;\n"
             "}\n",
             name, number);
}

static void load_and_use(int *p, const char *name, int number)
{
    char text[1024];
    cudaLibrary_t library;
    cudaKernel_t kernel;
    const char *told = nullptr;
    void *args[] = {&p};
    int before = *p;

    write_ptx(text, sizeof text, name, number);
    OK(cudaLibraryLoadData(&library, text, nullptr, nullptr, 0, nullptr, nullptr, 0));
    OK(cudaLibraryGetKernel(&kernel, library, name));
    OK(cudaFuncGetName(&told, (const void *)kernel));
    CHECK_STR(told, name);
    OK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(1), args, 0, 0));
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(*p - before, number);
    OK(cudaLibraryUnload(library));
}

int main()
{
    int *p;

    OK(cudaMallocManaged(&p, sizeof *p));
    *p = 0;
    for (int round = 0; round < 150; round++) {
        load_and_use(p, "first", 1);
        load_and_use(p, "second", 1000);
    }
    CHECK_EQ_INT(*p, 150 * 1001);
    OK(cudaFree(p));
    return check_done();
}
