/* context: which device a thread uses, and its primary context.
 *
 * A thread that made a context current through the driver API keeps it; otherwise it uses the
 * primary context of its device, retained here at first use and kept for the life of the process.
 */
#include "runtime/thread.h"

#include <pthread.h>
#include <stdatomic.h>

struct device_state {
    _Atomic(CUcontext) primary; /* NULL until first used, and where it is to be retained again */
    _Atomic(CUcontext) gone;    /* what it was before it ended */
    _Atomic uint32_t resets;    /* how often cudaDeviceReset made it anew */
    struct rt_limits limits;
};

static struct device_state devices[RT_MAX_DEVICES];
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t count_once = PTHREAD_ONCE_INIT;
static int device_count;
static _Atomic uint32_t all_resets; /* of all devices: what threads know of contexts may be over */
static _Atomic int gone_contexts;   /* devices that were reset and not used since */
static cudaError_t count_result;

static int thread_device(void) { return rt_thread_seen()->device; }

const struct rt_limits *rt_device_limits(int device) { return &devices[device].limits; }

static cudaError_t read_limits(int device, struct rt_limits *limits)
{
    CUdevice handle;

    static const CUdevice_attribute names[] = {
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,       CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    };
    unsigned *const targets[] = {&limits->grid[0],  &limits->grid[1],  &limits->grid[2],
                                 &limits->block[0], &limits->block[1], &limits->block[2],
                                 &limits->threads};

    CU_TRY(CU(cuDeviceGet, &handle, device));
    for (size_t i = 0; i < COUNT(names); i++) {
        int value;
        CU_TRY(CU(cuDeviceGetAttribute, &value, names[i], handle));
        *targets[i] = (unsigned)value;
    }
    return cudaSuccess;
}

static void count_devices(void)
{
    count_result = rt_init();
    if (count_result == cudaSuccess)
        count_result = rt_error(CU(cuDeviceGetCount, &device_count));
    if (device_count > RT_MAX_DEVICES)
        device_count = RT_MAX_DEVICES;
    if (count_result == cudaSuccess && device_count == 0)
        count_result = cudaErrorNoDevice;
    for (int i = 0; i < device_count && count_result == cudaSuccess; i++)
        count_result = read_limits(i, &devices[i].limits);
}

cudaError_t rt_device_count(int *count)
{
    pthread_once(&count_once, count_devices);
    *count = device_count;
    return count_result;
}

cudaError_t rt_check_device(int device, CUdevice *handle)
{
    int count;

    RT_TRY(rt_device_count(&count));
    RT_CHECK(device >= 0 && device < count, cudaErrorInvalidDevice);
    CU_TRY(CU(cuDeviceGet, handle, device));
    return cudaSuccess;
}

static cudaError_t primary_slow(int device, CUcontext *context)
{
    CUdevice handle;
    cudaError_t error;

    RT_TRY(rt_check_device(device, &handle));
    pthread_mutex_lock(&devices_lock);
    *context = atomic_load(&devices[device].primary);
    error = cudaSuccess;
    if (*context == NULL) {
        error = rt_error(CU(cuDevicePrimaryCtxRetain, context, handle));
        if (error == cudaSuccess) {
            atomic_store(&devices[device].primary, *context);
            if (atomic_exchange(&devices[device].gone, NULL) != NULL)
                atomic_fetch_sub(&gone_contexts, 1);
        }
    }
    pthread_mutex_unlock(&devices_lock);
    return error;
}

/* A primary context that a GPU's driver has reset is of no use until it is retained again: by the
 * thread that next needs it, since a program that ends with a reset needs none. */
static void forget_locked(int device)
{
    CUcontext context = atomic_exchange(&devices[device].primary, NULL);
    if (context != NULL && atomic_exchange(&devices[device].gone, context) == NULL)
        atomic_fetch_add(&gone_contexts, 1);
}

static void forget_primary(int device)
{
    pthread_mutex_lock(&devices_lock);
    forget_locked(device);
    pthread_mutex_unlock(&devices_lock);
}

static bool is_inactive(int device)
{
    CUdevice handle;
    unsigned flags;
    int active = 1;

    return CU(cuDeviceGet, &handle, device) == CUDA_SUCCESS &&
           CU(cuDevicePrimaryCtxGetState, handle, &flags, &active) == CUDA_SUCCESS && active == 0;
}

