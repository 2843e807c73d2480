/* module: PTX becomes a loaded module: variables with memory and contents, functions by name, code
 * on demand. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/stack.h"
#include "container/container.h"
#include "container/fatbin.h"
#include "driver/error/error.h"
#include "driver/error/symbols.h"
#include "driver/launch/cdp.h"
#include "driver/objects.h"
#include "loader/loader.h"

/* ---- names for compiled code ---- */

static uint64_t resolve_var(void *self, const struct ptx_var *var)
{
    CUmodule m = self;
    return var->index >= 0 && var->index < m->ptx->nvars ? m->var_address[var->index] : 0;
}

static int32_t func_index(const struct ptx_module *ptx, const struct ptx_func *func)
{
    for (int32_t n = 0; n < ptx->nfuncs; n++)
        if (ptx->funcs[n] == func)
            return n;
    return -1;
}

static uint64_t resolve_func(void *self, const struct ptx_func *func)
{
    CUmodule m = self;
    int32_t n = func_index(m->ptx, func);
    return n < 0 ? 0 : (uint64_t)(uintptr_t)&m->entries[n];
}

static void *resolve_helper(void *self, const char *name)
{
    (void)self;
    name = strncmp(name, "weir_rt_", 8) == 0 ? name + 8 : name;
    void *helper = grid_helper(name);
    return helper != NULL ? helper : cdp_api_helper(name);
}

/* ---- loading ---- */

/* PTX text of one image, on the heap; NULL and a code. */
static char *text_of(const void *data, size_t size, CUresult *code, struct diag *d)
{
    struct fatbin_ptx ptx;
    switch (fatbin_find_ptx(data, size, (unsigned)device_limits()->sm, &ptx, d)) {
    case FATBIN_OK: return ptx.text;
    case FATBIN_NO_PTX: *code = CUDA_ERROR_NO_BINARY_FOR_GPU; return NULL;
    default: *code = CUDA_ERROR_INVALID_IMAGE; return NULL;
    }
}

/* PTX runs on later devices, too, but that of sm_NNf in its family alone (a major number), and that
 * of sm_NNa on that device alone. */
static bool runs_here(const struct ptx_module *ptx)
{
    int device = device_limits()->sm;
    if (ptx->target_suffix == 'a')
        return ptx->target_sm == device;
    return ptx->target_sm <= device &&
           (ptx->target_suffix != 'f' || ptx->target_sm / 10 == device / 10);
}

static struct ptx_module *parse(const char *text, size_t size, CUresult *code, struct diag *d)
{
    struct ptx_module *ptx = ptx_parse(text, strnlen(text, size), d);
    *code = CUDA_ERROR_INVALID_PTX;
    if (ptx == NULL && strstr(d->text, "PTX ISA version") != NULL)
        *code =
            CUDA_ERROR_UNSUPPORTED_PTX_VERSION; /* the parser's words for a version it knows not */
    if (ptx != NULL && !runs_here(ptx)) {
        diag_set(
            d, 0, 0,
            "PTX for sm_%d%.1s; this device is sm_%d (WEIR_COMPUTE_CAPABILITY chooses another)",
            ptx->target_sm, &ptx->target_suffix, device_limits()->sm);
        ptx_free(ptx);
        ptx = NULL;
    }
    return ptx;
}

/* Relocatable device code: the parts that hold PTX, linked. Parts that hold none (those of vendors'
 * libraries may not) are left out: what they would have defined is missed by name. Then d says so.
 */
static struct ptx_module *link_list(const void *const *list, CUresult *code, struct diag *d)
{
    struct diag out = {0}; /* of the first part left out */
    int left = 0;
    struct {
        struct ptx_module **items;
        size_t count, cap;
    } units = {0};
    struct ptx_module *linked = NULL;
    bool ok = true;
    for (; ok && *list != NULL; list++) {
        struct diag part = {0};
        char *text = text_of(*list, SIZE_MAX, code, &part);
        if (text == NULL && *code == CUDA_ERROR_NO_BINARY_FOR_GPU) {
            if (left++ == 0)
                out = part;
            continue;
        }
        if (text == NULL)
            diag_set(d, 0, 0, "%s", part.text);
        struct ptx_module *unit = text != NULL ? parse(text, SIZE_MAX, code, d) : NULL;
        free(text);
        ok = unit != NULL;
        if (ok)
            vec_push(&units, unit);
    }
    if (ok && units.count == 0) {
        *code = CUDA_ERROR_NO_BINARY_FOR_GPU;
        diag_set(d, 0, 0, "%s", out.text);
        ok = false;
    }
    if (ok)
        linked = ptx_link(units.items, (int)units.count, d);
    for (size_t n = 0; n < units.count; n++)
        ptx_free(units.items[n]);
    if (linked != NULL && left > 0)
        diag_set(d, 0, 0, "%d of its %zu parts were left out: %s", left, units.count + (size_t)left,
                 out.text);
    free(units.items);
    return linked;
}

