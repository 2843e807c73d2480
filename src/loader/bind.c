/* Binds undefined symbols: see bind.h for the names and where each comes from. */
#include "loader/bind.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "loader/lane_math.h"

/* ---- what an object wants ---- */

void wants_find(struct wants *w, const struct elf_object *o)
{
    *w = (struct wants){.symbols = xcalloc(o->nsymbols, sizeof *w->symbols)};
    for (uint32_t i = 1; i < o->nsymbols; i++) {
        Elf64_Sym s = elf_symbol(o, i);
        if (s.st_shndx == SHN_UNDEF && strcmp(elf_symbol_name(o, &s), "_GLOBAL_OFFSET_TABLE_") != 0)
            w->symbols[w->count++] = i;
    }
}

void wants_free(struct wants *w)
{
    free(w->symbols);
    *w = (struct wants){0};
}

/* ---- run-time functions of the compiler ---- */

/* Code generators call these for operations that the CPU lacks. All but bfloat16's come from
 * libgcc, linked into this library. Only the address is used here, so the type does not matter. */
#define COMPILER_FUNCTIONS(X)                                                                      \
    X(__extendhfsf2)                                                                               \
    X(__extendhfdf2)                                                                               \
    X(__truncsfhf2)                                                                                \
    X(__truncdfhf2)                                                                                \
    X(__multi3)                                                                                    \
    X(__divti3)                                                                                    \
    X(__udivti3)                                                                                   \
    X(__modti3)                                                                                    \
    X(__umodti3)                                                                                   \
    X(__ashlti3)                                                                                   \
    X(__ashrti3)                                                                                   \
    X(__lshrti3) X(__fixsfti) X(__fixdfti) X(__fixunssfti) X(__fixunsdfti) X(__floattisf)          \
        X(__floattidf) X(__floatuntisf) X(__floatuntidf) X(__popcountdi2) X(__powisf2)             \
            X(__powidf2)

#if defined(__x86_64__)
#define DECLARE(name) extern void name(void);
COMPILER_FUNCTIONS(DECLARE)
#undef DECLARE

/* Double and float to bfloat16, nearest even. libgcc 12 has none; the ABI passes and returns both
 * in xmm0, which is what the compiler does for __bf16. */
static uint16_t bf16_round(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(u >> 16 | 0x40u); /* a NaN stays one, quietened */
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* A double, rounded so that rounding the result to bfloat16 gives what one rounding would: to
 * float with the last bit set when anything was lost ("round to odd"). */
static float odd_float(double x)
{
    float f = (float)x;
    if ((double)f == x || x != x)
        return f;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    bool away = (x > 0 && (double)f > x) || (x < 0 && (double)f < x);
    u = (away ? u - 1 : u) | 1u;
    memcpy(&f, &u, sizeof f);
    return f;
}

#if defined(__clang__) || __GNUC__ >= 13
#define WEIR_HAS_BF16 1
static __bf16 truncsfbf2(float f)
{
    uint16_t bits = bf16_round(f);
    __bf16 b;
    memcpy(&b, &bits, sizeof b);
    return b;
}
static __bf16 truncdfbf2(double x) { return truncsfbf2(odd_float(x)); }
#endif
#endif

struct known {
    const char *name;
    void *address;
};

static void *compiler_function(const char *name)
{
#if defined(__x86_64__)
#define ENTRY(name) {#name, (void *)(name)},
    static const struct known table[] = {
        COMPILER_FUNCTIONS(ENTRY)
#ifdef WEIR_HAS_BF16
            {"__truncsfbf2", (void *)truncsfbf2},
        {"__truncdfbf2", (void *)truncdfbf2},
#endif
    };
#undef ENTRY
    for (size_t i = 0; i < WEIR_COUNT(table); i++)
        if (strcmp(table[i].name, name) == 0)
            return table[i].address;
#endif
    return NULL;
}

/* ---- C library ---- */

static void *libc_function(const char *name)
{
    static const struct known table[] = {
        {"memcpy", (void *)memcpy}, {"memmove", (void *)memmove}, {"memset", (void *)memset},
        {"memcmp", (void *)memcmp}, {"bcmp", (void *)memcmp},
    };
    for (size_t i = 0; i < WEIR_COUNT(table); i++)
        if (strcmp(table[i].name, name) == 0)
            return table[i].address;
    return NULL;
}

/* Math functions that LLVM may call; each exists with the suffix f too. */
static bool is_math_name(const char *name)
{
    static const char *const names[] = {
        "sin",    "cos",    "tan",       "asin",      "acos",   "atan",      "atan2",   "sinh",
        "cosh",   "tanh",   "asinh",     "acosh",     "atanh",  "exp",       "exp2",    "exp10",
        "expm1",  "log",    "log2",      "log10",     "log1p",  "pow",       "sqrt",    "cbrt",
        "hypot",  "fmod",   "remainder", "fma",       "fmin",   "fmax",      "fabs",    "floor",
        "ceil",   "trunc",  "rint",      "nearbyint", "round",  "roundeven", "ldexp",   "scalbn",
        "frexp",  "modf",   "logb",      "copysign",  "fdim",   "erf",       "erfc",    "lgamma",
        "tgamma", "sincos", "nextafter", "lrint",     "llrint", "lround",    "llround",
    };
    size_t length = strlen(name);
    for (size_t i = 0; i < WEIR_COUNT(names); i++) {
        size_t n = strlen(names[i]);
        if (strncmp(names[i], name, n) == 0 && (length == n || (length == n + 1 && name[n] == 'f')))
            return true;
    }
    return false;
}

/* A library opened once, at the first name wanted from it, and never closed. */
struct library {
    const char *file;
    void *handle;
    char error[256];
    bool tried;
};

static void *library_symbol(struct library *lib, const char *name, struct diag *d)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!lib->tried) {
        lib->tried = true;
        lib->handle = dlopen(lib->file, RTLD_NOW | RTLD_LOCAL);
        if (lib->handle == NULL) {
            const char *why = dlerror();
            strncpy(lib->error, why != NULL ? why : "no reason given", sizeof lib->error - 1);
        }
    }
    void *address = lib->handle != NULL ? dlsym(lib->handle, name) : NULL;
    if (lib->handle == NULL)
        diag_set(d, 0, 0, "compiled code needs %s: %s", lib->file, lib->error);
    pthread_mutex_unlock(&lock);
    return address;
}

