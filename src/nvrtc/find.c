/* Finding NVIDIA's libnvrtc; see find.h. */
#include "nvrtc/find.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

/* The first file that matches, which the caller frees; NULL: there is none. */
static char *first_match(const char *pattern)
{
    glob_t found = {0};
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

/* The library in one of the directories of a path, separated by colons; not Weir's own, of this
 * toolkit or another. */
static char *on_path(const char *path, const char *library)
{
    while (path != NULL && *path != '\0') {
        int n = (int)strcspn(path, ":");
        char *candidate = xprintf("%.*s/%s", n, path, library);
        if (candidate[0] == '/' && access(candidate, R_OK) == 0 &&
            strstr(candidate, "/weir/cuda/nvrtc/") == NULL)
            return candidate;
        free(candidate);
        path += n + (path[n] == ':');
    }
    return NULL;
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

char *nvrtc_find_in_packages(const char *python, const char *library)
{
    static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    const char *slash = python != NULL ? strrchr(python, '/') : NULL, *home = getenv("HOME");
    char *path = NULL;
    if (python != NULL) {
        char *prefix = xprintf("%.*s/..", slash != NULL ? (int)(slash - python) : 1,
                               slash != NULL ? python : ".");
        path = in_packages(prefix, library);
        free(prefix);
    }
    for (size_t i = 0; path == NULL && i < WEIR_COUNT(variables); i++)
        path = below_variable(variables[i], library);
    if (path == NULL && home != NULL) {
        char *local = xprintf("%s/.local", home);
        path = in_packages(local, library);
        free(local);
    }
    return path;
}

char *nvrtc_find(const char *python, int major)
{
    char *library = xprintf("libnvrtc.so.%d", major);
    char *path = nvrtc_find_in_packages(python, library);
    if (path == NULL)
        path = below_variable("CUDA_HOME", library);
    if (path == NULL)
        path = below_variable("CUDA_PATH", library);
    if (path == NULL)
        path = on_path(getenv("LD_LIBRARY_PATH"), library);
    if (path == NULL)
        path = on_path("/usr/local/cuda/lib64:/usr/lib/x86_64-linux-gnu", library);
    if (path == NULL && python == NULL)
        path = in_packages("/usr/local", library);
    if (path == NULL && python == NULL)
        path = in_packages("/usr", library);
    free(library);
    return path;
}
