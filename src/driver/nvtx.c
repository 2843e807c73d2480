/* nvtx: ranges and marks of NVTX, for observers. The NVTX headers in a program load the library
 * that NVTX_INJECTION64_PATH names (`weir run` sets it to this one) and call
 * InitializeInjectionNvtx2, which puts functions of ours into the headers' tables. Without it all
 * of NVTX is nothing.
 *
 * The numbers and layouts here are those of version 2 of that interface. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "driver/driver.h"
#include "driver/observers.h"
#include "observe/observe.h"

/* ---- the interface of the headers ---- */

enum { EXPORT_CALLBACKS = 1 };
enum { MODULE_CORE = 1, MODULE_CUDA = 2, MODULE_CUDART = 4, MODULE_CORE2 = 5 };
enum {
    CORE_MARK_EX = 1,
    CORE_MARK_A,
    CORE_MARK_W,
    CORE_START_EX,
    CORE_START_A,
    CORE_START_W,
    CORE_STOP,
    CORE_PUSH_EX,
    CORE_PUSH_A,
    CORE_PUSH_W,
    CORE_POP,
    CORE_THREAD_A = 14,
    CORE_THREAD_W,
};
enum {
    CORE2_MARK = 1,
    CORE2_START,
    CORE2_STOP,
    CORE2_PUSH,
    CORE2_POP,
    CORE2_STRING_A = 10,
    CORE2_STRING_W,
    CORE2_DOMAIN_A,
    CORE2_DOMAIN_W,
};
enum { CUDA_STREAM_A = 5, CUDA_EVENT_A = 7, CUDART_STREAM_A = 3, CUDART_EVENT_A = 5 };

typedef void nvtx_function(void);
struct nvtx_callbacks {
    size_t bytes;
    /* Of the functions of a module: where each is to be put; and how many there are. */
    int (*table_of)(int module, nvtx_function ****table, unsigned *count);
};
typedef const void *nvtx_export(uint32_t id);

enum { MESSAGE_ASCII = 1, MESSAGE_WIDE, MESSAGE_STRING };
struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    union {
        const char *ascii;
        const wchar_t *wide;
        const struct nvtx_string *string;
    } message;
};

/* What handles of registered strings and of domains point to; they stay. */
struct nvtx_string {
    char *text;
};

/* ---- telling ---- */

/* Wide text as text: what is no ASCII becomes "?". */
struct narrow {
    char text[256];
};
static const char *narrow(const wchar_t *wide, struct narrow *to)
{
    size_t n = 0;
    for (; wide != NULL && *wide != 0 && n + 1 < sizeof to->text; wide++)
        to->text[n++] = *wide < 128 ? (char)*wide : '?';
    to->text[n] = '\0';
    return to->text;
}

static const char *message_of(const struct nvtx_attributes *a, struct narrow *n)
{
    switch (a->message_type) {
    case MESSAGE_ASCII: return a->message.ascii;
    case MESSAGE_WIDE: return narrow(a->message.wide, n);
    case MESSAGE_STRING: return a->message.string != NULL ? a->message.string->text : NULL;
    default: return NULL;
    }
}

static uint64_t tell(enum observe_range_kind kind, const struct nvtx_string *domain,
                     const char *name, uint32_t color, uint64_t id)
{
    struct observe_range r = {.kind = kind,
                              .name = name,
                              .domain = domain != NULL ? domain->text : NULL,
                              .id = kind == OBSERVE_START ? observe_serial() : id,
                              .color = color};
    observe_range(&r);
    return r.id;
}

static uint64_t tell_attributes(enum observe_range_kind kind, const struct nvtx_string *domain,
                                const struct nvtx_attributes *a)
{
    if (a == NULL)
        return tell(kind, domain, NULL, 0, 0);
    return tell(kind, domain, message_of(a, &(struct narrow){0}), a->color_type != 0 ? a->color : 0,
                0);
}

/* How deep the thread is in ranges, which pushes and pops return. */
static _Thread_local int depth;

static void mark_ex(const struct nvtx_attributes *a) { tell_attributes(OBSERVE_MARK, NULL, a); }
static void mark_a(const char *text) { tell(OBSERVE_MARK, NULL, text, 0, 0); }
static void mark_w(const wchar_t *text)
{
    tell(OBSERVE_MARK, NULL, narrow(text, &(struct narrow){0}), 0, 0);
}
static uint64_t start_ex(const struct nvtx_attributes *a)
{
    return tell_attributes(OBSERVE_START, NULL, a);
}
static uint64_t start_a(const char *text) { return tell(OBSERVE_START, NULL, text, 0, 0); }
static uint64_t start_w(const wchar_t *text)
{
    return tell(OBSERVE_START, NULL, narrow(text, &(struct narrow){0}), 0, 0);
}
static void stop(uint64_t id) { tell(OBSERVE_STOP, NULL, NULL, 0, id); }
static int push_ex(const struct nvtx_attributes *a)
{
    tell_attributes(OBSERVE_PUSH, NULL, a);
    return depth++;
}
static int push_a(const char *text)
{
    tell(OBSERVE_PUSH, NULL, text, 0, 0);
    return depth++;
}
static int push_w(const wchar_t *text) { return push_a(narrow(text, &(struct narrow){0})); }
static int pop(void)
{
    if (depth == 0)
        return -1;
    tell(OBSERVE_POP, NULL, NULL, 0, 0);
    return --depth;
}