static void *library_function(const char *name, struct diag *d)
{
    static struct library sleef = {.file = "libsleef.so.3"}, math = {.file = "libm.so.6"};
    if (strncmp(name, "Sleef_", 6) == 0)
        return library_symbol(&sleef, name, d);
    if (strncmp(name, "weir_alu_", 9) == 0)
        return alu_symbol(name);
    void *address = libc_function(name);
    if (address == NULL)
        address = compiler_function(name);
    if (address == NULL && is_math_name(name))
        address = library_symbol(&math, name, d);
    return address;
}

/* ---- binding ---- */

/* The number after `prefix`, or -1 when the name is not of that form or the number not < limit. */
static int32_t name_index(const char *name, const char *prefix, int32_t limit)
{
    size_t n = strlen(prefix);
    if (strncmp(name, prefix, n) != 0 || name[n] == '\0' || strlen(name + n) > 9)
        return -1;
    int32_t value = 0;
    for (const char *p = name + n; *p != '\0'; p++) {
        if (*p < '0' || *p > '9')
            return -1;
        value = value * 10 + (*p - '0');
    }
    return value < limit ? value : -1;
}

static uint64_t bind_symbol(const char *name, const struct ptx_module *m,
                            const struct jit_resolver *resolver, struct diag *d)
{
    int32_t index = name_index(name, "weir_var_", m->nvars);
    if (index >= 0)
        return resolver->var_address(resolver->self, m->vars[index]);
    index = name_index(name, "weir_func_", m->nfuncs);
    if (index >= 0)
        return resolver->func_address(resolver->self, m->funcs[index]);
    if (strncmp(name, "weir_rt_", 8) == 0)
        return (uint64_t)(uintptr_t)resolver->helper(resolver->self, name + 8);
    return (uint64_t)(uintptr_t)library_function(name, d);
}

/* What the user calls the thing that could not be bound. */
static bool refuse(const char *name, const struct ptx_module *m, struct diag *d)
{
    int32_t index = name_index(name, "weir_var_", m->nvars);
    if (index >= 0)
        return diag_set(d, m->vars[index]->line, 0, "variable %s has no address in this module",
                        m->vars[index]->name);
    index = name_index(name, "weir_func_", m->nfuncs);
    if (index >= 0)
        return diag_set(d, m->funcs[index]->line, 0, "function %s has no address in this module",
                        m->funcs[index]->name);
    if (strncmp(name, "weir_rt_", 8) == 0)
        return diag_set(d, 0, 0, "function %s is declared but not defined", name + 8);
    return diag_set(d, 0, 0, "compiled code refers to %s, which nothing provides", name);
}

bool bind_wants(const struct wants *w, const struct elf_object *o, const struct ptx_module *m,
                const struct jit_resolver *resolver, uint64_t *values, struct diag *d)
{
    for (uint32_t k = 0; k < w->count; k++) {
        Elf64_Sym s = elf_symbol(o, w->symbols[k]);
        const char *name = elf_symbol_name(o, &s);
        values[k] = bind_symbol(name, m, resolver, d);
        if (values[k] == 0 && ELF64_ST_BIND(s.st_info) != STB_WEAK)
            return refuse(name, m, d);
    }
    return true;
}
