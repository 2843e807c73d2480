/* internal: libcudart, the runtime API. A thin layer: every entry checks what the driver cannot
 * check, translates, and calls the driver through a table of cu* functions. It knows nothing of
 * what is below the table, so the same runtime runs on Weir's driver and on any other libcuda.
 *
 * Three rules hold in every file here:
 *   - a public function ends with `return done(code)`, which keeps the thread's last error, and
 *     tells observers of the call;
 *   - what touches a device begins with rt_context(), which makes the thread's device ready;
 *   - a function with a stream comes twice: cudaX, and cudaX_ptsz, whose stream 0 is the thread's
 *     own default stream. Both call one static function.
 *
 * A file per family. driver/ is the driver below and how it is found; program/ what programs hold
 * and register (kernels, variables), and the only one with state besides the thread's; memory/ what
 * is allocated and copied. */
#ifndef WEIR_RUNTIME_INTERNAL_H
#define WEIR_RUNTIME_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../include/cuda.h"
#include "../../include/cudaProfiler.h"
#include "../../include/cuda_runtime_api.h"
#include "../../include/weir/fault.h"
#include "../../include/weir/weir.h"

#define PUBLIC    __attribute__((visibility("default")))
#define COUNT(a)  (sizeof(a) / sizeof((a)[0]))
#define LIKELY(x) __builtin_expect(!!(x), 1)

/* ---- the driver below ---- */

/* The driver's functions, by the names of their symbols. Each can be called: what is not loaded yet
 * fails as not initialised, what the driver lacks with the number of
 * cudaErrorCallRequiresNewerDriver. */
struct rt_driver {
#define RT_DRIVER(name) __typeof__(&name) name;
#include "runtime/driver/driver.def"
#undef RT_DRIVER
};
extern struct rt_driver rt_driver;
/* Calls one. */
#define CU(name, ...) (__atomic_load_n(&rt_driver.name, __ATOMIC_RELAXED)(__VA_ARGS__))
/* Whether there is a driver that has it. */
CUresult rt_not_loaded(void);
CUresult rt_lacking(void);
#define RT_HAS(name)                                                                               \
    ((void *)rt_driver.name != (void *)rt_lacking &&                                               \
     (void *)rt_driver.name != (void *)rt_not_loaded)

/* Loads libcuda and initialises it, once. cudaErrorInsufficientDriver when there is none or it is
 * older than this runtime, cudaErrorNoDevice when it has no device. */
cudaError_t rt_init_slow(void);
/* Whether that has succeeded: then the table may be used. */
extern bool rt_started_flag;
static inline bool rt_started(void) { return __atomic_load_n(&rt_started_flag, __ATOMIC_ACQUIRE); }
static inline cudaError_t rt_init(void)
{
    return LIKELY(rt_started()) ? cudaSuccess : rt_init_slow();
}
/* Only loads it: for questions that need no device. */
cudaError_t rt_load(void);
/* The driver's library (choose.c); NULL, and a sentence on stderr if WEIR_DRIVER asks for one that
 * cannot be had. */
void *rt_open_driver(void);
/* Has the runtime's own pools stand before the driver's, if WEIR_POOLS wants it so (pools.c): once
 * before cuInit, and once after it. cudaErrorInitializationError: the setting is not known. */
cudaError_t rt_prepare_pools(void);
void rt_open_pools(void);
/* Says on stderr that the driver is older than the runtime. */
void rt_driver_too_old(void *library, int version);

/* ---- the end (end.c) ---- */

/* The process is on its way out: driver objects need no more cleaning up, and must get none. Known
 * from the time on when handlers of exit() that were there before rt_tell_exit are called. */
bool rt_exiting(void);
void rt_tell_exit(void);

/* A function that is called when the library or program that holds the runtime has ended: after its
 * static objects are destroyed, which may still use the runtime, and its binaries unregistered. */
#define RT_LAST __attribute__((destructor(101)))

/* ---- errors ---- */

/* The runtime's code for the driver's: the same number wherever both have one. */
cudaError_t rt_error(CUresult result);
/* Keeps the thread's last error (cudaErrorNotReady is an answer, not an error) and returns it. */
cudaError_t rt_error_keep(cudaError_t error);
/* Whether calls are told to Weir's driver, which has observers. Not known before a driver is
 * loaded: then the first call loads it. */
enum rt_telling { RT_TELLS_NOT, RT_TELLING_UNKNOWN, RT_TELLS };
extern enum rt_telling rt_telling;
void rt_call_told_begins(const char *name, const void *site);
cudaError_t rt_call_over(cudaError_t error); /* told, or with an error to keep; returns it */
/* A macro, so that `call` is made between the two. It is there twice, so that a call that nobody is
 * told of looks once whether it is, and keeps nothing for later: the other one is out of the way.
 */
