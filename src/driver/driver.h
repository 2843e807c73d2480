/* driver: libcuda on the software device. Handles of the API are pointers to the objects below;
 * every function checks its handles and arguments, asks the lower layers, and translates what they
 * say into a CUresult. Private to src/driver.
 *
 * Objects start with a tag that names their kind and are in memory that is never given back
 * (handle.h), so that NULL, foreign and stale handles are refused instead of followed. */
#ifndef WEIR_DRIVER_DRIVER_H
#define WEIR_DRIVER_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>

#include <cuda.h>

#include "base/base.h"
#include "base/slow_path.h"
#include "base/thread_fast.h"
#include "device/device.h"
#include "device/hold.h"
#include "driver/handle.h"
#include "driver/retire.h"
#include "exec/cdp.h"
#include "exec/grid.h"
#include "loader/loader.h"
#include "memory/memory.h"
#include "pool/pool.h"
#include "ptx/ptx.h"

/* What the device claims to be: the limits that programs meet, in launches, occupancy and
 * attributes alike. These are those of all GPUs of compute capability 8.0 to 9.0. */
enum {
    REGS_PER_SM = 65536,
    SHARED_DEFAULT_MAX = 49152, /* bytes of a block that a function may have unasked */
    SHARED_RESERVED = 1024,     /* bytes of each block that are not the program's */
    CONST_BANK_BYTES = 65536,
    LOCAL_MAX = 511 << 10, /* bytes of a thread: what an H200 launches */
};

/* And those that differ between them. */
struct device_limits {
    int sm; /* 90 of compute capability 9.0 */
    uint32_t threads_per_sm, blocks_per_sm;
    uint32_t shared_optin_max; /* bytes of a block whose function was told so */
    uint32_t shared_per_sm;
    bool clusters;
};
/* Those of the compute capability that WEIR_COMPUTE_CAPABILITY names; without it, of 9.0. */
const struct device_limits *device_limits(void);
/* Reads the setting, at cuInit; false and a message when it names none. */
bool device_limits_begin(struct diag *d);

#define WEIR_API __attribute__((visibility("default")))

/* Leaves the calling function with the code of the call unless that is CUDA_SUCCESS. */
#define CU_TRY(call)                                                                               \
    do {                                                                                           \
        CUresult cu_try = (call);                                                                  \
        if (WEIR_UNLIKELY(cu_try != CUDA_SUCCESS))                                                 \
            return cu_try;                                                                         \
    } while (0)

enum tag {
    TAG_CONTEXT = 0x57435458,
    TAG_MODULE = 0x574d4f44,
    TAG_FUNCTION = 0x5746554e,
    TAG_LIBRARY = 0x574c4942,
    TAG_STREAM = 0x57535452,
    TAG_EVENT = 0x57455654,
    TAG_ARRAY = 0x57415252,
    TAG_MIPMAP = 0x574d4950,
    TAG_PHYSICAL = 0x57504859,
    TAG_POOL = 0x57504f4c,
    TAG_TEXTURE_REF = 0x57545246,
    TAG_SURFACE_REF = 0x57535246,
};

/* What a stream was told by cuStreamSetAttribute. */
struct stream_attributes {
    CUaccessPolicyWindow window;
    CUsynchronizationPolicy policy; /* 0: CU_SYNC_POLICY_AUTO */
    CUlaunchMemSyncDomain domain;
    CUlaunchMemSyncDomainMap domains;
};

