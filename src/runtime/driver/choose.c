/* choose: which driver the runtime speaks to, by the setting WEIR_DRIVER.
 *
 *   cpu   Weir's
 *   gpu   another, which must not be Weir's: from the loader, or from where distributions keep it
 *   auto  another when it has a device, else Weir's
 *   a path (with a slash)  that library
 *
 * Without it, libcuda.so.1 is looked for beside the object that this code is in (so that a toolkit
 * works from wherever it is), then where the loader looks: the run path of that object,
 * LD_LIBRARY_PATH, the system; at last in the toolkit that compiled the program or whose static
 * runtime it holds.
 *
 * What was asked for and is not there is never replaced by something else. */
#include "runtime/driver/places.h"
#include "runtime/internal.h"
#include "runtime/version.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char file[] = "libcuda.so.1";

/* Whether it is there and no file: the loader would wait for the writer of a FIFO. */
static bool is_no_file(const char *path)
{
    struct stat s;

    return strchr(path, '/') != NULL && stat(path, &s) == 0 && !S_ISREG(s.st_mode);
}

static void *open_path(const char *path)
{
    return is_no_file(path) ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *open_in(const char *directory, size_t length)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%.*s/%s", (int)length, directory, file);

    return n > 0 && (size_t)n < sizeof path ? open_path(path) : NULL;
}

static void *open_beside(void)
{
    Dl_info self;
    const char *slash;

    if (!dladdr((void *)&file, &self) || self.dli_fname == NULL ||
        (slash = strrchr(self.dli_fname, '/')) == NULL)
        return NULL;
    return open_in(self.dli_fname, (size_t)(slash - self.dli_fname));
}

/* The library directory of the toolkit that compiled the program: weircc records it in every CUDA
 * object, for programs that hold the runtime and were linked by another compiler, without a search
 * path. */
extern const char weir_toolkit_lib[] __attribute__((weak));

/* Where the static runtime was built or installed (place.sh), for programs that have no CUDA
 * object. The shared one has none: it lies beside the driver. */
extern const char __cudaWeirPlace[] __attribute__((weak, visibility("hidden")));

static void *open_of_toolkit(void)
{
    const char *directories[] = {weir_toolkit_lib, __cudaWeirPlace};
    void *library = NULL;

    for (size_t i = 0; library == NULL && i < COUNT(directories); i++)
        if (directories[i] != NULL && directories[i][0] != '\0')
            library = open_in(directories[i], strlen(directories[i]));
    return library;
}

static bool is_weir(void *library) { return dlsym(library, "weir_current_context") != NULL; }

/* Weir's stays loaded where it was opened on the way to another: a note in it says that the program
 * has not loaded it, for other runtimes of the process. */
static bool was_passed_by(void *library, int now)
{
    __typeof__(&weir_passed_by) passed_by =
        (__typeof__(&weir_passed_by))dlsym(library, "weir_passed_by");

    return passed_by != NULL && passed_by(now) != 0;
}

/* The library if it is of the kind that is wanted; else it is closed. */
static void *only(bool weir, void *library)
{
    if (library == NULL || is_weir(library) == weir)
        return library;
    was_passed_by(library, 1);
    dlclose(library);
    return NULL;
}

static void *open_weir(void)
{
    void *library = only(true, open_beside());

    if (library == NULL)
        library = only(true, open_path(file));
    return library != NULL ? library : only(true, open_of_toolkit());
}

/* The loader may find Weir's first, by a program's run path: then the places where distributions,
 * containers and WSL put the driver of a GPU. */
static void *open_gpu(void)
{
    const char *p = getenv("LD_LIBRARY_PATH");
    void *library = only(false, open_path(file));

    for (; library == NULL && p != NULL && *p != '\0'; p += p[strcspn(p, ":")] == ':') {
        size_t n = strcspn(p, ":");
        library = n > 0 ? only(false, open_in(p, n)) : NULL;
        p += n;
    }
    for (size_t i = 0; library == NULL && i < COUNT(gpu_driver_places); i++)
        library = only(false, open_in(gpu_driver_places[i], strlen(gpu_driver_places[i])));
    return library;
}

