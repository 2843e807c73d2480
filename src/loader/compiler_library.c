/* Finds, identifies and opens libweir-jit.so: see compiler_library.h. */
#include "loader/compiler_library.h"
#include "base/reserve.h"
#include "base/stack.h"
#include "loader/loader.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What loading it may take, file and data: LLVM has some 130 MiB. */
enum { LOAD_BYTES = 192 << 20 };

/* ---- where it is ---- */

static char *plugin_path;     /* the file, once found */
static char *plugin_expected; /* where it belongs, for the message when it is not there */
static bool path_chosen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Looks beside the library (or program) that this code is part of. */
static void find_beside(void)
{
    static const char *const paths[] = {"weir/libweir-jit.so", "../lib/weir/libweir-jit.so"};
    Dl_info info;
    if (dladdr((void *)find_beside, &info) == 0 || info.dli_fname == NULL)
        return;
    char self[PATH_MAX]; /* no memory that may be missing: what is found here is kept */
    if (realpath(info.dli_fname, self) == NULL && realpath("/proc/self/exe", self) == NULL)
        return;
    const char *slash = strrchr(self, '/');
    for (size_t i = 0; slash != NULL && i < WEIR_COUNT(paths) && plugin_path == NULL; i++) {
        char *candidate = xprintf("%.*s/%s", (int)(slash - self), self, paths[i]);
        if (access(candidate, R_OK) == 0)
            plugin_path = candidate;
        else if (plugin_expected == NULL)
            plugin_expected = candidate;
        else
            free(candidate);
    }
}

static const char *path_locked(void)
{
    if (!path_chosen) {
        path_chosen = true;
        find_beside();
    }
    return plugin_path;
}

void jit_set_plugin_path(const char *path)
{
    pthread_mutex_lock(&lock);
    free(plugin_path);
    plugin_path = xstrdup(path);
    path_chosen = true;
    pthread_mutex_unlock(&lock);
}

const char *jit_plugin_path(void)
{
    pthread_mutex_lock(&lock);
    const char *path = path_locked();
    pthread_mutex_unlock(&lock);
    return path;
}

/* ---- which build it is ---- */

static bool read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* Adds the build id found in one PT_NOTE segment; false when it holds none. */
static bool hash_elf_notes(int fd, const Elf64_Phdr *segment, struct hash128 *h)
{
    uint64_t at = segment->p_offset, end = at + segment->p_filesz;
    if (segment->p_filesz > 4096)
        return false;
    while (at + sizeof(Elf64_Nhdr) <= end) {
        Elf64_Nhdr n;
        char name[4];
        uint8_t id[64];
        if (!read_at(fd, &n, sizeof n, at))
            return false;
        uint64_t desc = at + sizeof n + ((n.n_namesz + 3u) & ~3u);
        if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz <= sizeof id &&
            read_at(fd, name, 4, at + sizeof n) && memcmp(name, "GNU", 4) == 0 &&
            read_at(fd, id, n.n_descsz, desc)) {
            hash_add(h, id, n.n_descsz);
            return true;
        }
        at = desc + ((n.n_descsz + 3u) & ~3u);
    }
    return false;
}

static bool hash_build_id(int fd, struct hash128 *h)
{
    Elf64_Ehdr e;
    if (!read_at(fd, &e, sizeof e, 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
        e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof(Elf64_Phdr))
        return false;
    for (unsigned i = 0; i < e.e_phnum; i++) {
        Elf64_Phdr p;
        if (!read_at(fd, &p, sizeof p, e.e_phoff + i * sizeof p))
            return false;
        if (p.p_type == PT_NOTE && hash_elf_notes(fd, &p, h))
            return true;
    }
    return false;
}

void plugin_hash(struct hash128 *h)
{
    const char *path = jit_plugin_path();
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        /* It may be there and only not be opened now, for want of descriptors: then nothing that
         * this process makes is any other's. */
        struct timespec now = {0};
        pid_t self = getpid();
        clock_gettime(CLOCK_REALTIME, &now);
        hash_add(h, "none", 4);
        if (path != NULL) {
            hash_add(h, &self, sizeof self);
            hash_add(h, &now, sizeof now);
        }
        return;
    }
    struct stat st;
    if (!hash_build_id(fd, h) && fstat(fd, &st) == 0) { /* linked without one: size and date */
        hash_add(h, &st.st_size, sizeof st.st_size);
        hash_add(h, &st.st_mtim, sizeof st.st_mtim);
    }
    close(fd);
}

/* ---- opening it ---- */

static _Atomic(const struct jit_plugin *) plugin;

bool plugin_is_open(void) { return atomic_load(&plugin) != NULL; }

bool plugin_abandoned(void)
{
    const struct jit_plugin *p = atomic_load(&plugin);
    return p != NULL && p->abandoned();
}

