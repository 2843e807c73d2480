/* registry: what programs registered: a table from host addresses to kernels and variables, and the
 * lists of each binary. Registration happens in constructors of executables and shared libraries,
 * look-ups in every launch of every thread: they take no lock. */
#include "runtime/program/registry.h"
#include "runtime/driver/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open addressing; a slot whose key is NULL was never used, TOMBSTONE was. */
struct slot {
    _Atomic(const void *) key;              /* written last: whoever sees it sees the rest */
    _Atomic(struct rt_function *) function; /* one of the two */
    _Atomic(struct rt_variable *) variable;
};

struct table {
    size_t capacity;       /* a power of two */
    struct table *smaller; /* outgrown, but a thread may still be reading it */
    struct slot slots[];
};

static struct {
    pthread_mutex_t lock; /* for those who change anything */
    _Atomic(struct table *) table;
    size_t count; /* slots in use, tombstones included */
    struct rt_binary *binaries;
    struct rt_function *adopted; /* kernels of libraries that the program loaded */
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char tombstone;
#define TOMBSTONE ((const void *)&tombstone)

static size_t hash(const void *key) { return (size_t)((uintptr_t)key * 0x9E3779B97F4A7C15u >> 20); }

static const void *key_of(struct slot *s)
{
    return atomic_load_explicit(&s->key, memory_order_acquire);
}

/* The key's slot, or the free one where it belongs. */
static struct slot *probe(struct table *t, const void *key)
{
    struct slot *reusable = NULL;

    for (size_t i = hash(key);; i++) {
        struct slot *s = &t->slots[i & (t->capacity - 1)];
        const void *k = key_of(s);
        if (k == key)
            return s;
        if (k == NULL)
            return reusable != NULL ? reusable : s;
        if (k == TOMBSTONE && reusable == NULL)
            reusable = s;
    }
}

/* Some hundred records; what is freed of it is not used again. */
static struct {
    pthread_mutex_t lock;
    size_t used;
    atomic_bool lost; /* something could not be registered */
    _Alignas(16) char bytes[64 * 1024];
} records = {.lock = PTHREAD_MUTEX_INITIALIZER};

void *rt_record_new(size_t bytes)
{
    void *p = calloc(1, bytes);

    if (p != NULL)
        return p;
    bytes = (bytes + 15) / 16 * 16;
    pthread_mutex_lock(&records.lock);
    if (bytes <= sizeof records.bytes - records.used) {
        p = records.bytes + records.used;
        records.used += bytes;
    }
    pthread_mutex_unlock(&records.lock);
    if (p == NULL)
        atomic_store(&records.lost, true);
    return p;
}

void rt_record_free(void *record)
{
    if ((char *)record < records.bytes || (char *)record >= records.bytes + sizeof records.bytes)
        free(record);
}

/* What it means that something is not found. */
static cudaError_t unknown(cudaError_t otherwise)
{
    return atomic_load_explicit(&records.lost, memory_order_relaxed) ? cudaErrorMemoryAllocation
                                                                     : otherwise;
}

static void fill(struct slot *s, const void *key, struct rt_function *f, struct rt_variable *v)
{
    s->function = f;
    s->variable = v;
    atomic_store_explicit(&s->key, key, memory_order_release);
}

static struct table *grow(struct table *old)
{
    size_t capacity = old != NULL ? old->capacity * 2 : 256;
    struct table *t = rt_record_new(sizeof *t + capacity * sizeof t->slots[0]);

