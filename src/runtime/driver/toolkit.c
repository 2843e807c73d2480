/* toolkit: finding NVIDIA's toolkit on the machine that a program runs on, for the one file of it
 * that programs may need there: libcudadevrt.a. Weir has a file of that name, too, which is none.
 */
#include "runtime/driver/gpu.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where a toolkit keeps its libraries, from its root. */
static const char *const directories[] = {"lib64", "targets/x86_64-linux/lib", "lib",
                                          "targets/sbsa-linux/lib", "lib/x86_64-linux-gnu"};

/* Whether the file is Weir's: an archive of some kilobytes, with this name in it. */
static bool is_ours(const char *path)
{
    static const char mark[] = "__cudaWeirDeviceLink";
    static const size_t most = 1 << 16;
    char *text = malloc(most);
    FILE *f = fopen(path, "rb");
    size_t n = f != NULL && text != NULL ? fread(text, 1, most, f) : 0;
    bool ours = n > 0 && memmem(text, n, mark, sizeof mark - 1) != NULL;

    if (f != NULL)
        fclose(f);
    free(text);
    return ours;
}

static bool look_in(const char *root, char *path, size_t bytes)
{
    for (size_t i = 0; i < COUNT(directories); i++) {
        int n = snprintf(path, bytes, "%s/%s/libcudadevrt.a", root, directories[i]);

        if (n > 0 && (size_t)n < bytes && access(path, R_OK) == 0 && !is_ours(path))
            return true;
    }
    return false;
}

/* The root of the toolkit whose nvcc the shell would run. */
static bool root_of_nvcc(char root[PATH_MAX])
{
    const char *p = getenv("PATH");

    while (p != NULL && *p != '\0') {
        size_t n = strcspn(p, ":");
        char candidate[PATH_MAX];
        int length = snprintf(candidate, sizeof candidate, "%.*s/nvcc", (int)n, p);

        if (length > 0 && (size_t)length < sizeof candidate && access(candidate, X_OK) == 0 &&
            realpath(candidate, root) != NULL) {
            for (int up = 0; up < 2; up++) { /* bin/nvcc */
                char *slash = strrchr(root, '/');
                if (slash != NULL)
                    *slash = '\0';
            }
            return true;
        }
        p += n + (p[n] == ':');
    }
    return false;
}

bool rt_find_device_runtime(char *path, size_t bytes)
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    static const char *const roots[] = {"/usr/local/cuda", "/opt/cuda", "/usr"};
    char root[PATH_MAX];

    for (size_t i = 0; i < COUNT(variables); i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL && *value != '\0' && look_in(value, path, bytes))
            return true;
    }
    if (root_of_nvcc(root) && look_in(root, path, bytes))
        return true;
    for (size_t i = 0; i < COUNT(roots); i++)
        if (look_in(roots[i], path, bytes))
            return true;
    return false;
}
