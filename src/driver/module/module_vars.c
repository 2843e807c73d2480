/* module_vars: the variables of a loaded module: memory for each, or the program's own where it
 * says so, and their initial contents. */
#include <stdlib.h>
#include <string.h>

#include "driver/objects.h"
#include "memory/view.h"

/* ---- variables that the program keeps itself ---- */

/* How many loaded modules know each: the first one gives it its initial value, later ones (on other
 * devices) must not again. */
static struct {
    pthread_mutex_t lock;
    struct binding {
        uint64_t address;
        size_t users;
    } *items;
    size_t count, cap;
} bound = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct binding *find_binding(uint64_t address)
{
    for (size_t n = 0; n < bound.count; n++)
        if (bound.items[n].address == address)
            return &bound.items[n];
    return NULL;
}

/* Whether this is the first user. While there is one, the variable is managed memory. */
static bool bind_variable(uint64_t address, uint64_t bytes)
{
    pthread_mutex_lock(&bound.lock);
    struct binding *b = find_binding(address);
    if (b != NULL)
        b->users++;
    else
        vec_push(&bound, (struct binding){address, 1});
    if (b == NULL)
        mem_adopt((void *)(uintptr_t)address, bytes);
    pthread_mutex_unlock(&bound.lock);
    return b == NULL;
}

static void unbind(uint64_t address)
{
    pthread_mutex_lock(&bound.lock);
    struct binding *b = find_binding(address);
    if (b != NULL && --b->users == 0) {
        *b = bound.items[--bound.count];
        mem_disown((void *)(uintptr_t)address);
    }
    pthread_mutex_unlock(&bound.lock);
}

static uint64_t host_symbol(const struct module_source *s, const char *name)
{
    for (size_t n = 0; n < s->bindings; n++)
        if (s->names[n] != NULL && strcmp(s->names[n], name) == 0)
            return (uint64_t)(uintptr_t)s->addresses[n];
    return 0;
}

/* A variable that is not memory: a texture or surface reference. */
static bool is_reference(const struct ptx_var *v)
{
    return v->space == PTX_SPACE_GLOBAL &&
           (v->type == PTX_TEXREF || v->type == PTX_SURFREF || v->type == PTX_SAMPLERREF);
}

/* ---- memory ---- */

static bool has_memory(const struct ptx_var *v)
{
    return (v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST) && v->size > 0;
}

static CUresult allocate(CUmodule m, const struct ptx_var *v, uint64_t *address)
{
    struct mem_request q = {.device = v->managed ? MEM_HOST : m->ctx->memory,
                            .kind = v->managed ? MEM_MANAGED : MEM_MODULE,
                            .bytes = v->size,
                            .align = v->align > MEM_ALIGNMENT ? v->align : 0,
                            .owner = m->ctx->device};
    void *p;
    CUresult r = driver_from_mem(memory_alloc(&q, &p));
    if (r == CUDA_SUCCESS)
        *address = (uint64_t)(uintptr_t)p;
    return r;
}

static CUresult allocate_variables(CUmodule m, const struct module_source *source)
{
    uint64_t constants = 0;
    for (int32_t n = 0; n < m->ptx->nvars; n++) {
        const struct ptx_var *v = m->ptx->vars[n];
        uint64_t own = v->space == PTX_SPACE_GLOBAL ? host_symbol(source, v->name) : 0;
        if (own != 0) {
            m->var_address[n] = own;
            m->var_bound[n] = bind_variable(own, v->size) ? VAR_BOUND_FIRST : VAR_BOUND;
            if (observed())
                observe_memory_named(own, v->name);
            continue;
        }
        if (v->linkage == PTX_LINK_EXTERN && v->space == PTX_SPACE_GLOBAL)
            return driver_error(CUDA_ERROR_INVALID_PTX,
                                "line %d: the extern variable %s is not defined", v->line, v->name);
        if (is_reference(v)) {
            CU_TRY(reference_make(m->ctx, v, &m->var_address[n]));
            continue;
        }
        if (!has_memory(v))
            continue;
        if (v->space == PTX_SPACE_CONST)
            constants += v->size;
        if (constants > CONST_BANK_BYTES)
            return driver_error(CUDA_ERROR_INVALID_PTX,
                                "line %d: %s: more than %d bytes of .const variables", v->line,
                                v->name, CONST_BANK_BYTES);
        CUresult r = allocate(m, v, &m->var_address[n]);
        if (r != CUDA_SUCCESS)
            return driver_error(r, "no memory for the %llu bytes of the variable %s",
                                (unsigned long long)v->size, v->name);
        if (observed())
            observe_memory_named(m->var_address[n], v->name);
    }
    return CUDA_SUCCESS;
}

/* Initial bytes, with the addresses in them. */
static void fill(CUmodule m, const struct ptx_var *v, uint8_t *to)
{
    struct mem_view before = mem_view_enter();
    if (v->init != NULL)
        memcpy(to, v->init, v->size);
    else
        memset(to, 0, v->size);
    for (int32_t k = 0; k < v->nrelocs; k++) {
        const struct ptx_reloc *r = &v->relocs[k];
        uint64_t a = r->var != NULL ? m->resolver.var_address(m, r->var)
                                    : m->resolver.func_address(m, r->func);
        a += (uint64_t)r->addend;
        a >>= r->shift * 8u;
        memcpy(to + r->at, &a, r->bytes);
    }
    mem_view_leave(before);
}

CUresult module_make_variables(CUmodule m, const struct module_source *source)
{
    m->var_address = xcalloc((size_t)m->ptx->nvars + 1, sizeof *m->var_address);
    m->var_bound = xcalloc((size_t)m->ptx->nvars + 1, sizeof *m->var_bound);
    CU_TRY(allocate_variables(m, source));
    for (int32_t n = 0; n < m->ptx->nvars; n++) {
        const struct ptx_var *v = m->ptx->vars[n];
        if (m->var_address[n] != 0 && m->var_bound[n] != VAR_BOUND &&
            v->linkage != PTX_LINK_EXTERN && !is_reference(v))
            fill(m, v, (uint8_t *)(uintptr_t)m->var_address[n]);
    }
    return CUDA_SUCCESS;
}

void module_free_variables(CUmodule m, bool memory)
{
    for (int32_t n = 0; n < m->ptx->nvars; n++)
        if (m->var_bound[n] != VAR_OWNED)
            unbind(m->var_address[n]);
        else if (m->var_address[n] != 0 && is_reference(m->ptx->vars[n]))
            reference_free(m->var_address[n]);
        else if (m->var_address[n] != 0 && memory)
            mem_free((void *)(uintptr_t)m->var_address[n], MEM_MODULE | MEM_MANAGED);
    free(m->var_address);
    free(m->var_bound);
}