    if (t == NULL)
        return NULL;
    t->capacity = capacity;
    t->smaller = old;
    registry.count = 0;
    for (size_t i = 0; old != NULL && i < old->capacity; i++) {
        struct slot *s = &old->slots[i];
        if (s->key != NULL && s->key != TOMBSTONE) {
            fill(probe(t, s->key), s->key, s->function, s->variable);
            registry.count++;
        }
    }
    atomic_store(&registry.table, t);
    return t;
}

/* A second registration of an address (an inline kernel in two objects) leaves the first; false. */
static bool insert(const void *key, struct rt_function *f, struct rt_variable *v)
{
    struct table *t = atomic_load(&registry.table);
    struct slot *s;

    if (t == NULL || (registry.count + 1) * 2 > t->capacity)
        t = grow(t);
    if (t == NULL)
        return false;
    s = probe(t, key);
    if (s->key == key)
        return false;
    if (s->key == NULL)
        registry.count++;
    fill(s, key, f, v);
    return true;
}

static struct slot *find(const void *key)
{
    struct table *t = atomic_load_explicit(&registry.table, memory_order_acquire);
    struct slot *s;

    if (key == NULL || t == NULL)
        return NULL;
    s = probe(t, key);
    return key_of(s) == key ? s : NULL;
}

static void erase(const void *key, const void *owner)
{
    struct slot *s = find(key);

    if (s != NULL && (s->function == owner || s->variable == owner))
        fill(s, TOMBSTONE, NULL, NULL);
}

/* ---- binaries ---- */

void rt_registry_lock(void) { pthread_mutex_lock(&registry.lock); }
void rt_registry_unlock(void) { pthread_mutex_unlock(&registry.lock); }
struct rt_binary *rt_binaries(void) { return registry.binaries; }

struct rt_binary *rt_binary_new(void)
{
    struct rt_binary *b = rt_record_new(sizeof *b);