struct CUctx_st {
    uint32_t tag;
    int ordinal;         /* of the device, as the program counts those it sees */
    int memory;          /* the same device's number in the memory layer */
    unsigned flags;      /* CU_CTX_* */
    atomic_uint retains; /* primary: cuDevicePrimaryCtxRetain's count */
    atomic_uint peers;   /* bit n: access to device n's memory was asked for */
    CUfunc_cache cache_config;
    size_t fetch_granularity; /* CU_LIMIT_MAX_L2_FETCH_GRANULARITY: a wish */
    bool primary;
    unsigned api_version;                    /* CUDA's whose call made it; 0: any since 3.2 */
    atomic_uint attached;                    /* cuCtxAttach less cuCtxDetach */
    _Atomic(struct device_context *) device; /* NULL: the context is not active, or destroyed */
    atomic_bool live;                        /* not so, either, while it ends or is reset */
    pthread_mutex_t lock;                    /* modules, streams and events of the context */
    struct CUmod_st *modules;
    struct CUstream_st *streams;
    struct CUevent_st *events;
    struct CUarray_st *arrays;
    struct CUmipmappedArray_st *mipmaps;
    struct stream_attributes attributes[2]; /* of the legacy stream, of the threads' own */
    pthread_mutex_t fault_lock;             /* fault_text */
    const char *fault_text; /* what the fault has to say, once it has been told; or NULL */
    _Atomic uint64_t id;    /* of the process's contexts; a reset is a new one: what was loaded
                               before is gone */
    struct CUctx_st *older; /* in the list of all */
};

struct CUstream_st {
    uint32_t tag;
    struct device_stream *device;
    CUcontext ctx;
    struct stream_attributes attributes;
    struct retired retired;
    struct CUstream_st *next, **link; /* in the context's list */
};

struct CUevent_st {
    uint32_t tag;
    struct device_event *device;
    CUcontext ctx;
    unsigned flags;
    struct event_capture *captured; /* where in a capture it was last recorded; or NULL */
    bool foreign;                   /* opened, of another process */
    struct retired retired;
    struct CUevent_st *next, **link;
};

struct CUarray_st {
    uint32_t tag;
    uint32_t element; /* bytes */
    CUcontext ctx;
    CUDA_ARRAY3D_DESCRIPTOR desc; /* as asked for */
    char *base;
    uint64_t pitch, slice; /* bytes from row to row, from slice to slice */
    CUmipmappedArray
        whole; /* whose level it is, which has its memory; NULL: it is an array itself */
    struct CUarray_st *next, **link;
};

enum { MIPMAP_LEVELS = 32 }; /* of an array at most: more than its sizes have bits */

struct CUmipmappedArray_st {
    uint32_t tag;
    unsigned levels;
    CUcontext ctx;
    char *base;
    CUarray level[MIPMAP_LEVELS]; /* which begin one after the other, as texture_level says */
    struct CUmipmappedArray_st *next, **link;
};

struct CUmemPoolHandle_st {
    uint32_t tag;
    int ordinal;       /* of the device whose memory it is, as the program counts; -1: the host's */
    struct pool *pool; /* NULL: another process's pool, */
    struct mem_file *imported;                     /* whose memory this is */
    unsigned imports;                              /* how often it was imported */
    CUmemPoolProps props;                          /* as asked for */
    _Atomic unsigned char access[MEM_MAX_DEVICES]; /* CUmemAccess_flags of devices but its own */
    _Atomic unsigned char host_access[2];          /* of the host and its NUMA nodes, as kept */
    struct CUmemPoolHandle_st *next, **link;       /* older; what points to it in the list of all */
};

/* One compiled variant of a kernel. Immutable once published, but for what is atomic; found without
 * a lock. */
struct variant {
    uint32_t ntid[3];
    uint32_t grid_small;
    uint32_t joined;       /* as struct grid_kernel has it, 1: for each block by itself */
    struct jit_code *code; /* what it began with */
    _Atomic(struct jit_code *)
        optimized;               /* what runs blocks instead; NULL: not compiled, or not needed */
    struct jit_tier_up *tier_up; /* which brings that, or NULL */
    struct grid_kernel kernel;
    struct cdp_variant *cdp_variants; /* for launches by device code, under the function's lock */
    struct variant *next;             /* published by a release store of the list head */
};

