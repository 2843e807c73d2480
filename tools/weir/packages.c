/* weir run: which of NVIDIA's libraries a Python has in its packages. Where its libnvrtc is, which
 * compiles for Weir's (src/nvrtc); it may also be on the loader's path, or in a toolkit of
 * NVIDIA's. And whether packages bring a libcudart of their own, which Weir's takes the place of.
 */
#include "weir.h"

#include "base/env.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first file that matches, which the caller frees; NULL: there is none. */
static char *first_match(const char *pattern)
{
    glob_t found;
    char *path = glob(pattern, GLOB_BRACE, NULL, &found) == 0 ? xstrdup(found.gl_pathv[0]) : NULL;
    globfree(&found);
    return path;
}

/* The library in the packages of Python below a prefix: a virtual environment, /usr, ~/.local. */
static char *in_packages(const char *prefix, const char *library)
{
    char *pattern =
        xprintf("%s/lib/python3*/{site,dist}-packages/nvidia/*/lib/%s", prefix, library);
    char *path = first_match(pattern);
    free(pattern);
    return path;
}

/* The library in one of the directories of a path, separated by colons; not Weir's own. */
static char *on_path(const char *path, const char *library)
{
    char *own = xprintf("%s/weir/cuda/nvrtc/", weir_library_directory());
    char *file = NULL;
    while (file == NULL && path != NULL && *path != '\0') {
        int n = (int)strcspn(path, ":");
        char *candidate = xprintf("%.*s/%s", n, path, library);
        if (candidate[0] == '/' && access(candidate, R_OK) == 0 &&
            strncmp(candidate, own, strlen(own)) != 0)
            file = candidate;
        else
            free(candidate);
        path += n + (path[n] == ':');
    }
    free(own);
    return file;
}

/* The library below the directory that a variable names. */
static char *below_variable(const char *variable, const char *library)
{
    const char *prefix = getenv(variable);
    if (prefix == NULL || prefix[0] != '/')
        return NULL;
    char *directories = xprintf("%s/lib64:%s/lib", prefix, prefix);
    char *path = on_path(directories, library);
    free(directories);
    return path != NULL ? path : in_packages(prefix, library);
}

/* The library in the packages beside the program, in those that a variable names, or the user's. */
static char *in_its_packages(const char *program, const char *library)
{
    static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    const char *slash = strrchr(program, '/'), *home = getenv("HOME");
    char *prefix = xprintf("%.*s/..", slash != NULL ? (int)(slash - program) : 1,
                           slash != NULL ? program : ".");
    char *path = in_packages(prefix, library);
    free(prefix);
    for (size_t i = 0; path == NULL && i < WEIR_COUNT(variables); i++)
        path = below_variable(variables[i], library);
    if (path == NULL && home != NULL) {
        char *local = xprintf("%s/.local", home);
        path = in_packages(local, library);
        free(local);
    }
    return path;
}

static char *search(const char *program, const char *library)
{
    char *path = in_its_packages(program, library);
    if (path == NULL)
        path = below_variable("CUDA_HOME", library);
    if (path == NULL)
        path = below_variable("CUDA_PATH", library);
    if (path == NULL)
        path = on_path(getenv("LD_LIBRARY_PATH"), library);
    return path != NULL ? path
                        : on_path("/usr/local/cuda/lib64:/usr/lib/x86_64-linux-gnu", library);
}

bool weir_find_nvrtc(const char *program, int major)
{
    const char *setting = env_entry(major == 12 ? ENV_NVRTC_12 : ENV_NVRTC_13)->name;
    if (getenv(setting) != NULL)
        return true;
    char *library = xprintf("libnvrtc.so.%d", major);
    char *path = search(program, library);
    char *whole = path != NULL ? realpath(path, NULL) : NULL;
    bool found = whole != NULL;
    if (found)
        setenv(setting, whole, 1);
    free(whole);
    free(path);
    free(library);
    return found;
}

bool weir_has_runtime(const char *program, int major)
{
    char *library = xprintf("libcudart.so.%d", major);
    char *path = in_its_packages(program, library);
    bool found = path != NULL;
    free(path);
    free(library);
    return found;
}
