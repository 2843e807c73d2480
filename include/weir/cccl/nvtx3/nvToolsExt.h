/* nvtx3/nvToolsExt.h: marks and ranges for profilers ("NVTX C API"), for programs that take the
 * header from the toolkit. No tool listens, and so nothing is kept: every call does what NVTX does
 * when no tool was injected. NVIDIA's own headers, where a program brings them, come first.
 *
 * Levels of nested ranges are counted by a tool; without one the functions return
 * NVTX_NO_PUSH_POP_TRACKING. */
#ifndef NVTX_VERSION
#define NVTX_VERSION 3

#include <stddef.h>
#include <stdint.h>
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

/* clang-format off */
NVTX_INLINE_STATIC void nvtxInitialize(const void *reserved) { (void)reserved; }

NVTX_INLINE_STATIC void nvtxMarkEx(const nvtxEventAttributes_t *a) { (void)a; }
NVTX_INLINE_STATIC void nvtxMarkA(const char *message) { (void)message; }
NVTX_INLINE_STATIC void nvtxMarkW(const wchar_t *message) { (void)message; }
NVTX_INLINE_STATIC nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t *a) { (void)a; return 0; }
NVTX_INLINE_STATIC nvtxRangeId_t nvtxRangeStartA(const char *message) { (void)message; return 0; }
NVTX_INLINE_STATIC nvtxRangeId_t nvtxRangeStartW(const wchar_t *message) { (void)message; return 0; }
NVTX_INLINE_STATIC void nvtxRangeEnd(nvtxRangeId_t id) { (void)id; }
NVTX_INLINE_STATIC int nvtxRangePushEx(const nvtxEventAttributes_t *a) { (void)a; return NVTX_NO_PUSH_POP_TRACKING; }
NVTX_INLINE_STATIC int nvtxRangePushA(const char *message) { (void)message; return NVTX_NO_PUSH_POP_TRACKING; }
NVTX_INLINE_STATIC int nvtxRangePushW(const wchar_t *message) { (void)message; return NVTX_NO_PUSH_POP_TRACKING; }
NVTX_INLINE_STATIC int nvtxRangePop(void) { return NVTX_NO_PUSH_POP_TRACKING; }
NVTX_INLINE_STATIC void nvtxNameCategoryA(uint32_t category, const char *name) { (void)category; (void)name; }
NVTX_INLINE_STATIC void nvtxNameCategoryW(uint32_t category, const wchar_t *name) { (void)category; (void)name; }
NVTX_INLINE_STATIC void nvtxNameOsThreadA(uint32_t thread, const char *name) { (void)thread; (void)name; }
NVTX_INLINE_STATIC void nvtxNameOsThreadW(uint32_t thread, const wchar_t *name) { (void)thread; (void)name; }

NVTX_INLINE_STATIC nvtxDomainHandle_t nvtxDomainCreateA(const char *name) { (void)name; return NULL; }
NVTX_INLINE_STATIC nvtxDomainHandle_t nvtxDomainCreateW(const wchar_t *name) { (void)name; return NULL; }
NVTX_INLINE_STATIC void nvtxDomainDestroy(nvtxDomainHandle_t d) { (void)d; }
NVTX_INLINE_STATIC nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t d, const char *s) { (void)d; (void)s; return NULL; }
NVTX_INLINE_STATIC nvtxStringHandle_t nvtxDomainRegisterStringW(nvtxDomainHandle_t d, const wchar_t *s) { (void)d; (void)s; return NULL; }
NVTX_INLINE_STATIC void nvtxDomainMarkEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a) { (void)d; (void)a; }
NVTX_INLINE_STATIC nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a) { (void)d; (void)a; return 0; }
NVTX_INLINE_STATIC void nvtxDomainRangeEnd(nvtxDomainHandle_t d, nvtxRangeId_t id) { (void)d; (void)id; }
NVTX_INLINE_STATIC int nvtxDomainRangePushEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a) { (void)d; (void)a; return NVTX_NO_PUSH_POP_TRACKING; }
NVTX_INLINE_STATIC int nvtxDomainRangePop(nvtxDomainHandle_t d) { (void)d; return NVTX_NO_PUSH_POP_TRACKING; }
NVTX_INLINE_STATIC void nvtxDomainNameCategoryA(nvtxDomainHandle_t d, uint32_t category, const char *name) { (void)d; (void)category; (void)name; }
NVTX_INLINE_STATIC void nvtxDomainNameCategoryW(nvtxDomainHandle_t d, uint32_t category, const wchar_t *name) { (void)d; (void)category; (void)name; }
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
