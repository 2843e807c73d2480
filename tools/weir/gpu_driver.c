/* Where the driver of this machine's GPU is: where the runtime looks for it, too
 * (src/runtime/driver/choose.c). */
#include "weir.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/driver/places.h"

static const char file[] = "libcuda.so.1";

/* The library at the path, unless it is Weir's, under the name that the loader knows it by. */
static char *other_driver(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL), *init;
    Dl_info info = {0};
    char *found = NULL;
    if (library == NULL)
        return NULL;
    init = dlsym(library, "cuInit");
    if (dlsym(library, "weir_last_message") == NULL && init != NULL && dladdr(init, &info) != 0)
        found = xstrdup(info.dli_fname);
    dlclose(library);
    return found;
}

static char *driver_in(const char *directory, size_t length)
{
    char *path = xprintf("%.*s/%s", (int)length, directory, file), *found = other_driver(path);
    free(path);
    return found;
}

char *weir_gpu_driver(void)
{
    const char *setting = getenv("WEIR_DRIVER"), *p = getenv("LD_LIBRARY_PATH");
    char *found = setting != NULL && strchr(setting, '/') != NULL ? other_driver(setting) : NULL;
    if (found == NULL)
        found = other_driver(file);
    for (; found == NULL && p != NULL && *p != '\0'; p += *p == ':') {
        size_t n = strcspn(p, ":");
        found = n > 0 ? driver_in(p, n) : NULL;
        p += n;
    }
    for (size_t i = 0; found == NULL && i < WEIR_COUNT(gpu_driver_places); i++)
        found = driver_in(gpu_driver_places[i], strlen(gpu_driver_places[i]));
    return found;
}
