/* objects: what the files of the driver ask of each other's objects, beyond driver.h. */
#ifndef WEIR_DRIVER_OBJECTS_H
#define WEIR_DRIVER_OBJECTS_H

#include "driver/driver.h"

/* Both versions of a function on a stream: handle 0 is the legacy stream, or the thread's own. */
#define BOTH(name, params, ...)                                                                    \
    WEIR_API CUresult name params;                                                                 \
    WEIR_API CUresult name##_ptsz params;                                                          \
    WEIR_API CUresult name params { return name##_impl(false, __VA_ARGS__); }                      \
    WEIR_API CUresult name##_ptsz params { return name##_impl(true, __VA_ARGS__); }

/* Their handles are wiped, and they are on no list any more; work still runs. What calls under way
 * may have found is freed later. */
void stream_end(CUstream s);
/* A handle for the event, on the context's list. */
CUevent event_make(CUcontext c, struct device_event *d, unsigned flags);
void event_end(CUevent e);

/* Frees it, whose handle is wiped and which is on no list any more; `memory`: its memory, too.
 * Nothing may use it. */
void array_free(CUarray a, bool memory);
CUresult array_check(CUarray a);
/* Whether there can be such an array. */
CUresult array_check_desc(const CUDA_ARRAY3D_DESCRIPTOR *d);
/* Bytes of its rows and slices. */
void array_lay_out(CUarray a);
/* The same for a mipmapped array, with the arrays of its levels. Wiping: false where another thread
 * has done so. */
bool mipmap_wipe(CUmipmappedArray m);
void mipmap_free(CUmipmappedArray m, bool memory);
CUresult mipmap_check(CUmipmappedArray m);
/* Where a box is that starts at byte x of row y of slice z: refused when it leaves the array. */
CUresult array_locate(CUarray a, uint64_t x, uint64_t y, uint64_t z, uint64_t width, uint64_t rows,
                      uint64_t slices, char **at);

/* Ends the context's texture and surface objects. */
void textures_destroy(CUcontext c);
/* What a resource is for kernels, and how it is sampled, into `t`, which has its tag. */
struct texture;
CUresult texture_describe(const CUDA_RESOURCE_DESC *d, struct texture *t);
CUresult texture_sample(const CUDA_TEXTURE_DESC *d, struct texture *t);

/* A module's variable that is a texture or surface reference: `address` is what kernels know it by.
 * Freed when no kernel uses it any more. */
CUresult reference_make(CUcontext c, const struct ptx_var *v, uint64_t *address);
void reference_free(uint64_t address);

/* ---- pool/pool.c ---- */

/* The stream's present moment, as the pool layer has it. */
static inline struct pool_point stream_point(struct device_stream *s)
{
    struct device_point at = device_stream_mark(s);
    return (struct pool_point){at.timestamp, at.count};
}
CUresult pool_check(CUmemoryPool h);
/* A pool of this process, which has memory to give. */
CUresult pool_check_own(CUmemoryPool h);
/* As mem_alloc; when the device has no more, its pools give back what they hold unused.
 * (memory/memory.c)
 */
enum mem_status memory_alloc(const struct mem_request *q, void **out);
/* The pool that an allocation is of; NULL: none, or one that is destroyed. (memory/memory.c) */
CUmemoryPool pool_of_memory(const struct mem_info *i);
/* Whether the context's device has access to what is there. (memory/memory.c) */
bool driver_sees(CUcontext c, const void *address);
CUresult pool_make(CUmemoryPool *out, const CUmemPoolProps *props); /* checked ones */

/* Where pools are (pool/location.c): whether such a pool can be, what it is for the layer below,
 * whether its memory is a device's own. */
struct pool_config;
CUresult pool_check_props(const CUmemPoolProps *p);
void pool_configure(struct pool_config *out, const CUmemPoolProps *p);
bool pool_is_devices(const CUmemPoolProps *p);
/* A pool that is no device's own ends: it is no location's current one any more. False: it is one's
 * default, and may not. */
bool pool_location_ends(CUmemoryPool h);

/* A handle for another process's pool, which owns its file from now on; the one there is. */
CUmemoryPool pool_adopt(struct mem_file *f, CUdevice dev); /* dev: -1: the host's */
/* The pointer is no imported one any more, if it was: then it is the caller's to unmap. However
 * often it was imported, one free ends it, as on a GPU. */
bool imported_free(const void *base);
bool imported_any(CUmemoryPool h);   /* whether anything of the pool's is not freed yet */
void imported_clear(CUmemoryPool h); /* unmaps all of a pool's */
void imported_allow(CUmemoryPool h); /* lets the pool's devices touch all of it, and no others */
/* The devices that have access to the pool's memory, as the lower layers count them. */
uint32_t pool_accessors(CUmemoryPool h);
/* A device's default pool, made at first use. */
CUresult pool_standard(CUdevice dev, CUmemoryPool *out);
CUmemoryPool pool_standard_if_made(CUdevice dev); /* else NULL */
/* A device's pool for what graphs allocate (graph/pages.c), made at first use. Its memory is a
 * file.
 */
CUresult pool_of_graphs(CUdevice dev, struct pool **out);
struct pool *pool_of_graphs_if_made(CUdevice dev); /* else NULL */
/* Addresses of graphs are memory only for nodes of graphs while they are not left allocated by a
 * launch: nothing else may be told of them (graph/memory.c). */
extern atomic_uint graph_memories; /* how many there are */
bool graph_memory_is(const struct mem_info *info);
bool graph_memory_hides(const struct mem_info *info);
bool graph_memory_hides_at(const void *address);
static inline bool graph_memory_hidden(const void *address)
{
    return WEIR_UNLIKELY(atomic_load_explicit(&graph_memories, memory_order_relaxed) > 0) &&
           graph_memory_hides_at(address);
}
/* The device begins anew: no call finds the program's pools any more; and, when no call that has
 * found them before is under way: they are gone, and the default one is empty. */
void pools_wipe(CUdevice dev);
void pools_reset(CUdevice dev);
/* From now on the process tells others of its pools. Once. (pool/report.c) */
void pool_report_begin(void);
void pool_trace_begin(void); /* likewise: writes what happens, if that is asked for */

/* The function of a library's kernel in a context. */
CUresult kernel_to_function(CUkernel k, CUcontext c, CUfunction *out);

/* What calls about a function begin with. Of a handle that is none nothing more is asked, as on a
 * GPU. */
static inline CUresult function_check(CUfunction f)
{
    return WEIR_LIKELY(handle_live(f, TAG_FUNCTION)) ? driver_context(f->module->ctx)
                                                     : CUDA_ERROR_INVALID_HANDLE;
}
CUresult function_get_attribute(CUfunction f, CUfunction_attribute which, int *value);
CUresult function_set_attribute(CUfunction f, CUfunction_attribute which, int value);
CUresult function_set_cache_config(CUfunction f, CUfunc_cache config);
/* Blocks of `threads` threads and `shared` dynamic bytes that an SM can hold at once. */
uint32_t function_blocks_per_sm(CUfunction f, uint32_t threads, uint64_t shared);

/* launch/cluster.c: the cluster of a launch from what the launch names (0,0,0: nothing) and what
 * the kernel and its function say; CUDA_ERROR_INVALID_CLUSTER_SIZE where they do not fit each
 * other, the grid or the device. Attributes of functions that are about clusters. */
CUresult cluster_resolve(CUfunction f, const uint32_t grid[3], uint32_t cluster[3]);
/* Whether neither kernel nor function nor launch names a size, and none must: nothing to resolve.
 */
static inline bool cluster_none(CUfunction f, const uint32_t cluster[3])
{
    return (f->func->reqnctapercluster[0] | (uint32_t)f->func->explicit_cluster | f->cluster[0] |
            f->cluster[1] | f->cluster[2] | cluster[0] | cluster[1] | cluster[2]) == 0;
}
CUresult cluster_get_attribute(CUfunction f, CUfunction_attribute which, int *value);
CUresult cluster_set_attribute(CUfunction f, CUfunction_attribute which, int value);

/* What the options of a load or a link ask for, and its answers. */
struct jit_request {
    struct module_source source; /* bindings only; the caller adds the image */
    char *errors, *info;         /* buffers for logs, or NULL */
    uint32_t error_bytes, info_bytes;
    struct strbuf text; /* the log of errors */
    double started;     /* ms */
};
CUresult jit_request_read(struct jit_request *q, unsigned count, const CUjit_option *options,
                          void *const *values);
void jit_request_answer(struct jit_request *q, unsigned count, const CUjit_option *options,
                        void **values);

/* A file's bytes on the heap, with a NUL after them. */
CUresult driver_read_file(const char *path, char **text, size_t *size);

/* Memory and initial contents for the module's variables; undone by the other, also half-way. */
CUresult module_make_variables(CUmodule m, const struct module_source *source);
/* `memory`: it is to be freed, too. */
void module_free_variables(CUmodule m, bool memory);

/* Variables of a module by name: address and size. */
CUresult module_global(CUmodule m, const char *name, CUdeviceptr *at, size_t *bytes);

/* Forgets what was advised for these addresses: they are another allocation's now. */
void managed_forget(uint64_t base, uint64_t bytes);

/* What trouble with another process's handle is to the caller, with a message. (memory/ipc.c) */
CUresult driver_from_file(enum file_status s, const char *call);

/* The kinds of handles for other processes that mapped memory can have. (memory/virtual.c) */
unsigned virtual_handle_types(const struct mem_info *i);

/* ---- launch/launch.c ---- */

enum { LAUNCH_PARAM_BYTES = 32764 }; /* of all parameters together, at most */

/* Everything a launch is made of, however it was asked for. */
struct launch_request {
    CUfunction f;
    uint32_t grid[3], block[3], shared;
    CUstream stream;
    bool per_thread, cooperative, prioritized;
    int priority; /* with `prioritized` */
    uint32_t cluster[3];
    void **params, **extra;
};

/* A function may be a kernel of a library: then its function in that context is meant. */
CUresult launch_function(CUfunction h, CUcontext c, CUfunction *out);
/* Whether the device can run a grid of that shape. */
CUresult launch_check(const struct launch_request *q);
/* Copies the parameters into one buffer (param_bytes of the kernel) at their PTX offsets. */
CUresult launch_gather(const struct launch_request *q, uint8_t *buffer, uint32_t *bytes);
/* Applies a launch attribute: those that change nothing here (hints) pass, those that promise
 * something this version does not have are refused by name. */
CUresult launch_attribute(struct launch_request *q, const CUlaunchAttribute *a);

/* ---- memory/copy.c ---- */

#define COPY_WHERE CUstream h, bool pt, enum device_copy_mode mode

/* One side of a 2D or 3D copy. */
struct copy_side {
    CUmemorytype type; /* which of the next three counts */
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z;       /* where the box starts: bytes, rows, slices */
    size_t pitch, height; /* bytes of a row, rows of a slice; 0: those of the box */
};

/* `h` with `pt` (what handle 0 means) names the stream; sizes of 0 copy nothing. */
CUresult copy_linear(COPY_WHERE, void *dst, const void *src, size_t bytes);
/* What a 3D copy comes down to; nothing to do: width 0. */
CUDA_MEMCPY3D copy_describe(void *dst, const void *src, size_t bytes); /* of one row */
CUresult copy_resolve(const CUDA_MEMCPY3D *m, struct device_copy *out);
/* What a set comes down to; likewise. */
CUresult set_resolve(const CUDA_MEMSET_NODE_PARAMS *p, struct device_set *out);
CUresult copy_box(COPY_WHERE, const struct copy_side *src, const struct copy_side *dst,
                  size_t width, size_t height, size_t depth);

/* ---- stream/capture.c ---- */

/* Whether there are captures that have begun and not ended. */
static inline bool capture_running(void)
{
    return WEIR_UNLIKELY(slow_path(~(uint32_t)(SLOW_PATH_CAPTURE - 1)) != 0);
}

/* Each to be called while captures run, before something is enqueued: adds the node when
 * the stream is captured; says so in *captured. Errors: what the stream may not do now. A copy or
 * set with `sync` is of a call that waits. */
CUresult capture_kernel(struct device_stream *s, CUcontext c, struct launch_request *q,
                        bool *captured);
CUresult capture_copy(struct device_stream *s, CUcontext c, const CUDA_MEMCPY3D *m, bool sync,
                      bool *captured);
CUresult capture_set(struct device_stream *s, CUcontext c, const CUDA_MEMSET_NODE_PARAMS *p,
                     bool sync, bool *captured);
CUresult capture_host(struct device_stream *s, CUcontext c, CUhostFn fn, void *user,
                      bool *captured);
CUresult capture_batch(struct device_stream *s, CUcontext c, unsigned count,
                       CUstreamBatchMemOpParams *ops, unsigned flags, bool *captured);
/* Memory in stream order, of a device or managed, as `props` says; NULL: of another kind, which
 * graphs have not. Of a stream that is not captured: whether the call is allowed at all. */
CUresult capture_alloc(struct device_stream *s, CUcontext c, const CUmemPoolProps *props,
                       size_t bytes, CUdeviceptr *out, bool *captured);
CUresult capture_free(struct device_stream *s, CUcontext c, CUdeviceptr at, bool *captured);
CUresult capture_event_record(struct device_stream *s, CUcontext c, CUevent e, bool external,
                              bool *captured);
CUresult capture_event_wait(struct device_stream *s, CUcontext c, CUevent e, bool external,
                            bool *captured);
/* What a captured stream cannot do (queries, waits of the host ...): ends the capture's usefulness.
 */
CUresult capture_forbid(struct device_stream *s, CUcontext c);
/* A question about the stream, or a wait for it. */
CUresult capture_wait(struct device_stream *s, CUcontext c);
/* The same for a call that concerns the whole context, and for events. */
CUresult capture_forbid_all(CUcontext c);
CUresult capture_forbid_event(CUevent e);
/* Whether the event has a time: one of a capture has none. */
CUresult capture_elapsed(CUevent e);
/* A call that may wait for, or change, more than it is told about: refused by the rules of the
 * captures' modes and the thread's own. */
CUresult capture_unsafe(void);
/* The stream is about to be destroyed; the event is. */
void capture_forget_stream(struct device_stream *s);
void capture_forget_event(CUevent e);

#endif
