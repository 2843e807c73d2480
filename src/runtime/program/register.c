/* register: the calls that compilers put into programs: registration of binaries, kernels and
 * variables by constructors (nvcc's and clang's way), of relocatable code by weircc's start-up
 * object, and the configuration that <<<>>> leaves for the launch that follows. Nothing is parsed
 * here. */
#include "runtime/program/offload.h"
#include "runtime/program/registry.h"
#include "runtime/thread.h"

#include <stdlib.h>
#include <string.h>

/* ---- one fat binary at a time ---- */

PUBLIC void **__cudaRegisterFatBinary(void *fatCubin)
{
    const struct fat_wrapper *wrapper = fatCubin;
    struct rt_binary *b = rt_binary_new();

    if (b == NULL)
        return NULL; /* the calls that follow do nothing */
    if (wrapper == NULL || wrapper->magic != FAT_WRAPPER_MAGIC || wrapper->version < 1 ||
        wrapper->version > 2) {
        b->error = cudaErrorInvalidKernelImage;
        return &b->handle;
    }
    b->image = wrapper->version == 2 ? wrapper : wrapper->data;
    return &b->handle;
}

struct rt_binary *rt_binary_of(void **handle)
{
    if (handle == NULL)
        return NULL;
    return (struct rt_binary *)((char *)handle - offsetof(struct rt_binary, handle));
}

PUBLIC void __cudaRegisterFatBinaryEnd(void **fatCubinHandle)
{
    rt_managed_load(rt_binary_of(fatCubinHandle));
}

PUBLIC void __cudaUnregisterFatBinary(void **fatCubinHandle)
{
    if (fatCubinHandle != NULL)
        rt_binary_free(rt_binary_of(fatCubinHandle));
}

PUBLIC void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
                                   const char *deviceName, int thread_limit, uint3 *tid, uint3 *bid,
                                   dim3 *bDim, dim3 *gDim, int *wSize)
{
    (void)deviceFun, (void)thread_limit, (void)tid, (void)bid, (void)bDim, (void)gDim, (void)wSize;
    rt_binary_add_function(rt_binary_of(fatCubinHandle), hostFun, deviceName);
}

PUBLIC void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress,
                              const char *deviceName, int ext, size_t size, int constant,
                              int global)
{
    enum rt_variable_kind kind = constant                         ? RT_CONSTANT
                                 : rt_in_managed_section(hostVar) ? RT_MANAGED
                                                                  : RT_VARIABLE;

    (void)deviceAddress, (void)ext, (void)global;
    rt_binary_add_variable(rt_binary_of(fatCubinHandle), hostVar, deviceName, size, kind, false);
}

PUBLIC void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress,
                                     char *deviceAddress, const char *deviceName, int ext,
                                     size_t size, int constant, int global)
{
    (void)deviceAddress, (void)ext, (void)constant, (void)global;
    rt_binary_add_variable(rt_binary_of(fatCubinHandle), hostVarPtrAddress, deviceName, size,
                           RT_MANAGED, true);
}

/* Before a program touches a managed variable: true when its binary is loaded. */
PUBLIC char __cudaInitModule(void **fatCubinHandle)
{
    CUmodule module;

    return fatCubinHandle != NULL && done(rt_context()) == cudaSuccess &&
           done(rt_binary_module(rt_binary_of(fatCubinHandle), &module)) == cudaSuccess;
}

/* Device code that names the host's own variables and functions: not supported. They return
 * nothing, so everything in the binary fails to load with this code. */
PUBLIC void __cudaRegisterHostVar(void **fatCubinHandle, const char *deviceName, char *hostVar,
                                  size_t size)
{
    (void)deviceName, (void)hostVar, (void)size;
    if (fatCubinHandle != NULL)
        rt_binary_of(fatCubinHandle)->error = cudaErrorNotSupported;
}

PUBLIC void __cudaRegisterUnifiedTable(void **fatCubinHandle, void *table)
{
    (void)table;
    if (fatCubinHandle != NULL)
        rt_binary_of(fatCubinHandle)->error = cudaErrorNotSupported;
}

/* ---- relocatable code of weircc ---- */

static struct offload_set {
    const void *begin; /* of its blobs: what it is called by */
    struct rt_binary *binary;
    struct offload_set *next;
} *sets;
static pthread_mutex_t sets_lock = PTHREAD_MUTEX_INITIALIZER;

