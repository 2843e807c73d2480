/* launch/cdp: what launches by device code need of the driver: the objects that pointers to kernels
 * point to, and compiled code for the shapes that they launch. exec/cdp.h has the whole path. */
#include <driver_types.h>
#include <stdlib.h>
#include <string.h>

#include "driver/objects.h"

/* A variant's side for launches by device code. The function is locked. What is found once stays as
 * it is, for others read it: when the host has changed an attribute there is a new one. */
static struct cdp_variant *cdp_variant_of(CUfunction f, struct variant *v,
                                          const uint32_t cluster[3])
{
    uint64_t limit =
        f->info.static_shared > SHARED_DEFAULT_MAX ? 0 : SHARED_DEFAULT_MAX - f->info.static_shared;
    struct cdp_variant now = {
        .kernel = &v->kernel,
        .small = v->grid_small != 0,
        .dynamic_max = (uint32_t)(f->max_dynamic_shared > limit ? f->max_dynamic_shared : limit),
        .param_bytes = (uint32_t)f->info.param_bytes,
        .pointers = (uint16_t)f->pointers,
        .pointer = f->pointer_offsets,
        .argument = f->pointer_arguments,
        .older = v->cdp_variants};
    memcpy(now.block, v->ntid, sizeof now.block);
    memcpy(now.cluster, cluster, sizeof now.cluster);
    for (struct cdp_variant *variant = v->cdp_variants; variant != NULL; variant = variant->older)
        if (variant->dynamic_max == now.dynamic_max &&
            memcmp(variant->cluster, cluster, sizeof now.cluster) == 0)
            return variant;
    v->cdp_variants = xmalloc(sizeof now);
    *v->cdp_variants = now;
    return v->cdp_variants;
}

void variant_free_cdp(struct variant *v)
{
    for (struct cdp_variant *variant = v->cdp_variants, *older; variant != NULL; variant = older) {
        older = variant->older;
        free(variant);
    }
}

/* Which parameters may be pointers. */
static void find_pointers(CUfunction f)
{
    size_t n = (size_t)f->func->nparams + 1;
    f->pointer_offsets = xcalloc(n, sizeof *f->pointer_offsets);
    f->pointer_arguments = xcalloc(n, sizeof *f->pointer_arguments);
    for (int k = 0; k < f->func->nparams; k++)
        if (f->func->params[k]->size == 8) {
            f->pointer_offsets[f->pointers] = f->param_offsets[k];
            f->pointer_arguments[f->pointers++] = (uint16_t)k;
        }
}

static int cdp_find(struct cdp_kernel *entry, const uint32_t grid[3], const uint32_t block[3],
                    uint32_t dynamic_shared, struct cdp_variant **out)
{
    CUmodule m = entry->owner;
    uint32_t cluster[3] = {0};
    CUfunction f;
    struct variant *v;
    CUresult r = module_function(m, entry->name, &f);
    if (r == CUDA_SUCCESS && launch_shape_check(f, grid, block, dynamic_shared) != CUDA_SUCCESS)
        r = (CUresult)cudaErrorInvalidConfiguration; /* the driver has no name for it */
    if (r == CUDA_SUCCESS)
        r = cluster_resolve(f, grid, cluster);
    if (r == CUDA_SUCCESS)
        r = function_variant(f, block, grid, 1, &v);
    if (r != CUDA_SUCCESS)
        return (int)r;
    pthread_mutex_lock(&f->lock);
    if (f->pointer_offsets == NULL)
        find_pointers(f);
    *out = cdp_variant_of(f, v, cluster);
    pthread_mutex_unlock(&f->lock);
    return 0;
}

void module_make_entries(CUmodule m)
{
    m->entries = xcalloc((size_t)m->ptx->nfuncs + 1, sizeof *m->entries);
    for (int32_t n = 0; n < m->ptx->nfuncs; n++) {
        const struct ptx_func *f = m->ptx->funcs[n];
        m->entries[n] = (struct cdp_kernel){.tag = f->is_entry && f->has_body ? CDP_KERNEL_TAG : 0,
                                            .name = f->name,
                                            .find = cdp_find,
                                            .owner = m};
    }
}
