/* weir run: which of NVIDIA's libraries a Python has in its packages: its libnvrtc, which compiles
 * for Weir's (src/nvrtc), and a libcudart of their own, which Weir's takes the place of. */
#include "weir.h"

#include <stdlib.h>

#include "base/env.h"
#include "nvrtc/find.h"

bool weir_find_nvrtc(const char *program, int major)
{
    const char *setting = env_entry(major == 12 ? ENV_NVRTC_12 : ENV_NVRTC_13)->name;
    if (getenv(setting) != NULL)
        return true;
    char *path = nvrtc_find(program, major);
    char *whole = path != NULL ? realpath(path, NULL) : NULL;
    bool found = whole != NULL;
    if (found)
        setenv(setting, whole, 1);
    free(whole);
    free(path);
    return found;
}

bool weir_has_runtime(const char *program, int major)
{
    char *library = xprintf("libcudart.so.%d", major);
    char *path = nvrtc_find_in_packages(program, library);
    bool found = path != NULL;
    free(path);
    free(library);
    return found;
}