static void add_piece(struct rt_binary *b, const void *piece)
{
    const void **pieces = rt_record_new((b->piece_count + 2) * sizeof *pieces);

    if (pieces == NULL) {
        b->error = cudaErrorMemoryAllocation;
        return;
    }
    if (b->piece_count > 0)
        memcpy(pieces, b->pieces, b->piece_count * sizeof *pieces);
    rt_record_free(b->pieces);
    pieces[b->piece_count++] = piece;
    pieces[b->piece_count] = NULL;
    b->pieces = pieces;
    b->wrapper = (struct fat_wrapper){FAT_WRAPPER_MAGIC, 2, pieces[0], pieces};
    b->image = &b->wrapper;
}

static void add_blobs(struct rt_binary *b, const char *at, const char *end)
{
    while ((size_t)(end - at) >= sizeof(struct fat_header)) {
        const struct fat_header *h = (const struct fat_header *)at;

        if (h->magic == 0) { /* padding between sections */
            at += 8;
            continue;
        }
        if (h->magic != FAT_MAGIC || h->bytes > (size_t)(end - at) - h->header_bytes) {
            b->error = cudaErrorInvalidKernelImage;
            return;
        }
        add_piece(b, h);
        at += (h->header_bytes + h->bytes + 7) & ~(uint64_t)7;
    }
}

static void add_entries(struct rt_binary *b, const struct offload_entry *e,
                        const struct offload_entry *end)
{
    for (; e < end; e++) {
        int kind = e->flags & OFFLOAD_KIND;

        if (e->addr == NULL || e->name == NULL)
            continue;
        if (kind == OFFLOAD_SURFACE || kind == OFFLOAD_TEXTURE) {
            if (!(e->flags & OFFLOAD_EXTERN))
                rt_binary_add_reference(b, e->addr, e->name,
                                        kind == OFFLOAD_TEXTURE ? RT_TEXTURE : RT_SURFACE,
                                        e->flags & OFFLOAD_NORMALIZED);
        } else if (e->size == 0 && kind == OFFLOAD_GLOBAL)
            rt_binary_add_function(b, e->addr, e->name);
        else if (!(e->flags & OFFLOAD_EXTERN))
            rt_binary_add_variable(b, e->addr, e->name, e->size,
                                   (e->flags & OFFLOAD_CONSTANT)    ? RT_CONSTANT
                                   : rt_in_managed_section(e->addr) ? RT_MANAGED
                                                                    : RT_VARIABLE,
                                   false);
    }
}

PUBLIC void __cudaWeirRegisterOffload(const void *blobs_begin, const void *blobs_end,
                                      const void *entries_begin, const void *entries_end)
{
    struct offload_set *set = rt_record_new(sizeof *set);

    if (set == NULL)
        return;
    set->begin = blobs_begin;
    set->binary = rt_binary_new();
    if (set->binary == NULL) {
        rt_record_free(set);
        return;
    }
    add_blobs(set->binary, blobs_begin, blobs_end);
    add_entries(set->binary, entries_begin, entries_end);
    rt_managed_load(set->binary);
    pthread_mutex_lock(&sets_lock);
    set->next = sets;
    sets = set;
    pthread_mutex_unlock(&sets_lock);
}

PUBLIC void __cudaWeirUnregisterOffload(const void *blobs_begin)
{
    struct offload_set **at = &sets, *found;

    pthread_mutex_lock(&sets_lock);
    while (*at != NULL && (*at)->begin != blobs_begin)
        at = &(*at)->next;
    found = *at;
    if (found != NULL)
        *at = found->next;
    pthread_mutex_unlock(&sets_lock);
    if (found != NULL)
        rt_binary_free(found->binary);
    rt_record_free(found);
}

/* ---- <<<>>> ---- */

PUBLIC unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem,
                                            struct CUstream_st *stream)
{
    struct rt_thread *t = rt_thread();

    if (t == NULL)
        return (unsigned)cudaErrorMemoryAllocation; /* nor could it be kept */
    if (t->configured == COUNT(t->configurations))
        return (unsigned)done(cudaErrorMissingConfiguration);
    t->configurations[t->configured++] =
        (struct configuration){gridDim, blockDim, sharedMem, stream};
    return cudaSuccess;
}

PUBLIC cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem,
                                              void *stream)
{
    struct rt_thread *t = rt_thread_own;
    struct configuration *c;

    if (t == NULL || t->configured == 0)
        return done(cudaErrorMissingConfiguration);
    c = &t->configurations[--t->configured];
    *gridDim = c->grid;
    *blockDim = c->block;
    *sharedMem = c->shared;
    *(cudaStream_t *)stream = c->stream;
    return cudaSuccess;
}