struct CUfunc_st {
    uint32_t tag;
    uint64_t number; /* that no other function of the process has */
    struct CUmod_st *module;
    struct ptx_func *func;
    struct jit_kernel_info info;
    uint32_t *param_offsets, *param_sizes; /* of each parameter in the buffer */
    uint32_t pointers;           /* parameters of 8 bytes, NULL below: not looked for yet */
    uint32_t *pointer_offsets;   /* where they are */
    uint16_t *pointer_arguments; /* which they are */
    uint32_t join_least;         /* blocks of a grid from which neighbours are joined, 0: never */
    bool joins_full;             /* blocks of a warp and more, too */
    uint32_t max_dynamic_shared; /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
    int carveout;
    CUfunc_cache cache_config;
    uint32_t cluster[3];        /* CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_*; 0: not set */
    bool non_portable;          /* clusters of more than 8 blocks are allowed */
    struct launch_steps *steps; /* for launches as before CUDA 4, once it was told anything */
    int cluster_policy;         /* CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE */
    pthread_mutex_t lock;       /* compiling */
    _Atomic(struct variant *) variants;
    struct CUfunc_st *next;
};

/* Whose a module's variable is: the module's; or the program's own, met for the first time or known
 * to another loaded module, which has given it its value. */
enum var_bound { VAR_OWNED, VAR_BOUND_FIRST, VAR_BOUND };

struct CUmod_st {
    uint32_t tag;
    CUcontext ctx;
    struct ptx_module *ptx;
    bool ptx_borrowed;          /* it is a library's, which lives longer */
    uint64_t *var_address;      /* by index of ptx->vars, 0 where none */
    uint8_t *var_bound;         /* likewise: enum var_bound */
    char *link_warning;         /* for messages: what was left out when it was linked; or NULL */
    struct cdp_kernel *entries; /* &entries[index] is the value of a pointer to that function */
    struct CUfunc_st *functions;
    pthread_mutex_t lock;
    struct jit_resolver resolver;
    struct CUmod_st *next, **link;
};

/* A library's module in one context. */
struct library_module {
    CUcontext ctx;
    uint64_t id; /* of the context when it was loaded: after a reset the module is gone */
    CUmodule module;
    struct library_module *next;
};

struct CUlib_st {
    uint32_t tag;
    struct ptx_module *ptx; /* checked; the modules made of it use it, too */
    pthread_mutex_t lock;
    struct library_module *modules;
    struct CUkern_st *kernels;
};

/* ---- init.c, error/error.c ---- */

/* CUDA_SUCCESS once the process is initialised; CUDA_ERROR_NOT_INITIALIZED before cuInit. All that
 * calls ask that free something or wait: they must go on when memory has run out. */
CUresult driver_why_not_initialized(void);
static inline CUresult driver_initialized(void)
{
    return WEIR_LIKELY(slow_path(SLOW_PATH_NOT_READY) == 0) ? CUDA_SUCCESS
                                                            : driver_why_not_initialized();
}
/* The same for all other calls: CUDA_ERROR_OUT_OF_MEMORY while the reserve (base/reserve.h) is low.
 */
CUresult driver_why_not_ready(void);
static inline CUresult driver_ready(void)
{
    return WEIR_LIKELY(slow_path(SLOW_PATH_NOT_READY | SLOW_PATH_MEMORY) == 0)
               ? CUDA_SUCCESS
               : driver_why_not_ready();
}
/* Remembers a message for people (weir_last_message) and returns the code. */
CUresult driver_error(CUresult code, const char *fmt, ...) WEIR_PRINTF(2, 3);
/* For observers of calls: a call begins on this thread; what was said since, NULL: nothing. */
void message_begin_call(void);
const char *message_of_call(void);
CUresult driver_from_device_error(CUcontext ctx, enum device_error e);
static inline CUresult driver_from_device(CUcontext ctx, enum device_error e)
{
    return WEIR_LIKELY(e == DEVICE_OK) ? CUDA_SUCCESS : driver_from_device_error(ctx, e);
}
CUresult driver_from_mem(enum mem_status s);

/* ---- context/device.c ---- */

