/* K1.6: the registers that a kernel is said to have keep to what .maxnreg, launch bounds and the
 * options of loading and linking allow, as ptxas combines them. */
#include "common.h"

enum { VALUES = 60 };

/* A kernel with these directives in which VALUES numbers live over a loop. */
static const char *with_directives(const char *directives)
{
    static char text[1 << 14];
    int n = snprintf(
        text, sizeof text,
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) %s\n"
        "{\n.reg .b64 %%d; .reg .b32 %%r; .reg .pred %%p; .reg .f32 %%f<%d>;\n"
        "ld.param.u64 %%d, [p]; mov.u32 %%r, 0;\n",
        directives, VALUES);
    for (int i = 0; i < VALUES; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "ld.global.f32 %%f%d, [%%d+%d];\n", i,
                      4 * i);
    n += snprintf(text + n, sizeof text - (size_t)n, "LOOP:\n");
    for (int i = 0; i < VALUES; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "add.f32 %%f%d, %%f%d, %%f%d;\n", i, i,
                      (i + 7) % VALUES);
    n += snprintf(text + n, sizeof text - (size_t)n,
                  "add.u32 %%r, %%r, 1; setp.lt.u32 %%p, %%r, 5; @%%p bra LOOP;\n");
    for (int i = 0; i < VALUES; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "st.global.f32 [%%d+%d], %%f%d;\n", 4 * i,
                      i);
    snprintf(text + n, sizeof text - (size_t)n, "ret;\n}\n");
    return text;
}

static int registers_of(const void *image, unsigned most, int *blocks)
{
    CUjit_option option = CU_JIT_MAX_REGISTERS;
    void *value = (void *)(uintptr_t)most;
    CUmodule m;
    CUfunction f;
    int n = 0;
    NEED(cuModuleLoadDataEx(&m, image, most > 0, &option, &value));
    NEED(cuModuleGetFunction(&f, m, "k"));
    NEED(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    if (blocks != NULL)
        NEED(cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, 128, 0));
    NEED(cuModuleUnload(m));
    return n;
}

static int loaded(const char *directives, unsigned most)
{
    return registers_of(with_directives(directives), most, NULL);
}

/* Linked with that maximum, and loaded without. */
static int linked(unsigned most)
{
    CUjit_option option = CU_JIT_MAX_REGISTERS;
    void *value = (void *)(uintptr_t)most, *image;
    CUlinkState link;
    size_t size;
    const char *text = with_directives("");
    NEED(cuLinkCreate(1, &option, &value, &link));
    NEED(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text, strlen(text) + 1, NULL, 0,
                       NULL, NULL));
    NEED(cuLinkComplete(link, &image, &size));
    int n = registers_of(image, 0, NULL);
    NEED(cuLinkDestroy(link));
    return n;
}

static int in_library(unsigned most)
{
    CUjit_option option = CU_JIT_MAX_REGISTERS;
    void *value = (void *)(uintptr_t)most;
    CUlibrary library;
    CUkernel k;
    int n = 0;
    NEED(cuLibraryLoadData(&library, with_directives(""), &option, &value, 1, NULL, NULL, 0));
    NEED(cuLibraryGetKernel(&k, library, "k"));
    NEED(cuKernelGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, k, 0));
    NEED(cuLibraryUnload(library));
    return n;
}

int main(void)
{
    int many = 0, few = 0;
    CUcontext c;
    NEED(cuInit(0));
    NEED(cuDevicePrimaryCtxRetain(&c, 0));
    NEED(cuCtxSetCurrent(c));

    CHECK(registers_of(with_directives(""), 0, &few) > VALUES);
    CHECK(registers_of(with_directives(""), 40, &many) <= 40);
    CHECK(many > few);
    CHECK(loaded("", 8) == 24); /* there are fewest that code can do with */
    CHECK(linked(40) <= 40);
    CHECK(in_library(40) <= 40);

    CHECK(loaded(".maxnreg 48", 0) <= 48);
    CHECK(loaded(".maxnreg 10", 0) == 24);
    CHECK(loaded(".maxntid 1024 .minnctapersm 2", 0) <= 32);
    CHECK(loaded(".maxntid 256 .maxnreg 30", 0) <= 30);
    /* what the kernel says is preferred to the option */
    CHECK(loaded(".maxnreg 48", 40) > 40);
    CHECK(loaded(".maxntid 128", 40) > VALUES);
    CHECK(loaded(".reqntid 128, 1, 1", 40) > VALUES);
    NEED(cuDevicePrimaryCtxRelease(0));
    return check_done();
}
