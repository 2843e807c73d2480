/* weir run: what Python's packages for CUDA look for, so that they find Weir's tools and libraries
 * before those that NVIDIA's wheels bring.
 *
 * Most of them are told by variables of the environment. nvJitLink and NVRTC are not:
 * cuda.pathfinder, which numba-cuda and cuda.core ask, takes a wheel's library before any on the
 * loader's path, unless one is loaded already. So Weir's are preloaded where Python is started; its
 * NVRTC only where NVIDIA's is, which compiles for it (packages.c). And PyTorch's libraries find
 * the runtime of NVIDIA's package by a path of their own, which counts before the loader's: where
 * that is, Weir's is preloaded. */
#include "weir.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *in_directory(const char *path)
{
    return xprintf("%s/%s", weir_library_directory(), path);
}

/* Where execvp would find the program, or NULL. */
static char *find_program(const char *name)
{
    if (strchr(name, '/') != NULL)
        return xstrdup(name);
    const char *path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        int n = (int)strcspn(path, ":");
        char *file = n > 0 ? xprintf("%.*s/%s", n, path, name) : xstrdup(name);
        if (access(file, X_OK) == 0)
            return file;
        free(file);
        path += n + (path[n] == ':');
    }
    return NULL;
}

/* A script for Python by its first line; by its second where pip wrote a path that is too long for
 * the first: #!/bin/sh, then '''exec' and the interpreter. */
static bool python_script(const char *file)
{
    char text[1024] = "";
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n < 2 || text[0] != '#' || text[1] != '!')
        return false;
    text[n] = '\0';
    char *end = strchr(text, '\n');
    if (end != NULL && strncmp(end + 1, "'''exec'", 8) == 0)
        end = strchr(end + 1, '\n');
    if (end != NULL)
        *end = '\0';
    return strstr(text, "python") != NULL;
}

/* Whether the program is a Python: python, python3, python3.12, pypy3; or a script for one, as
 * pytest and jupyter are. */
static bool is_python(const char *program)
{
    const char *slash = strrchr(program, '/'), *name = slash != NULL ? slash + 1 : program;
    size_t n = strncmp(name, "python", 6) == 0 ? 6 : strncmp(name, "pypy", 4) == 0 ? 4 : 0;
    if (n > 0 && strspn(name + n, "0123456789.t") == strlen(name + n))
        return true;
    char *file = find_program(program);
    bool script = file != NULL && python_script(file);
    free(file);
    return script;
}

/* Whether a script that is no Python's mentions Python. */
static bool script_mentions_python(const char *file)
{
    enum { LOOKED_AT = 1 << 16 };
    char *text = xmalloc(LOOKED_AT + 1);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, LOOKED_AT) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    bool mentions = strncmp(text, "#!", 2) == 0 && strstr(text, "python") != NULL;
    free(text);
    return mentions;
}

/* The Python that the command starts: itself, or by a shell, `env`, `timeout` and the like, where
 * an argument or the script says so; NULL: none that can be seen. */
static const char *python_of(char *const *command)
{
    if (is_python(command[0]))
        return command[0];
    for (int i = 1; command[i] != NULL; i++) {
        size_t n = strlen(command[i]);
        if (command[i][0] != '-' && strchr(command[i], ' ') == NULL && is_python(command[i]))
            return command[i];
        if (strstr(command[i], "python") != NULL ||
            (n > 3 && strcmp(command[i] + n - 3, ".py") == 0))
            return "python";
    }
    char *file = find_program(command[0]);
    bool mentions = file != NULL && script_mentions_python(file);
    free(file);
    return mentions ? "python" : NULL;
}

/* Preloads Weir's NVRTC and runtime for each of NVIDIA's that is there. */
static void preload_for_packages(const char *program)
{
    char *file = find_program(program);
    if (file == NULL)
        file = find_program("python3");
    if (file == NULL)
        return;
    if (weir_find_nvrtc(file, 12))
        weir_preload("weir/cuda/nvrtc/libnvrtc.so.12", "NVRTC gives no code that loads here");
    if (weir_find_nvrtc(file, 13))
        weir_preload("weir/cuda/nvrtc/libnvrtc.so.13", "NVRTC gives no code that loads here");
    if (weir_has_runtime(file, 12))
        weir_preload("libcudart.so.12",
                     "packages use NVIDIA's runtime, which refuses Weir's driver");
    if (weir_has_runtime(file, 13))
        weir_preload("libcudart.so.13",
                     "packages use NVIDIA's runtime, which refuses Weir's driver");
    free(file);
}

/* The toolkit, unless the user has one: libnvvm and NVRTC are found by it, and Weir's has none. */
static void set_toolkit(void)
{
    static const char *const names[] = {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"};
    for (size_t i = 0; i < WEIR_COUNT(names); i++)
        if (getenv(names[i]) != NULL)
            return;
    if (access("/usr/local/cuda", F_OK) == 0)
        return;
    char *toolkit = in_directory("weir/cuda");
    for (size_t i = 0; i < WEIR_COUNT(names); i++)
        setenv(names[i], toolkit, 1);
    free(toolkit);
}

void weir_python_environment(char *const *command)
{
    static const struct {
        const char *name, *path; /* below the directory of libraries */
    } files[] = {
        {"TRITON_PTXAS_PATH", "weir/cuda/bin/ptxas"},
        {"TRITON_PTXAS_BLACKWELL_PATH", "weir/cuda/bin/ptxas"},
        {"TRITON_LIBCUDA_PATH", ""},
        {"NUMBA_CUDA_DRIVER", "libcuda.so.1"},
    };
    for (size_t i = 0; i < WEIR_COUNT(files); i++) {
        char *path = in_directory(files[i].path);
        setenv(files[i].name, path, 1);
        free(path);
    }
    setenv("CUPY_COMPILE_WITH_PTX", "1", 0); /* NVRTC is to give PTX, not machine code */
    set_toolkit();
    const char *python = python_of(command);
    if (python == NULL)
        return;
    preload_for_packages(python);
    weir_preload("libnvJitLink.so.12", "nvJitLink gives no code that loads here");
    weir_preload("libnvJitLink.so.13", "nvJitLink gives no code that loads here");
}
