/* library: libraries as the API shows them: images of no context, loaded in one when something of
 * them is first used there; and their kernels, which are functions in whatever context uses them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/stack.h"
#include "driver/objects.h"

/* A kernel of a library: a name that becomes a function in whatever context uses it. */
enum { TAG_KERNEL = 0x574b4552 };
struct CUkern_st {
    uint32_t tag;
    CUlibrary library;
    char *name;
    /* What it is on each device, as its functions there begin: what was set for it. No handle, and
     * of no module. NULL: never asked. */
    struct CUfunc_st *on[MEM_MAX_DEVICES];
    struct CUkern_st *next;
};

/* ---- loading ---- */

/* Parses and checks the image, so that loading it in a context later needs it no more. */
static CUresult load(CUlibrary *out, const void *code, size_t size, struct jit_request *q)
{
    struct diag d = {0}, warning = {0};
    CUresult r = CUDA_SUCCESS;
    struct ptx_module *ptx = module_read(code, size, &r, &warning);
    if (ptx == NULL)
        d = warning;
    else
        module_limit_registers(ptx, code, size, q->source.most_registers);
    if (ptx != NULL && !jit_check(ptx, &d)) {
        ptx_free(ptx);
        ptx = NULL;
        r = CUDA_ERROR_INVALID_PTX;
    }
    if (ptx == NULL)
        return module_refuse(r, &d, &q->text);
    CUlibrary lib = handle_new(TAG_LIBRARY, sizeof *lib);
    lib->ptx = ptx;
    pthread_mutex_init(&lib->lock, NULL);
    if (observed())
        observe_object_made(OBSERVE_LIBRARY, lib);
    *out = lib;
    return CUDA_SUCCESS;
}

struct library_call {
    CUlibrary *out;
    const void *code;
    size_t size;
    struct jit_request *request;
    CUresult result;
};

static void load_here(void *arg)
{
    struct library_call *c = arg;
    c->result = load(c->out, c->code, c->size, c->request);
}

static CUresult library_load(CUlibrary *out, const void *code, size_t size, struct jit_request *q)
{
    struct library_call c = {.out = out, .code = code, .size = size, .request = q};
    stack_call(load_here, &c);
    return c.result;
}