static void domain_mark(const struct nvtx_string *d, const struct nvtx_attributes *a)
{
    tell_attributes(OBSERVE_MARK, d, a);
}
static uint64_t domain_start(const struct nvtx_string *d, const struct nvtx_attributes *a)
{
    return tell_attributes(OBSERVE_START, d, a);
}
static void domain_stop(const struct nvtx_string *d, uint64_t id)
{
    tell(OBSERVE_STOP, d, NULL, 0, id);
}
static int domain_push(const struct nvtx_string *d, const struct nvtx_attributes *a)
{
    tell_attributes(OBSERVE_PUSH, d, a);
    return depth++;
}
static int domain_pop(const struct nvtx_string *d)
{
    (void)d;
    return pop();
}

static const struct nvtx_string *string_new(const char *text)
{
    struct nvtx_string *s = xmalloc(sizeof *s);
    s->text = xstrdup(text != NULL ? text : "");
    return s;
}
static const struct nvtx_string *string_a(const struct nvtx_string *domain, const char *text)
{
    (void)domain;
    return string_new(text);
}
static const struct nvtx_string *string_w(const struct nvtx_string *domain, const wchar_t *text)
{
    return string_a(domain, narrow(text, &(struct narrow){0}));
}
static const struct nvtx_string *domain_a(const char *name) { return string_new(name); }
static const struct nvtx_string *domain_w(const wchar_t *name)
{
    return string_new(narrow(name, &(struct narrow){0}));
}

static void name_thread_a(uint32_t thread, const char *name)
{
    observe_named(OBSERVE_NAMED_THREAD, thread, name);
}
static void name_thread_w(uint32_t thread, const wchar_t *name)
{
    name_thread_a(thread, narrow(name, &(struct narrow){0}));
}
static void name_stream(CUstream stream, const char *name)
{
    struct device_stream *s;
    CUcontext ctx;
    if (driver_find_stream(stream, false, &s, &ctx) == CUDA_SUCCESS)
        observe_named(OBSERVE_NAMED_STREAM, device_stream_observed_id(s), name);
}
static void name_event(CUevent event, const char *name)
{
    struct device_event *e;
    if (driver_event(event, &e) == CUDA_SUCCESS)
        observe_named(OBSERVE_NAMED_EVENT, device_event_observed_id(e), name);
}

/* ---- the tables ---- */

struct entry {
    int module;
    unsigned index;
    nvtx_function *function;
};
#define ENTRY(module, index, function) {module, index, (nvtx_function *)(void *)(function)}
static const struct entry entries[] = {
    ENTRY(MODULE_CORE, CORE_MARK_EX, mark_ex),
    ENTRY(MODULE_CORE, CORE_MARK_A, mark_a),
    ENTRY(MODULE_CORE, CORE_MARK_W, mark_w),
    ENTRY(MODULE_CORE, CORE_START_EX, start_ex),
    ENTRY(MODULE_CORE, CORE_START_A, start_a),
    ENTRY(MODULE_CORE, CORE_START_W, start_w),
    ENTRY(MODULE_CORE, CORE_STOP, stop),
    ENTRY(MODULE_CORE, CORE_PUSH_EX, push_ex),
    ENTRY(MODULE_CORE, CORE_PUSH_A, push_a),
    ENTRY(MODULE_CORE, CORE_PUSH_W, push_w),
    ENTRY(MODULE_CORE, CORE_POP, pop),
    ENTRY(MODULE_CORE, CORE_THREAD_A, name_thread_a),
    ENTRY(MODULE_CORE, CORE_THREAD_W, name_thread_w),
    ENTRY(MODULE_CORE2, CORE2_MARK, domain_mark),
    ENTRY(MODULE_CORE2, CORE2_START, domain_start),
    ENTRY(MODULE_CORE2, CORE2_STOP, domain_stop),
    ENTRY(MODULE_CORE2, CORE2_PUSH, domain_push),
    ENTRY(MODULE_CORE2, CORE2_POP, domain_pop),
    ENTRY(MODULE_CORE2, CORE2_STRING_A, string_a),
    ENTRY(MODULE_CORE2, CORE2_STRING_W, string_w),
    ENTRY(MODULE_CORE2, CORE2_DOMAIN_A, domain_a),
    ENTRY(MODULE_CORE2, CORE2_DOMAIN_W, domain_w),
    ENTRY(MODULE_CUDA, CUDA_STREAM_A, name_stream),
    ENTRY(MODULE_CUDA, CUDA_EVENT_A, name_event),
    ENTRY(MODULE_CUDART, CUDART_STREAM_A, name_stream),
    ENTRY(MODULE_CUDART, CUDART_EVENT_A, name_event),
};

/* 1: ready. 0: this library is not one that NVTX has any use for. */
WEIR_API int InitializeInjectionNvtx2(nvtx_export *tables);
WEIR_API int InitializeInjectionNvtx2(nvtx_export *tables)
{
    const struct nvtx_callbacks *callbacks = tables(EXPORT_CALLBACKS);
    observers_begin();
    if (!observed() || callbacks == NULL || callbacks->bytes < sizeof *callbacks)
        return 0;
    for (size_t i = 0; i < WEIR_COUNT(entries); i++) {
        nvtx_function ***table = NULL;
        unsigned count = 0;
        if (callbacks->table_of(entries[i].module, &table, &count) != 0 && table != NULL &&
            entries[i].index < count)
            *table[entries[i].index] = entries[i].function;
    }
    return 1;
}