/* The devices that CUDA_VISIBLE_DEVICES lets the program see, in its order. */
void driver_find_devices(void); /* once, when the devices are open */
int driver_device_count(void);
struct device *driver_device(CUdevice dev);
/* The program's number of a device of the lower layers; -1 when it sees it not. */
CUdevice driver_device_number(int ordinal);
int device_bus(CUdevice dev); /* the number that PCI addresses identify the devices by */
/* What the device says of its memory: kHz and bits. */
void device_attr_memory(const struct device_facts *f, unsigned *clock_khz, unsigned *bits);

/* Whether cuInit has been called and the device exists. */
CUresult device_check(CUdevice dev);

/* ---- memory/array.c ---- */

/* Bytes of one channel of an element; 0 when the format is none that exists here. */
uint32_t format_bytes(CUarray_format format);

/* ---- context/context.c ----
 *
 * Which context a call is about. One that names a stream, an event, a module, a function, an array,
 * a reference or a context is about the handle's; one that frees or unregisters memory about the
 * memory's: no context need be current (driver_context, HANDLE_CONTEXT). A call that names none of
 * these is about the thread's current one and needs it (driver_current); so are those in the legacy
 * stream and the thread's own, cuMemGetAddressRange and occupancy; attributes of pointers need none
 * but for the device's address. A current context that is destroyed or has a fault refuses both.
 * Pools, physical memory, address ranges, libraries, links and graphs are of no context
 * (driver_permitted). tests/driver/contexts/calls.def has the functions one by one, with what an
 * H100 says.
 */

/* What calls of a thread begin with. */
extern WEIR_THREAD_FAST struct driver_thread {
    CUcontext current; /* NULL: none. Its object stays when the context goes */
    CUstream plain;    /* a stream of that context that a call was given; NULL: none */
} driver_thread;
/* Whether calls may use the context. What ends it waits for those that do (device/hold.h). */
static inline bool context_live(const struct CUctx_st *c)
{
    return atomic_load_explicit(&c->live, memory_order_relaxed);
}
/* The same, checked: success means it is live and has no fault, and the call is permitted here. */
CUresult driver_current_asked(CUcontext *ctx);
static inline CUresult driver_current(CUcontext *ctx)
{
    CUcontext c = *ctx = driver_thread.current;
    return WEIR_LIKELY(fast_path() && c != NULL && context_live(c)) ? CUDA_SUCCESS
                                                                    : driver_current_asked(ctx);
}
/* The same without asking for faults: for what only looks, as a GPU's driver does after one. */
CUresult driver_current_any(CUcontext *ctx);
/* Whether calls are permitted here that ask for no context: not in a host function. */
CUresult driver_permitted(void);
/* Whether a call may be about that context's objects: neither it nor the current one, if there is
 * one, is destroyed or has a fault. NULL: only the current one is asked. */
CUresult driver_context_asked(CUcontext owner);
static inline CUresult driver_context(CUcontext owner)
{
    return WEIR_LIKELY(fast_path() && owner == driver_thread.current && context_live(owner))
               ? CUDA_SUCCESS
               : driver_context_asked(owner);
}
/* The same for calls that free something (driver_initialized). */
CUresult driver_context_freeing_asked(CUcontext owner);
static inline CUresult driver_context_freeing(CUcontext owner)
{
    CUcontext c = driver_thread.current;
    return WEIR_LIKELY(fast_path() && c != NULL && context_live(c) && (owner == c || owner == NULL))
               ? CUDA_SUCCESS
               : driver_context_freeing_asked(owner);
}
/* What to say of a handle that is none. */
CUresult driver_no_handle(void);
/* What a call about a handle begins with: whether that is live, and its context, which may be used.
 */
#define HANDLE_CONTEXT(h, tag, out)                                                                \
    (WEIR_LIKELY(handle_live(h, tag)) ? driver_context(*(out) = (h)->ctx) : driver_no_handle())
