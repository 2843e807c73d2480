/* driver: the table of driver functions: filling it from the library that choose.c opens,
 * initialising once. */
#include "runtime/driver/gpu.h"
#include "runtime/internal.h"
#include "runtime/version.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

/* What stands for functions that are not loaded yet, and for those that the driver lacks. */
CUresult rt_not_loaded(void) { return CUDA_ERROR_NOT_INITIALIZED; }
CUresult rt_lacking(void) { return (CUresult)cudaErrorCallRequiresNewerDriver; }

struct rt_driver rt_driver = {
#define RT_DRIVER(name) .name = (__typeof__(&name))(void *)rt_not_loaded,
#include "runtime/driver/driver.def"
#undef RT_DRIVER
};
bool rt_started_flag;
enum rt_telling rt_telling = RT_TELLING_UNKNOWN;

static void *library;
static cudaError_t load_result, init_result;
static pthread_once_t load_once = PTHREAD_ONCE_INIT, init_once = PTHREAD_ONCE_INIT;

static void load(void)
{
    static const struct {
        const char *name;
        size_t offset;
    } entries[] = {
#define RT_DRIVER(name) {#name, offsetof(struct rt_driver, name)},
#include "runtime/driver/driver.def"
#undef RT_DRIVER
    };
    int version = 0;

    library = rt_open_driver();
    load_result = cudaErrorInsufficientDriver;
    rt_telling = RT_TELLS_NOT;
    if (library == NULL)
        return;
    for (size_t i = 0; i < COUNT(entries); i++) {
        void *symbol = dlsym(library, entries[i].name);
        __atomic_store_n((void **)((char *)&rt_driver + entries[i].offset),
                         symbol != NULL ? symbol : (void *)rt_lacking, __ATOMIC_RELEASE);
    }
    if (RT_HAS(weir_observing) && CU(weir_observing))
        rt_telling = RT_TELLS;
    /* After the driver's own handlers, so before them at exit: nothing here runs when it is gone.
     */
    rt_tell_exit();
    bool tells = rt_telling == RT_TELLS; /* this call is not the program's */
    if (tells)
        CU(weir_call_begins, NULL, NULL);
    CUresult known = CU(cuDriverGetVersion, &version);
    if (tells)
        CU(weir_call_ends, 0);
    if (known == CUDA_SUCCESS && version >= rt_version)
        load_result = cudaSuccess;
    else
        rt_driver_too_old(library, version);
}

/* Of a call that loads the driver itself the beginning is known, too. */
void rt_call_told_begins(const char *name, const void *site)
{
    if (rt_telling == RT_TELLING_UNKNOWN)
        rt_load();
    if (rt_telling == RT_TELLS)
        CU(weir_call_begins, name, site);
}

cudaError_t rt_call_over(cudaError_t error)
{
    if (rt_telling == RT_TELLS)
        CU(weir_call_ends, (int)error);
    return rt_error_keep(error);
}

static void init(void)
{
    init_result = rt_load();
    if (init_result == cudaSuccess)
        init_result = rt_prepare_pools();
    if (init_result == cudaSuccess)
        init_result = rt_error(CU(cuInit, 0));
    if (init_result == cudaErrorNoDevice && rt_on_gpu())
        rt_gpu_tell_no_device();
    if (init_result == cudaSuccess && rt_on_gpu())
        rt_gpu_tell_settings();
    if (init_result == cudaSuccess)
        rt_open_pools();
    if (init_result == cudaSuccess)
        __atomic_store_n(&rt_started_flag, true, __ATOMIC_RELEASE);
}

cudaError_t rt_load(void)
{
    pthread_once(&load_once, load);
    return load_result;
}

cudaError_t rt_init_slow(void)
{
    pthread_once(&init_once, init);
    return init_result;
}

PUBLIC cudaError_t cudaDriverGetVersion(int *driverVersion)
{
    if (driverVersion == NULL)
        return done(cudaErrorInvalidValue);
    *driverVersion = 0;
    rt_load();
    return done(library != NULL ? rt_error(CU(cuDriverGetVersion, driverVersion)) : cudaSuccess);
}

PUBLIC cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
    if (runtimeVersion == NULL)
        return done(cudaErrorInvalidValue);
    *runtimeVersion = rt_version;
    return done(cudaSuccess);
}
