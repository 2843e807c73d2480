/* symbols: lines and functions of host code; see symbols.h. */
#include "driver/error/symbols.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "base/demangle.h"
#include "base/short_name.h"
#include "base/thread_fast.h"

/* ---- strings that stay: faults are few ---- */

struct kept {
    struct kept *next;
    char text[];
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* all of this file */
static WEIR_THREAD_FAST bool busy;                       /* the thread has the lock */

static void enter(void)
{
    pthread_mutex_lock(&lock);
    busy = true;
}

static void leave(void)
{
    busy = false;
    pthread_mutex_unlock(&lock);
}

bool symbols_busy(void) { return busy; }
static struct kept *kept;

/* One copy of each text. The lock is held. */
static const char *symbols_keep(const char *text)
{
    if (text == NULL)
        return NULL;
    for (struct kept *k = kept; k != NULL; k = k->next)
        if (strcmp(k->text, text) == 0)
            return k->text;
    size_t bytes = strlen(text) + 1;
    struct kept *k = xmalloc(sizeof *k + bytes);
    memcpy(k->text, text, bytes);
    k->next = kept;
    kept = k;
    return k->text;
}

static const char *demangled(const char *name)
{
    char *text = name != NULL ? demangle(name) : NULL;
    const char *result = symbols_keep(text);
    free(text);
    return result;
}

const char *symbol_demangle(const char *name)
{
    enter();
    const char *result = demangled(name);
    leave();
    return result;
}

const char *symbol_short(const char *name)
{
    enter();
    const char *result = demangled(name);
    if (result != NULL && strlen(result) > SHORT_NAME_MAX) {
        char *text = short_name_of(result);
        result = symbols_keep(text);
        free(text);
    }
    leave();
    return result;
}

/* ---- libdw ---- */

#define DW_FUNCTIONS(X)                                                                            \
    X(dwfl_begin)                                                                                  \
    X(dwfl_end)                                                                                    \
    X(dwfl_linux_proc_report)                                                                      \
    X(dwfl_linux_proc_find_elf)                                                                    \
    X(dwfl_standard_find_debuginfo)                                                                \
    X(dwfl_report_end)                                                                             \
    X(dwfl_addrmodule)                                                                             \
    X(dwfl_module_addrname)                                                                        \
    X(dwfl_module_nextcu)                                                                          \
    X(dwarf_haspc)                                                                                 \
    X(dwarf_getsrc_die)                                                                            \
    X(dwarf_linesrc)                                                                               \
    X(dwarf_lineno)                                                                                \
    X(dwarf_getscopes)                                                                             \
    X(dwarf_getscopes_die)                                                                         \
    X(dwarf_diename)                                                                               \
    X(dwarf_tag)                                                                                   \
    X(dwarf_attr)                                                                                  \
    X(dwarf_attr_integrate)                                                                        \
    X(dwarf_formstring)                                                                            \
    X(dwarf_formudata)                                                                             \
    X(dwarf_getsrcfiles)                                                                           \
    X(dwarf_filesrc)

static struct {
#define DW_ENTRY(name) __typeof__(&name) name;
    DW_FUNCTIONS(DW_ENTRY)
#undef DW_ENTRY
    bool tried, there;
} dw;

static bool open_dw(void)
{
    if (dw.tried)
        return dw.there;
    dw.tried = true;
    void *library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return false;
    dw.there = true;
#define DW_ENTRY(name)                                                                             \
    dw.name = (__typeof__(&name))dlsym(library, #name);                                            \
    dw.there &= dw.name != NULL;
    DW_FUNCTIONS(DW_ENTRY)
#undef DW_ENTRY
    return dw.there;
}

/* Where the function that inlined `scope` called it. */
static void caller_of(Dwarf_Die *unit, Dwarf_Die *scope, struct symbol *out)
{
    Dwarf_Attribute attr;
    Dwarf_Word file, line;
    Dwarf_Files *files;
    size_t count;
    if (dw.dwarf_formudata(dw.dwarf_attr(scope, DW_AT_call_file, &attr), &file) != 0 ||
        dw.dwarf_formudata(dw.dwarf_attr(scope, DW_AT_call_line, &attr), &line) != 0 ||
        dw.dwarf_getsrcfiles(unit, &files, &count) != 0)
        return;
    out->file = symbols_keep(dw.dwarf_filesrc(files, file, NULL, NULL));
    out->line = (int)line;
}

/* The typed overloads of the API's functions are templates in a header: whoever uses them is meant.
 */
static bool in_wrapper(const struct symbol *s)
{
    const char *slash = s->file != NULL ? strrchr(s->file, '/') : NULL;
    return slash != NULL && strcmp(slash, "/cuda_runtime.h") == 0;
}

/* Inlined functions at an address, innermost first, and the function that they are in. */
static int find_scopes(Dwarf_Die *unit, Dwarf_Addr at, Dwarf_Die **out)
{
    Dwarf_Die *innermost = NULL;
    *out = NULL;
    /* What these are in is where they are defined; where they are inlined is asked of the first. */
    int count = dw.dwarf_getscopes(unit, at, &innermost);
    if (count > 0)
        count = dw.dwarf_getscopes_die(&innermost[0], out);
    free(innermost);
    return count;
}

/* The kernel that a function of that name launches, and nothing else. clang's is called
 * __device_stub__fill, with arguments where it is demangled, nvcc's __device_stub__Z4fillPi. */
static const char *kernel_of_stub(const char *function, bool *nvcc)
{
    static const char prefix[] = "__device_stub__";
    const char *at = function != NULL ? strstr(function, prefix) : NULL;
    if (at == NULL)
        return NULL;
    at += sizeof prefix - 1;
    struct strbuf mangled = {0};
    sb_printf(&mangled, "_%.*s", (int)strcspn(at, "("), at);
    const char *name = demangled(mangled.items);
    *nvcc = strcmp(name, mangled.items) != 0;
    sb_free(&mangled);
    return *nvcc ? name : symbols_keep(at);
}

/* The same for a function by its debug information: clang's has the kernel's name there, and its
 * own to the linker. */
static const char *kernel_of_scope(Dwarf_Die *scope, bool *nvcc)
{
    Dwarf_Attribute attr;
    const char *kernel = kernel_of_stub(dw.dwarf_diename(scope), nvcc);
    if (kernel != NULL || dw.dwarf_attr_integrate(scope, DW_AT_linkage_name, &attr) == NULL)
        return kernel;
    const char *linked = dw.dwarf_formstring(&attr);
    return linked != NULL && strstr(linked, "__device_stub__") != NULL
               ? kernel_of_stub(demangled(linked), nvcc)
               : NULL;
}

/* Takes the place where the scope was inlined. False: it is a function of its own. */
static bool leave_scope(Dwarf_Die *unit, Dwarf_Die *scopes, int count, int *n, struct symbol *out)
{
    while (*n < count && dw.dwarf_tag(&scopes[*n]) == DW_TAG_lexical_block)
        ++*n;
    if (*n == count || dw.dwarf_tag(&scopes[*n]) != DW_TAG_inlined_subroutine)
        return false;
    caller_of(unit, &scopes[*n], out);
    ++*n;
    return true;
}

/* Of code that is no launch itself: it may be what calls one. */
static void find_inlined(Dwarf_Die *unit, Dwarf_Die *scopes, int count, struct symbol *out)
{
    int n = 0;
    struct symbol caller = {0};
    if (!leave_scope(unit, scopes, count, &n, &caller) || caller.file == NULL)
        return;
    const char *name = dw.dwarf_diename(&scopes[n - 1]);
    out->inlined = name != NULL ? symbols_keep(name) : NULL;
    out->inlined_file = caller.file;
    out->inlined_line = caller.line;
}

/* A launch is meant where it stands, not where its kernel is defined: both compilers give the
 * kernel's line to the function that launches it, nvcc also to the one around that, which has the
 * kernel's name. */
static void find_launch(Dwarf_Die *unit, Dwarf_Die *scopes, int count, struct symbol *out)
{
    int n = 0;
    bool nvcc = false;
    while (n < count && (out->kernel = kernel_of_scope(&scopes[n], &nvcc)) == NULL)
        n++;
    if (n == count) {
        find_inlined(unit, scopes, count, out);
        return;
    }
    out->stub = !leave_scope(unit, scopes, count, &n, out);
    if (out->stub || !nvcc)
        return;
    while (n < count && dw.dwarf_tag(&scopes[n]) == DW_TAG_lexical_block)
        n++;
    const char *name = n < count ? dw.dwarf_diename(&scopes[n]) : NULL;
    if (name != NULL && strstr(out->kernel, name) != NULL)
        out->stub = !leave_scope(unit, scopes, count, &n, out);
}

static void find_line(Dwarf_Die *unit, Dwarf_Addr at, struct symbol *out)
{
    Dwarf_Line *line = dw.dwarf_getsrc_die(unit, at);
    Dwarf_Die *scopes;
    if (line == NULL)
        return;
    out->file = symbols_keep(dw.dwarf_linesrc(line, NULL, NULL));
    dw.dwarf_lineno(line, &out->line);
    int count = find_scopes(unit, at, &scopes);
    for (int n = 0; n < count && in_wrapper(out); n++)
        if (dw.dwarf_tag(&scopes[n]) == DW_TAG_inlined_subroutine)
            caller_of(unit, &scopes[n], out);
    find_launch(unit, scopes, count, out);
    free(scopes);
}

static void find_with_dw(uint64_t address, struct symbol *out)
{
    static char *debug_path; /* the system's */
    const Dwfl_Callbacks callbacks = {.find_elf = dw.dwfl_linux_proc_find_elf,
                                      .find_debuginfo = dw.dwfl_standard_find_debuginfo,
                                      .debuginfo_path = &debug_path};
    /* Fresh each time: libraries come and go. */
    Dwfl *dwfl = dw.dwfl_begin(&callbacks);
    if (dwfl == NULL)
        return;
    if (dw.dwfl_linux_proc_report(dwfl, getpid()) == 0 &&
        dw.dwfl_report_end(dwfl, NULL, NULL) == 0) {
        Dwfl_Module *module = dw.dwfl_addrmodule(dwfl, address);
        const char *name = module != NULL ? dw.dwfl_module_addrname(module, address) : NULL;
        Dwarf_Die *unit = NULL;
        Dwarf_Addr bias = 0;
        if (name != NULL)
            out->function = demangled(name);
        /* Each unit is asked itself: clang writes no index of addresses. */
        while (module != NULL && out->file == NULL &&
               (unit = dw.dwfl_module_nextcu(module, unit, &bias)) != NULL)
            if (dw.dwarf_haspc(unit, address - bias) > 0)
                find_line(unit, address - bias, out);
    }
    dw.dwfl_end(dwfl);
}

/* ---- public ---- */

bool symbol_find(const void *address, struct symbol *out)
{
    uint64_t at = (uint64_t)(uintptr_t)address - 1;
    Dl_info info;
    memset(out, 0, sizeof *out);
    enter();
    if (dladdr((const void *)(uintptr_t)at, &info) != 0) {
        const char *slash = info.dli_fname != NULL ? strrchr(info.dli_fname, '/') : NULL;
        out->object = symbols_keep(slash != NULL ? slash + 1 : info.dli_fname);
        out->offset = at - (uint64_t)(uintptr_t)info.dli_fbase;
        if (info.dli_sname != NULL) {
            out->function = demangled(info.dli_sname);
            out->offset = at - (uint64_t)(uintptr_t)info.dli_saddr;
        }
    }
    if (open_dw())
        find_with_dw(at, out);
    /* nvcc 13's stubs call the runtime by a function of a header. */
    static const char helper[] = "__cudaLaunchKernel_helper";
    if (out->function != NULL && strncmp(out->function, helper, sizeof helper - 1) == 0)
        out->stub = true;
    bool nvcc;
    if (out->kernel == NULL && (out->kernel = kernel_of_stub(out->function, &nvcc)) != NULL)
        out->stub = true;
    leave();
    return out->object != NULL || out->function != NULL || out->file != NULL;
}

void symbol_words(const struct symbol *s, struct strbuf *out)
{
    if (s->file != NULL) {
        sb_printf(out, " at %s:%d", s->file, s->line);
    } else if (s->function != NULL) {
        sb_printf(out, " in ");
        short_name(out, s->function);
    } else {
        sb_printf(out, " in %s+0x%llx", s->object, (unsigned long long)s->offset);
    }
}

/* ---- callers of the system's functions ---- */

static bool is_system(const void *at)
{
    static const char *const names[] = {"libc.so",     "libm.so",       "libstdc++.so",
                                        "libgcc_s.so", "libpthread.so", "ld-linux"};
    Dl_info info;
    if (dladdr(at, &info) == 0 || info.dli_fname == NULL)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    const char *base = slash != NULL ? slash + 1 : info.dli_fname;
    for (size_t n = 0; n < WEIR_COUNT(names); n++)
        if (strncmp(base, names[n], strlen(names[n])) == 0)
            return true;
    return false;
}

const void *symbol_program_pc(const void *pc)
{
    void *frames[64];
    if (!is_system(pc))
        return pc;
    int count = backtrace(frames, WEIR_COUNT(frames)), n = 0;
    while (n < count && frames[n] != pc)
        n++; /* the handler's own frames */
    while (n < count && is_system(frames[n]))
        n++;
    return n < count ? (const char *)frames[n] - 1 : pc; /* it returns to the frame's address */
}
