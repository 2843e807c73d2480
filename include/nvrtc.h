/* nvrtc.h: libnvrtc, which compiles CUDA C++ while a program runs. Weir's hands the work to
 * NVIDIA's libnvrtc.so.13, where the machine has it, and gives what Weir's driver loads where
 * machine code is asked for; without it every function but nvrtcGetErrorString returns
 * NVRTC_ERROR_INTERNAL_ERROR, and that one says what is missing. docs/python.md has where it is
 * looked for, docs/cubins.md what comes out. */
#ifndef __NVRTC_H__
#define __NVRTC_H__

#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_OUT_OF_MEMORY = 1,
    NVRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
    NVRTC_ERROR_INVALID_INPUT = 3,
    NVRTC_ERROR_INVALID_PROGRAM = 4,
    NVRTC_ERROR_INVALID_OPTION = 5,
    NVRTC_ERROR_COMPILATION = 6,
    NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
    NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8,
    NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
    NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
    NVRTC_ERROR_INTERNAL_ERROR = 11,
    NVRTC_ERROR_TIME_FILE_WRITE_FAILED = 12,
    NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED = 13,
    NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED = 14,
    NVRTC_ERROR_PCH_CREATE = 15,
    NVRTC_ERROR_CANCELLED = 16,
    NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED = 17
} nvrtcResult;

typedef struct _nvrtcProgram *nvrtcProgram;

/* A result in words. */
const char *nvrtcGetErrorString(nvrtcResult result);

/* The version of the compiler, and the architectures that it compiles for: 75 and so on. */
nvrtcResult nvrtcVersion(int *major, int *minor);
nvrtcResult nvrtcGetNumSupportedArchs(int *numArchs);
nvrtcResult nvrtcGetSupportedArchs(int *supportedArchs);

/* A program of one source. `name` is for messages. Headers are texts, which the source includes by
 * the names in includeNames. */
nvrtcResult nvrtcCreateProgram(nvrtcProgram *prog, const char *src, const char *name,
                               int numHeaders, const char *const *headers,
                               const char *const *includeNames);
/* Ends it; *prog becomes NULL. */
nvrtcResult nvrtcDestroyProgram(nvrtcProgram *prog);

/* Compiles, with options such as "--gpu-architecture=compute_80" and "--std=c++17". */
nvrtcResult nvrtcCompileProgram(nvrtcProgram prog, int numOptions, const char *const *options);

/* What came out. A size is asked first, and counts the NUL of text. A cubin there is for sm_NN
 * alone: a container of PTX; LTO-IR with -dlto; the input of OptiX with --optix-ir. */
nvrtcResult nvrtcGetPTXSize(nvrtcProgram prog, size_t *ptxSizeRet);
nvrtcResult nvrtcGetPTX(nvrtcProgram prog, char *ptx);
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram prog, size_t *cubinSizeRet);
nvrtcResult nvrtcGetCUBIN(nvrtcProgram prog, char *cubin);
nvrtcResult nvrtcGetLTOIRSize(nvrtcProgram prog, size_t *LTOIRSizeRet);
nvrtcResult nvrtcGetLTOIR(nvrtcProgram prog, char *LTOIR);
nvrtcResult nvrtcGetOptiXIRSize(nvrtcProgram prog, size_t *optixirSizeRet);
nvrtcResult nvrtcGetOptiXIR(nvrtcProgram prog, char *optixir);

/* What was said meanwhile: errors and warnings. */
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram prog, size_t *logSizeRet);
nvrtcResult nvrtcGetProgramLog(nvrtcProgram prog, char *log);

/* The mangled name of a kernel or variable that an expression names, "scale<float>": expressions
 * are added before the program is compiled, names asked for after. */
nvrtcResult nvrtcAddNameExpression(nvrtcProgram prog, const char *const name_expression);
nvrtcResult nvrtcGetLoweredName(nvrtcProgram prog, const char *const name_expression,
                                const char **lowered_name);

/* Precompiled headers: the heap of them, which all programs share, and how one came out. */
nvrtcResult nvrtcGetPCHHeapSize(size_t *ret);
nvrtcResult nvrtcSetPCHHeapSize(size_t size);
nvrtcResult nvrtcGetPCHCreateStatus(nvrtcProgram prog);
nvrtcResult nvrtcGetPCHHeapSizeRequired(nvrtcProgram prog, size_t *size);

/* Asks `callback` now and then while the program is compiled; 1 from it cancels. */
nvrtcResult nvrtcSetFlowCallback(nvrtcProgram prog, int (*callback)(void *, void *), void *payload);

#ifdef __cplusplus
}

/* The name of a type as device code spells it, for name expressions. A program asks for it by
 * -DNVRTC_GET_TYPE_NAME=1. */
#if NVRTC_GET_TYPE_NAME
#include <cxxabi.h>
#include <string>
#include <typeinfo>

inline nvrtcResult nvrtcGetTypeName(const std::type_info &tinfo, std::string *result)
{
    if (result == NULL)
        return NVRTC_ERROR_INVALID_INPUT;
    int status = 0;
    char *name = abi::__cxa_demangle(tinfo.name(), NULL, NULL, &status);
    if (name == NULL)
        return status == -1 ? NVRTC_ERROR_OUT_OF_MEMORY : NVRTC_ERROR_INTERNAL_ERROR;
    *result = name;
    free(name);
    return NVRTC_SUCCESS;
}

/* typeid drops const and references, so it is asked about a template of the type. */
template <typename T> struct weir_nvrtc_type {
};

template <typename T> nvrtcResult nvrtcGetTypeName(std::string *result)
{
    std::string name;
    nvrtcResult r = nvrtcGetTypeName(typeid(weir_nvrtc_type<T>), &name);
    if (r != NVRTC_SUCCESS || result == NULL)
        return r != NVRTC_SUCCESS ? r : NVRTC_ERROR_INVALID_INPUT;
    std::string::size_type from = name.find('<') + 1, to = name.rfind('>');
    while (to > from && name[to - 1] == ' ')
        to--;
    *result = name.substr(from, to - from);
    return NVRTC_SUCCESS;
}
#endif
#endif

#endif
