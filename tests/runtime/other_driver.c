/* A driver that is not Weir's, for tests without a GPU: it has none of Weir's own functions, takes
 * of a fat binary the entry that NVIDIA's driver takes, knows managed variables only where its own
 * are (so it takes no addresses for a module's symbols), and links relocatable code only when it is
 * told to. Everything else it passes on to Weir's driver, OTHER_DRIVER_WEIR.
 *
 * Settings stand in for what another driver would answer:
 *   OTHER_DRIVER_VERSION, OTHER_DRIVER_DEVICES   its version, how many devices (0: none)
 *   OTHER_DRIVER_INIT=CODE                       what cuInit says
 *   OTHER_DRIVER_MAPS=0                          no virtual memory management, as some parts of
 * GPUs OTHER_DRIVER_LOST=CODE                       what every call says after the first launch
 * Files given to the linker, and at the end how often memory was allocated and freed, are named on
 * stderr. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void *other_driver_weir(const char *name);
void other_driver_lose(int code);

/* A function passed on: a jump to the driver's. It is weak, for other_driver_calls.c, and Weir's
 * own are hidden by other_driver.map. */
#define RT_DRIVER(name)                                                                            \
    __attribute__((visibility("hidden"))) void *to_##name;                                         \
    __asm__(".weak " #name "\n.type " #name ", @function\n" #name ":\n"                            \
            "\tjmp *to_" #name "(%rip)\n");
#include "runtime/driver/driver.def"
RT_DRIVER(cuGetErrorName)
RT_DRIVER(cuDevicePrimaryCtxRelease_v2)
#undef RT_DRIVER

static const struct {
    const char *name;
    void **to;
} functions[] = {
#define RT_DRIVER(name) {#name, &to_##name},
#include "runtime/driver/driver.def"
    RT_DRIVER(cuGetErrorName) RT_DRIVER(cuDevicePrimaryCtxRelease_v2)
#undef RT_DRIVER
};

void *other_driver_weir(const char *name)
{
    static void *library;

    if (library == NULL)
        library = dlopen(getenv("OTHER_DRIVER_WEIR"), RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "other driver: OTHER_DRIVER_WEIR: %s\n", dlerror());
        abort();
    }
    return dlsym(library, name);
}

static int lost_code;
static int lost(void) { return lost_code; }

/* The device is gone: nothing is passed on any more. */
void other_driver_lose(int code)
{
    lost_code = code;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        *functions[i].to = (void *)lost;
}

__attribute__((constructor)) static void find_functions(void)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        *functions[i].to = other_driver_weir(functions[i].name);
}