/* A program that releases the primary context through the driver once more than it has retained it
 * ends it: the next call of the runtime retains it again, as with NVIDIA's (asked of an H200,
 * driver 580). */
static void forget_ended(int device)
{
    if (LIKELY(!is_inactive(device)))
        return;
    pthread_mutex_lock(&devices_lock);
    if (is_inactive(device)) /* else another thread has retained it meanwhile */
        forget_locked(device);
    pthread_mutex_unlock(&devices_lock);
}

cudaError_t rt_primary(int device, CUcontext *context)
{
    *context = NULL;
    if (LIKELY((unsigned)device < RT_MAX_DEVICES)) {
        if (atomic_load(&devices[device].primary) != NULL)
            forget_ended(device);
        *context = atomic_load_explicit(&devices[device].primary, memory_order_acquire);
    }
    return LIKELY(*context != NULL) ? cudaSuccess : primary_slow(device, context);
}

void rt_context_ended(void)
{
    CUcontext context = NULL;

    if (CU(cuCtxGetCurrent, &context) != CUDA_SUCCESS || context == NULL)
        return;
    for (int i = 0; i < device_count; i++)
        if (atomic_load(&devices[i].primary) == context)
            forget_ended(i);
}

/* Whether the current context is one that has ended, where the driver tells at once. */
static bool has_ended(void)
{
    void *current = NULL;

    return RT_HAS(weir_current_context) && !LIKELY(CU(weir_current_context, &current) != 0) &&
           current != NULL;
}

