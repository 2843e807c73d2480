/* module_api: modules as the API shows them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "driver/objects.h"

/* ---- options of loading and linking ---- */

static double now_ms(void) { return (double)clock_ns() / 1e6; }

/* What tunes code (optimization, targets) is Weir's own business and passes unread. */
CUresult jit_request_read(struct jit_request *q, unsigned count, const CUjit_option *options,
                          void *const *values)
{
    *q = (struct jit_request){.started = now_ms()};
    if (count > 0 && (options == NULL || values == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned n = 0; n < count; n++) {
        void *v = values[n];
        if ((unsigned)options[n] >= CU_JIT_NUM_OPTIONS)
            return CUDA_ERROR_INVALID_VALUE;
        switch (options[n]) {
        case CU_JIT_ERROR_LOG_BUFFER: q->errors = v; break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: q->error_bytes = (uint32_t)(uintptr_t)v; break;
        case CU_JIT_INFO_LOG_BUFFER: q->info = v; break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: q->info_bytes = (uint32_t)(uintptr_t)v; break;
        case CU_JIT_MAX_REGISTERS: q->source.most_registers = (uint32_t)(uintptr_t)v; break;
        case CU_JIT_GLOBAL_SYMBOL_NAMES: q->source.names = v; break;
        case CU_JIT_GLOBAL_SYMBOL_ADDRESSES: q->source.addresses = v; break;
        case CU_JIT_GLOBAL_SYMBOL_COUNT: q->source.bindings = (uint32_t)(uintptr_t)v; break;
        default: break;
        }
    }
    if (q->source.bindings > 0 && (q->source.names == NULL || q->source.addresses == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* Writes the logs and what is told by the options themselves, and frees the text. */
void jit_request_answer(struct jit_request *q, unsigned count, const CUjit_option *options,
                        void **values)
{
    size_t wrote = 0;
    if (q->info != NULL && q->info_bytes > 0)
        q->info[0] = '\0';
    if (q->errors != NULL && q->error_bytes > 0) {
        wrote = (size_t)snprintf(q->errors, q->error_bytes, "%s",
                                 q->text.items != NULL ? q->text.items : "");
        if (wrote >= q->error_bytes)
            wrote = q->error_bytes - 1;
    }
    float ms = (float)(now_ms() - q->started);
    for (unsigned n = 0; n < count; n++) {
        if (options[n] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            values[n] = (void *)wrote;
        else if (options[n] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
            values[n] = NULL;
        else if (options[n] == CU_JIT_WALL_TIME)
            memcpy(&values[n], &ms, sizeof ms);
    }
    sb_free(&q->text);
}

/* ---- loading ---- */

static CUresult module_api_load(CUmodule *out, const void *image, size_t size, unsigned count,
                                CUjit_option *options, void **values)
{
    CUcontext c;
    struct jit_request q;
    CU_TRY(driver_current(&c));
    if (out == NULL || image == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(jit_request_read(&q, count, options, values));
    q.source.image = image;
    q.source.size = size;
    CUresult r = module_load(c, &q.source, &q.text, out);
    if (r == CUDA_SUCCESS && observed() &&
        !observe_in_runtime()) /* which loads the program's own */
        observe_object_made(OBSERVE_MODULE, *out);
    jit_request_answer(&q, count, options, values);
    return r;
}

WEIR_API CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned int count,
                                     CUjit_option *options, void **values)
{
    HOLD;
    return module_api_load(out, image, SIZE_MAX, count, options, values);
}

WEIR_API CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
    HOLD;
    return module_api_load(out, image, SIZE_MAX, 0, NULL, NULL);
}

WEIR_API CUresult cuModuleLoadFatBinary(CUmodule *out, const void *image)
{
    HOLD;
    return module_api_load(out, image, SIZE_MAX, 0, NULL, NULL);
}

CUresult driver_read_file(const char *path, char **text, size_t *size)
{
    struct diag d = {0};
    *text = file_read(path, size, &d);
    return *text != NULL ? CUDA_SUCCESS : driver_error(CUDA_ERROR_FILE_NOT_FOUND, "%s", d.text);
}

WEIR_API CUresult cuModuleLoad(CUmodule *out, const char *path)
{
    HOLD;
    CUcontext c;
    char *text;
    size_t size;
    CU_TRY(driver_current(&c));
    if (path == NULL || out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(driver_read_file(path, &text, &size));
    CUresult r = module_api_load(out, text, size, 0, NULL, NULL);
    free(text);
    return r;
}

WEIR_API CUresult cuModuleUnload(CUmodule m)
{
    HOLD;
    CUcontext c;
    CUresult r = HANDLE_CONTEXT_FREEING(m, TAG_MODULE, &c);
    if (r == CUDA_SUCCESS && !module_wipe(m))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS)
        module_unload(m);
    return r;
}

WEIR_API CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name)
{
    HOLD;
    CUcontext c;
    CU_TRY(HANDLE_CONTEXT(m, TAG_MODULE, &c));
    if (out == NULL || name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return module_function(m, name, out);
}

WEIR_API CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule m)
{
    HOLD;
    CUcontext c;
    CU_TRY(HANDLE_CONTEXT(m, TAG_MODULE, &c));
    if (count == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *count = 0;
    for (int n = 0; n < m->ptx->nfuncs; n++)
        *count += m->ptx->funcs[n]->is_entry && m->ptx->funcs[n]->has_body;
    return CUDA_SUCCESS;
}

/* Handles of the module's kernels, as many as fit. */
WEIR_API CUresult cuModuleEnumerateFunctions(CUfunction *out, unsigned int capacity, CUmodule m)
{
    HOLD;
    CUcontext c;
    CUresult r = HANDLE_CONTEXT(m, TAG_MODULE, &c);
    if (r != CUDA_SUCCESS)
        return r;
    if (out == NULL || capacity == 0)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned used = 0;
    for (int32_t n = 0; n < m->ptx->nfuncs && used < capacity && r == CUDA_SUCCESS; n++)
        if (m->ptx->funcs[n]->is_entry && m->ptx->funcs[n]->has_body)
            r = module_function(m, m->ptx->funcs[n]->name, &out[used++]);
    return r;
}

CUresult module_global(CUmodule m, const char *name, CUdeviceptr *at, size_t *bytes)
{
    struct ptx_var *v = ptx_find_var(m->ptx, name);
    if (v == NULL || m->var_address[v->index] == 0)
        return driver_error(CUDA_ERROR_NOT_FOUND, "the module has no variable named %s", name);
    if (v->type == PTX_TEXREF || v->type == PTX_SURFREF) /* no memory of its own */
        return CUDA_ERROR_INVALID_VALUE;
    if (at != NULL)
        *at = m->var_address[v->index];
    if (bytes != NULL)
        *bytes = v->size;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, CUmodule m, const char *name)
{
    HOLD;
    CUcontext c;
    CU_TRY(HANDLE_CONTEXT(m, TAG_MODULE, &c));
    if (name == NULL || (at == NULL && bytes == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    return module_global(m, name, at, bytes);
}

WEIR_API CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    HOLD;
    if (mode == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}
