/* weir info: what there is, and every setting with its meaning and value. */
#include "base/env.h"
#include "loader/cache.h"
#include "loader/loader.h"
#include "weir.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] = "usage: weir info [--pools PID|FILE]\n"
                           "\n"
                           "Shows the devices, the CPU, the kernel compiler, the cache of\n"
                           "compiled kernels and every environment variable that Weir reads.\n"
                           "\n"
                           "  --pools PID   the memory pools of a running process instead\n"
                           "  --pools FILE  those that a process had when it ended, if it was\n"
                           "                started with WEIR_POOLS_FILE=FILE\n";

/* ---- devices, through the driver's public functions ---- */

/* Device attributes by their numbers in the driver API. */
enum { ATTRIBUTE_MULTIPROCESSORS = 16, ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76 };

struct driver {
    bool weirs; /* Weir's own */
    int (*init)(unsigned flags);
    int (*count)(int *count);
    int (*name)(char *name, int size, int device);
    int (*memory)(size_t *bytes, int device);
    int (*attribute)(int *value, int attribute, int device);
    int (*version)(int *version);
    int (*error_name)(int error, const char **name);
};

static void *open_driver(struct driver *drv, const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return NULL;
    const struct {
        void **to;
        const char *name;
    } wanted[] = {
        {(void **)&drv->init, "cuInit"},
        {(void **)&drv->count, "cuDeviceGetCount"},
        {(void **)&drv->name, "cuDeviceGetName"},
        {(void **)&drv->memory, "cuDeviceTotalMem_v2"},
        {(void **)&drv->attribute, "cuDeviceGetAttribute"},
        {(void **)&drv->version, "cuDriverGetVersion"},
        {(void **)&drv->error_name, "cuGetErrorName"},
    };
    for (size_t i = 0; i < WEIR_COUNT(wanted); i++)
        if ((*wanted[i].to = dlsym(handle, wanted[i].name)) == NULL)
            return NULL;
    drv->weirs = dlsym(handle, "weir_last_message") != NULL;
    return handle;
}

static void print_device(const struct driver *drv, int device)
{
    char name[256] = "?";
    size_t bytes = 0;
    int workers = 0, major = 0, minor = 0;
    drv->name(name, sizeof name, device);
    drv->memory(&bytes, device);
    drv->attribute(&workers, ATTRIBUTE_MULTIPROCESSORS, device);
    drv->attribute(&major, ATTRIBUTE_MAJOR, device);
    drv->attribute(&minor, ATTRIBUTE_MINOR, device);
    printf("device %d:   %s, %d %s%s, %.1f GiB, compute capability %d.%d\n", device, name, workers,
           drv->weirs ? "worker" : "multiprocessor", workers == 1 ? "" : "s",
           (double)bytes / (1 << 30), major, minor);
}

/* What the driver at the path has, after `title`. False when it does not work. */
static bool print_driver(const char *title, const char *path)
{
    struct driver drv;
    if (open_driver(&drv, path) == NULL) {
        const char *why = dlerror();
        printf("%s%s\n", title, why != NULL ? why : path);
        return false;
    }
    int version = 0, count = 0, error = drv.init(0);
    const char *name = NULL;
    drv.version(&version);
    printf("%s%s (CUDA %d.%d)\n", title, path, version / 1000, version % 1000 / 10);
    if (error == 0)
        error = drv.count(&count);
    if (error != 0) {
        drv.error_name(error, &name);
        printf("devices:    none (%s)\n", name != NULL ? name : "unknown error");
    }
    for (int i = 0; i < count; i++)
        print_device(&drv, i);
    return error == 0;
}

/* Weir's driver refuses to work where the setting names another one. */
static bool print_own_driver(const char *path)
{
    const char *name = env_entry(ENV_DRIVER)->name, *setting = getenv(name);
    char *kept = setting != NULL ? xstrdup(setting) : NULL;
    unsetenv(name);
    bool ok = print_driver("driver:     ", path);
    if (kept != NULL)
        setenv(name, kept, 1);
    free(kept);
    return ok;
}

/* A word that chooses no driver: programs are refused, so this is told here. */
static bool driver_setting_known(void)
{
    static const char *const words[] = {"cpu", "gpu", "auto", NULL};
    struct diag d = {0};
    const char *setting = env_get(ENV_DRIVER);
    if (setting == NULL || strchr(setting, '/') != NULL || env_word(ENV_DRIVER, words, &d))
        return true;
    printf("driver:     %s or the path of a libcuda.so.1, with a slash\n", d.text);
    return false;
}

/* False when Weir's driver does not work. */
static bool print_devices(void)
{
    const char *directory = weir_library_directory();
    char *path = xprintf("%s/libcuda.so.1", directory != NULL ? directory : "../lib");
    bool ok = print_own_driver(path) && driver_setting_known();
    free(path);
    path = weir_gpu_driver();
    if (path != NULL)
        print_driver("GPU driver: ", path);
    else
        printf("GPU driver: none\n");
    free(path);
    return ok;
}

/* ---- the rest ---- */

static void print_cpu(void)
{
    cpu_set_t set;
    int allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    printf("CPU:        %s\n", jit_cpu());
    if (allowed > 0)
        printf("            %d logical CPU%s usable by this process\n", allowed,
               allowed == 1 ? "" : "s");
}

static void print_compiler(void)
{
    struct diag d = {0};
    const char *target = jit_target(&d);
    if (target != NULL)
        printf("compiler:   %s\n            for %s\n", jit_plugin_path(), target);
    else
        printf("compiler:   none: %s\n", d.text);
}

static void print_cache(void)
{
    const char *directory = cache_dir();
    struct cache_usage use;
    struct diag d = {0};
    if (directory == NULL)
        printf("cache:      none\n");
    else if (!cache_usage(&use, &d))
        printf("cache:      %s\n", d.text);
    else
        printf("cache:      %s: %llu file%s, %.1f of %llu MiB\n", directory,
               (unsigned long long)use.files, use.files == 1 ? "" : "s",
               (double)use.bytes / (1 << 20), (unsigned long long)(CACHE_LIMIT_BYTES >> 20));
}

static void print_unknown(void *any, const char *line)
{
    if (!*(bool *)any)
        printf("\nVariables that are not read:\n");
    *(bool *)any = true;
    printf("  %s\n", line);
}

static void print_variables(void)
{
    printf("\nEnvironment variables:\n");
    for (int v = 0; v < ENV_COUNT; v++) {
        const struct env_entry *e = env_entry((enum env_variable)v);
        const char *value = env_get((enum env_variable)v);
        printf("  %s\n      %s\n", e->name, e->meaning);
        if (value != NULL)
            printf("      Now: \"%s\".\n", value);
        else
            printf("      Not set: %s.\n", e->fallback);
    }
    bool any = false;
    env_unknown(print_unknown, &any);
}

int weir_info(int argc, char **argv)
{
    if (weir_help(argc, argv, help))
        return EXIT_OK;
    char *pools = NULL;
    int i = 0;
    if (weir_option(argc, argv, &i, "--pools", &pools)) {
        if (pools == NULL || i < argc)
            return weir_misused("info", "--pools wants the number of a process or a file");
        return weir_pools(pools);
    }
    if (argc > 0)
        return weir_misused("info", "unknown argument '%s'", argv[0]);
    printf("weir %s\n", WEIR_VERSION);
    bool ok = print_devices();
    print_cpu();
    print_compiler();
    print_cache();
    print_variables();
    return ok ? EXIT_OK : EXIT_FAILED;
}
