/* nvtx3/nvToolsExt.h: marks and ranges for profilers ("NVTX C API"), for programs that take the
 * header from the toolkit. NVIDIA's own headers, where a program brings them, come first.
 *
 * Who listens is a library that NVTX_INJECTION64_PATH names, as `weir run --trace` names Weir's
 * driver. Without one every call does nothing; levels of nested ranges, which a tool counts, are
 * NVTX_NO_PUSH_POP_TRACKING then. */
#ifndef NVTX_VERSION
#define NVTX_VERSION 3

#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NVTX_INLINE_STATIC static inline

#define NVTX_SUCCESS              0
#define NVTX_FAIL                 1
#define NVTX_NO_PUSH_POP_TRACKING ((int)-2)

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st *nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st *nvtxStringHandle_t;
typedef struct nvtxResourceHandle *nvtxResourceHandle_t;

typedef enum nvtxColorType_t { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 } nvtxColorType_t;
typedef enum nvtxMessageType_t {
    NVTX_MESSAGE_UNKNOWN = 0,
    NVTX_MESSAGE_TYPE_ASCII = 1,
    NVTX_MESSAGE_TYPE_UNICODE = 2,
    NVTX_MESSAGE_TYPE_REGISTERED = 3
} nvtxMessageType_t;
typedef enum nvtxPayloadType_t {
    NVTX_PAYLOAD_UNKNOWN = 0,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
    NVTX_PAYLOAD_TYPE_INT64 = 2,
    NVTX_PAYLOAD_TYPE_DOUBLE = 3,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT32 = 4,
    NVTX_PAYLOAD_TYPE_INT32 = 5,
    NVTX_PAYLOAD_TYPE_FLOAT = 6
} nvtxPayloadType_t;

typedef union nvtxMessageValue_t {
    const char *ascii;
    const wchar_t *unicode;
    nvtxStringHandle_t registered;
} nvtxMessageValue_t;

/* What a mark or a range is to look like. */
typedef struct nvtxEventAttributes_v2 {
    uint16_t version;    /* NVTX_VERSION */
    uint16_t size;       /* NVTX_EVENT_ATTRIB_STRUCT_SIZE */
    uint32_t category;   /* a number of the program's */
    int32_t colorType;   /* nvtxColorType_t */
    uint32_t color;      /* 0xAARRGGBB */
    int32_t payloadType; /* nvtxPayloadType_t */
    int32_t reserved0;   /* 0 */
    union payload_t {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
        uint32_t uiValue;
        int32_t iValue;
        float fValue;
    } payload;                  /* a value to show */
    int32_t messageType;        /* nvtxMessageType_t */
    nvtxMessageValue_t message; /* its text */
} nvtxEventAttributes_v2;
typedef struct nvtxEventAttributes_v2 nvtxEventAttributes_t;
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

/* ---- the tool ---- */

/* The library that NVTX_INJECTION64_PATH names is loaded by the first call and puts its functions
 * into these tables, one for each module of NVTX. A program or library has them once. */
enum {
    WEIR_NVTX_CORE = 1,
    WEIR_NVTX_CUDA = 2,
    WEIR_NVTX_CUDART = 4,
    WEIR_NVTX_CORE2 = 5,
    WEIR_NVTX_MODULES = 6,
    WEIR_NVTX_FUNCTIONS = 16
};
typedef void weir_nvtx_function(void);
struct weir_nvtx_tables {
    int state; /* 0: not looked for, 1: being loaded, 2: known */
    weir_nvtx_function *functions[WEIR_NVTX_MODULES][WEIR_NVTX_FUNCTIONS];
    weir_nvtx_function **places[WEIR_NVTX_MODULES][WEIR_NVTX_FUNCTIONS];
};
__attribute__((weak, visibility("hidden"))) struct weir_nvtx_tables weir_nvtx;

struct weir_nvtx_callbacks {
    size_t bytes;
    int (*table_of)(int module, weir_nvtx_function ****table, unsigned *count);
};

NVTX_INLINE_STATIC int weir_nvtx_table_of(int module, weir_nvtx_function ****table, unsigned *count)
{
    int known = module == WEIR_NVTX_CORE || module == WEIR_NVTX_CUDA ||
                module == WEIR_NVTX_CUDART || module == WEIR_NVTX_CORE2;
    if (known && table != NULL)
        *table = weir_nvtx.places[module];
    if (known && count != NULL)
        *count = WEIR_NVTX_FUNCTIONS;
    return known;
}
NVTX_INLINE_STATIC const void *weir_nvtx_export(uint32_t table)
{
    static const struct weir_nvtx_callbacks callbacks = {sizeof callbacks, weir_nvtx_table_of};
    return table == 1 ? &callbacks : NULL;
}

