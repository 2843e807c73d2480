/* inject (E2.5): a library to preload, with which a chosen call to the system fails: memory, mappings,
 * files, threads. It is told by inject_begin (inject.h) or, before the program begins, by
 * WEIR_INJECT=KINDS,AT,PERSIST,EVERYONE. */
#include "inject.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *p, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);

static struct {
    atomic_uint kinds;
    unsigned long at;
    bool persist, everyone;
    atomic_ulong count, failed;
} now;

void inject_begin(unsigned kinds, unsigned long at, bool persist, bool everyone)
{
    atomic_store(&now.kinds, 0);
    now.at = at;
    now.persist = persist;
    now.everyone = everyone;
    atomic_store(&now.count, 0);
    atomic_store(&now.failed, 0);
    atomic_store(&now.kinds, kinds);
}

unsigned long inject_end(void)
{
    atomic_store(&now.kinds, 0);
    return atomic_load(&now.count);
}

unsigned long inject_failed(void) { return atomic_load(&now.failed); }

static void ended(int number)
{
    void *stack[24];
    backtrace_symbols_fd(stack, backtrace(stack, 24), 2);
    signal(number, SIG_DFL);
    raise(number);
}

__attribute__((constructor)) static void inject_read(void)
{
    if (getenv("INJECT_SHOW") != NULL)
        signal(SIGABRT, ended);
    const char *text = getenv("WEIR_INJECT");
    unsigned kinds, persist, everyone;
    unsigned long at;
    if (text != NULL && sscanf(text, "%u,%lu,%u,%u", &kinds, &at, &persist, &everyone) == 4)
        inject_begin(kinds, at, persist != 0, everyone != 0);
}

/* Whether the code there is one of Weir's libraries. Takes no lock and allocates nothing. */
static bool is_weirs(void *caller)
{
    static const char *const names[] = {"libcuda.so", "libcudart.so", "libweir-jit.so"};
    struct dl_find_object found;
    if (_dl_find_object(caller, &found) != 0 || found.dlfo_link_map == NULL)
        return false;
    const char *slash = strrchr(found.dlfo_link_map->l_name, '/');
    for (size_t i = 0; slash != NULL && i < sizeof names / sizeof *names; i++)
        if (strncmp(slash + 1, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Where the first call failed, for people. */
static void show(void)
{
    unsigned kinds = atomic_exchange(&now.kinds, 0);
    void *stack[24];
    backtrace_symbols_fd(stack, backtrace(stack, 24), 2);
    atomic_store(&now.kinds, kinds);
}

static bool fails(enum inject_kind kind, void *caller, int error)
{
    if ((atomic_load_explicit(&now.kinds, memory_order_relaxed) & kind) == 0 ||
        (!now.everyone && !is_weirs(caller)))
        return false;
    unsigned long n = atomic_fetch_add(&now.count, 1) + 1;
    if (now.at == 0 || (now.persist ? n < now.at : n != now.at))
        return false;
    if (atomic_fetch_add(&now.failed, 1) == 0 && getenv("INJECT_SHOW") != NULL)
        show();
    errno = error;
    return true;
}

#define FAILS(kind, error) fails(kind, __builtin_return_address(0), error)

/* The next library's function. */
#define NEXT(name)                                                                                 \
    static __typeof__(&(name)) next;                                                               \
    if (next == NULL)                                                                              \
    next = (__typeof__(&(name)))dlsym(RTLD_NEXT, #name)

/* What a library's constructors are refused nobody can report: before it loads one, Weir looks
 * whether there is memory. */
void *dlopen(const char *path, int flags)
{
    NEXT(dlopen);
    unsigned kinds = atomic_exchange(&now.kinds, 0);
    void *handle = next(path, flags);
    atomic_store(&now.kinds, kinds);
    return handle;
}

/* ---- memory ---- */

void *malloc(size_t bytes) { return FAILS(INJECT_MEMORY, ENOMEM) ? NULL : __libc_malloc(bytes); }

void *calloc(size_t n, size_t bytes)
{
    return FAILS(INJECT_MEMORY, ENOMEM) ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
    return FAILS(INJECT_MEMORY, ENOMEM) ? NULL : __libc_realloc(p, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    return FAILS(INJECT_MEMORY, ENOMEM) ? NULL : __libc_memalign(align, bytes);
}

void *memalign(size_t align, size_t bytes)
{
    return FAILS(INJECT_MEMORY, ENOMEM) ? NULL : __libc_memalign(align, bytes);
}

int posix_memalign(void **out, size_t align, size_t bytes)
{
    int before = errno;
    void *p = FAILS(INJECT_MEMORY, ENOMEM) ? NULL : __libc_memalign(align, bytes);
    errno = before;
    if (p != NULL)
        *out = p;
    return p != NULL ? 0 : ENOMEM;
}

/* What allocates within the C library counts as its caller's. */
char *strdup(const char *s)
{
    if (FAILS(INJECT_MEMORY, ENOMEM))
        return NULL;
    size_t bytes = strlen(s) + 1;
    char *p = __libc_malloc(bytes);
    return p != NULL ? memcpy(p, s, bytes) : NULL;
}

char *realpath(const char *path, char *out)
{
    NEXT(realpath);
    return out == NULL && FAILS(INJECT_MEMORY, ENOMEM) ? NULL : next(path, out);
}

/* ---- mappings ---- */

void *mmap(void *address, size_t bytes, int rights, int flags, int fd, off_t offset)
{
    if (FAILS(INJECT_MAP, ENOMEM))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, bytes, rights, flags, fd, offset);
}

int mprotect(void *address, size_t bytes, int rights)
{
    return FAILS(INJECT_MAP, ENOMEM) ? -1 : (int)syscall(SYS_mprotect, address, bytes, rights);
}

/* ---- files ---- */

int open(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return FAILS(INJECT_FILE, EMFILE) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return FAILS(INJECT_FILE, EMFILE) ? -1 : (int)syscall(SYS_openat, at, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    NEXT(fopen);
    return FAILS(INJECT_FILE, EMFILE) ? NULL : next(path, mode);
}

DIR *opendir(const char *path)
{
    NEXT(opendir);
    return FAILS(INJECT_FILE, EMFILE) ? NULL : next(path);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    return FAILS(INJECT_FILE, ENOSPC) ? -1 : (ssize_t)syscall(SYS_write, fd, data, bytes);
}

int ftruncate(int fd, off_t bytes)
{
    return FAILS(INJECT_FILE, ENOSPC) ? -1 : (int)syscall(SYS_ftruncate, fd, bytes);
}

int memfd_create(const char *name, unsigned flags)
{
    return FAILS(INJECT_FILE, EMFILE) ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

int mkdir(const char *path, mode_t mode)
{
    return FAILS(INJECT_FILE, ENOSPC) ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int rename(const char *from, const char *to)
{
    NEXT(rename);
    return FAILS(INJECT_FILE, ENOSPC) ? -1 : next(from, to);
}

/* ---- threads ---- */

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*begin)(void *), void *arg)
{
    NEXT(pthread_create);
    int before = errno;
    bool failing = FAILS(INJECT_THREAD, EAGAIN);
    errno = before;
    return failing ? EAGAIN : next(thread, attr, begin, arg);
}

pid_t fork(void)
{
    NEXT(fork);
    return FAILS(INJECT_THREAD, EAGAIN) ? -1 : next();
}