    if (b == NULL)
        return NULL;
    pthread_mutex_init(&b->lock, NULL);
    pthread_mutex_lock(&registry.lock);
    b->next = registry.binaries;
    registry.binaries = b;
    pthread_mutex_unlock(&registry.lock);
    return b;
}

static void unlink_binary(struct rt_binary *b)
{
    struct rt_binary **at = &registry.binaries;

    while (*at != NULL && *at != b)
        at = &(*at)->next;
    if (*at != NULL)
        *at = b->next;
    for (struct rt_function *f = b->functions; f != NULL; f = f->next) {
        erase(f->host, f);
        erase(f, f);
    }
    for (struct rt_variable *v = b->variables; v != NULL; v = v->next)
        erase(v->host, v);
}

/* Nobody finds the function any more. */
static void function_free(struct rt_function *f)
{
    for (struct rt_bound *o = atomic_load(&f->bound), *next; o != NULL; o = next) {
        next = o->next;
        free(o);
    }
    rt_record_free(f);
}

/* The library is closed, and what it registered goes with it; threads of a process that ends may
 * still be looking. */
static RT_LAST void at_close(void)
{
    struct table *t;

    if (rt_exiting())
        return;
    for (t = atomic_exchange(&registry.table, NULL); t != NULL;) {
        struct table *smaller = t->smaller;
        rt_record_free(t);
        t = smaller;
    }
    for (struct rt_function *f = registry.adopted, *next; f != NULL; f = next) {
        next = f->next;
        function_free(f);
    }
    registry.adopted = NULL;
}

void rt_binary_free(struct rt_binary *b)
{
    if (b == NULL)
        return;
    pthread_mutex_lock(&registry.lock);
    unlink_binary(b);
    pthread_mutex_unlock(&registry.lock);
    rt_binary_unload(b);
    for (struct rt_function *f = b->functions, *next; f != NULL; f = next) {
        next = f->next;
        function_free(f);
    }
    for (struct rt_variable *v = b->variables, *next; v != NULL; v = next) {
        next = v->next;
        rt_record_free(v);
    }
    pthread_mutex_destroy(&b->lock);
    rt_record_free(b->pieces);
    rt_record_free(b);
}

void rt_binary_add_function(struct rt_binary *b, const void *host, const char *name)
{
    struct rt_function *f = b != NULL ? rt_record_new(sizeof *f) : NULL;

    if (f == NULL)
        return;
    f->host = host;
    f->name = name;
    f->binary = b;
    pthread_mutex_lock(&registry.lock);
    f->next = b->functions;
    b->functions = f;
    insert(host, f, NULL);
    insert(f, f, NULL); /* a cudaKernel_t is the record itself */
    pthread_mutex_unlock(&registry.lock);
}

static void add_variable(struct rt_binary *b, const struct rt_variable *as)
{
    struct rt_variable *v = b != NULL ? rt_record_new(sizeof *v) : NULL;

    if (v == NULL)
        return;
    *v = *as;
    v->binary = b;
    pthread_mutex_lock(&registry.lock);
    v->next = b->variables;
    b->variables = v;
    if (v->kind == RT_MANAGED && !v->pointer)
        b->managed = true;
    insert(v->host, NULL, v);
    pthread_mutex_unlock(&registry.lock);
}

void rt_binary_add_variable(struct rt_binary *b, const void *host, const char *name, size_t size,
                            enum rt_variable_kind kind, bool pointer)
{
    add_variable(b,
                 &(struct rt_variable){
                     .host = host, .name = name, .size = size, .kind = kind, .pointer = pointer});
}

void rt_binary_add_reference(struct rt_binary *b, const void *host, const char *name,
                             enum rt_variable_kind kind, bool fractions)
{
    add_variable(
        b, &(struct rt_variable){.host = host, .name = name, .kind = kind, .fractions = fractions});
}

cudaError_t rt_function_adopt(CUkernel kernel, CUlibrary library)
{
    struct rt_function *f = calloc(1, sizeof *f);
    bool fresh;

    RT_CHECK(f != NULL, cudaErrorMemoryAllocation);
    f->host = kernel;
    f->kernel = kernel;
    f->library = library;
    pthread_mutex_lock(&registry.lock);
    fresh = insert(kernel, f, NULL);
    if (fresh) {
        f->next = registry.adopted;
        registry.adopted = f;
    }
    pthread_mutex_unlock(&registry.lock);
    if (!fresh) /* asked for before */
        free(f);
    return cudaSuccess;
}

void rt_library_forget(CUlibrary library)
{
    struct rt_function *gone = NULL;

    pthread_mutex_lock(&registry.lock);
    for (struct rt_function **at = &registry.adopted, *f; (f = *at) != NULL;) {
        if (f->library != library) {
            at = &f->next;
            continue;
        }
        erase(f->host, f);
        *at = f->next;
        f->next = gone;
        gone = f;
    }
    pthread_mutex_unlock(&registry.lock);
    for (struct rt_function *next; gone != NULL; gone = next) {
        next = gone->next;
        function_free(gone);
    }
}

/* ---- look-ups ---- */

struct rt_function *rt_function_find(const void *host)
{
    struct slot *s = find(host);

    return s != NULL ? s->function : NULL;
}

struct rt_variable *rt_variable_find(const void *host)
{
    struct slot *s = find(host);

    return s != NULL ? s->variable : NULL;
}

/* One of nvcc's managed variables, whose memory the host names by where it is: the shadow is a
 * pointer to it. */
static struct rt_variable *managed_at(const void *memory)
{
    struct rt_variable *found = NULL;

    rt_registry_lock();
    for (struct rt_binary *b = rt_binaries(); b != NULL && memory != NULL; b = b->next)
        for (struct rt_variable *v = b->variables; v != NULL && found == NULL; v = v->next)
            if (v->pointer && *(void *const *)v->host == memory)
                found = v;
    rt_registry_unlock();
    return found;
}

/* Whether a variable of the device is called so in the source: as it is, or as the mangled name of
 * a static one, which separate compilation makes longer. */
static bool called(const char *mangled, const char *name)
{
    char start[32];
    int n = snprintf(start, sizeof start, "_ZL%zu", strlen(name));

    if (strcmp(mangled, name) == 0)
        return true;
    if (strncmp(mangled, start, (size_t)n) != 0 || strncmp(mangled + n, name, strlen(name)) != 0)
        return false;
    mangled += (size_t)n + strlen(name);
    return *mangled == '\0' || *mangled == '.' || strncmp(mangled, "__", 2) == 0;
}

struct rt_variable *rt_variable_named(const char *name)
{
    struct rt_variable *found = NULL;