static CUresult check_options(const CUlibraryOption *options, void *const *values, unsigned count)
{
    if (count > 0 && (options == NULL || values == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned n = 0; n < count; n++) {
        if (options[n] == CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE)
            return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                                "libraries with host functions are not supported");
        if (options[n] != CU_LIBRARY_BINARY_IS_PRESERVED)
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *jit,
                                    void **jit_values, unsigned int njit, CUlibraryOption *options,
                                    void **values, unsigned int noptions)
{
    HOLD;
    struct jit_request q;
    CU_TRY(driver_ready());
    if (out == NULL || code == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(check_options(options, values, noptions));
    CU_TRY(jit_request_read(&q, njit, jit, jit_values));
    CUresult r = library_load(out, code, SIZE_MAX, &q);
    jit_request_answer(&q, njit, jit, jit_values);
    return r;
}

WEIR_API CUresult cuLibraryLoadFromFile(CUlibrary *out, const char *path, CUjit_option *jit,
                                        void **jit_values, unsigned int njit,
                                        CUlibraryOption *options, void **values,
                                        unsigned int noptions)
{
    HOLD;
    struct jit_request q;
    char *text;
    size_t size;
    CU_TRY(driver_ready());
    if (path == NULL || out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(jit_request_read(&q, njit, jit, jit_values));
    CU_TRY(driver_read_file(path, &text, &size));
    CUresult r = check_options(options, values, noptions);
    if (r == CUDA_SUCCESS)
        r = library_load(out, text, size, &q);
    free(text);
    jit_request_answer(&q, njit, jit, jit_values);
    return r;
}

static CUresult check_library(CUlibrary lib)
{
    return handle_live(lib, TAG_LIBRARY) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* The function begins as the kernel is on its device. */
static void take_settings(CUfunction f, const struct CUfunc_st *from)
{
    f->max_dynamic_shared = from->max_dynamic_shared;
    f->carveout = from->carveout;
    f->cache_config = from->cache_config;
    memcpy(f->cluster, from->cluster, sizeof f->cluster);
    f->non_portable = from->non_portable;
    f->cluster_policy = from->cluster_policy;
}

/* The library's module in a context, loaded there at first use. */
static CUresult library_module_in(CUlibrary lib, CUcontext c, CUmodule *out)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&lib->lock);
    struct library_module **at = &lib->modules;
    while (*at != NULL && ((*at)->ctx != c || (*at)->id != atomic_load(&c->id)))
        at = &(*at)->next;
    if (*at == NULL) {
        CUmodule m;
        struct module_source source = {.ptx = lib->ptx};
        r = module_load(c, &source, NULL, &m);
        if (r == CUDA_SUCCESS) {
            struct library_module *lm = xcalloc(1, sizeof *lm);
            *lm = (struct library_module){c, atomic_load(&c->id), m, NULL};
            *at = lm;
            CUfunction f;
            for (CUkernel k = lib->kernels; k != NULL; k = k->next)
                if (k->on[c->ordinal] != NULL && module_function(m, k->name, &f) == CUDA_SUCCESS)
                    take_settings(f, k->on[c->ordinal]);
        }
    }
    *out = *at != NULL ? (*at)->module : NULL;
    pthread_mutex_unlock(&lib->lock);
    return r;
}

WEIR_API CUresult cuLibraryUnload(CUlibrary lib)
{
    HOLD;
    CU_TRY(driver_initialized());
    if (device_in_host_function())
        return CUDA_ERROR_NOT_PERMITTED;
    CU_TRY(check_library(lib));
    if (!handle_wipe(lib))
        return CUDA_ERROR_INVALID_HANDLE;
    for (struct library_module *m = lib->modules, *next; m != NULL; m = next) {
        next = m->next;
        if (context_live(m->ctx) && atomic_load(&m->ctx->id) == m->id && module_wipe(m->module))
            module_unload(m->module);
        free(m);
    }
    contexts_await_ends(); /* what frees others of its modules uses its PTX */
    for (CUkernel k = lib->kernels, next; k != NULL; k = next) {
        next = k->next;
        for (int dev = 0; dev < MEM_MAX_DEVICES; dev++)
            free(k->on[dev]);
        free(k->name);
        handle_free(k);
    }
    ptx_free(lib->ptx);
    handle_recycle(lib);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuLibraryGetModule(CUmodule *out, CUlibrary lib)
{
    HOLD;
    CUcontext c;
    CU_TRY(driver_current(&c));
    CU_TRY(check_library(lib));
    return out == NULL ? CUDA_ERROR_INVALID_VALUE : library_module_in(lib, c, out);
}

/* ---- kernels ---- */

/* The one handle of the library's kernel of that name. */
static CUkernel library_kernel(CUlibrary lib, const char *name)
{
    pthread_mutex_lock(&lib->lock);
    CUkernel k = lib->kernels;
    while (k != NULL && strcmp(k->name, name) != 0)
        k = k->next;
    if (k == NULL) {
        k = handle_new(TAG_KERNEL, sizeof *k);
        k->library = lib;
        k->name = xstrdup(name);
        k->next = lib->kernels;
        lib->kernels = k;
    }
    pthread_mutex_unlock(&lib->lock);
    return k;
}

static bool is_kernel(const struct ptx_func *f) { return f->is_entry && f->has_body; }

WEIR_API CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary lib, const char *name)
{
    HOLD;
    CU_TRY(driver_ready());
    CU_TRY(check_library(lib));
    if (out == NULL || name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct ptx_func *f = ptx_find_func(lib->ptx, name);
    if (f == NULL || !is_kernel(f))
        return driver_error(CUDA_ERROR_NOT_FOUND, "the library has no kernel named %s", name);
    *out = library_kernel(lib, name);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
    HOLD;
    CU_TRY(driver_ready());
    CU_TRY(check_library(lib));
    if (count == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *count = 0;
    for (int32_t n = 0; n < lib->ptx->nfuncs; n++)
        *count += is_kernel(lib->ptx->funcs[n]);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuLibraryEnumerateKernels(CUkernel *out, unsigned int capacity, CUlibrary lib)
{
    HOLD;
    CU_TRY(driver_ready());
    CU_TRY(check_library(lib));
    if (out == NULL || capacity == 0)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned used = 0;
    for (int32_t n = 0; n < lib->ptx->nfuncs && used < capacity; n++)
        if (is_kernel(lib->ptx->funcs[n]))
            out[used++] = library_kernel(lib, lib->ptx->funcs[n]->name);
    return CUDA_SUCCESS;
}

CUresult kernel_to_function(CUkernel k, CUcontext c, CUfunction *out)
{
    CUmodule m;
    if (!handle_live(k, TAG_KERNEL))
        return CUDA_ERROR_INVALID_HANDLE;
    CU_TRY(library_module_in(k->library, c, &m));
    return module_function(m, k->name, out);
}

WEIR_API CUresult cuKernelGetFunction(CUfunction *out, CUkernel k)
{
    HOLD;
    CUcontext c;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(driver_current(&c));
    return kernel_to_function(k, c, out);
}

WEIR_API CUresult cuKernelGetName(const char **name, CUkernel k)
{
    HOLD;
    if (k == NULL)
        return CUDA_ERROR_INVALID_VALUE; /* a stale handle is an invalid one */
    if (!handle_live(k, TAG_KERNEL))
        return CUDA_ERROR_INVALID_HANDLE;
    if (name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *name = k->name;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuKernelGetLibrary(CUlibrary *lib, CUkernel k)
{
    HOLD;
    if (!handle_live(k, TAG_KERNEL))
        return CUDA_ERROR_INVALID_HANDLE;
    if (lib == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *lib = k->library;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuKernelGetParamInfo(CUkernel k, size_t index, size_t *offset, size_t *size)
{
    HOLD;
    CUcontext c;
    CUfunction f;
    CU_TRY(driver_current(&c));
    CU_TRY(kernel_to_function(k, c, &f));
    return cuFuncGetParamInfo(f, index, offset, size);
}

/* ---- kernels on a device, whatever its contexts ---- */

struct kernel_look {
    CUkernel kernel;
    struct CUfunc_st *f;
    CUresult result;
};

static void look_here(void *arg)
{
    struct kernel_look *l = arg;
    l->f = xcalloc(1, sizeof *l->f);
    l->f->func = ptx_find_func(l->kernel->library->ptx, l->kernel->name);
    l->result = function_describe(l->f);
    if (l->result != CUDA_SUCCESS) {
        free(l->f);
        l->f = NULL;
    }
}

/* What the kernel is on that device; with the library's lock until kernel_unlock. */
static CUresult kernel_lock(CUkernel k, CUdevice dev, CUfunction *out)
{
    if (device_check(dev) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!handle_live(k, TAG_KERNEL))
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&k->library->lock);
    if (k->on[dev] == NULL) {
        struct kernel_look l = {.kernel = k};
        stack_call(look_here, &l);
        k->on[dev] = l.f;
        if (l.result != CUDA_SUCCESS) {
            pthread_mutex_unlock(&k->library->lock);
            return l.result;
        }
    }
    *out = k->on[dev];
    return CUDA_SUCCESS;
}

static void kernel_unlock(CUkernel k) { pthread_mutex_unlock(&k->library->lock); }

/* Its functions in the contexts of the device become so, too. The lock is held. */
static void settle(CUkernel k, CUdevice dev)
{
    CUfunction f;
    for (struct library_module *m = k->library->modules; m != NULL; m = m->next)
        if (m->ctx->ordinal == dev && context_live(m->ctx) && atomic_load(&m->ctx->id) == m->id &&
            module_function(m->module, k->name, &f) == CUDA_SUCCESS)
            take_settings(f, k->on[dev]);
}

WEIR_API CUresult cuKernelGetAttribute(int *value, CUfunction_attribute which, CUkernel k,
                                       CUdevice dev)
{
    HOLD;
    CUfunction f;
    CU_TRY(kernel_lock(k, dev, &f));
    CUresult r = function_get_attribute(f, which, value);
    kernel_unlock(k);
    return r;
}

WEIR_API CUresult cuKernelSetAttribute(CUfunction_attribute which, int value, CUkernel k,
                                       CUdevice dev)
{
    HOLD;
    CUfunction f;
    CU_TRY(kernel_lock(k, dev, &f));
    CUresult r = function_set_attribute(f, which, value);
    if (r == CUDA_SUCCESS)
        settle(k, dev);
    kernel_unlock(k);
    return r;
}

WEIR_API CUresult cuKernelSetCacheConfig(CUkernel k, CUfunc_cache config, CUdevice dev)
{
    HOLD;
    CUfunction f;
    CU_TRY(kernel_lock(k, dev, &f));
    CUresult r = function_set_cache_config(f, config);
    if (r == CUDA_SUCCESS)
        settle(k, dev);
    kernel_unlock(k);
    return r;
}

/* ---- variables ---- */

static CUresult library_variable(CUdeviceptr *at, size_t *bytes, CUlibrary lib, const char *name,
                                 bool managed)
{
    CUcontext c;
    CUmodule m;
    CU_TRY(driver_ready());
    CU_TRY(check_library(lib));
    if (name == NULL || (at == NULL && bytes == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    struct ptx_var *v = ptx_find_var(lib->ptx, name);
    if (v != NULL && managed && !v->managed)
        return CUDA_ERROR_NOT_FOUND;
    CU_TRY(driver_current(&c));
    CU_TRY(library_module_in(lib, c, &m));
    return module_global(m, name, at, bytes);
}

WEIR_API CUresult cuLibraryGetGlobal(CUdeviceptr *at, size_t *bytes, CUlibrary lib,
                                     const char *name)
{
    HOLD;
    return library_variable(at, bytes, lib, name, false);
}

WEIR_API CUresult cuLibraryGetManaged(CUdeviceptr *at, size_t *bytes, CUlibrary lib,
                                      const char *name)
{
    HOLD;
    return library_variable(at, bytes, lib, name, true);
}

/* Functions of both sides come with a table that is given when the library is loaded, which is
 * refused there: no library has any. */
WEIR_API CUresult cuLibraryGetUnifiedFunction(void **out, CUlibrary lib, const char *symbol)
{
    HOLD;
    CU_TRY(driver_ready());
    CU_TRY(check_library(lib));
    return driver_error(CUDA_ERROR_INVALID_VALUE, "the library has no unified function %s",
                        symbol != NULL ? symbol : "without a name");
}