static struct ptx_module *read_image(const void *image, size_t size, CUresult *code, struct diag *d)
{
    struct fatbin_wrapper w;
    *code = CUDA_ERROR_INVALID_IMAGE;
    if (size < 4) {
        diag_set(d, 0, 0, "%zu bytes are no module", size);
        return NULL;
    }
    if (size == SIZE_MAX && fatbin_is_wrapper(image)) {
        if (!fatbin_read_wrapper(image, &w)) {
            *code = CUDA_ERROR_INVALID_IMAGE;
            diag_set(d, 0, 0, "fat binary wrapper of an unknown version");
            return NULL;
        }
        if (w.list != NULL && w.list[0] != NULL)
            return link_list(w.list, code, d);
        image = w.data;
    } else if (size == SIZE_MAX && image != NULL &&
               (fatbin_is_header(image) || container_is_elf(image, size)))
        size = container_readable(image);
    if (image != NULL && fatbin_is_header(image)) {
        char *text = text_of(image, size, code, d);
        struct ptx_module *ptx = text != NULL ? parse(text, SIZE_MAX, code, d) : NULL;
        free(text);
        return ptx;
    }
    if (image != NULL && container_is_elf(image, size)) {
        size_t bytes;
        const char *ptx = container_find_ptx(image, size, &bytes, d);
        if (ptx != NULL)
            return parse(ptx, bytes, code, d);
        if (d->text[0] != '\0')
            return NULL;
        *code = CUDA_ERROR_NO_BINARY_FOR_GPU;
        diag_set(d, 0, 0,
                 "this is machine code for a GPU: rebuild as PTX, e.g. -ptx or -gencode "
                 "arch=compute_80,code=compute_80");
        return NULL;
    }
    return image != NULL ? parse(image, size, code, d) : NULL;
}

/* Whatever a program may hand over: PTX text, a fat binary, its wrapper. */
struct ptx_module *module_read(const void *image, size_t size, CUresult *code, struct diag *d)
{
    struct ptx_module *ptx = read_image(image, size, code, d);
    if (ptx != NULL) {
        ptx = module_link_builtin(ptx, d);
        if (ptx == NULL)
            *code = CUDA_ERROR_INVALID_PTX;
    }
    if (ptx == NULL && d->out_of_memory)
        *code = CUDA_ERROR_OUT_OF_MEMORY;
    return ptx;
}

void module_limit_registers(struct ptx_module *ptx, const void *image, size_t size, uint32_t most)
{
    if (!container_is_elf(image, size))
        ptx_limit_registers(ptx, most);
}

WEIR_OWN _Atomic uint64_t modules_ended;

bool module_wipe(CUmodule m)
{
    if (!handle_wipe(m))
        return false;
    pthread_mutex_lock(&m->lock);
    for (CUfunction f = m->functions; f != NULL; f = f->next)
        handle_wipe(f);
    pthread_mutex_unlock(&m->lock);
    atomic_fetch_add(&modules_ended, 1); /* who sees this sees what was wiped */
    return true;
}

void module_free(CUmodule m, bool memory)
{
    for (CUfunction f = m->functions, next; f != NULL; f = next) {
        next = f->next;
        handle_wipe(f); /* of a call that was under way */
        variants_free(f);
        free(f->param_offsets);
        free(f->param_sizes);
        free(f->steps);
        free(f->pointer_offsets);
        free(f->pointer_arguments);
        handle_recycle(f);
    }
    module_free_variables(m, memory);
    free(m->entries);
    free(m->link_warning);
    if (!m->ptx_borrowed)
        ptx_free(m->ptx);
    handle_recycle(m);
}

CUresult module_refuse(CUresult code, const struct diag *d, struct strbuf *log)
{
    const char *text = d->text[0] ? d->text : "not a module: neither PTX nor a fat binary";
    if (d->out_of_memory)
        code = CUDA_ERROR_OUT_OF_MEMORY;
    if (log != NULL)
        sb_printf(log, "%s", text);
    refused_remember(text);
    return driver_error(code, "%s", text);
}

