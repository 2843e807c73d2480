/* nvPTXCompiler.h: libnvptxcompiler_static.a, which checks PTX as ptxas does and gives what
 * cuModuleLoadData takes. docs/cubins.md says what comes out. */
#ifndef nvPTXCompiler_INCLUDED
#define nvPTXCompiler_INCLUDED

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nvPTXCompiler *nvPTXCompilerHandle;

typedef enum {
    NVPTXCOMPILE_SUCCESS = 0,
    NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE = 1,
    NVPTXCOMPILE_ERROR_INVALID_INPUT = 2,
    NVPTXCOMPILE_ERROR_COMPILATION_FAILURE = 3,
    NVPTXCOMPILE_ERROR_INTERNAL = 4,
    NVPTXCOMPILE_ERROR_OUT_OF_MEMORY = 5,
    NVPTXCOMPILE_ERROR_COMPILER_INVOCATION_INCOMPLETE = 6,
    NVPTXCOMPILE_ERROR_UNSUPPORTED_PTX_VERSION = 7,
    NVPTXCOMPILE_ERROR_UNSUPPORTED_DEVSIDE_SYNC = 8,
    NVPTXCOMPILE_ERROR_CANCELLED = 9
} nvPTXCompileResult;

/* The version of CUDA whose interface this is, and the versions of PTX that are read: pairs of
 * numbers. */
nvPTXCompileResult nvPTXCompilerGetVersion(unsigned int *major, unsigned int *minor);
nvPTXCompileResult nvPTXCompilerGetNumSupportedVersions(int *numVersions);
nvPTXCompileResult nvPTXCompilerGetSupportedVersions(int (*versions)[2]);

/* A compiler for one text, which is copied; it ends at ptxCodeLen or at a NUL before that. */
nvPTXCompileResult nvPTXCompilerCreate(nvPTXCompilerHandle *compiler, size_t ptxCodeLen,
                                       const char *ptxCode);
nvPTXCompileResult nvPTXCompilerDestroy(nvPTXCompilerHandle *compiler);

/* Options are those of ptxas. Messages are in the error log, what -v tells in the other. */
nvPTXCompileResult nvPTXCompilerCompile(nvPTXCompilerHandle compiler, int numCompileOptions,
                                        const char *const *compileOptions);
nvPTXCompileResult nvPTXCompilerGetCompiledProgramSize(nvPTXCompilerHandle compiler,
                                                       size_t *binaryImageSize);
nvPTXCompileResult nvPTXCompilerGetCompiledProgram(nvPTXCompilerHandle compiler, void *binaryImage);

/* Sizes do not count the NUL that the log gets at its end. */
nvPTXCompileResult nvPTXCompilerGetErrorLogSize(nvPTXCompilerHandle compiler, size_t *errorLogSize);
nvPTXCompileResult nvPTXCompilerGetErrorLog(nvPTXCompilerHandle compiler, char *errorLog);
nvPTXCompileResult nvPTXCompilerGetInfoLogSize(nvPTXCompilerHandle compiler, size_t *infoLogSize);
nvPTXCompileResult nvPTXCompilerGetInfoLog(nvPTXCompilerHandle compiler, char *infoLog);

/* The function is asked during nvPTXCompilerCompile whether to give up (1) or not (0). */
nvPTXCompileResult nvPTXCompilerSetFlowCallback(nvPTXCompilerHandle compiler,
                                                int (*callback)(void *, void *), void *payload);

#ifdef __cplusplus
}
#endif

#endif