/* The same for calls that free it. */
#define HANDLE_CONTEXT_FREEING(h, tag, out)                                                        \
    (WEIR_LIKELY(handle_live(h, tag)) ? driver_context_freeing(*(out) = (h)->ctx)                  \
                                      : driver_no_handle())
/* Whether a live context on a device of the lower layers has a fault; negative: on any. */
bool driver_faulted(int ordinal);
CUresult context_check(CUcontext ctx);
/* Waits for the context's work. CUDA_ERROR_CONTEXT_IS_DESTROYED: it was reset or destroyed
 * meanwhile, and nothing that the call has found in it before is there any more. */
CUresult context_wait(CUcontext ctx);
/* The same for what was wiped (handle_wipe) and is to be freed: waits before for the calls of other
 * threads that may have found it, and for no fault. False: the context was reset or destroyed; that
 * is over, nothing of it runs any more, and the memory that was its is gone. */
bool context_settle(CUcontext ctx);
/* Waits until no context is being reset or destroyed. */
void contexts_await_ends(void);
bool context_flags_valid(unsigned flags);
void context_set_flags(CUcontext ctx, unsigned flags);
CUcontext driver_primary(int ordinal); /* object of a device's primary context; may be inactive */
/* The live context of the device layer's; NULL when there is none. */
CUcontext driver_context_of(const void *owner);

/* ---- stream/stream.c, stream/event.c ---- */

/* What all calls about streams begin with: the device layer's stream for a handle, and the context
 * it belongs to: the current one's for NULL and the two special handles. `per_thread`: what handle
 * 0 means for the caller. */
CUresult driver_stream_special(CUstream h, bool per_thread, struct device_stream **s,
                               CUcontext *ctx);
static inline CUresult driver_find_stream(CUstream h, bool per_thread, struct device_stream **s,
                                          CUcontext *ctx)
{
    if (WEIR_UNLIKELY(!handle_live(h, TAG_STREAM)))
        return driver_stream_special(h, per_thread, s, ctx);
    CU_TRY(driver_context(h->ctx));
    *s = h->device;
    *ctx = h->ctx;
    if (h->ctx == driver_thread.current)
        driver_thread.plain = h;
    return CUDA_SUCCESS;
}
/* Whether the handle is a live stream of the current context that the thread has used before. A
 * slot that once was a stream's is a stream's for ever, so its tag can be looked at, and a context
 * ends after its streams. */
static inline bool driver_last_stream(CUstream h)
{
    return WEIR_LIKELY(h == driver_thread.plain && h != NULL && handle_tag(h) == TAG_STREAM);
}
/* Whether that is so and no slow-path flag is set. What is called often asks this first, and only
 * when it is not so all that there is to ask. */
static inline bool driver_plain(CUstream h) { return fast_path() && driver_last_stream(h); }
/* driver_find_stream, which is too long to stand in the callers of stream_find. */
CUresult driver_find_stream_asked(CUstream h, bool per_thread, struct device_stream **s,
                                  CUcontext *ctx);
/* Context and stream of a call that needs both. */
static inline CUresult stream_find(CUstream h, bool per_thread, struct device_stream **s,
                                   CUcontext *ctx)
{
    if (WEIR_UNLIKELY(!driver_plain(h)))
        return driver_find_stream_asked(h, per_thread, s, ctx);
    *s = h->device;
    *ctx = h->ctx;
    return CUDA_SUCCESS;
}
CUresult driver_event(CUevent h, struct device_event **e); /* whatever its context */

/* ---- module/module.c ---- */

/* What a module is made of. */
struct module_source {
    const void *image;      /* PTX text with a NUL, a fat binary or the wrapper of one */
    size_t size;            /* readable bytes; SIZE_MAX: the image says itself where it ends */
    struct ptx_module *ptx; /* instead of an image: read and checked, and stays the caller's */
    /* Variables that the program keeps itself, by name (the CU_JIT_GLOBAL_SYMBOL options). */
    char *const *names;
    void *const *addresses;
    size_t bindings;
    uint32_t most_registers; /* for kernels of PTX without bounds (CU_JIT_MAX_REGISTERS); 0: any */
};
/* On failure `log` (may be NULL) gets what is wrong, for people. */
CUresult module_load(CUcontext ctx, const struct module_source *source, struct strbuf *log,
                     CUmodule *out);