static CUresult load(CUcontext ctx, const struct module_source *source, struct strbuf *log,
                     CUmodule *out)
{
    struct diag d = {0}, warning = {0};
    CUresult code = CUDA_ERROR_INVALID_IMAGE;
    struct ptx_module *ptx = source->ptx;
    if (ptx == NULL) {
        ptx = module_read(source->image, source->size, &code, &warning);
        if (ptx == NULL)
            d = warning;
        else
            module_limit_registers(ptx, source->image, source->size, source->most_registers);
    }
    if (ptx != NULL && ptx != source->ptx && !jit_check(ptx, &d)) {
        ptx_free(ptx);
        ptx = NULL;
        code = CUDA_ERROR_INVALID_PTX;
    }
    if (ptx == NULL)
        return module_refuse(code, &d, log);
    CUmodule m = handle_begin(TAG_MODULE, sizeof *m);
    m->ctx = ctx;
    m->ptx = ptx;
    m->link_warning = warning.text[0] ? xstrdup(warning.text) : NULL;
    m->ptx_borrowed = source->ptx != NULL;
    module_make_entries(m);
    pthread_mutex_init(&m->lock, NULL);
    m->resolver = (struct jit_resolver){resolve_var, resolve_func, resolve_helper, m};
    CUresult r = module_make_variables(m, source);
    if (r != CUDA_SUCCESS) {
        module_free(m, true);
        return r;
    }
    pthread_mutex_lock(&ctx->lock);
    LIST_INSERT(ctx->modules, m);
    handle_publish(m, TAG_MODULE);
    pthread_mutex_unlock(&ctx->lock);
    *out = m;
    return CUDA_SUCCESS;
}

struct load_call {
    CUcontext ctx;
    const struct module_source *source;
    struct strbuf *log;
    CUmodule *out;
    CUresult result;
};

static void load_here(void *arg)
{
    struct load_call *c = arg;
    c->result = load(c->ctx, c->source, c->log, c->out);
}

CUresult module_load(CUcontext ctx, const struct module_source *source, struct strbuf *log,
                     CUmodule *out)
{
    struct load_call c = {.ctx = ctx, .source = source, .log = log, .out = out};
    stack_call(load_here, &c);
    return c.result;
}

void module_unload(CUmodule m)
{
    CUcontext ctx = m->ctx;
    /* Its code may be running; and a fault in it must be told while its lines are known. */
    bool memory = context_settle(ctx);
    pthread_mutex_lock(&ctx->lock);
    LIST_REMOVE(m);
    pthread_mutex_unlock(&ctx->lock);
    module_free(m, memory);
}

/* ---- functions ---- */

CUresult function_describe(struct CUfunc_st *f)
{
    struct diag d = {0};
    f->carveout = -1;
    if (!jit_kernel_info(f->func, &f->info, &d))
        return driver_error(d.out_of_memory ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX,
                            "%s", d.text);
    if (f->info.static_shared > device_limits()->shared_optin_max)
        return driver_error(
            CUDA_ERROR_INVALID_PTX,
            "kernel %s has %llu bytes of static shared memory; this device has %u (line %d of its "
            "PTX)",
            symbol_short(f->func->name), (unsigned long long)f->info.static_shared,
            device_limits()->shared_optin_max, f->func->line);
    return CUDA_SUCCESS;
}

static CUresult new_function(CUmodule m, struct ptx_func *func, CUfunction *out)
{
    static _Atomic uint64_t numbers;
    CUfunction f = handle_begin(TAG_FUNCTION, sizeof *f);
    f->number = atomic_fetch_add(&numbers, 1) + 1;
    f->module = m;
    f->func = func;
    CUresult r = function_describe(f);
    if (r != CUDA_SUCCESS) {
        handle_recycle(f);
        return r;
    }
    pthread_mutex_init(&f->lock, NULL);
    f->param_offsets = xcalloc((size_t)func->nparams + 1, sizeof *f->param_offsets);
    f->param_sizes = xcalloc((size_t)func->nparams + 1, sizeof *f->param_sizes);
    uint64_t at = 0;
    for (int n = 0; n < func->nparams; n++) {
        uint64_t align = func->params[n]->align ? func->params[n]->align : 1;
        at = (at + align - 1) / align * align;
        f->param_offsets[n] = (uint32_t)at;
        f->param_sizes[n] = (uint32_t)func->params[n]->size;
        at += func->params[n]->size;
    }
    variant_describe(f);
    f->next = m->functions;
    m->functions = f;
    handle_publish(f, TAG_FUNCTION);
    *out = f;
    return CUDA_SUCCESS;
}

/* A function of the module that is asked for the first time. */
struct function_call {
    CUmodule module;
    struct ptx_func *func;
    CUfunction *out;
    CUresult result;
};

static void new_function_here(void *arg)
{
    struct function_call *c = arg;
    c->result = new_function(c->module, c->func, c->out);
}

CUresult module_function(CUmodule m, const char *name, CUfunction *out)
{
    struct ptx_func *func = ptx_find_func(m->ptx, name);
    if (func == NULL || !func->is_entry || !func->has_body)
        return driver_error(CUDA_ERROR_NOT_FOUND, "the module has no kernel named %s%s%s", name,
                            m->link_warning != NULL ? "; " : "",
                            m->link_warning != NULL ? m->link_warning : "");
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&m->lock);
    *out = NULL;
    for (CUfunction f = m->functions; f != NULL && *out == NULL; f = f->next)
        if (f->func == func)
            *out = f;
    if (*out == NULL) {
        struct function_call c = {.module = m, .func = func, .out = out};
        stack_call(new_function_here, &c);
        r = c.result;
    }
    pthread_mutex_unlock(&m->lock);
    return r;
}
