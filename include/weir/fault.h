/* weir/fault.h: what a fault in a kernel was, as a struct: which kernel, block, thread and source
 * line, which address, and which allocation that address belongs or belonged to, with the positions
 * in the program that made and freed it. Compiles as C and C++.
 *
 * The functions are in Weir's libcudart and libcuda alike. A program that uses them runs on Weir
 * only; look them up with dlsym to run on any CUDA:
 *
 *   struct weir_fault f = {sizeof f};
 *   if (cudaDeviceSynchronize() != cudaSuccess && weir_last_fault(&f))
 *       fprintf(stderr, "%s\n", f.text);
 */
#ifndef WEIR_FAULT_H
#define WEIR_FAULT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What went wrong. */
enum weir_fault_kind {
    WEIR_FAULT_NONE = 0,
    WEIR_FAULT_ADDRESS = 1,    /* illegal address (cudaErrorIllegalAddress) */
    WEIR_FAULT_MISALIGNED = 2, /* misaligned address */
    WEIR_FAULT_ILLEGAL = 3,    /* illegal instruction, call through a pointer to no function */
    WEIR_FAULT_TRAP = 4,       /* trap, brkpt: cudaErrorLaunchFailure */
    WEIR_FAULT_ASSERT = 5,     /* a failed assert() */
    WEIR_FAULT_STACK = 6,      /* call stack used up */
    WEIR_FAULT_MEMORY = 7,     /* no memory for what a block needs itself */
    WEIR_FAULT_HOST = 8,       /* host code touched device memory (checked mode) */
    WEIR_FAULT_HANDLE = 9,     /* device code used another block's or grid's stream (likewise) */
};

/* How an address relates to an allocation. */
enum weir_place {
    WEIR_PLACE_UNKNOWN = 0, /* the fault has no address, or nothing is known of it */
    WEIR_PLACE_NULL = 1,    /* in the first 64 KiB: a null pointer, perhaps with an index */
    WEIR_PLACE_INSIDE = 2,  /* `distance` bytes into a live allocation */
    WEIR_PLACE_PAST = 3,    /* `distance` bytes past the end of a live allocation */
    WEIR_PLACE_BEFORE = 4,  /* `distance` bytes before the start of a live allocation */
    WEIR_PLACE_FREED = 5,   /* `distance` bytes into one that was freed */
    WEIR_PLACE_FREE = 6,    /* in a device's addresses, where nothing known ever was */
    WEIR_PLACE_HOST = 7,    /* memory of the host that no CUDA call made */
};

/* A call of the API in the program. */
struct weir_site {
    const char *call;          /* "cudaMalloc"; NULL: unknown */
    const void *address;       /* the call returns to it; NULL: unknown */
    const char *file;          /* source, when the program has debug information; or NULL */
    int line;                  /* 0: unknown */
    const char *function;      /* that made the call, when it has a symbol; or NULL */
    unsigned long long stream; /* cudaStreamGetId of the stream it was given; 0: none */
};

/* An allocation, live or gone. */
struct weir_allocation {
    unsigned long long base, size; /* size as asked for; 0: there is none to tell of */
    unsigned long long id;         /* CU_POINTER_ATTRIBUTE_BUFFER_ID */
    const char *kind;              /* "device", "managed", "page-locked" ... */
    struct weir_site made, freed;
};

/* Where in device code. The first is where the fault was; with nested launches, each further one
 * is the launch in the parent. */
struct weir_frame {
    const char *kernel;           /* name; "memcpy" and "memset" for copies */
    unsigned long long grid;      /* %gridid */
    unsigned block[3], thread[3]; /* of the thread, or of the first thread of its warp */
    int thread_known;             /* 0: it was some thread of that warp */
    const char *file;             /* compiled with -lineinfo; or NULL */
    int line;                     /* 0: unknown */
};

struct weir_fault {
    size_t bytes; /* sizeof this struct, set by the caller: what is beyond is not written */
    enum weir_fault_kind kind;
    int code;                  /* the cudaError_t (and CUresult) that calls return */
    int device;                /* ordinal in this process */
    unsigned long long number; /* 1, 2, 3 ... over the faults of this process */
    int has_address;
    unsigned long long address;
    enum weir_place place;
    unsigned long long distance; /* bytes, see enum weir_place */
    struct weir_allocation allocation;
    const struct weir_frame *frames; /* innermost first */
    unsigned frame_count;            /* 0: it was no kernel */
    struct weir_site host;           /* WEIR_FAULT_HOST: the host code that touched the memory */
    const char *text;                /* all of it in one line, as on stderr */
};

