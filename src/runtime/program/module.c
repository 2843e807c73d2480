/* module: loading a registered binary into a context, at the first use of anything in it.
 *
 * The driver is given the fat binary as it is, or the wrapper that holds the pieces of relocatable
 * code, which it links. Managed variables of clang-compiled programs are bound to their host
 * addresses; for nvcc's, the program's pointer is set to where the driver put them. What is
 * different on drivers of GPUs is in gpu.c. */
#include "runtime/driver/gpu.h"
#include "runtime/program/offload.h"
#include "runtime/program/registry.h"
#include "runtime/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is passed to the driver's loader: symbols that have addresses already. */
struct bindings {
    char **names;
    void **addresses;
    size_t count;
};

/* Where a managed variable is, NULL when that is the driver's to say. */
static void *memory_of(const struct rt_variable *v)
{
    return v->pointer ? *(void **)v->host : (void *)v->host;
}

/* Variables that have their address before loading: those of clang's programs, and nvcc's that
 * another context has given one. */
static bool bound(const struct rt_variable *v, bool elsewhere)
{
    return v->kind == RT_MANAGED && (!v->pointer || elsewhere);
}

static cudaError_t collect_bindings(struct rt_binary *b, bool elsewhere, struct bindings *out)
{
    size_t n = 0;

    *out = (struct bindings){0};
    for (struct rt_variable *v = b->variables; v != NULL; v = v->next)
        n += bound(v, elsewhere);
    if (!n)
        return cudaSuccess;
    out->names = malloc(n * sizeof *out->names);
    out->addresses = malloc(n * sizeof *out->addresses);
    if (out->names == NULL || out->addresses == NULL) {
        free(out->names);
        free(out->addresses);
        return cudaErrorMemoryAllocation;
    }
    for (struct rt_variable *v = b->variables; v != NULL; v = v->next)
        if (bound(v, elsewhere)) {
            out->names[out->count] = (char *)v->name;
            out->addresses[out->count++] = memory_of(v);
        }
    return cudaSuccess;
}

/* A program that holds its own device code has nowhere to put the driver's words about it, and the
 * code alone (say, cudaErrorInvalidPtx at the first launch) does not tell what to do. They are
 * shown once: a load that failed is not tried again. */
static void tell(CUresult result, const char *log)
{
    if (*log)
        fprintf(stderr, "weir: %s: %s\n", cudaGetErrorName(rt_error(result)), log);
}

static CUresult load_image(const void *image, const struct bindings *bindings, CUmodule *module)
{
    char log[1024] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_GLOBAL_SYMBOL_NAMES, CU_JIT_GLOBAL_SYMBOL_ADDRESSES,
                              CU_JIT_GLOBAL_SYMBOL_COUNT};
    void *values[] = {log, (void *)sizeof log, bindings->names, bindings->addresses,
                      (void *)(uintptr_t)bindings->count};
    CUresult result =
        CU(cuModuleLoadDataEx, module, image, bindings->count ? 5 : 2, options, values);

    if (result != CUDA_SUCCESS)
        tell(result, log);
    return result;
}

/* nvcc's managed variables: the host reaches them through a pointer. */
static cudaError_t set_managed_pointers(struct rt_binary *b, CUmodule module)
{
    for (struct rt_variable *v = b->variables; v != NULL; v = v->next) {
        CUdeviceptr address;
        size_t size;

        if (v->kind != RT_MANAGED || !v->pointer)
            continue;
        CU_TRY(CU(cuModuleGetGlobal_v2, &address, &size, module, v->name));
        *(void **)v->host = (void *)address;
    }
    return cudaSuccess;
}

/* Copies the bound variables out to, or back from, one buffer. */
static void move_bound(struct rt_binary *b, bool elsewhere, char *buffer, bool out)
{
    for (struct rt_variable *v = b->variables; v != NULL; v = v->next)
        if (bound(v, elsewhere)) {
            char *memory = memory_of(v);
            memcpy(out ? buffer : memory, out ? memory : buffer, v->size);
            buffer += v->size;
        }
}

