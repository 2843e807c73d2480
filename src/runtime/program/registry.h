/* registry: what programs registered: binaries (device code), kernels and variables, found by the
 * addresses of their host sides. Shared by the files that register and load; the rest of the
 * runtime uses rt_function_* and rt_symbol. */
#ifndef WEIR_RUNTIME_REGISTRY_H
#define WEIR_RUNTIME_REGISTRY_H

#include "runtime/internal.h"
#include "runtime/program/offload.h"

#include <pthread.h>
#include <stdatomic.h>

/* A binary in one context. */
struct rt_loaded {
    CUcontext handle; /* the context, and rt_find_here's number for it */
    uint64_t context;
    CUmodule module;
    cudaError_t error; /* why there is no module */
    struct rt_loaded *next;
};

/* A kernel in one context. Immutable once it is in the list. */
struct rt_bound {
    uint64_t context;
    CUfunction function;
    struct rt_bound *next;
};

enum rt_variable_kind {
    RT_VARIABLE,
    RT_CONSTANT,
    RT_MANAGED,
    RT_TEXTURE, /* no memory: a reference that something is bound to (texture_reference.c) */
    RT_SURFACE,
};

struct rt_function {
    const void *host;         /* its stub */
    const char *name;         /* in PTX; the program's string; NULL: kernel is set */
    struct rt_binary *binary; /* the same */
    CUkernel kernel;          /* of a library that the program loaded, */
    CUlibrary library;        /* this one */
    _Atomic(struct rt_bound *) bound;
    struct rt_function *next; /* of the same binary, or of all libraries */
};

struct rt_variable {
    const void *host; /* its shadow; for nvcc's managed variables the pointer to it */
    const char *name;
    size_t size; /* as the host compiler saw it */
    enum rt_variable_kind kind;
    bool pointer;   /* host is a pointer that the runtime must set (nvcc's managed) */
    bool fractions; /* RT_TEXTURE: integers are read as fractions of their range */
    size_t offset;  /* RT_TEXTURE: of what was bound last, from its aligned address */
    struct rt_binary *binary;
    struct rt_variable *next;
};

struct rt_binary {
    void *handle;        /* what the program is given points here */
    const void *image;   /* fat binary, PTX text, or a wrapper of pieces */
    const void **pieces; /* weircc's relocatable code: fat binaries, closed by NULL ... */
    size_t piece_count;
    struct fat_wrapper wrapper; /* ... and the wrapper around them */
    cudaError_t error;          /* it uses what cannot be supported: loading fails with this */
    bool managed;               /* has managed variables that are bound to host addresses */
    pthread_mutex_t lock;       /* of the fields below */
    struct rt_loaded *loaded;
    struct rt_function *functions;
    struct rt_variable *variables;
    struct rt_binary *next;
};

/* Zeroed memory for what is registered, in constructors of programs, where nobody can be told: from
 * a place of ours when the system gives none. NULL: that is used up, too; then all that is looked
 * for and not found gives cudaErrorMemoryAllocation. rt_record_free frees it; NULL is fine. */
void *rt_record_new(size_t bytes);
void rt_record_free(void *record);

struct rt_binary *rt_binary_new(void); /* NULL: no memory; and the same for what follows */
void rt_binary_free(struct rt_binary *b);
void rt_binary_add_function(struct rt_binary *b, const void *host, const char *name);
void rt_binary_add_variable(struct rt_binary *b, const void *host, const char *name, size_t size,
                            enum rt_variable_kind kind, bool pointer);
/* A texture or surface variable. */
void rt_binary_add_reference(struct rt_binary *b, const void *host, const char *name,
                             enum rt_variable_kind kind, bool fractions);
/* The binary that a program was given this handle of; NULL for NULL. */
struct rt_binary *rt_binary_of(void **handle);
/* All binaries, newest first; hold rt_registry_lock. */
struct rt_binary *rt_binaries(void);
void rt_registry_lock(void);
void rt_registry_unlock(void);
struct rt_variable *rt_variable_find(const void *host);
/* The variable that is called `name` in the program's source, outside of namespaces; NULL: none. */
struct rt_variable *rt_variable_named(const char *name);

/* The binary's module in the current context (module.c). */
cudaError_t rt_binary_module(struct rt_binary *b, CUmodule *module);
/* Forgets, and unless the process is ending unloads, the binary's modules. */
void rt_binary_unload(struct rt_binary *b);

/* Whether a host variable is in a section of managed variables (managed.c). */
bool rt_in_managed_section(const void *host);
/* The same, with the section's bounds. */
bool rt_managed_section(const void *host, const char **begin, const char **end);
/* Loads a binary that has variables in such a section. */
void rt_managed_load(struct rt_binary *b);

#endif