/* Whether the library was built with this one. */
static bool matches(const struct jit_plugin *p)
{
    static const struct jit_plugin ours = {JIT_PLUGIN_HEAD};
    return p != NULL && p->version == ours.version && p->abi == ours.abi &&
           p->sizeof_block == ours.sizeof_block && p->sizeof_options == ours.sizeof_options &&
           p->sizeof_info == ours.sizeof_info && p->sizeof_module == ours.sizeof_module &&
           p->vocabulary == ours.vocabulary && p->cpu != NULL && p->check != NULL &&
           p->kernel_info != NULL && p->dump != NULL && p->compile != NULL && p->abandoned != NULL;
}

/* Code of the compiler's library, and of LLVM where that is one of its own. */
static struct code_range {
    uintptr_t address; /* of some function in it */
    uintptr_t from, to;
} code[2];

static int find_ranges(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct code_range *ranges = arg;
    (void)size;
    for (int n = 0; n < info->dlpi_phnum; n++) {
        const Elf64_Phdr *p = &info->dlpi_phdr[n];
        uintptr_t from = info->dlpi_addr + p->p_vaddr, to = from + p->p_memsz;
        if (p->p_type != PT_LOAD || (p->p_flags & PF_X) == 0)
            continue;
        for (size_t k = 0; k < WEIR_COUNT(code); k++)
            if (ranges[k].address >= from && ranges[k].address < to) {
                ranges[k].from = from;
                ranges[k].to = to;
            }
    }
    return 0;
}

bool plugin_has_code(uintptr_t pc)
{
    for (size_t k = 0; k < WEIR_COUNT(code); k++)
        if (pc >= code[k].from && pc < code[k].to)
            return true;
    return false;
}

/* Whether the process may open one more file; dlopen's message would be its only word on that. */
static bool descriptor_left(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool none = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
    if (fd >= 0)
        close(fd);
    return !none;
}

/* The first thread that has opened it says so. */
static void publish(const struct jit_plugin *p, const struct code_range *ranges)
{
    pthread_mutex_lock(&lock);
    if (atomic_load(&plugin) == NULL) {
        memcpy(code, ranges, sizeof code);
        atomic_store(&plugin, p);
    }
    pthread_mutex_unlock(&lock);
}

/* No lock is held: the dynamic linker has one of its own, and a thread that has it, in a
 * constructor of a library that is being opened, may come here, too. Several threads may open the
 * library. */
static const struct jit_plugin *open_library(struct diag *d)
{
    const char *path = jit_plugin_path();
    if (path == NULL) {
        diag_set(d, 0, 0, "the kernel compiler is missing: %s",
                 plugin_expected != NULL ? plugin_expected : "weir/libweir-jit.so");
        return NULL;
    }
    /* LLVM's constructors end the process when they find no memory. */
    if (!memory_likely(LOAD_BYTES)) {
        diag_set_memory(d, "the kernel compiler cannot be loaded");
        return NULL;
    }
    if (!descriptor_left(path)) {
        diag_set(d, 0, 0, "the kernel compiler cannot be loaded: too many open files");
        d->out_of_memory = true; /* for now: the next call may find one */
        return NULL;
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *why = dlerror();
        if (why != NULL && strstr(why, "failed to map segment") != NULL) /* its only word on that */
            diag_set_memory(d, "the kernel compiler cannot be loaded");
        else
            diag_set(d, 0, 0, "the kernel compiler cannot be loaded: %s", why != NULL ? why : path);
        return NULL;
    }
    jit_plugin_fn entry = (jit_plugin_fn)dlsym(handle, "weir_jit_plugin");
    const struct jit_plugin *p = entry != NULL ? entry() : NULL;
    if (!matches(p)) {
        diag_set(d, 0, 0, "%s belongs to another build of Weir: install both together", path);
        dlclose(handle);
        return NULL;
    }
    struct code_range ranges[WEIR_COUNT(code)] = {
        {.address = (uintptr_t)p->compile},
        {.address = (uintptr_t)dlsym(handle, "LLVMContextCreate")}};
    dl_iterate_phdr(find_ranges, ranges);
    publish(p, ranges);
    return p;
}

/* stack_call's idea of open_library: loading LLVM runs constructors, which need some stack. */
struct open_call {
    struct diag *d;
    const struct jit_plugin *result;
};
static void open_on_stack(void *arg)
{
    struct open_call *c = arg;
    c->result = open_library(c->d);
}

const struct jit_plugin *plugin_open(struct diag *d)
{
    const struct jit_plugin *p = atomic_load(&plugin);
    if (!plugin_usable(d))
        return NULL;
    if (p != NULL)
        return p;
    struct open_call c = {.d = d};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    stack_call(open_on_stack, &c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return c.result;
}