/* Keeps the message for the log and for whoever asks later; returns code. */
CUresult module_refuse(CUresult code, const struct diag *d, struct strbuf *log);
/* The PTX of any image, parsed; NULL and both a code and a message when there is none. With a
 * module the message may say what was left out. */
struct ptx_module *module_read(const void *image, size_t size, CUresult *code, struct diag *d);
/* The most registers of kernels without bounds (ptx_limit_registers), where the image is no
 * container: that stands for code which a compiler has made already. */
void module_limit_registers(struct ptx_module *ptx, const void *image, size_t size, uint32_t most);
/* Defines what it calls by name of the device runtime library; NULL and a message: that does not
 * fit. The module is consumed. (module/builtin.c) */
struct ptx_module *module_link_builtin(struct ptx_module *m, struct diag *d);
/* No call finds it and its functions any more. False: another thread unloads it. */
bool module_wipe(CUmodule m);
extern WEIR_OWN _Atomic uint64_t modules_ended; /* how many were wiped */
/* It is wiped. Waits for what uses it, and frees it. */
void module_unload(CUmodule m);
/* The same when nothing uses it any more; `memory`: its variables are the caller's to free, or
 * gone.
 */
void module_free(CUmodule m, bool memory);
CUresult module_function(CUmodule m, const char *name, CUfunction *out);
/* What the compiler knows of f->func: fills f->info. Refuses more static shared memory than the
 * device has. Called by stack_call. */
CUresult function_describe(struct CUfunc_st *f);
void variant_free_cdp(struct variant *v); /* (launch/cdp.c) */
/* The objects that belong to pointers to the module's functions. (launch/cdp.c) */
void module_make_entries(CUmodule m);
/* Whether a launch of this shape is within the device's limits and the function's.
 * (launch/launch.c) */
CUresult launch_shape_check(CUfunction f, const uint32_t grid[3], const uint32_t block[3],
                            uint32_t shared);

/* ---- module/variant.c ---- */

/* Whether indices of threads along x cannot wrap around, which code is specialised on. */
static inline bool grid_is_small(const uint32_t grid[3], const uint32_t block[3])
{
    return (uint64_t)grid[0] * block[0] <= JIT_GRID_SMALL_MAX;
}

/* How many neighbouring blocks in x of such a grid are run as one, whose rows are those of a warp
 * (front/joined_blocks.c of the compiler): 1, 2 or 4. Not of clusters and cooperative grids. */
static inline uint32_t blocks_joined(CUfunction f, const uint32_t grid[3], const uint32_t block[3])
{
    enum { WIDTH = 32, LEAST_WIDTH = 8, THREADS_MAX = 1024 };
    uint32_t n = block[0] < LEAST_WIDTH ? 1 : WIDTH / block[0];
    if (n < 2 || f->join_least == 0 || n * block[0] != WIDTH || grid[0] % n != 0 ||
        (uint64_t)grid[0] * grid[1] * grid[2] < f->join_least || !grid_is_small(grid, block))
        return 1;
    uint32_t rows = block[1] * block[2];
    return rows * WIDTH <= THREADS_MAX && (f->joins_full || rows < n) ? n : 1;
}

/* Code for a launch of this shape of blocks: compiled now if it is not yet. What the grid is like
 * says how. joined: 1, or as blocks_joined says. */
CUresult function_variant(CUfunction f, const uint32_t ntid[3], const uint32_t grid[3],
                          uint32_t joined, struct variant **out);
void variant_describe(CUfunction f); /* of a new function: for which launches blocks are joined */
void variants_free(CUfunction f);    /* nothing of it runs any more */
/* As jit_find_line, for all code of the variant. */
bool variant_find_line(const struct variant *v, const void *address, const char **file, int *line);

#endif