NVTX_INLINE_STATIC void weir_nvtx_load(void)
{
    typedef int initialize(const void *(*)(uint32_t));
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path != NULL && *path != 0 ? dlopen(path, RTLD_LAZY) : NULL;
    void *symbol = library != NULL ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
    initialize *begin = NULL;
    int module, n;
    for (module = 0; module < WEIR_NVTX_MODULES; module++)
        for (n = 0; n < WEIR_NVTX_FUNCTIONS; n++)
            weir_nvtx.places[module][n] = &weir_nvtx.functions[module][n];
    if (symbol != NULL)
        memcpy(&begin, &symbol, sizeof begin);
    if (begin != NULL && begin(weir_nvtx_export) == 0)
        memset(weir_nvtx.functions, 0, sizeof weir_nvtx.functions);
}

/* The tool's function; NULL: none. */
NVTX_INLINE_STATIC weir_nvtx_function *weir_nvtx_find(int module, int id)
{
    int none = 0;
    if (__atomic_load_n(&weir_nvtx.state, __ATOMIC_ACQUIRE) != 2) {
        if (__atomic_compare_exchange_n(&weir_nvtx.state, &none, 1, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_ACQUIRE)) {
            weir_nvtx_load();
            __atomic_store_n(&weir_nvtx.state, 2, __ATOMIC_RELEASE);
        }
        while (__atomic_load_n(&weir_nvtx.state, __ATOMIC_ACQUIRE) != 2)
            sched_yield();
    }
    return weir_nvtx.functions[module][id];
}

/* A function of NVTX with the tool's function of that number in it. */
#define WEIR_NVTX_FUNCTION(name, module, id, result, otherwise, parameters, arguments)             \
    NVTX_INLINE_STATIC result name parameters                                                      \
    {                                                                                              \
        weir_nvtx_function *found = weir_nvtx_find(module, id);                                    \
        return found != NULL ? ((result(*) parameters)found)arguments : otherwise;                 \
    }
#define WEIR_NVTX_ACTION(name, module, id, parameters, arguments)                                  \
    NVTX_INLINE_STATIC void name parameters                                                        \
    {                                                                                              \
        weir_nvtx_function *found = weir_nvtx_find(module, id);                                    \
        if (found != NULL)                                                                         \
            ((void(*) parameters)found) arguments;                                                 \
    }

/* ---- functions ---- */

/* clang-format off */
NVTX_INLINE_STATIC void nvtxInitialize(const void *reserved) { (void)reserved; (void)weir_nvtx_find(WEIR_NVTX_CORE, 1); }

WEIR_NVTX_ACTION(nvtxMarkEx, WEIR_NVTX_CORE, 1, (const nvtxEventAttributes_t *a), (a))
WEIR_NVTX_ACTION(nvtxMarkA, WEIR_NVTX_CORE, 2, (const char *message), (message))
WEIR_NVTX_ACTION(nvtxMarkW, WEIR_NVTX_CORE, 3, (const wchar_t *message), (message))
WEIR_NVTX_FUNCTION(nvtxRangeStartEx, WEIR_NVTX_CORE, 4, nvtxRangeId_t, 0, (const nvtxEventAttributes_t *a), (a))
WEIR_NVTX_FUNCTION(nvtxRangeStartA, WEIR_NVTX_CORE, 5, nvtxRangeId_t, 0, (const char *message), (message))
WEIR_NVTX_FUNCTION(nvtxRangeStartW, WEIR_NVTX_CORE, 6, nvtxRangeId_t, 0, (const wchar_t *message), (message))
WEIR_NVTX_ACTION(nvtxRangeEnd, WEIR_NVTX_CORE, 7, (nvtxRangeId_t id), (id))
WEIR_NVTX_FUNCTION(nvtxRangePushEx, WEIR_NVTX_CORE, 8, int, NVTX_NO_PUSH_POP_TRACKING, (const nvtxEventAttributes_t *a), (a))
WEIR_NVTX_FUNCTION(nvtxRangePushA, WEIR_NVTX_CORE, 9, int, NVTX_NO_PUSH_POP_TRACKING, (const char *message), (message))
WEIR_NVTX_FUNCTION(nvtxRangePushW, WEIR_NVTX_CORE, 10, int, NVTX_NO_PUSH_POP_TRACKING, (const wchar_t *message), (message))
WEIR_NVTX_FUNCTION(nvtxRangePop, WEIR_NVTX_CORE, 11, int, NVTX_NO_PUSH_POP_TRACKING, (void), ())
WEIR_NVTX_ACTION(nvtxNameCategoryA, WEIR_NVTX_CORE, 12, (uint32_t category, const char *name), (category, name))
WEIR_NVTX_ACTION(nvtxNameCategoryW, WEIR_NVTX_CORE, 13, (uint32_t category, const wchar_t *name), (category, name))
WEIR_NVTX_ACTION(nvtxNameOsThreadA, WEIR_NVTX_CORE, 14, (uint32_t thread, const char *name), (thread, name))
WEIR_NVTX_ACTION(nvtxNameOsThreadW, WEIR_NVTX_CORE, 15, (uint32_t thread, const wchar_t *name), (thread, name))

