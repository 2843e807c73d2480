/* Finding the parts of the toolkit and the compilers it drives; see toolchain.h. */
#include "weircc/toolkit/toolchain.h"
#include "weircc/toolkit/cccl.h"
#include "weircc/files/work.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The program's path as the shell would find it, or NULL. */
static char *find_program(const char *name)
{
    if (strchr(name, '/') != NULL)
        return is_program(name) ? xstrdup(name) : NULL;
    const char *path = getenv("PATH");
    for (const char *p = path; p != NULL && *p != '\0';) {
        size_t n = strcspn(p, ":");
        char *candidate = xprintf("%.*s/%s", n > 0 ? (int)n : 1, n > 0 ? p : ".", name);
        if (is_program(candidate))
            return candidate;
        free(candidate);
        p += n + (p[n] == ':');
    }
    return NULL;
}

/* Cuts the last component off. */
static char *parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? xprintf("%.*s", (int)(slash - path), path) : xstrdup(".");
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool find_self(struct toolchain *t, struct diag *d)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return diag_set(d, 0, 0, "Cannot find out where weircc is: /proc is not mounted");
    path[n] = '\0';
    t->self = xstrdup(path);
    t->root = parent(parent(path));
    t->include = xprintf("%s/include", t->root);
    t->lib = xprintf("%s/lib", t->root);
    t->support = xprintf("%s/lib/weir", t->root);
    t->link_lib = xprintf("%s/link", t->support);
    if (!is_directory(t->link_lib))
        t->link_lib = t->lib;
    if (!is_directory(t->include))
        return diag_set(d, 0, 0,
                        "'%s' does not exist: weircc must be in the bin directory of its toolkit, "
                        "beside include and lib",
                        t->include);
    return true;
}

static bool find_clang(struct toolchain *t, struct diag *d)
{
    static const char *const candidates[] = {"clang++-19", "/usr/lib/llvm-19/bin/clang++",
                                             "/usr/bin/clang++-19"};
    char *own = xprintf("%s/llvm/bin/clang++", t->support); /* a wheel brings one */
    t->clang = find_program(own);
    free(own);
    for (size_t i = 0; t->clang == NULL && i < WEIR_COUNT(candidates); i++)
        t->clang = find_program(candidates[i]);
    if (t->clang == NULL)
        return diag_set(d, 0, 0, "clang++-19 is not in the PATH: install Debian's clang-19");
    char *real = realpath(t->clang, NULL);
    t->clang_lib = xprintf("%s/lib", parent(parent(real != NULL ? real : t->clang)));
    free(real);
    return true;
}