/* The loads of a binary that were before this one. */
struct before {
    bool any;       /* initial values are there, and variables have what the program made of them */
    bool elsewhere; /* it is loaded in another context */
};

/* Loading puts initial values into the bound variables: the first time. */
static CUresult load_keeping(struct rt_binary *b, const struct bindings *bindings,
                             struct before before, CUmodule *module)
{
    size_t bytes = 0;
    CUresult result;
    char *values;

    if (!before.any || !bindings->count)
        return load_image(b->image, bindings, module);
    for (struct rt_variable *v = b->variables; v != NULL; v = v->next)
        bytes += bound(v, before.elsewhere) ? v->size : 0;
    values = malloc(bytes);
    if (values == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    move_bound(b, before.elsewhere, values, true);
    result = load_image(b->image, bindings, module);
    move_bound(b, before.elsewhere, values, false);
    free(values);
    return result;
}

static cudaError_t load_on_gpu(struct rt_binary *b, struct before before, CUmodule *module)
{
    char log[4096] = "";
    CUresult result = rt_gpu_load(b, module, log, sizeof log);

    if (result != CUDA_SUCCESS)
        tell(result, log);
    CU_TRY(result);
    RT_TRY(rt_gpu_bind_managed(b, *module, before.any));
    return before.elsewhere ? cudaSuccess : set_managed_pointers(b, *module);
}

static cudaError_t load(struct rt_binary *b, struct before before, CUmodule *module)
{
    struct bindings bindings;
    CUresult result;

    RT_TRY(b->error);
    RT_CHECK(b->image, cudaErrorInvalidKernelImage);
    if (rt_on_gpu())
        return load_on_gpu(b, before, module);
    RT_TRY(collect_bindings(b, before.elsewhere, &bindings));
    result = load_keeping(b, &bindings, before, module);
    free(bindings.names);
    free(bindings.addresses);
    CU_TRY(result);
    return before.elsewhere ? cudaSuccess : set_managed_pointers(b, *module);
}

cudaError_t rt_binary_module(struct rt_binary *b, CUmodule *module)
{
    struct rt_loaded *l;
    const struct rt_here *found;
    struct rt_here here;
    cudaError_t error;
    struct before before = {0};

    RT_CHECK(!rt_forked(), cudaErrorInitializationError); /* as the driver says there */
    RT_TRY(rt_find_here(&found));
    here = *found;
    pthread_mutex_lock(&b->lock);
    for (l = b->loaded; l != NULL && l->context != here.id; l = l->next)
        ;
    if (l == NULL) {
        l = calloc(1, sizeof *l);
        if (l == NULL) {
            pthread_mutex_unlock(&b->lock);
            return cudaErrorMemoryAllocation;
        }
        for (struct rt_loaded *o = b->loaded; o != NULL; o = o->next) {
            before.any |= o->error == cudaSuccess;
            before.elsewhere |= o->handle != here.context && o->error == cudaSuccess;
        }
        l->handle = here.context;
        l->context = here.id;
        l->error = load(b, before, &l->module);
        if (l->error == cudaErrorMemoryAllocation) { /* the next call may find some */
            pthread_mutex_unlock(&b->lock);
            free(l);
            return cudaErrorMemoryAllocation;
        }
        l->next = b->loaded;
        b->loaded = l;
    }
    *module = l->module;
    error = l->error;
    pthread_mutex_unlock(&b->lock);
    return error;
}

void rt_binary_unload(struct rt_binary *b)
{
    const struct rt_here *here = NULL;
    bool alive = b->loaded != NULL && !rt_exiting() && rt_find_here(&here) == cudaSuccess;

    for (struct rt_loaded *l = b->loaded, *next; l != NULL; l = next) {
        next = l->next;
        /* Modules of other contexts go with those. */
        if (alive && l->context == here->id && l->error == cudaSuccess)
            CU(cuModuleUnload, l->module);
        free(l);
    }
    b->loaded = NULL;
}
