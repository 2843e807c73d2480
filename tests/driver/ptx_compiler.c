/* X1: libnvptxcompiler_static.a: what it makes of PTX is loaded by cuModuleLoadData and runs; what
 * is wrong is told as ptxas tells it, by code and in the log. */
#include <nvPTXCompiler.h>

#include "common.h"

static const char good[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry seven(.param .u64 p)\n{\n"
                           ".reg .b64 d;\nld.param.u64 d, [p];\nst.global.u32 [d], 7;\nret;\n}\n";

#define DONE(call) CHECK_EQ_INT(call, NVPTXCOMPILE_SUCCESS)

static nvPTXCompilerHandle compiler_of(const char *text)
{
    nvPTXCompilerHandle c = NULL;
    DONE(nvPTXCompilerCreate(&c, strlen(text), text));
    return c;
}

static void runs(void)
{
    static const char *const options[] = {"-arch=sm_90", "-v", "--maxrregcount", "32", "-O3"};
    nvPTXCompilerHandle c = compiler_of(good);
    size_t size = 0, log = 0;
    char text[512];
    CHECK_EQ_INT(nvPTXCompilerGetCompiledProgramSize(c, &size),
                 NVPTXCOMPILE_ERROR_COMPILER_INVOCATION_INCOMPLETE);
    DONE(nvPTXCompilerCompile(c, 5, options));
    DONE(nvPTXCompilerGetErrorLogSize(c, &log));
    CHECK_EQ_INT(log, 0);
    DONE(nvPTXCompilerGetInfoLogSize(c, &log));
    CHECK(log > 0 && log < sizeof text);
    DONE(nvPTXCompilerGetInfoLog(c, text));
    CHECK(strstr(text, "Compiling entry function 'seven'") != NULL);
    DONE(nvPTXCompilerGetCompiledProgramSize(c, &size));
    void *image = malloc(size);
    DONE(nvPTXCompilerGetCompiledProgram(c, image));
    DONE(nvPTXCompilerDestroy(&c));
    CHECK(c == NULL);
    CUmodule module;
    CUdeviceptr p;
    int value = 0;
    NEED(cuModuleLoadData(&module, image));
    free(image);
    NEED(cuMemAlloc(&p, sizeof value));
    OK(launch(kernel(module, "seven"), 1, 1, NULL, (void *[]){&p}));
    OK(cuMemcpyDtoH(&value, p, sizeof value));
    CHECK_EQ_INT(value, 7);
    OK(cuMemFree(p));
    OK(cuModuleUnload(module));
}

static void refusals(void)
{
    static const struct {
        const char *text, *option;
        nvPTXCompileResult result;
        const char *message;
    } cases[] = {
        {".version 7.0\n.target sm_80\n.address_size 64\n.entry k() { nothing; }\n", "-arch=sm_90",
         NVPTXCOMPILE_ERROR_COMPILATION_FAILURE,
         "line 4; error   : line 4, column 14: unknown instruction 'nothing'"},
        {good, "-arch=sm_75", NVPTXCOMPILE_ERROR_COMPILATION_FAILURE,
         "SM version specified by .target is higher than 'sm_75'"},
        {good, "-no-such-option", NVPTXCOMPILE_ERROR_COMPILATION_FAILURE,
         "Unknown option '-no-such-option'"},
        {".version 99.0\n.target sm_80\n.address_size 64\n", "-arch=sm_90",
         NVPTXCOMPILE_ERROR_UNSUPPORTED_PTX_VERSION, "version"},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        nvPTXCompilerHandle c = compiler_of(cases[n].text);
        char text[1024] = "";
        size_t size;
        CHECK_EQ_INT(nvPTXCompilerCompile(c, 1, &cases[n].option), cases[n].result);
        DONE(nvPTXCompilerGetErrorLogSize(c, &size));
        CHECK(size > 0 && size < sizeof text);
        DONE(nvPTXCompilerGetErrorLog(c, text));
        if (!check_count(strstr(text, cases[n].message) != NULL))
            printf("%s does not say %s\n", text, cases[n].message);
        CHECK_EQ_INT(nvPTXCompilerGetCompiledProgramSize(c, &size),
                     NVPTXCOMPILE_ERROR_COMPILER_INVOCATION_INCOMPLETE);
        DONE(nvPTXCompilerDestroy(&c));
    }
    nvPTXCompilerHandle none = NULL;
    CHECK_EQ_INT(nvPTXCompilerDestroy(&none), NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE);
    CHECK_EQ_INT(nvPTXCompilerCompile(NULL, 0, NULL), NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE);
    CHECK_EQ_INT(nvPTXCompilerCreate(&none, 0, NULL), NVPTXCOMPILE_ERROR_INVALID_INPUT);
}

static int give_up(void *payload, void *reserved)
{
    CHECK(reserved == NULL);
    return *(int *)payload;
}

static void versions_and_callbacks(void)
{
    unsigned major = 0, minor = 9;
    int count = 0, versions[64][2], stops = 1;
    DONE(nvPTXCompilerGetVersion(&major, &minor));
    CHECK(major == 13 && minor == 0);
    DONE(nvPTXCompilerGetNumSupportedVersions(&count));
    CHECK(count > 30 && count <= 64);
    DONE(nvPTXCompilerGetSupportedVersions(versions));
    CHECK(versions[0][0] == 1 && versions[0][1] == 0);
    CHECK(versions[count - 1][0] == 9 && versions[count - 1][1] == 0);
    nvPTXCompilerHandle c = compiler_of(good);
    DONE(nvPTXCompilerSetFlowCallback(c, give_up, &stops));
    CHECK_EQ_INT(nvPTXCompilerCompile(c, 0, NULL), NVPTXCOMPILE_ERROR_CANCELLED);
    stops = 0;
    DONE(nvPTXCompilerCompile(c, 0, NULL));
    DONE(nvPTXCompilerDestroy(&c));
}

int main(void)
{
    begin();
    runs();
    refusals();
    versions_and_callbacks();
    OK(cuDevicePrimaryCtxRelease(0));
    return check_done();
}
