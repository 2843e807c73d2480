/* mipmap: mipmapped CUDA arrays: levels one after the other in one piece of memory, each an array
 * of its own to copies and surfaces. Textures find the levels by the same rule (texture_level). */
#include "base/bits.h"
#include "base/list.h"
#include "driver/error/site.h"
#include "driver/objects.h"
#include "texture/texture.h"

/* ---- life ---- */

/* How many levels there can be: each halves the sizes, layers not counted, until all are 1. */
static unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    size_t size = d->Width > d->Height ? d->Width : d->Height;
    bool volume = (d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) == 0;
    unsigned n = 1;
    if (volume && d->Depth > size)
        size = d->Depth;
    for (; size > 1; size /= 2)
        n++;
    return n;
}

/* Dimensions that an array does not have stay 0. */
static size_t next_size(size_t size) { return size != 0 ? texture_half((uint32_t)size) : 0; }

static CUDA_ARRAY3D_DESCRIPTOR next_level(CUDA_ARRAY3D_DESCRIPTOR d)
{
    d.Width = next_size(d.Width);
    d.Height = next_size(d.Height);
    if ((d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) == 0)
        d.Depth = next_size(d.Depth);
    return d;
}

/* Rows and planes with several levels have limits of their own. */
static bool within_limits(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    int row = 0, width = 0, height = 0;
    cuDeviceGetAttribute(&row, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, 0);
    cuDeviceGetAttribute(&width, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH, 0);
    cuDeviceGetAttribute(&height, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, 0);
    if (d->Height == 0)
        return d->Width <= (size_t)row;
    return d->Depth != 0 || (d->Width <= (size_t)width && d->Height <= (size_t)height);
}

/* What the levels are; returns their bytes. `level`: as many as there are. */
static uint64_t lay_out(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels, struct CUarray_st *level)
{
    CUDA_ARRAY3D_DESCRIPTOR of = *d;
    uint64_t bytes = 0;
    for (unsigned n = 0; n < levels; n++) {
        level[n] = (struct CUarray_st){.desc = of};
        array_lay_out(&level[n]);
        bytes += level[n].slice * at_least_one(of.Depth);
        of = next_level(of);
    }
    return bytes;
}

static CUresult make_mipmap(CUcontext c, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels,
                            CUmipmappedArray *out)
{
    CU_TRY(capture_unsafe());
    struct CUarray_st of[MIPMAP_LEVELS];
    struct mem_request q = {.device = c->memory,
                            .kind = MEM_ARRAY,
                            .owner = c->device,
                            .bytes = lay_out(d, levels, of)};
    void *p;
    CU_TRY(driver_from_mem(memory_alloc(&q, &p)));
    CUmipmappedArray m = handle_begin(TAG_MIPMAP, sizeof *m);
    m->ctx = c;
    m->levels = levels;
    m->base = p;
    char *base = m->base;
    for (unsigned n = 0; n < levels; n++) {
        CUarray a = m->level[n] = handle_begin(TAG_ARRAY, sizeof *a);
        of[n].tag = a->tag;
        *a = of[n];
        a->ctx = c;
        a->base = base;
        a->whole = m;
        base += a->slice * at_least_one(a->desc.Depth);
        handle_publish(a, TAG_ARRAY);
    }
    pthread_mutex_lock(&c->lock);
    LIST_INSERT(c->mipmaps, m);
    handle_publish(m, TAG_MIPMAP);
    pthread_mutex_unlock(&c->lock);
    if (observed())
        observe_object_made(OBSERVE_MIPMAP, m);
    *out = m;
    return CUDA_SUCCESS;
}

bool mipmap_wipe(CUmipmappedArray m)
{
    if (!handle_wipe(m))
        return false;
    for (unsigned n = 0; n < m->levels; n++)
        handle_wipe(m->level[n]);
    return true;
}

void mipmap_free(CUmipmappedArray m, bool memory)
{
    if (memory)
        mem_free(m->base, MEM_ARRAY);
    for (unsigned n = 0; n < m->levels; n++)
        handle_recycle(m->level[n]);
    handle_recycle(m);
}

CUresult mipmap_check(CUmipmappedArray m)
{
    return handle_live(m, TAG_MIPMAP) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

WEIR_API CUresult cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *d,
                                         unsigned int levels)
{
    HOLD;
    CALLED(cuMipmappedArrayCreate);
    CUcontext c;
    CU_TRY(driver_current(&c));
    if (out == NULL || d == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(array_check_desc(d));
    if (!within_limits(d))
        return CUDA_ERROR_INVALID_VALUE;
    unsigned most = most_levels(d);
    levels = levels == 0 ? 1 : levels;
    return make_mipmap(c, d, levels < most ? levels : most, out);
}

static CUresult destroy_mipmap(CUmipmappedArray m)
{
    CUcontext c = m->ctx;
    if (!mipmap_wipe(m))
        return CUDA_ERROR_INVALID_HANDLE;
    bool memory = context_settle(c);
    pthread_mutex_lock(&c->lock);
    LIST_REMOVE(m);
    pthread_mutex_unlock(&c->lock);
    mipmap_free(m, memory);
    return CUDA_SUCCESS;
}

/* As cuMemFree: what still uses it is waited for. */
WEIR_API CUresult cuMipmappedArrayDestroy(CUmipmappedArray m)
{
    HOLD;
    CALLED(cuMipmappedArrayDestroy);
    CUcontext c;
    CU_TRY(HANDLE_CONTEXT_FREEING(m, TAG_MIPMAP, &c));
    CU_TRY(capture_unsafe());
    CU_TRY(context_wait(c));
    return destroy_mipmap(m);
}

/* ---- questions ---- */

WEIR_API CUresult cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray m, unsigned int level)
{
    HOLD;
    CUcontext c;
    CU_TRY(HANDLE_CONTEXT(m, TAG_MIPMAP, &c));
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (level >= m->levels)
        return driver_error(CUDA_ERROR_INVALID_VALUE, "the array has %u levels, no level %u",
                            m->levels, level);
    *out = m->level[level];
    return CUDA_SUCCESS;
}

/* As of arrays: those that get their memory later, or in tiles, cannot be made here. */
static CUresult mipmap_plain(const void *out, CUmipmappedArray m, const char *what)
{
    CU_TRY(driver_ready());
    CU_TRY(driver_permitted());
    if (out == NULL || mipmap_check(m) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_VALUE;
    return driver_error(CUDA_ERROR_INVALID_VALUE, "the array was not made with %s", what);
}

WEIR_API CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out,
                                                        CUmipmappedArray m, CUdevice dev)
{
    HOLD;
    (void)dev;
    return mipmap_plain(out, m, "CUDA_ARRAY3D_DEFERRED_MAPPING");
}

WEIR_API CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *out,
                                                      CUmipmappedArray m)
{
    HOLD;
    return mipmap_plain(out, m, "CUDA_ARRAY3D_SPARSE");
}