/* Fills in the last fault of the process and returns 1; 0 when there was none. A fault is known
 * from the moment that a call has returned its code; it stays the last one after cudaDeviceReset.
 * Strings and frames stay valid as long as the process runs. Any thread; not in host functions of
 * streams only. */
int weir_last_fault(struct weir_fault *out);

/* Calls of the API that make or free memory, as numbers: what weir_announce_call takes. */
#define WEIR_CALLS(X)                                                                              \
    X(cudaMalloc)                                                                                  \
    X(cudaMallocPitch)                                                                             \
    X(cudaMalloc3D)                                                                                \
    X(cudaMallocHost)                                                                              \
    X(cudaHostAlloc)                                                                               \
    X(cudaHostRegister)                                                                            \
    X(cudaMallocManaged)                                                                           \
    X(cudaMallocArray)                                                                             \
    X(cudaMalloc3DArray)                                                                           \
    X(cudaMallocMipmappedArray)                                                                    \
    X(cudaMallocAsync)                                                                             \
    X(cudaMallocFromPoolAsync)                                                                     \
    X(cudaFree)                                                                                    \
    X(cudaFreeHost)                                                                                \
    X(cudaHostUnregister)                                                                          \
    X(cudaFreeArray)                                                                               \
    X(cudaFreeMipmappedArray)                                                                      \
    X(cudaFreeAsync)                                                                               \
    X(cudaIpcOpenMemHandle)                                                                        \
    X(cudaIpcCloseMemHandle)                                                                       \
    X(cudaMemPoolImportPointer)                                                                    \
    X(cudaDeviceReset)                                                                             \
    X(cudaGraphAddMemAllocNode)                                                                    \
    X(cudaGraphAddNode)                                                                            \
    X(cuMemAlloc)                                                                                  \
    X(cuMemAllocPitch)                                                                             \
    X(cuMemAllocManaged)                                                                           \
    X(cuMemAllocHost)                                                                              \
    X(cuMemHostAlloc)                                                                              \
    X(cuMemHostRegister)                                                                           \
    X(cuArrayCreate)                                                                               \
    X(cuArray3DCreate)                                                                             \
    X(cuMipmappedArrayCreate)                                                                      \
    X(cuMemAllocAsync)                                                                             \
    X(cuMemAllocFromPoolAsync)                                                                     \
    X(cuMemFree)                                                                                   \
    X(cuMemFreeHost)                                                                               \
    X(cuMemHostUnregister)                                                                         \
    X(cuArrayDestroy)                                                                              \
    X(cuMipmappedArrayDestroy)                                                                     \
    X(cuMemFreeAsync)                                                                              \
    X(cuIpcOpenMemHandle)                                                                          \
    X(cuIpcCloseMemHandle)                                                                         \
    X(cuMemPoolImportPointer)                                                                      \
    X(cuMemMap)                                                                                    \
    X(cuMemUnmap)                                                                                  \
    X(cuDevicePrimaryCtxReset)                                                                     \
    X(cuCtxDestroy)                                                                                \
    X(cuGraphAddMemAllocNode)                                                                      \
    X(cuGraphAddNode)

enum weir_call {
    WEIR_CALL_NONE = 0,
#define WEIR_CALL_(name) WEIR_CALL_##name,
    WEIR_CALLS(WEIR_CALL_)
#undef WEIR_CALL_
        WEIR_CALL_COUNT
};

/* For layers above the driver API, as a runtime is: the calling thread's next call that makes or
 * frees memory is made on behalf of `call`, which returns to `caller`. Without it, faults name the
 * driver's own call and the layer's code. */
void weir_announce_call(enum weir_call call, const void *caller);
/* Whether anyone observes what happens in this process, a trace for example; to be asked once. If
 * so, such a layer says on each thread when a call of its own begins (its name, and the address it
 * returns to, stay valid) and ends (with what it returns). Calls inside calls change nothing. Without
 * a name nobody is told: of the driver's calls that the layer makes until it ends, for itself. */
int weir_observing(void);
void weir_call_begins(const char *name, const void *caller);
void weir_call_ends(int error);
/* The program has asked what went wrong, and was told this code. */
void weir_error_seen(int code);
/* cuMemAllocFromPoolAsync (cuMemAllocAsync, if the pool is NULL) and cuMemFreeAsync with the
 * announcement in the same call: these take so little time that a call of its own would be much of
 * it. */
int weir_alloc_async(unsigned long long *out, size_t bytes, void *pool, void *stream,
                     enum weir_call call, const void *caller);
int weir_free_async(unsigned long long address, void *stream, enum weir_call call,
                    const void *caller);

#ifdef __cplusplus
}
#endif

#endif