/* The same where it does not: it is asked something that changes nothing. */
static bool has_ended_elsewhere(void)
{
    CUfunc_cache unused;

    return !RT_HAS(weir_current_context) &&
           CU(cuCtxGetCacheConfig, &unused) == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/* The device whose primary context this was before a reset; -1: of none. */
static __attribute__((noinline)) int device_gone(CUcontext context)
{
    for (int i = 0; i < device_count; i++)
        if (atomic_load(&devices[i].gone) == context)
            return i;
    return -1;
}

/* A fault may stay with a GPU for the life of the process: then it is no device any more, which is
 * what NVIDIA's runtime says, too (asked of an H200, driver 580). */
static __attribute__((noinline)) cudaError_t check_came_back(int device)
{
    if (CU(cuCtxSynchronize) == CUDA_SUCCESS) /* there is nothing to wait for */
        return cudaSuccess;
    forget_primary(device);
    return cudaErrorDevicesUnavailable;
}

/* Makes the device's primary context current. */
static cudaError_t make_current(int device)
{
    CUcontext context;
    bool again = atomic_load(&devices[device].gone) != NULL;
    cudaError_t error = rt_primary(device, &context);

    if (error == cudaSuccess)
        error = rt_error(CU(cuCtxSetCurrent, context));
    if (!again)
        return error;
    return error == cudaSuccess ? check_came_back(device) : cudaErrorDevicesUnavailable;
}

bool rt_was_reset(void) { return atomic_load(&gone_contexts) > 0; }

cudaError_t rt_context(void)
{
    CUcontext context = NULL;
    int device = thread_device();

    RT_TRY(rt_init());
    CUresult result = CU(cuCtxGetCurrent, &context);
    if (!LIKELY(result == CUDA_SUCCESS || rt_was_reset()))
        return rt_error(result);
    if (LIKELY(context != NULL)) {
        if (has_ended() || has_ended_elsewhere())
            rt_context_ended();
        if (LIKELY(atomic_load_explicit(&gone_contexts, memory_order_acquire) == 0))
            return cudaSuccess;
        device = device_gone(context);
        if (device < 0)
            return cudaSuccess;
    }
    return make_current(device);
}

cudaError_t rt_context_again(CUresult failed)
{
    if (failed == CUDA_ERROR_CONTEXT_IS_DESTROYED)
        rt_context_ended();
    return rt_context();
}

cudaError_t rt_healthy(void)
{
    CUfunc_cache unused; /* a question that changes nothing and that no capture minds */

    RT_TRY(rt_context());
    CU_TRY(CU(cuCtxGetCacheConfig, &unused));
    return cudaSuccess;
}

/* The thread's device when that context is current. */
static cudaError_t device_of(CUcontext context, int *device)
{
    CUdevice handle;

    *device = thread_device();
    if (context != NULL && context != atomic_load(&devices[thread_device()].primary)) {
        CU_TRY(CU(cuCtxGetDevice, &handle));
        *device = (int)handle;
    }
    return cudaSuccess;
}

cudaError_t rt_device(int *device)
{
    CUcontext context = NULL;

    RT_TRY(rt_init());
    CU_TRY(CU(cuCtxGetCurrent, &context));
    return device_of(context, device);
}

static cudaError_t look_around(CUcontext context, unsigned long long number, uint32_t resets,
                               const struct rt_here **here)
{
    struct rt_thread *t = rt_thread();
    int count;

    RT_CHECK(t, cudaErrorMemoryAllocation);
    *here = &t->here;
    t->here.context = NULL;
    RT_TRY(rt_device_count(&count)); /* a driver's context may be the first thing met */
    RT_TRY(device_of(context, &t->here.device));
    t->number = number;
    t->resets = resets;
    t->here.id = number;
    for (int i = 0; i < count; i++)
        if (context == atomic_load_explicit(&devices[i].primary, memory_order_relaxed))
            t->here.id += (unsigned long long)atomic_load(&devices[i].resets) << 48;
    t->here.context = context;
    return cudaSuccess;
}

/* The current context, made if there is none, and its number. */
static __attribute__((noinline)) cudaError_t find_current(CUcontext *context,
                                                          unsigned long long *number)
{
    CUresult result = CU(cuCtxGetCurrent, context); /* refused while the driver is not loaded */

    if (!LIKELY(result == CUDA_SUCCESS && *context != NULL && !has_ended() &&
                atomic_load_explicit(&gone_contexts, memory_order_acquire) == 0)) {
        RT_TRY(rt_context());
        CU_TRY(CU(cuCtxGetCurrent, context));
    }
    result = CU(cuCtxGetId, *context, number);
    if (result == CUDA_ERROR_CONTEXT_IS_DESTROYED) {
        RT_TRY(rt_context_again(result));
        CU_TRY(CU(cuCtxGetCurrent, context));
        result = CU(cuCtxGetId, *context, number);
    }
    if (result == (CUresult)cudaErrorCallRequiresNewerDriver)
        *number = (uintptr_t)*context;
    else if (result != CUDA_SUCCESS)
        return rt_error(result);
    return cudaSuccess;
}

cudaError_t rt_find_here(const struct rt_here **here)
{
    void *current = NULL; /* stays so when the driver is not Weir's */
    unsigned long long number = CU(weir_current_context, &current);
    CUcontext context = current;
    const struct rt_thread *t = rt_thread_seen();
    uint32_t resets;

    if (!LIKELY(current != NULL && number != 0))
        RT_TRY(find_current(&context, &number));
    *here = &t->here;
    resets = atomic_load_explicit(&all_resets, memory_order_acquire);
    if (LIKELY(t->here.context == context && t->number == number && t->resets == resets))
        return cudaSuccess;
    return look_around(context, number, resets, here);
}

cudaError_t rt_context_push(int device, CUcontext *previous)
{
    CUcontext context;
    CUdevice handle;

    *previous = NULL;
    RT_TRY(rt_check_device(device, &handle));
    CU_TRY(CU(cuCtxGetCurrent, previous));
    RT_TRY(rt_primary(device, &context));
    CU_TRY(CU(cuCtxSetCurrent, context));
    return cudaSuccess;
}

void rt_context_pop(CUcontext previous) { CU(cuCtxSetCurrent, previous); }

/* ---- choosing ---- */

static cudaError_t choose(int device)
{
    struct rt_thread *t = rt_thread();

    RT_CHECK(t, cudaErrorMemoryAllocation);
    t->device = device;
    t->here.context = NULL; /* what is known of it says which device it is */
    return cudaSuccess;
}

static cudaError_t set_device(int device)
{
    CUcontext context;
    CUdevice handle;

    RT_TRY(rt_check_device(device, &handle));
    RT_TRY(rt_primary(device, &context));
    CU_TRY(CU(cuCtxSetCurrent, context));
    return choose(device);
}

PUBLIC cudaError_t cudaSetDevice(int device) { return done(set_device(device)); }

PUBLIC cudaError_t cudaGetDevice(int *device)
{
    int count;

    if (device == NULL)
        return done(cudaErrorInvalidValue);
    cudaError_t error = rt_device_count(&count);
    return done(error == cudaSuccess ? rt_device(device) : error);
}

PUBLIC cudaError_t cudaGetDeviceCount(int *count)
{
    if (count == NULL)
        return done(cudaErrorInvalidValue);
    return done(rt_device_count(count));
}

PUBLIC cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
    CUdevice handle;
    CUcontext context;
    cudaError_t error = rt_check_device(device, &handle);

    if (error == cudaSuccess && (flags & cudaInitDeviceFlagsAreValid))
        error = rt_error(CU(cuDevicePrimaryCtxSetFlags_v2, handle, deviceFlags));
    if (error == cudaSuccess)
        error = rt_primary(device, &context);
    return done(error);
}

