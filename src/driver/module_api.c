/* module_api: modules and libraries as the API shows them. A library is an image that is loaded in
 * a context when something of it is first used there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/fatbin.h"
#include "driver/objects.h"

/* ---- modules ------------------------------------------------------------------------------------ */

static CUresult check_module_(CUmodule m)
{
    return m != NULL && m->tag == TAG_MODULE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

WEIR_API CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned int noptions,
                                     CUjit_option *options, void **values)
{
    CUcontext c;
    CUresult r = driver_current(&c);
    if (r != CUDA_SUCCESS)
        return r;
    if (out == NULL || image == NULL || (noptions > 0 && (options == NULL || values == NULL)))
        return CUDA_ERROR_INVALID_VALUE;
    char *log = NULL;
    size_t log_size = 0;
    struct module_symbols symbols = {0};
    for (unsigned n = 0; n < noptions; n++) {
        if (options[n] == CU_JIT_ERROR_LOG_BUFFER)
            log = values[n];
        else if (options[n] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            log_size = (size_t)(uintptr_t)values[n];
        else if (options[n] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
            values[n] = NULL; /* bytes written: there is nothing to say */
        else if (options[n] == CU_JIT_GLOBAL_SYMBOL_NAMES)
            symbols.names = (char **)values[n];
        else if (options[n] == CU_JIT_GLOBAL_SYMBOL_ADDRESSES)
            symbols.addresses = (void **)values[n];
        else if (options[n] == CU_JIT_GLOBAL_SYMBOL_COUNT)
            symbols.count = (unsigned)(uintptr_t)values[n];
    }
    if (symbols.count > 0 && (symbols.names == NULL || symbols.addresses == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    struct strbuf text = {0};
    r = module_load(c, image, &symbols, &text, out);
    size_t wrote = 0;
    if (log != NULL && log_size > 0)
        wrote = (size_t)snprintf(log, log_size, "%s", text.items ? text.items : "");
    for (unsigned n = 0; n < noptions; n++)
        if (options[n] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            values[n] = (void *)(uintptr_t)(wrote < log_size ? wrote : log_size);
    sb_free(&text);
    return r;
}

WEIR_API CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
    return cuModuleLoadDataEx(out, image, 0, NULL, NULL);
}

WEIR_API CUresult cuModuleLoadFatBinary(CUmodule *out, const void *image)
{
    return cuModuleLoadDataEx(out, image, 0, NULL, NULL);
}

WEIR_API CUresult cuModuleLoad(CUmodule *out, const char *path)
{
    struct diag d = {0};
    if (path == NULL || out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    char *text = file_read(path, NULL, &d);
    if (text == NULL)
        return driver_error(CUDA_ERROR_FILE_NOT_FOUND, "%s", d.text);
    CUresult r = cuModuleLoadData(out, text);
    free(text);
    return r;
}

WEIR_API CUresult cuModuleUnload(CUmodule m)
{
    CUcontext c;
    CUresult r = driver_current_any(&c);
    if (r == CUDA_SUCCESS)
        r = check_module_(m);
    if (r == CUDA_SUCCESS)
        module_unload(m);
    return r;
}

WEIR_API CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name)
{
    CUcontext c;
    CUresult r = driver_current(&c);
    if (r == CUDA_SUCCESS)
        r = check_module_(m);
    if (r != CUDA_SUCCESS)
        return r;
    if (out == NULL || name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return module_function(m, name, out);
}

WEIR_API CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule m)
{
    CUresult r = check_module_(m);
    if (r != CUDA_SUCCESS)
        return r;
    if (count == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *count = 0;
    for (int n = 0; n < m->ptx->nfuncs; n++)
        *count += m->ptx->funcs[n]->is_entry && m->ptx->funcs[n]->has_body;
    return CUDA_SUCCESS;
}

CUresult module_global(CUmodule m, const char *name, CUdeviceptr *at, size_t *bytes)
{
    struct ptx_var *v = ptx_find_var(m->ptx, name);
    if (v == NULL || m->var_address[v->index] == 0)
        return driver_error(CUDA_ERROR_NOT_FOUND, "the module has no variable named %s", name);
    if (at != NULL)
        *at = m->var_address[v->index];
    if (bytes != NULL)
        *bytes = v->size;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, CUmodule m, const char *name)
{
    CUcontext c;
    CUresult r = driver_current(&c);
    if (r == CUDA_SUCCESS)
        r = check_module_(m);
    if (r != CUDA_SUCCESS)
        return r;
    if (name == NULL || (at == NULL && bytes == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    return module_global(m, name, at, bytes);
}

WEIR_API CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    if (mode == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

/* ---- libraries ----------------------------------------------------------------------------------- */

/* A kernel of a library: a name that becomes a function in whatever context uses it. */
enum { TAG_KERNEL = 0x574b4552 };
struct CUkern_st {
    uint32_t tag;
    CUlibrary library;
    char *name;
    struct CUkern_st *next;
};

WEIR_API CUresult cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *jit,
                                    void **jit_values, unsigned int njit, CUlibraryOption *options,
                                    void **values, unsigned int noptions)
{
    (void)jit;
    (void)jit_values;
    (void)njit;
    (void)options;
    (void)values;
    (void)noptions;
    CUresult r = driver_ready();
    if (r != CUDA_SUCCESS)
        return r;
    if (out == NULL || code == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUlibrary lib = xcalloc(1, sizeof *lib);
    lib->tag = TAG_LIBRARY;
    pthread_mutex_init(&lib->lock, NULL);
    /* fat binaries are part of the program and stay; text may be the caller's to free */
    bool embedded = fatbin_is_wrapper(code) || fatbin_is_header(code);
    lib->owned = embedded ? NULL : xstrdup(code);
    lib->image = embedded ? code : lib->owned;
    *out = lib;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuLibraryLoadFromFile(CUlibrary *out, const char *path, CUjit_option *jit,
                                        void **jit_values, unsigned int njit,
                                        CUlibraryOption *options, void **values,
                                        unsigned int noptions)
{
    struct diag d = {0};
    if (path == NULL || out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    char *text = file_read(path, NULL, &d);
    if (text == NULL)
        return driver_error(CUDA_ERROR_FILE_NOT_FOUND, "%s", d.text);
    CUresult r =
        cuLibraryLoadData(out, text, jit, jit_values, njit, options, values, noptions);
    if (r == CUDA_SUCCESS && (*out)->owned == NULL)
        (*out)->owned = text; /* a fat binary read from a file lives as long as the library */
    else
        free(text);
    return r;
}

static CUresult check_library_(CUlibrary lib)
{
    return lib != NULL && lib->tag == TAG_LIBRARY ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* The library's module in a context, loaded there at first use. */
static CUresult library_module_(CUlibrary lib, CUcontext c, CUmodule *out)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&lib->lock);
    struct library_module **at = &lib->modules;
    while (*at != NULL && ((*at)->ctx != c || (*at)->id != atomic_load(&c->id)))
        at = &(*at)->next;
    if (*at == NULL) {
        CUmodule m;
        r = module_load(c, lib->image, NULL, NULL, &m);
        if (r == CUDA_SUCCESS) {
            struct library_module *lm = xcalloc(1, sizeof *lm);
            *lm = (struct library_module){c, atomic_load(&c->id), m, NULL};
            *at = lm;
        }
    }
    *out = *at != NULL ? (*at)->module : NULL;
    pthread_mutex_unlock(&lib->lock);
    return r;
}

WEIR_API CUresult cuLibraryUnload(CUlibrary lib)
{
    CUresult r = check_library_(lib);
    if (r != CUDA_SUCCESS)
        return r;
    for (struct library_module *m = lib->modules, *next; m != NULL; m = next) {
        next = m->next;
        if (m->ctx->device != NULL && atomic_load(&m->ctx->id) == m->id)
            module_unload(m->module);
        free(m);
    }
    for (CUkernel k = lib->kernels, next; k != NULL; k = next) {
        next = k->next;
        k->tag = 0;
        free(k->name);
        free(k);
    }
    free(lib->owned);
    lib->tag = 0;
    free(lib);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuLibraryGetModule(CUmodule *out, CUlibrary lib)
{
    CUcontext c;
    CUresult r = driver_current(&c);
    if (r == CUDA_SUCCESS)
        r = check_library_(lib);
    if (r != CUDA_SUCCESS)
        return r;
    return out == NULL ? CUDA_ERROR_INVALID_VALUE : library_module_(lib, c, out);
}

WEIR_API CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary lib, const char *name)
{
    CUcontext c;
    CUmodule m;
    CUfunction f;
    CUresult r = driver_current(&c);
    if (r == CUDA_SUCCESS)
        r = check_library_(lib);
    if (r != CUDA_SUCCESS)
        return r;
    if (out == NULL || name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    r = library_module_(lib, c, &m);
    if (r == CUDA_SUCCESS)
        r = module_function(m, name, &f);
    if (r != CUDA_SUCCESS)
        return r;
    pthread_mutex_lock(&lib->lock);
    CUkernel k = lib->kernels;
    while (k != NULL && strcmp(k->name, name) != 0)
        k = k->next;
    if (k == NULL) {
        k = xcalloc(1, sizeof *k);
        *k = (struct CUkern_st){TAG_KERNEL, lib, xstrdup(name), lib->kernels};
        lib->kernels = k;
    }
    pthread_mutex_unlock(&lib->lock);
    *out = k;
    return CUDA_SUCCESS;
}

CUresult kernel_to_function(CUkernel k, CUfunction *out)
{
    CUcontext c;
    CUmodule m;
    if (k == NULL || k->tag != TAG_KERNEL)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult r = driver_current(&c);
    if (r == CUDA_SUCCESS)
        r = library_module_(k->library, c, &m);
    return r == CUDA_SUCCESS ? module_function(m, k->name, out) : r;
}

WEIR_API CUresult cuKernelGetFunction(CUfunction *out, CUkernel k)
{
    return out == NULL ? CUDA_ERROR_INVALID_VALUE : kernel_to_function(k, out);
}

WEIR_API CUresult cuKernelGetName(const char **name, CUkernel k)
{
    if (k == NULL || k->tag != TAG_KERNEL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *name = k->name;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuKernelGetLibrary(CUlibrary *lib, CUkernel k)
{
    if (k == NULL || k->tag != TAG_KERNEL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (lib == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *lib = k->library;
    return CUDA_SUCCESS;
}

static CUresult library_variable_(CUdeviceptr *at, size_t *bytes, CUlibrary lib, const char *name,
                                  bool managed)
{
    CUcontext c;
    CUmodule m;
    CUresult r = driver_current(&c);
    if (r == CUDA_SUCCESS)
        r = check_library_(lib);
    if (r != CUDA_SUCCESS)
        return r;
    if (name == NULL || (at == NULL && bytes == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    r = library_module_(lib, c, &m);
    if (r != CUDA_SUCCESS)
        return r;
    struct ptx_var *v = ptx_find_var(m->ptx, name);
    if (v != NULL && managed && !v->managed)
        return CUDA_ERROR_NOT_FOUND;
    return module_global(m, name, at, bytes);
}

WEIR_API CUresult cuLibraryGetGlobal(CUdeviceptr *at, size_t *bytes, CUlibrary lib, const char *name)
{
    return library_variable_(at, bytes, lib, name, false);
}

WEIR_API CUresult cuLibraryGetManaged(CUdeviceptr *at, size_t *bytes, CUlibrary lib,
                                      const char *name)
{
    return library_variable_(at, bytes, lib, name, true);
}