static bool has_device(void *library)
{
    __typeof__(&cuInit) init = (__typeof__(&cuInit))dlsym(library, "cuInit");
    __typeof__(&cuDeviceGetCount) get_count =
        (__typeof__(&cuDeviceGetCount))dlsym(library, "cuDeviceGetCount");
    int count = 0;

    return init != NULL && get_count != NULL && init(0) == CUDA_SUCCESS &&
           get_count(&count) == CUDA_SUCCESS && count > 0;
}

static void *open_auto(void)
{
    void *library = open_gpu();

    return library != NULL && has_device(library) ? library : open_weir();
}

static void *refuse(const char *setting, const char *reason)
{
    fprintf(stderr, "weir: WEIR_DRIVER=%s: %s\n", setting, reason);
    return NULL;
}

/* Whether the program has loaded a driver of the other kind itself: its calls of cu* go there. */
static bool other_is_loaded(bool weir)
{
    void *loaded = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
    bool other = loaded != NULL && is_weir(loaded) != weir && !was_passed_by(loaded, 0);

    if (loaded != NULL)
        dlclose(loaded);
    return other;
}

static void *open_chosen(const char *setting, bool weir)
{
    void *library;

    if (other_is_loaded(weir))
        return refuse(setting, weir ? "the program has loaded another libcuda.so.1 than Weir's: "
                                      "run it with 'weir run --device=cpu'"
                                    : "the program has loaded Weir's libcuda.so.1, which runs on "
                                      "the CPU: run it with 'weir run --device=gpu'");
    library = weir ? open_weir() : open_gpu();
    if (library == NULL)
        refuse(setting, weir ? "Weir's libcuda.so.1 was not found: set LD_LIBRARY_PATH to the "
                               "directory that it is in, or run the program with 'weir run'"
                             : "no libcuda.so.1 of a GPU's driver was found: install NVIDIA's "
                               "driver, or name the library, WEIR_DRIVER=/path/to/libcuda.so.1");
    return library;
}

static void *open_named(const char *path)
{
    void *loaded = dlopen(file, RTLD_NOW | RTLD_NOLOAD); /* by the program itself */
    void *library;

    if (is_no_file(path))
        return refuse(path, "it is no regular file");
    library = open_path(path);
    if (library == NULL)
        return refuse(path, dlerror());
    if (dlsym(library, "cuInit") == NULL)
        return refuse(path, "it is no driver of CUDA: it has no cuInit");
    if (loaded != NULL && is_weir(loaded) != is_weir(library))
        return refuse(path, "the program has loaded another libcuda.so.1, to which its own calls "
                            "would go: run it with this one in LD_PRELOAD");
    return library;
}

void *rt_open_driver(void)
{
    const char *setting = getenv("WEIR_DRIVER");
    void *library;

    if (setting != NULL && strcmp(setting, "cpu") == 0)
        return open_chosen(setting, true);
    if (setting != NULL && strcmp(setting, "gpu") == 0)
        return open_chosen(setting, false);
    if (setting != NULL && strcmp(setting, "auto") == 0)
        return open_auto();
    if (setting != NULL && strchr(setting, '/') != NULL)
        return open_named(setting);
    if (setting != NULL && *setting != '\0')
        return refuse(setting, "it must be cpu, gpu, auto or the path of a libcuda.so.1, with a "
                               "slash");
    library = open_beside();
    if (library == NULL)
        library = open_path(file);
    return library != NULL ? library : open_of_toolkit();
}

void rt_driver_too_old(void *library, int version)
{
    Dl_info info = {0};
    const void *symbol = dlsym(library, "cuInit");

    if (symbol != NULL)
        dladdr(symbol, &info);
    fprintf(stderr,
            "weir: the driver %s is for CUDA %d.%d, this program's runtime needs %d.%d or newer: "
            "install a newer driver, or run the program on the CPU with WEIR_DRIVER=cpu\n",
            info.dli_fname != NULL ? info.dli_fname : file, version / 1000, version % 1000 / 10,
            rt_version / 1000, rt_version % 1000 / 10);
}