WEIR_NVTX_ACTION(nvtxDomainMarkEx, WEIR_NVTX_CORE2, 1, (nvtxDomainHandle_t d, const nvtxEventAttributes_t *a), (d, a))
WEIR_NVTX_FUNCTION(nvtxDomainRangeStartEx, WEIR_NVTX_CORE2, 2, nvtxRangeId_t, 0, (nvtxDomainHandle_t d, const nvtxEventAttributes_t *a), (d, a))
WEIR_NVTX_ACTION(nvtxDomainRangeEnd, WEIR_NVTX_CORE2, 3, (nvtxDomainHandle_t d, nvtxRangeId_t id), (d, id))
WEIR_NVTX_FUNCTION(nvtxDomainRangePushEx, WEIR_NVTX_CORE2, 4, int, NVTX_NO_PUSH_POP_TRACKING, (nvtxDomainHandle_t d, const nvtxEventAttributes_t *a), (d, a))
WEIR_NVTX_FUNCTION(nvtxDomainRangePop, WEIR_NVTX_CORE2, 5, int, NVTX_NO_PUSH_POP_TRACKING, (nvtxDomainHandle_t d), (d))
WEIR_NVTX_ACTION(nvtxDomainNameCategoryA, WEIR_NVTX_CORE2, 8, (nvtxDomainHandle_t d, uint32_t category, const char *name), (d, category, name))
WEIR_NVTX_ACTION(nvtxDomainNameCategoryW, WEIR_NVTX_CORE2, 9, (nvtxDomainHandle_t d, uint32_t category, const wchar_t *name), (d, category, name))
WEIR_NVTX_FUNCTION(nvtxDomainRegisterStringA, WEIR_NVTX_CORE2, 10, nvtxStringHandle_t, NULL, (nvtxDomainHandle_t d, const char *s), (d, s))
WEIR_NVTX_FUNCTION(nvtxDomainRegisterStringW, WEIR_NVTX_CORE2, 11, nvtxStringHandle_t, NULL, (nvtxDomainHandle_t d, const wchar_t *s), (d, s))
WEIR_NVTX_FUNCTION(nvtxDomainCreateA, WEIR_NVTX_CORE2, 12, nvtxDomainHandle_t, NULL, (const char *name), (name))
WEIR_NVTX_FUNCTION(nvtxDomainCreateW, WEIR_NVTX_CORE2, 13, nvtxDomainHandle_t, NULL, (const wchar_t *name), (name))
WEIR_NVTX_ACTION(nvtxDomainDestroy, WEIR_NVTX_CORE2, 14, (nvtxDomainHandle_t d), (d))
/* clang-format on */

/* The forms without a letter are those of wide characters where a program asks for Unicode. */
#ifdef UNICODE
#define nvtxMark                 nvtxMarkW
#define nvtxRangeStart           nvtxRangeStartW
#define nvtxRangePush            nvtxRangePushW
#define nvtxNameCategory         nvtxNameCategoryW
#define nvtxNameOsThread         nvtxNameOsThreadW
#define nvtxDomainCreate         nvtxDomainCreateW
#define nvtxDomainRegisterString nvtxDomainRegisterStringW
#define nvtxDomainNameCategory   nvtxDomainNameCategoryW
#else
#define nvtxMark                 nvtxMarkA
#define nvtxRangeStart           nvtxRangeStartA
#define nvtxRangePush            nvtxRangePushA
#define nvtxNameCategory         nvtxNameCategoryA
#define nvtxNameOsThread         nvtxNameOsThreadA
#define nvtxDomainCreate         nvtxDomainCreateA
#define nvtxDomainRegisterString nvtxDomainRegisterStringA
#define nvtxDomainNameCategory   nvtxDomainNameCategoryA
#endif

#ifdef __cplusplus
}
#endif

#endif