/* Devices to try first when a thread has not chosen: the first valid one becomes the thread's. */
PUBLIC cudaError_t cudaSetValidDevices(int *device_arr, int len)
{
    int count;
    cudaError_t error = rt_device_count(&count);

    if (error != cudaSuccess)
        return done(error);
    if (len == 0)
        return done(choose(0));
    if (device_arr == NULL || len < 0 || len > count)
        return done(cudaErrorInvalidValue);
    for (int i = 0; i < len; i++)
        if (device_arr[i] < 0 || device_arr[i] >= count)
            return done(cudaErrorInvalidDevice);
    return done(choose(device_arr[0]));
}

static cudaError_t valid_device_flags(unsigned flags)
{
    unsigned schedule = flags & cudaDeviceScheduleMask;

    RT_CHECK(!(flags & ~(unsigned)cudaDeviceMask), cudaErrorInvalidValue);
    RT_CHECK((schedule & (schedule - 1)) == 0, cudaErrorInvalidValue);
    return cudaSuccess;
}

static cudaError_t set_device_flags(unsigned flags)
{
    CUdevice handle;

    RT_TRY(valid_device_flags(flags));
    RT_TRY(rt_check_device(thread_device(), &handle));
    /* Mapping of host memory is always on; the driver has no switch for it. */
    CU_TRY(CU(cuDevicePrimaryCtxSetFlags_v2, handle, flags & ~(unsigned)cudaDeviceMapHost));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaSetDeviceFlags(unsigned int flags) { return done(set_device_flags(flags)); }

static cudaError_t get_device_flags(unsigned *flags)
{
    CUcontext context = NULL;
    CUdevice handle;
    int active;

    RT_CHECK(flags, cudaErrorInvalidValue);
    RT_TRY(rt_check_device(thread_device(), &handle));
    CU_TRY(CU(cuCtxGetCurrent, &context));
    if (context != NULL)
        CU_TRY(CU(cuCtxGetFlags, flags));
    else
        CU_TRY(CU(cuDevicePrimaryCtxGetState, handle, flags, &active));
    *flags |= cudaDeviceMapHost;
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetDeviceFlags(unsigned int *flags) { return done(get_device_flags(flags)); }

/* ---- the whole device ---- */

static cudaError_t synchronize(void)
{
    RT_TRY(rt_context());
    CU_TRY(CU(cuCtxSynchronize));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceSynchronize(void) { return done(synchronize()); }

/* Weir's driver makes the primary context, which stays retained, anew when it is next used. */
static cudaError_t reset(void)
{
    CUdevice handle;
    int device;

    RT_TRY(rt_device(&device));
    RT_TRY(rt_check_device(device, &handle));
    if (atomic_load(&devices[device].primary) != NULL) {
        atomic_fetch_add(&devices[device].resets, 1);
        atomic_fetch_add(&all_resets, 1);
        CU_TRY(CU(cuDevicePrimaryCtxReset_v2, handle));
        if (!RT_HAS(weir_current_context))
            forget_primary(device);
    }
    return cudaSuccess;
}

PUBLIC cudaError_t cudaDeviceReset(void)
{
    RT_CALLED(cudaDeviceReset);
    cudaError_t error = reset();

    if (error == cudaSuccess)
        rt_error_reset();
    return done(error);
}
