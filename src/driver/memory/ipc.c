/* ipc: memory and events of one process in another, by handles of 64 bytes.
 *
 * A handle says where the other process finds the file in memory that holds the pages (or the
 * event's state): see memory/file.h. The memory layer makes and maps it; here is what CUDA's rules
 * add: a context that opens the same memory twice gets the same pointer, which counts. */
#include <string.h>

#include "driver/error/site.h"
#include "driver/objects.h"

_Static_assert(sizeof(CUipcMemHandle) == sizeof(struct share_handle), "the size of handles");
_Static_assert(sizeof(CUipcEventHandle) == sizeof(struct share_handle), "the size of handles");

/* One mapping of another process's memory. */
struct opened {
    uint64_t file, offset, origin; /* what is mapped: the file's id, the offset, the serial there */
    uint64_t base, serial;         /* where; serial of the mapping: a reset may have ended it */
    CUcontext ctx;
    unsigned refs;
};

static struct {
    pthread_mutex_t lock;
    struct opened *items;
    size_t count, cap;
} opened = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void forget(size_t i) { opened.items[i] = opened.items[--opened.count]; }

/* Drops mappings that have ended with their context. */
static void sweep(void)
{
    for (size_t i = opened.count; i-- > 0;) {
        struct mem_info info;
        if (!mem_find((void *)(uintptr_t)opened.items[i].base, &info) ||
            info.serial != opened.items[i].serial)
            forget(i);
    }
}

CUresult driver_from_file(enum file_status s, const char *call)
{
    switch (s) {
    case FILE_OK: return CUDA_SUCCESS;
    case FILE_OWN:
        return driver_error(CUDA_ERROR_INVALID_CONTEXT,
                            "%s: the handle was made by this very process", call);
    case FILE_NO_HANDLE:
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "%s: these bytes are no handle of this kind, or damaged", call);
    case FILE_GONE:
        return driver_error(CUDA_ERROR_INVALID_HANDLE,
                            "%s: what the handle stands for is gone, or its process", call);
    case FILE_REFUSED:
        return driver_error(CUDA_ERROR_MAP_FAILED,
                            "%s: the system does not let this process map it", call);
    }
    return CUDA_ERROR_UNKNOWN;
}

WEIR_API CUresult cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr at)
{
    HOLD;
    CUcontext c;
    CU_TRY(driver_current(&c));
    const void *p = (const void *)(uintptr_t)at;
    if (out == NULL || mem_kind_of(p, NULL) != MEM_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    struct share_handle h;
    bool moves = !mem_is_shared(p); /* then nothing may run that writes it */
    if (moves)
        device_pause();
    enum mem_status status = mem_export(p, &h);
    if (moves)
        device_resume();
    if (status == MEM_OK)
        memcpy(out, &h, sizeof h);
    return driver_from_mem(status);
}

WEIR_API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle handle, unsigned int flags)
{
    HOLD;
    CALLED(cuIpcOpenMemHandle);
    CUcontext c;
    struct share_handle h;
    CU_TRY(driver_current(&c));
    if (out == NULL || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
        return CUDA_ERROR_INVALID_VALUE;
    enum file_status status = share_handle_read(&h, &handle, FILE_ALLOCATION);
    if (status != FILE_OK)
        return driver_from_file(status, "cuIpcOpenMemHandle");
    pthread_mutex_lock(&opened.lock);
    sweep();
    struct opened *o = NULL;
    for (size_t i = 0; i < opened.count && o == NULL; i++)
        if (opened.items[i].ctx == c && opened.items[i].file == h.id &&
            opened.items[i].offset == h.offset && opened.items[i].origin == h.serial)
            o = &opened.items[i];
    void *p;
    struct mem_info info;
    if (o != NULL) {
        o->refs++;
        *out = o->base;
    } else if ((status = mem_import(&h, c->memory, c->device, &p)) == FILE_OK &&
               mem_find(p, &info)) {
        *out = (CUdeviceptr)(uintptr_t)p;
        vec_push(&opened, (struct opened){.file = h.id,
                                          .offset = h.offset,
                                          .origin = h.serial,
                                          .base = *out,
                                          .serial = info.serial,
                                          .ctx = c,
                                          .refs = 1});
    }
    pthread_mutex_unlock(&opened.lock);
    return driver_from_file(status, "cuIpcOpenMemHandle");
}

/* The first version, without the flag for peers. */
#undef cuIpcOpenMemHandle
WEIR_API CUresult cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned int flags);
WEIR_API CUresult cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned int flags)
{
    HOLD;
    return cuIpcOpenMemHandle_v2(out, handle, flags);
}

/* The last closing of a pointer waits for the context, as freeing does, and unmaps it. */
WEIR_API CUresult cuIpcCloseMemHandle(CUdeviceptr at)
{
    HOLD;
    CALLED(cuIpcCloseMemHandle);
    CUcontext c;
    CU_TRY(driver_current(&c));
    pthread_mutex_lock(&opened.lock);
    sweep();
    size_t i = 0;
    while (i < opened.count && opened.items[i].base != at)
        i++;
    bool found = i < opened.count, last = found && --opened.items[i].refs == 0;
    CUcontext owner = found ? opened.items[i].ctx : NULL;
    if (last)
        forget(i);
    pthread_mutex_unlock(&opened.lock);
    if (!found)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuIpcCloseMemHandle: 0x%llx is no opened memory of another process",
                            (unsigned long long)at);
    if (!last)
        return CUDA_SUCCESS;
    CUresult r = context_wait(owner);
    if (r == CUDA_ERROR_CONTEXT_IS_DESTROYED)
        return r; /* and the memory with it */
    mem_free((void *)(uintptr_t)at, MEM_IMPORTED);
    return r;
}

/* ---- events ---- */

WEIR_API CUresult cuIpcGetEventHandle(CUipcEventHandle *out, CUevent event)
{
    HOLD;
    CUcontext c;
    struct device_event *e;
    CU_TRY(driver_current(&c));
    CU_TRY(driver_event(event, &e));
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if ((event->flags & CU_EVENT_INTERPROCESS) == 0 || event->foreign)
        return driver_error(CUDA_ERROR_INVALID_HANDLE,
                            "cuIpcGetEventHandle: the event was not made with "
                            "CU_EVENT_INTERPROCESS, or not in this process");
    struct share_handle h;
    device_event_export(e, &h);
    memcpy(out, &h, sizeof h);
    return CUDA_SUCCESS;
}

/* The new event is the program's to destroy, like one that it has made. */
WEIR_API CUresult cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle handle)
{
    HOLD;
    CUcontext c;
    struct share_handle h;
    CU_TRY(driver_current(&c));
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct device_event *e;
    enum file_status status = share_handle_read(&h, &handle, FILE_EVENT);
    if (status == FILE_OK)
        status = device_event_open(c->device, &h, &e);
    if (status == FILE_OK)
        (*out = event_make(c, e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING))->foreign = true;
    if (status == FILE_NO_HANDLE)
        status = FILE_REFUSED; /* for events a GPU has one answer to both */
    return driver_from_file(status, "cuIpcOpenEventHandle");
}