static char *readable(char *path)
{
    if (access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

/* The mathematical functions for GPUs: those of NVIDIA's toolkit where this machine has one, as
 * nvcc takes them; else our own. */
static void find_gpu_math(struct toolchain *t)
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    static const char inside[] = "nvvm/libdevice/libdevice.10.bc";
    for (size_t i = 0; t->gpu_math == NULL && i < WEIR_COUNT(variables); i++) {
        const char *root = getenv(variables[i]);
        if (root != NULL && *root != '\0')
            t->gpu_math = readable(xprintf("%s/%s", root, inside));
    }
    if (t->gpu_math == NULL)
        t->gpu_math = readable(xprintf("/usr/local/cuda/%s", inside));
    if (t->gpu_math == NULL)
        t->gpu_math = readable(xprintf("%s/weir-gpu-math.bc", t->support));
}

/* The C++ driver that belongs to a C compiler: g++-12 for gcc-12, clang++ for clang. */
static char *cxx_of(const char *cc)
{
    static const struct {
        const char *c, *cxx;
    } names[] = {{"gcc", "g++"}, {"clang", "clang++"}};
    const char *base = base_name(cc);
    for (size_t i = 0; i < WEIR_COUNT(names); i++) {
        const char *at = strstr(base, names[i].c);
        size_t n = strlen(names[i].c);
        if (at == NULL || at[n] == '+')
            continue;
        char *cxx = xprintf("%.*s%s%s", (int)(at - cc), cc, names[i].cxx, at + n);
        if (find_program(cxx) != NULL)
            return cxx;
    }
    return strcmp(base, "cc") == 0 ? xprintf("%.*sc++", (int)(base - cc), cc) : xstrdup(cc);
}

static bool find_host_compiler(struct toolchain *t, const struct cmdline *c, struct diag *d)
{
    const char *wish = c->value[OPT_compiler_bindir];
    if (wish == NULL)
        wish = getenv("NVCC_CCBIN");
    if (wish == NULL || *wish == '\0') {
        t->cc = xstrdup("gcc");
        t->cxx = xstrdup("g++");
    } else if (is_directory(wish)) {
        t->cc = xprintf("%s/gcc", wish);
        t->cxx = xprintf("%s/g++", wish);
    } else {
        t->cc = xstrdup(wish);
        t->cxx = cxx_of(wish);
    }
    char **both[] = {&t->cc, &t->cxx};
    for (size_t i = 0; i < WEIR_COUNT(both); i++) {
        char *found = find_program(*both[i]);
        if (found == NULL)
            return diag_set(d, 0, 0,
                            wish != NULL ? "Host compiler '%s' not found (-ccbin)"
                                         : "Host compiler '%s' not found: install Debian's g++, or "
                                           "name another with -ccbin",
                            *both[i]);
        free(found);
    }
    return true;
}

/* Whether a name is that of a compiler, "g++-12" or "x86_64-linux-gnu-gcc", and not of something
 * that calls one, "mpicxx". */
static bool is_plain_compiler(const char *base)
{
    static const char *const names[] = {"gcc", "g++", "clang", "clang++", "cc", "c++"};
    for (size_t i = 0; i < WEIR_COUNT(names); i++)
        for (const char *at = strstr(base, names[i]); at != NULL; at = strstr(at + 1, names[i])) {
            char after = at[strlen(names[i])];
            if ((at == base || at[-1] == '-') && (after == '\0' || after == '-'))
                return true;
        }
    return false;
}

/* What such a host compiler adds to the directories of headers, which clang would not know. It is
 * asked; its own come before those of the C++ library. */
static void find_wrapped(struct toolchain *t)
{
    if (is_plain_compiler(base_name(t->cxx)))
        return;
    struct strlist argv = {0};
    list_add(&argv, "%s", t->cxx);
    char *quoted = work_quoted(&argv);
    char *command = xprintf("LC_ALL=C %s -E -v -x c++ /dev/null 2>&1 >/dev/null", quoted);
    FILE *answer = popen(command, "r");
    char line[PATH_MAX];
    bool searched = false;
    while (answer != NULL && fgets(line, sizeof line, answer) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (searched && (line[0] != ' ' || strstr(line, "/c++/") != NULL))
            searched = false;
        else if (searched)
            list_add(&t->wrapped, "%s", line + 1);
        else
            searched = strncmp(line, "#include <", 10) == 0;
    }
    if (answer != NULL)
        pclose(answer);
    free(command);
    free(quoted);
}

/* How the host compiler names instances of templates: gcc 14 and clang 18 began to tell in the
 * name what kind of parameter a value is for where that depends on others. */
static void find_names(struct toolchain *t)
{
    struct strlist argv = {0};
    list_add(&argv, "%s", t->cxx);
    char *quoted = work_quoted(&argv);
    char *command = xprintf("LC_ALL=C %s -dumpversion 2>/dev/null", quoted);
    FILE *answer = popen(command, "r");
    int version = 0;
    if (answer != NULL && fscanf(answer, "%d", &version) != 1)
        version = 0;
    if (answer != NULL)
        pclose(answer);
    bool clang = strstr(base_name(t->cxx), "clang") != NULL;
    t->older_names = version > 0 && version < (clang ? 18 : 14);
    free(command);
    free(quoted);
}

bool toolchain_find(struct toolchain *t, const struct cmdline *c, struct diag *d)
{
    t->ar = xstrdup(c->value[OPT_archiver_binary] != NULL ? c->value[OPT_archiver_binary] : "ar");
    if (!find_self(t, d) || !find_clang(t, d) || !find_host_compiler(t, c, d) ||
        !cccl_find(t->support, &t->cccl, d))
        return false;
    find_wrapped(t);
    find_names(t);
    find_gpu_math(t);
    return true;
}