#define done(call)                                                                                 \
    __extension__({                                                                                \
        _Pragma("clang diagnostic push")                                                           \
            _Pragma("clang diagnostic ignored \"-Wignored-attributes\"") /* it may be no call */   \
            cudaError_t rt_done_error;                                                             \
        if (LIKELY(rt_telling == RT_TELLS_NOT)) {                                                  \
            [[clang::always_inline]] rt_done_error = (call);                                       \
            if (!LIKELY(rt_done_error == cudaSuccess))                                             \
                rt_done_error = rt_error_keep(rt_done_error);                                      \
        } else {                                                                                   \
            rt_call_told_begins(__func__, __builtin_return_address(0));                            \
            [[clang::noinline]] rt_done_error = (call);                                            \
            rt_done_error = rt_call_over(rt_done_error);                                           \
        }                                                                                          \
        _Pragma("clang diagnostic pop") rt_done_error;                                             \
    })
/* Forgets it (cudaDeviceReset). */
void rt_error_reset(void);

/* Leaves the calling function with the driver's error, if there is one. */
#define CU_TRY(call)                                                                               \
    do {                                                                                           \
        CUresult rt_try_result = (call);                                                           \
        if (__builtin_expect(rt_try_result != CUDA_SUCCESS, 0))                                    \
            return rt_error(rt_try_result);                                                        \
    } while (0)
#define RT_TRY(call)                                                                               \
    do {                                                                                           \
        cudaError_t rt_try_error = (call);                                                         \
        if (__builtin_expect(rt_try_error != cudaSuccess, 0))                                      \
            return rt_try_error;                                                                   \
    } while (0)
/* Of functions that are called often and short: the driver is asked at once, and only when it says
 * that there is no context yet, one is made. Leaves the calling function. */
#define WITH_CONTEXT(call)                                                                         \
    do {                                                                                           \
        CUresult rt_try_first = (call);                                                            \
        if (LIKELY(rt_try_first == CUDA_SUCCESS))                                                  \
            return cudaSuccess;                                                                    \
        if (rt_try_first != CUDA_ERROR_INVALID_CONTEXT &&                                          \
            rt_try_first != CUDA_ERROR_CONTEXT_IS_DESTROYED &&                                     \
            rt_try_first != CUDA_ERROR_NOT_INITIALIZED && !rt_was_reset())                         \
            return rt_error(rt_try_first);                                                         \
        RT_TRY(rt_context_again(rt_try_first));                                                    \
        CU_TRY(call);                                                                              \
        return cudaSuccess;                                                                        \
    } while (0)
#define RT_CHECK(condition, error)                                                                 \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0))                                                     \
            return (error);                                                                        \
    } while (0)

/* ---- who called ---- */

/* A function that makes or frees memory begins with RT_CALLED(its name): Weir's driver then records
 * that call, with the address it returns to, for fault reports. Other drivers are not
 * asked. */
