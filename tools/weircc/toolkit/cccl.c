/* Finding CCCL; see cccl.h. */
#include "weircc/toolkit/cccl.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cccl_has(const char *header)
{
    static const char *const parts[] = {"cub/", "thrust/", "cuda/", "nv/"};
    for (size_t i = 0; i < WEIR_COUNT(parts); i++)
        if (strncmp(header, parts[i], strlen(parts[i])) == 0)
            return true;
    return false;
}

static bool is_there(const char *directory, const char *file)
{
    char *path = xprintf("%s/%s", directory, file);
    bool there = access(path, R_OK) == 0;
    free(path);
    return there;
}

/* A directory in which all of it is, as packages have it. */
static bool is_whole(const char *directory)
{
    return is_there(directory, "cub/cub.cuh") && is_there(directory, "thrust/version.h") &&
           is_there(directory, "cuda/std/cstddef");
}

static bool add_whole(struct strlist *out, const char *directory)
{
    bool whole = is_whole(directory);
    if (whole)
        list_add(out, "%s", directory);
    return whole;
}

/* The repository has each library in a directory of its own. */
static bool add_checkout(struct strlist *out, const char *directory)
{
    static const char *const parts[][2] = {{"libcudacxx/include", "cuda/std/cstddef"},
                                           {"cub", "cub/cub.cuh"},
                                           {"thrust", "thrust/version.h"}};
    for (size_t i = 0; i < WEIR_COUNT(parts); i++) {
        char *part = xprintf("%s/%s", directory, parts[i][0]);
        bool there = is_there(part, parts[i][1]);
        free(part);
        if (!there)
            return false;
    }
    for (size_t i = 0; i < WEIR_COUNT(parts); i++)
        list_add(out, "%s/%s", directory, parts[i][0]);
    return true;
}

/* What the user names may be the directory itself, one above it, or the repository. */
static bool add_named(struct strlist *out, const char *directory)
{
    static const char *const below[] = {"", "/cccl", "/include/cccl", "/include"};
    for (size_t i = 0; i < WEIR_COUNT(below); i++) {
        char *path = xprintf("%s%s", directory, below[i]);
        bool added = add_whole(out, path);
        free(path);
        if (added)
            return true;
    }
    return add_checkout(out, directory);
}

/* A toolkit of CUDA 13. Those before have it among all other headers, which are not wanted. */
static bool add_toolkit(struct strlist *out, const char *root)
{
    if (root == NULL || *root == '\0')
        return false;
    char *path = xprintf("%s/include/cccl", root);
    bool added = add_whole(out, path);
    free(path);
    return added;
}

/* The package nvidia-cuda-cccl of a Python installation; the newest when there are several. */
static bool add_python(struct strlist *out, const char *prefix)
{
    if (prefix == NULL || *prefix == '\0')
        return false;
    char *pattern = xprintf("%s/lib/{python3,python3.*}/{site,dist}-packages/nvidia/"
                            "{cuda_cccl,cu[0-9]*}/include{,/cccl}",
                            prefix);
    glob_t found = {0};
    bool added = false;
    if (glob(pattern, GLOB_BRACE, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i > 0 && !added; i--)
            added = add_whole(out, found.gl_pathv[i - 1]);
    globfree(&found);
    free(pattern);
    return added;
}

/* The directory above that of the first python3 in the PATH. */
static char *python_prefix(void)
{
    for (const char *p = getenv("PATH"); p != NULL && *p != '\0';) {
        size_t n = strcspn(p, ":");
        char *program = xprintf("%.*s/python3", (int)n, p);
        bool there = access(program, X_OK) == 0;
        free(program);
        if (there)
            return xprintf("%.*s/..", (int)n, p);
        p += n + (p[n] == ':');
    }
    return NULL;
}

static bool add_any_python(struct strlist *out)
{
    const char *home = getenv("HOME");
    char *local = home != NULL ? xprintf("%s/.local", home) : NULL, *python = python_prefix();
    const char *const prefixes[] = {
        getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX"), local, python, "/usr/local", "/usr"};
    bool added = false;
    for (size_t i = 0; i < WEIR_COUNT(prefixes) && !added; i++)
        added = add_python(out, prefixes[i]);
    free(local);
    free(python);
    return added;
}

bool cccl_find(const char *support, struct strlist *directories, struct diag *d)
{
    const char *named = getenv("WEIR_CCCL");
    if (named != NULL) {
        if (*named == '\0' || strcmp(named, "off") == 0 || add_named(directories, named))
            return true;
        return diag_set(d, 0, 0,
                        "WEIR_CCCL names '%s', in which there is no CCCL (cub/cub.cuh, "
                        "thrust/version.h and cuda/std/cstddef, or a checkout of it)",
                        named);
    }
    char *own = xprintf("%s/cccl", support);
    if (!add_whole(directories, own) && !add_toolkit(directories, getenv("CUDA_HOME")) &&
        !add_toolkit(directories, getenv("CUDA_PATH")) && !add_any_python(directories))
        add_toolkit(directories, "/usr/local/cuda");
    free(own);
    return true;
}
