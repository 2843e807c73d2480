/* The calls that the stand-in for another driver answers itself; see other_driver.c. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/cuda.h"

#define PUBLIC __attribute__((visibility("default")))

void *other_driver_weir(const char *name);
void other_driver_lose(int code);
#define WEIRS(name) ((__typeof__(&name))other_driver_weir(#name))

static int setting(const char *name, int otherwise)
{
    const char *value = getenv(name);

    return value != NULL ? atoi(value) : otherwise;
}

PUBLIC CUresult cuInit(unsigned flags)
{
    if (setting("OTHER_DRIVER_INIT", 0) != 0)
        return (CUresult)setting("OTHER_DRIVER_INIT", 0);
    if (setting("OTHER_DRIVER_DEVICES", 1) == 0)
        return CUDA_ERROR_NO_DEVICE;
    const char *driver = getenv("WEIR_DRIVER");
    char *kept = driver != NULL ? strdup(driver) : NULL;
    unsetenv("WEIR_DRIVER"); /* Weir's refuses to stand in for another's */
    CUresult r = WEIRS(cuInit)(flags);
    if (kept != NULL)
        setenv("WEIR_DRIVER", kept, 1);
    free(kept);
    return r;
}

PUBLIC CUresult cuDriverGetVersion(int *version)
{
    *version = setting("OTHER_DRIVER_VERSION", CUDA_VERSION);
    return CUDA_SUCCESS;
}

static uint64_t number(const char *at, size_t bytes)
{
    uint64_t value = 0;

    memcpy(&value, at, bytes);
    return value;
}

/* The newest PTX for sm_90 and older in a fat binary, as NVIDIA's driver chooses. */
static const void *choose(const void *image)
{
    const char *at = image, *end, *best = NULL;
    uint64_t best_arch = 0;

    if (number(at, 4) != 0xba55ed50)
        return image;
    end = at + 16 + number(at + 8, 8);
    for (at += 16; at < end; at += number(at + 4, 4) + number(at + 8, 8)) {
        uint64_t arch = number(at + 28, 4);

        if (arch <= 90 && arch >= best_arch) {
            best = at + number(at + 4, 4);
            best_arch = arch;
        }
    }
    return best;
}

PUBLIC CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                                   CUjit_option *options, void **values)
{
    unsigned kept = 0;
    const void *chosen = choose(image);

    if (chosen == NULL)
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    while (kept < count && options[kept] != CU_JIT_GLOBAL_SYMBOL_NAMES)
        kept++;
    return WEIRS(cuModuleLoadDataEx)(module, chosen, kept, options, values);
}

/* Weir's linker has the device runtime without a file. */
PUBLIC CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                                 unsigned count, CUjit_option *options, void **values)
{
    (void)state, (void)type, (void)count, (void)options, (void)values;
    fprintf(stderr, "other driver: links %s\n", path);
    return CUDA_SUCCESS;
}

PUBLIC CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device)
{
    CUresult r = WEIRS(cuDeviceGetAttribute)(value, which, device);

    if (r == CUDA_SUCCESS && which == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)
        *value = *value && setting("OTHER_DRIVER_MAPS", 1);
    return r;
}

/* ---- what the program does ---- */

static int lost; /* the code that calls have come to give */
static unsigned allocated, freed;

PUBLIC CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, CUstream stream,
                               void **params, void **extra)
{
    if (lost != 0)
        return (CUresult)lost;
    lost = setting("OTHER_DRIVER_LOST", 0);
    if (lost != 0)
        other_driver_lose(lost);
    return WEIRS(cuLaunchKernel)(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

PUBLIC CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    allocated++;
    return lost != 0 ? (CUresult)lost : WEIRS(cuMemAlloc_v2)(out, bytes);
}

PUBLIC CUresult cuMemFree_v2(CUdeviceptr at)
{
    freed++;
    return lost != 0 ? (CUresult)lost : WEIRS(cuMemFree_v2)(at);
}

__attribute__((destructor)) static void tell(void)
{
    fprintf(stderr, "other driver: allocated %u times, freed %u times\n", allocated, freed);
}