    rt_registry_lock();
    for (struct rt_binary *b = rt_binaries(); b != NULL; b = b->next)
        for (struct rt_variable *v = b->variables; v != NULL && found == NULL; v = v->next)
            found = called(v->name, name) ? v : NULL;
    rt_registry_unlock();
    return found;
}

const void *rt_function_host(CUfunction function)
{
    const void *host = function;

    rt_registry_lock();
    for (struct rt_binary *b = rt_binaries(); b != NULL; b = b->next)
        for (struct rt_function *f = b->functions; f != NULL; f = f->next)
            for (struct rt_bound *n = atomic_load_explicit(&f->bound, memory_order_acquire);
                 n != NULL; n = n->next)
                if (n->function == function)
                    host = f->host;
    rt_registry_unlock();
    return host;
}

cudaError_t rt_function_name(const struct rt_function *f, const char **name)
{
    *name = f->name;
    if (f->kernel != NULL)
        CU_TRY(CU(cuKernelGetName, name, f->kernel));
    return cudaSuccess;
}

static cudaError_t bind(struct rt_function *f, uint64_t context, CUfunction *out)
{
    struct rt_bound *bound;
    CUmodule module;
    CUresult result;

    if (f->kernel != NULL) {
        CU_TRY(CU(cuKernelGetFunction, out, f->kernel));
    } else {
        RT_TRY(rt_binary_module(f->binary, &module));
        result = CU(cuModuleGetFunction, out, module, f->name);
        if (result == CUDA_ERROR_NOT_FOUND)
            return cudaErrorInvalidDeviceFunction;
        CU_TRY(result);
    }
    bound = malloc(sizeof *bound);
    RT_CHECK(bound, cudaErrorMemoryAllocation);
    *bound = (struct rt_bound){.context = context, .function = *out};
    bound->next = atomic_load(&f->bound);
    while (!atomic_compare_exchange_weak(&f->bound, &bound->next, bound))
        ;
    return cudaSuccess;
}

cudaError_t rt_function_in(const struct rt_here *here, const void *host, CUfunction *out)
{
    struct rt_function *f = rt_function_find(host);
    uint64_t id = here->id;

    /* what is no registered function is taken for a bad handle */
    RT_CHECK(
        f, unknown(host != NULL ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction));
    for (struct rt_bound *o = atomic_load_explicit(&f->bound, memory_order_acquire); o != NULL;
         o = o->next)
        if (LIKELY(o->context == id)) {
            *out = o->function;
            return cudaSuccess;
        }
    return bind(f, id, out);
}

cudaError_t rt_function_of(const void *host, CUfunction *out)
{
    const struct rt_here *here;

    RT_TRY(rt_find_here(&here));
    return rt_function_in(here, host, out);
}

cudaError_t rt_symbol(const void *host, CUdeviceptr *address, size_t *size)
{
    struct rt_variable *v;
    CUmodule module;
    CUresult result;

    RT_TRY(rt_context());
    v = rt_variable_find(host);
    if (v == NULL)
        v = managed_at(host);
    RT_CHECK(v, unknown(cudaErrorInvalidSymbol));
    RT_CHECK(v->kind != RT_TEXTURE && v->kind != RT_SURFACE, cudaErrorInvalidSymbol);
    RT_TRY(rt_binary_module(v->binary, &module));
    result = CU(cuModuleGetGlobal_v2, address, size, module, v->name);
    if (result == CUDA_ERROR_NOT_FOUND)
        return cudaErrorInvalidSymbol;
    CU_TRY(result);
    if (v->kind == RT_MANAGED && !v->pointer &&
        rt_on_gpu()) /* the module's has its initial value */
        *address = (CUdeviceptr)v->host;
    return cudaSuccess;
}