struct rt_called {
    bool announced;
};
struct rt_called rt_called(enum weir_call call, const void *caller);
void rt_call_ends(struct rt_called *called);
#define RT_CALLED(name)                                                                            \
    struct rt_called rt_called_here __attribute__((cleanup(rt_call_ends), unused)) =               \
        rt_called(WEIR_CALL_##name, __builtin_return_address(0))

/* ---- devices and contexts ---- */

enum { RT_MAX_DEVICES = 64 };

/* Limits of a device that launches are checked against. */
struct rt_limits {
    unsigned grid[3], block[3], threads; /* threads of one block */
};

/* Makes sure that the thread has a context: the one that is current (a program may use the driver
 * API too), else the primary context of the thread's device. */
cudaError_t rt_context(void);
/* Whether a device's primary context has ended and was not used since, by a reset through a driver
 * that is not Weir's, or by releases: then the current context may be one that is gone. */
bool rt_was_reset(void);
/* The driver has said that the current context has ended: if it was a device's primary one, it is
 * retained again when it is needed. */
void rt_context_ended(void);
/* rt_context after a call that failed so. */
cudaError_t rt_context_again(CUresult failed);
/* Whether the thread may call at all: host functions of streams may not, and a GPU's driver would
 * wait for ever for the stream that such a function is in. Weir's driver looks by itself. */
static inline cudaError_t rt_permitted(void)
{
    CUcontext context;

    return RT_HAS(weir_current_context) || CU(cuCtxGetCurrent, &context) != CUDA_ERROR_NOT_PERMITTED
               ? cudaSuccess
               : cudaErrorNotPermitted;
}
/* The code of the fault that the current context has, if any: for what asks no driver otherwise. */
cudaError_t rt_healthy(void);
/* The thread's device: that of its current context, else the one chosen by cudaSetDevice. */
cudaError_t rt_device(int *device);
cudaError_t rt_device_count(int *count);
/* cudaErrorInvalidDevice unless the ordinal names a device. */
cudaError_t rt_check_device(int device, CUdevice *handle);
/* The primary context of a device, made when there is none; cudaErrorInvalidDevice as above. */
cudaError_t rt_primary(int device, CUcontext *context);
/* Runs with the primary context of a device current, whatever the thread's own; undo with
 * rt_context_pop. */
cudaError_t rt_context_push(int device, CUcontext *previous);
void rt_context_pop(CUcontext previous);
/* What a thread's current context is. */
struct rt_here {
    CUcontext context;
    uint64_t id; /* that no other context, nor the same one after a reset, has */
    int device;  /* the thread's, as rt_device says */
};
/* The context that is current, made so like rt_context does when there is none. What *here points
 * to is the thread's and holds until its next call. */
cudaError_t rt_find_here(const struct rt_here **here);
const struct rt_limits *rt_device_limits(int device);

/* A function with a stream, and its twin whose stream 0 is the thread's own: `parameters` has one
 * called `stream`, `call` uses it. */
#define STREAM_API(name, parameters, call)                                                         \
    PUBLIC cudaError_t name parameters { return done(call); }                                      \
    PUBLIC cudaError_t name##_ptsz parameters                                                      \
    {                                                                                              \
        stream = stream != NULL ? stream : cudaStreamPerThread;                                    \
        return done(call);                                                                         \
    }
/* A function that has none, in the legacy default stream and in the thread's own: `call` uses
 * `stream`. */
#define DEFAULT_STREAM_API(name, parameters, call)                                                 \
    PUBLIC cudaError_t name parameters                                                             \
    {                                                                                              \
        cudaStream_t stream = 0;                                                                   \
        return done(call);                                                                         \
    }                                                                                              \
    PUBLIC cudaError_t name##_ptds parameters                                                      \
    {                                                                                              \
        cudaStream_t stream = cudaStreamPerThread;                                                 \
        return done(call);                                                                         \
    }

/* ---- what programs registered ---- */

struct rt_binary;   /* one fat binary or one set of relocatable pieces */
struct rt_function; /* a kernel known by the address of its host stub */

/* The kernel of a host stub or a cudaKernel_t, NULL when there is none. */
struct rt_function *rt_function_find(const void *host);
/* Its name in PTX, which stays while the kernel is there. */
cudaError_t rt_function_name(const struct rt_function *f, const char **name);
/* Makes a kernel of the library launchable by its handle (cudaLibraryGetKernel). */
cudaError_t rt_function_adopt(CUkernel kernel, CUlibrary library);
/* The library is unloaded: its kernels' handles may come to stand for others. */
void rt_library_forget(CUlibrary library);
/* The stub of a driver's function; the function itself when it is none of the program's. */
const void *rt_function_host(CUfunction function);
/* Stub or cudaKernel_t to the driver's function, with a context made current; loads the module if
 * need be. */
cudaError_t rt_function_of(const void *host, CUfunction *out);
/* The same in a context that was found. */
cudaError_t rt_function_in(const struct rt_here *here, const void *host, CUfunction *out);
/* The driver's description of a launch (launch.c). */
cudaError_t rt_driver_config(const cudaLaunchConfig_t *config, CUlaunchConfig *out);
/* What every launch begins with: the function, and whether the device takes that shape. */
cudaError_t rt_prepare_launch(const void *func, const dim3 *grid, const dim3 *block, size_t shared,
                              CUfunction *function);

/* Device address and size of a registered variable in the current context. */
cudaError_t rt_symbol(const void *host, CUdeviceptr *address, size_t *size);

/* ---- copies ---- */

/* Whether the calling function waits (cudaMemcpy) or not (cudaMemcpyAsync). */
enum rt_wait { RT_ASYNC, RT_SYNC };

bool rt_kind_valid(enum cudaMemcpyKind kind);
/* Any box, any kind of memory on either side. Stream 0 is the legacy default stream. */
cudaError_t rt_copy_1d(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                       cudaStream_t stream, enum rt_wait wait);
/* Fill in one side of a box: linear memory of that kind of copy. */
void rt_copy_source(CUDA_MEMCPY3D *copy, const void *ptr, size_t pitch, size_t rows,
                    enum cudaMemcpyKind kind);
void rt_copy_target(CUDA_MEMCPY3D *copy, void *ptr, size_t pitch, size_t rows,
                    enum cudaMemcpyKind kind);
/* The driver's description of a box, and the opposite. */
cudaError_t rt_box(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *copy);
cudaError_t rt_unbox(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *p);
/* The address of some bytes of a variable, in the current context. */
cudaError_t rt_symbol_part(const void *symbol, size_t offset, size_t count, char **out);
cudaError_t rt_copy_3d(const CUDA_MEMCPY3D *copy, cudaStream_t stream, enum rt_wait wait);

/* ---- arrays ---- */

/* The driver's description of an array. */
cudaError_t rt_array_describe(cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR *out);
/* Bytes of an element of that format, 0 when it has none. */
size_t rt_format_bytes(CUarray_format format, unsigned channels);
cudaError_t rt_format_from_desc(const struct cudaChannelFormatDesc *desc, CUarray_format *format,
                                unsigned *channels);
cudaError_t rt_desc_from_format(CUarray_format format, unsigned channels,
                                struct cudaChannelFormatDesc *desc);

#endif
