/* link: cuLink*: PTX, and whatever PTX of relocatable device code comes in (container/container.h),
 * become one module. What comes out is PTX text again: the one format that everything here loads.
 */
#include <stdlib.h>
#include <string.h>

#include "base/reserve.h"
#include "container/container.h"
#include "driver/driver.h"
#include "driver/objects.h"

enum { TAG_LINK = 0x574c4e4b };
struct CUlinkState_st {
    uint32_t tag;
    pthread_mutex_t lock; /* of all below: threads may add to one link at once */
    struct container_units units;
    struct strbuf image; /* what came out */
    /* the options are the caller's until the state is destroyed: logs are written at the end */
    struct jit_request request;
    unsigned count;
    CUjit_option *options;
    void **values;
};

static CUresult link_check(CUlinkState s)
{
    CU_TRY(driver_ready());
    CU_TRY(driver_permitted());
    return handle_live(s, TAG_LINK) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static void link_unlock(CUlinkState *locked)
{
    if (*locked != NULL)
        pthread_mutex_unlock(&(*locked)->lock);
    *locked = NULL;
}

/* Until the function returns, no other thread is at the link. */
#define LINK_LOCK(s)                                                                               \
    CUlinkState link_locked __attribute__((cleanup(link_unlock))) = NULL;                          \
    CU_TRY(link_lock(s, &link_locked))
static CUresult link_lock(CUlinkState s, CUlinkState *locked)
{
    CU_TRY(link_check(s));
    pthread_mutex_lock(&s->lock);
    *locked = s;
    return handle_live(s, TAG_LINK) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

WEIR_API CUresult cuLinkCreate_v2(unsigned int count, CUjit_option *options, void **values,
                                  CUlinkState *out)
{
    HOLD;
    CUcontext c;
    struct jit_request q;
    CU_TRY(driver_current(&c));
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(jit_request_read(&q, count, options, values));
    CUlinkState s = handle_begin(TAG_LINK, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    s->request = q;
    s->count = count;
    s->options = options;
    s->values = values;
    handle_publish(s, TAG_LINK);
    if (observed())
        observe_object_made(OBSERVE_LINK, s);
    *out = s;
    return CUDA_SUCCESS;
}

/* Writes the logs after each step, so that they can be read whatever comes next. */
static CUresult link_answer(CUlinkState s, CUresult r, const struct diag *d)
{
    if (r != CUDA_SUCCESS)
        module_refuse(r, d, &s->request.text);
    jit_request_answer(&s->request, s->count, s->options, s->values);
    return r;
}

WEIR_API CUresult cuLinkAddData_v2(CUlinkState s, CUjitInputType type, void *data, size_t size,
                                   const char *name, unsigned int count, CUjit_option *options,
                                   void **values)
{
    HOLD;
    struct diag d = {0};
    CUresult r;
    LINK_LOCK(s);
    if (data == NULL || size == 0 || (unsigned)type >= CU_JIT_NUM_INPUT_TYPES ||
        (count > 0 && (options == NULL || values == NULL)))
        return CUDA_ERROR_INVALID_VALUE;
    if (type == CU_JIT_INPUT_NVVM)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED, "cuLinkAddData: %s: LTO-IR is not supported",
                            name != NULL ? name : "input");
    if (type == CU_JIT_INPUT_CUBIN && !container_is_elf(data, size)) {
        diag_set(&d, 0, 0, "%s: it is no ELF file, as what stands for machine code is",
                 name != NULL ? name : "input");
        return link_answer(s, CUDA_ERROR_INVALID_IMAGE, &d);
    }
    switch (container_read(data, size, (unsigned)device_limits()->sm, &s->units, &d)) {
    case CONTAINER_OK: return CUDA_SUCCESS;
    case CONTAINER_NO_CODE:
        if (type == CU_JIT_INPUT_LIBRARY)
            return CUDA_SUCCESS;
        r = CUDA_ERROR_INVALID_IMAGE;
        break;
    case CONTAINER_NO_PTX: /* what a vendor's library would have defined may be built in here */
        if (type == CU_JIT_INPUT_LIBRARY)
            return CUDA_SUCCESS;
        r = CUDA_ERROR_NO_BINARY_FOR_GPU;
        break;
    case CONTAINER_BAD_PTX: /* the parser's words for a version it knows not */
        r = strstr(d.text, "PTX ISA version") != NULL ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION
                                                      : CUDA_ERROR_INVALID_PTX;
        break;
    default: r = CUDA_ERROR_INVALID_IMAGE; break;
    }
    struct diag named = d;
    if (name != NULL) {
        named = (struct diag){.line = d.line, .out_of_memory = d.out_of_memory};
        diag_set(&named, d.line, 0, "%s: %s", name, d.text);
    }
    return link_answer(s, r, &named);
}

WEIR_API CUresult cuLinkAddFile_v2(CUlinkState s, CUjitInputType type, const char *path,
                                   unsigned int count, CUjit_option *options, void **values)
{
    HOLD;
    char *text;
    size_t size;
    CU_TRY(link_check(s));
    if (path == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(driver_read_file(path, &text, &size));
    CUresult r = cuLinkAddData_v2(s, type, text, size, path, count, options, values);
    free(text);
    return r;
}

WEIR_API CUresult cuLinkComplete(CUlinkState s, void **image, size_t *size)
{
    HOLD;
    struct diag d = {0};
    LINK_LOCK(s);
    if (s->image.items == NULL) {
        if (s->units.count == 0)
            return driver_error(CUDA_ERROR_INVALID_VALUE, "cuLinkComplete: nothing was added");
        struct ptx_module *m = ptx_link(s->units.items, (int)s->units.count, &d);
        if (m == NULL)
            return link_answer(
                s, d.out_of_memory ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX, &d);
        ptx_limit_registers(m, s->request.source.most_registers);
        bool fine = ptx_print_guarded(m, &s->image);
        ptx_free(m);
        if (!fine) {
            diag_set_memory(&d, "the linked module cannot be written");
            return link_answer(s, CUDA_ERROR_OUT_OF_MEMORY, &d);
        }
    }
    if (image != NULL)
        *image = s->image.items;
    if (size != NULL)
        *size = s->image.count + 1;
    return link_answer(s, CUDA_SUCCESS, &d);
}

WEIR_API CUresult cuLinkDestroy(CUlinkState s)
{
    HOLD;
    CU_TRY(driver_initialized());
    if (!handle_live(s, TAG_LINK) || !handle_wipe(s))
        return CUDA_ERROR_INVALID_HANDLE;
    hold_drain(); /* calls of other threads may have it */
    container_free(&s->units);
    sb_free(&s->image);
    handle_recycle(s);
    return CUDA_SUCCESS;
}
