/* Included by weircc before a CUDA source file whose host half a compiler gets that knows no CUDA
 * (--host-frontend=ccbin): what the rewritten text (ccbin/host_text.h) calls, and the registration
 * of what host_records.h lists. */
#ifndef WEIRCC_CCBIN_H
#define WEIRCC_CCBIN_H

/* What a kernel does on the host: launches what `key` is registered for, with the configuration
 * that the calling thread has just set. */
static inline __attribute__((unused)) void __weir_launch_stub(const void *key, void **arguments)
{
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaSuccess)
        (void)::cudaLaunchKernel(key, grid, block, arguments, shared, stream);
}

/* Relocatable device code is registered by the object that `weircc -dlink` writes. */
#ifndef __CUDACC_RDC__

extern "C" {
#define WEIR_HIDDEN __attribute__((visibility("hidden")))
/* As in cuda_offloading_entries (runtime/program/offload.h). */
struct __weir_host_entry {
    void *address;
    const char *name;
    unsigned long size; /* of a variable, 0: a kernel */
    int flags, data;
};
extern const struct __weir_host_entry __weir_host_entries[] WEIR_HIDDEN;
extern const struct __weir_host_entry __weir_host_entries_end[] WEIR_HIDDEN;
extern const char __weir_host_wrapper[] WEIR_HIDDEN;
#undef WEIR_HIDDEN

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *address, char *name, const char *device_name,
                            int threads, void *, void *, void *, void *, int *);
void __cudaRegisterVar(void **handle, char *address, char *name, const char *device_name,
                       int external, size_t size, int constant, int global);
void __cudaRegisterTexture(void **handle, const void *address, const void **, const char *name,
                           int dimensions, int fractions, int external);
void __cudaRegisterSurface(void **handle, const void *address, const void **, const char *name,
                           int dimensions, int external);
}

static void **__weir_host_handle;

static void __weir_unregister_host(void) { __cudaUnregisterFatBinary(__weir_host_handle); }

/* Before the program's own constructors, which may launch kernels, and after managed variables. */
static __attribute__((constructor(201), used)) void __weir_register_host(void)
{
    void **handle = __cudaRegisterFatBinary((void *)__weir_host_wrapper);
    __weir_host_handle = handle;
    for (const struct __weir_host_entry *e = __weir_host_entries; e < __weir_host_entries_end; e++)
        if (e->size == 0)
            __cudaRegisterFunction(handle, (const char *)e->address, (char *)e->name, e->name, -1,
                                   0, 0, 0, 0, 0);
#ifdef WEIR_LEGACY_API /* the variable itself says how it is read */
        else if ((e->flags & 7) == 3)
            __cudaRegisterTexture(handle, e->address, 0, e->name, 0, 0, 0);
        else if ((e->flags & 7) == 2)
            __cudaRegisterSurface(handle, e->address, 0, e->name, 0, 0);
#endif
        else
            __cudaRegisterVar(handle, (char *)e->address, (char *)e->name, e->name, 0, e->size,
                              (e->flags & 16) != 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    atexit(__weir_unregister_host);
}

#endif
#endif
