/* nvfatbin: libnvfatbin: what it makes of PTX, containers and objects is loaded and runs, its bytes
 * are those that NVIDIA's library writes, and what is wrong is told by the same codes. */
#include <nvFatbin.h>
#include <nvPTXCompiler.h>

#include "driver/common.h"

static const char good[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry seven(.param .u64 p)\n{\n"
                           ".reg .b64 d;\nld.param.u64 d, [p];\nst.global.u32 [d], 7;\nret;\n}\n";
static const char small[] = ".version 8.0\n.target sm_80\n";

#define DONE(call) CHECK_EQ_INT(call, NVFATBIN_SUCCESS)

static nvFatbinHandle begin_fatbin(void)
{
    static const char *options[] = {"-64", "-compress=false"};
    nvFatbinHandle f = NULL;
    DONE(nvFatbinCreate(&f, options, 2));
    return f;
}

static uint8_t *end_fatbin(nvFatbinHandle f, size_t *size)
{
    DONE(nvFatbinSize(f, size));
    uint8_t *image = malloc(*size);
    DONE(nvFatbinGet(f, image));
    DONE(nvFatbinDestroy(&f));
    CHECK(f == NULL);
    return image;
}

static void computes_seven(const void *image)
{
    CUmodule module;
    CUdeviceptr p;
    int value = 0;
    NEED(cuModuleLoadFatBinary(&module, image));
    NEED(cuMemAlloc(&p, sizeof value));
    OK(launch(kernel(module, "seven"), 1, 1, NULL, (void *[]){&p}));
    OK(cuMemcpyDtoH(&value, p, sizeof value));
    CHECK_EQ_INT(value, 7);
    OK(cuMemFree(p));
    OK(cuModuleUnload(module));
}

static void ptx_runs(void)
{
    size_t size;
    nvFatbinHandle f = begin_fatbin();
    DONE(nvFatbinAddPTX(f, good, sizeof good, "80", "seven", "-O3"));
    DONE(nvFatbinAddPTX(f, good, strlen(good), "90", NULL, NULL));
    uint8_t *image = end_fatbin(f, &size);
    computes_seven(image);
    free(image);
}

static void container_runs(void)
{
    static const char *const option = "-arch=sm_80";
    nvPTXCompilerHandle c;
    size_t size = 0, whole;
    CHECK_EQ_INT(nvPTXCompilerCreate(&c, strlen(good), good), NVPTXCOMPILE_SUCCESS);
    CHECK_EQ_INT(nvPTXCompilerCompile(c, 1, &option), NVPTXCOMPILE_SUCCESS);
    CHECK_EQ_INT(nvPTXCompilerGetCompiledProgramSize(c, &size), NVPTXCOMPILE_SUCCESS);
    void *cubin = malloc(size);
    CHECK_EQ_INT(nvPTXCompilerGetCompiledProgram(c, cubin), NVPTXCOMPILE_SUCCESS);
    CHECK_EQ_INT(nvPTXCompilerDestroy(&c), NVPTXCOMPILE_SUCCESS);
    nvFatbinHandle f = begin_fatbin();
    CHECK_EQ_INT(nvFatbinAddCubin(f, cubin, size, "90", "seven"), NVFATBIN_ERROR_ELF_ARCH_MISMATCH);
    DONE(nvFatbinAddCubin(f, cubin, size, "80", "seven"));
    free(cubin);
    uint8_t *image = end_fatbin(f, &whole);
    computes_seven(image);
    /* damaged anywhere, it is refused or loaded */
    CUmodule module;
    uint8_t *copy = malloc(whole);
    for (size_t n = 16; n < whole; n += 7) {
        memcpy(copy, image, whole);
        copy[n] ^= 0x55;
        if (cuModuleLoadFatBinary(&module, copy) == CUDA_SUCCESS)
            OK(cuModuleUnload(module));
    }
    free(copy);
    free(image);
}

/* What NVIDIA's library gives for the same calls. */
static void bytes(void)
{
    static const uint32_t expected[] = {
        0xba55ed50, 0x00100001, 0x78,       0, /* header */
        0x01010001, 0x58,       0x20,       0, /* PTX; sizes of header and payload */
        0,          0x48,       0x00080000, 80, 0x40, 2,          0x00100011,
        0,          0,          0,          0,  0,    0x00006469, 0, /* name */
        80,         3,          0x0031442d, 0,                       /* options */
    };
    size_t size;
    nvFatbinHandle f = begin_fatbin();
    DONE(nvFatbinAddPTX(f, small, sizeof small, "80a", "id", "-D1"));
    uint8_t *image = end_fatbin(f, &size);
    CHECK_EQ_INT(size, sizeof expected + 0x20);
    CHECK(memcmp(image, expected, sizeof expected) == 0);
    CHECK(strcmp((const char *)image + sizeof expected, small) == 0);
    free(image);
}

static void refusals(void)
{
    static const struct {
        const char *code, *arch;
        size_t size;
        nvFatbinResult result;
    } cases[] = {
        {small, "80", sizeof small, NVFATBIN_SUCCESS},
        {small, "", sizeof small, NVFATBIN_SUCCESS},
        {small, "100f", sizeof small, NVFATBIN_SUCCESS},
        {small, "sm_80", sizeof small, NVFATBIN_ERROR_INVALID_ARCH},
        {small, "80x", sizeof small, NVFATBIN_ERROR_INVALID_ARCH},
        {small, NULL, sizeof small, NVFATBIN_ERROR_NULL_POINTER},
        {NULL, "80", 4, NVFATBIN_ERROR_NULL_POINTER},
        {small, "80", 0, NVFATBIN_ERROR_EMPTY_INPUT},
        {"hello", "80", 6, NVFATBIN_ERROR_MISSING_PTX_VERSION},
        {".version", "80", 8, NVFATBIN_ERROR_MISSING_PTX_VERSION},
    };
    nvFatbinHandle f = begin_fatbin(), none = NULL;
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        CHECK_EQ_INT(nvFatbinAddPTX(f, cases[n].code, cases[n].size, cases[n].arch, "", ""),
                     cases[n].result);
    CHECK_EQ_INT(nvFatbinAddCubin(f, "hello", 6, "80", ""), NVFATBIN_ERROR_ELF_SIZE_MISMATCH);
    CHECK_EQ_INT(nvFatbinAddLTOIR(f, "hello", 6, "80", "", ""), NVFATBIN_ERROR_INVALID_NVVM);
    DONE(nvFatbinAddLTOIR(f, "BC\xc0\xde...", 7, "80", "", ""));
    CHECK_EQ_INT(nvFatbinAddIndex(f, "hello", 6, ""), NVFATBIN_ERROR_INVALID_INDEX);
    CHECK_EQ_INT(nvFatbinAddReloc(f, "hello", 6), NVFATBIN_ERROR_MISSING_FATBIN);
    CHECK_EQ_INT(nvFatbinAddReloc(f, "", 0), NVFATBIN_ERROR_EMPTY_INPUT);
    CHECK_EQ_INT(nvFatbinSize(f, NULL), NVFATBIN_ERROR_NULL_POINTER);
    CHECK_EQ_INT(nvFatbinGet(NULL, &f), NVFATBIN_ERROR_NULL_POINTER);
    DONE(nvFatbinDestroy(&f));
    CHECK_EQ_INT(nvFatbinDestroy(&none), NVFATBIN_ERROR_NULL_POINTER);
    CHECK_EQ_INT(nvFatbinAddPTX(NULL, small, sizeof small, "80", "", ""),
                 NVFATBIN_ERROR_NULL_POINTER);
    const char *option = "-bogus";
    CHECK_EQ_INT(nvFatbinCreate(&f, &option, 1), NVFATBIN_ERROR_UNRECOGNIZED_OPTION);
    DONE(nvFatbinDestroy(&f));
    CHECK(nvFatbinGetErrorString(NVFATBIN_SUCCESS) == NULL);
    CHECK(strcmp(nvFatbinGetErrorString(NVFATBIN_ERROR_UNRECOGNIZED_OPTION), "unknown option") ==
          0);
    unsigned major = 0, minor = 9;
    DONE(nvFatbinVersion(&major, &minor));
    CHECK(major == 13 && minor == 0);
}

/* What an object file of the host holds. */
static void objects(void)
{
    nvFatbinHandle f = begin_fatbin(), g = begin_fatbin();
    size_t size, again;
    DONE(nvFatbinAddPTX(f, good, sizeof good, "80", NULL, NULL));
    uint8_t *fatbin = end_fatbin(f, &size);
    /* an ELF file with a section of that name */
    enum { SECTIONS = 64, NAMES = SECTIONS + 3 * 64, CODE = NAMES + 32 };
    uint8_t *object = calloc(1, CODE + size);
    memcpy(object,
           "\x7f"
           "ELF\2\1\1",
           7);
    *(uint64_t *)(object + 40) = SECTIONS;
    *(uint16_t *)(object + 18) = 62;
    *(uint16_t *)(object + 52) = 64;
    *(uint16_t *)(object + 58) = 64;
    *(uint16_t *)(object + 60) = 3;
    *(uint16_t *)(object + 62) = 2;
    memcpy(object + NAMES, "\0.nv_fatbin\0.names", 19);
    const uint64_t places[2][4] = {{1, 1, CODE, size}, {12, 3, NAMES, 19}};
    for (int n = 0; n < 2; n++) {
        uint8_t *section = object + SECTIONS + (n + 1) * 64;
        *(uint32_t *)section = (uint32_t)places[n][0];
        *(uint32_t *)(section + 4) = (uint32_t)places[n][1];
        *(uint64_t *)(section + 24) = places[n][2];
        *(uint64_t *)(section + 32) = places[n][3];
    }
    memcpy(object + CODE, fatbin, size);
    DONE(nvFatbinAddReloc(g, object, CODE + size));
    uint8_t *same = end_fatbin(g, &again);
    CHECK_EQ_INT(again, size);
    CHECK(again == size && memcmp(same, fatbin, size) == 0);
    free(same);
    free(object);
    free(fatbin);
}

int main(void)
{
    begin();
    ptx_runs();
    container_runs();
    bytes();
    refusals();
    objects();
    OK(cuDevicePrimaryCtxRelease(0));
    return check_done();
}
