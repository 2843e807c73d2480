/* Arrays of two and three dimensions, copies to, from and between them, textures and surfaces over
 * them. All their copies are in the legacy stream's order. */
#include <stdlib.h>
#include <string.h>

#include "sequences.h"

static struct array *any_array(struct thread *t)
{
    struct array *a = &t->array[below(t, ARRAYS)];

    return a->live ? a : NULL;
}

static size_t row_of(const struct array *a) { return a->width * a->element; }
static size_t rows_of(const struct array *a)
{
    return (a->height > 0 ? a->height : 1) * (a->depth > 0 ? a->depth : 1);
}

static void make_array(struct thread *t)
{
    static const int bits[] = {8, 16, 32};
    struct array *a = &t->array[below(t, ARRAYS)];

    if (a->live)
        return;
    int size = bits[below(t, 3)], channels = 1 << below(t, 3);
    a->format = (struct cudaChannelFormatDesc){
        size, channels > 1 ? size : 0, channels > 2 ? size : 0, channels > 2 ? size : 0,
        one_in(t, 2) || size < 32 ? cudaChannelFormatKindUnsigned : cudaChannelFormatKindFloat};
    a->element = (size_t)(size / 8 * channels);
    a->width = 1 + below(t, 40);
    a->height = below(t, 8);
    a->depth = a->height > 0 && one_in(t, 3) ? below(t, 4) : 0;
    a->flags = one_in(t, 3) ? cudaArraySurfaceLoadStore : cudaArrayDefault;
    NOTE(a->width, a->height, a->depth, a->element);
    if (a->depth > 0)
        OK_RT(cudaMalloc3DArray(&a->h, &a->format,
                                (struct cudaExtent){a->width, a->height, a->depth}, a->flags));
    else
        OK_RT(cudaMallocArray(&a->h, &a->format, a->width, a->height, a->flags));
    a->live = true;
    a->set = false;
    a->model = realloc(a->model, row_of(a) * rows_of(a));
}

static void free_array(struct thread *t)
{
    struct array *a = any_array(t);

    if (a == NULL || !one_in(t, 2))
        return;
    if (one_in(t, 3))
        OK_CU(cuArrayDestroy((CUarray)a->h));
    else
        OK_RT(cudaFreeArray(a->h));
    a->live = false;
}

static void ask_array(struct thread *t)
{
    struct array *a = any_array(t);
    struct cudaChannelFormatDesc format;
    struct cudaExtent extent;
    unsigned flags = 99;

    if (a == NULL)
        return;
    OK_RT(cudaArrayGetInfo(&format, &extent, &flags, a->h));
    MUST(memcmp(&format, &a->format, sizeof format) == 0);
    MUST(extent.width == a->width && extent.height == a->height && extent.depth == a->depth);
    MUST_EQ(flags, a->flags);
}

/* All of a volume, from or to pageable memory. */
static void copy_volume(struct thread *t, struct array *a, unsigned char *host, bool to_array)
{
    struct cudaMemcpy3DParms v;
    struct cudaPitchedPtr p = {host, row_of(a), a->width, a->height > 0 ? a->height : 1};

    memset(&v, 0, sizeof v);
    if (to_array) {
        v.srcPtr = p;
        v.dstArray = a->h;
    } else {
        v.srcArray = a->h;
        v.dstPtr = p;
    }
    v.kind = to_array ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    v.extent = (struct cudaExtent){a->width, p.ysize, a->depth > 0 ? a->depth : 1};
    OK_RT(cudaMemcpy3D(&v));
}

static void fill_array(struct thread *t)
{
    struct array *a = any_array(t);

    if (a == NULL || row_of(a) * rows_of(a) > STAGE)
        return;
    size_t row = row_of(a), rows = rows_of(a), n = row * rows;
    unsigned char *from = t->stage[0];
    uint32_t salt = chance(t);
    NOTE(a - t->array, row, rows, a->set);
    if (a->depth > 0 || !a->set || one_in(t, 2)) {
        for (size_t i = 0; i < n; i++)
            from[i] = a->model[i] = (unsigned char)((salt >> (i & 15)) + i);
        copy_volume(t, a, from, true);
        a->set = true;
    } else { /* some of it */
        size_t x = below(t, (unsigned)a->width), y = below(t, (unsigned)rows),
               width = (1 + below(t, (unsigned)(a->width - x))) * a->element,
               height = 1 + below(t, (unsigned)(rows - y));
        for (size_t r = 0; r < height; r++)
            for (size_t i = 0; i < width; i++)
                from[r * width + i] = a->model[(y + r) * row + x * a->element + i] =
                    (unsigned char)((salt >> (i & 15)) + r);
        OK_RT(cudaMemcpy2DToArray(a->h, x * a->element, y, from, width, width, height,
                                  one_in(t, 2) ? cudaMemcpyDefault : cudaMemcpyHostToDevice));
        memset(from, 0x77, width * height);
    }
    enqueued(t, LEGACY);
}

static void between_arrays(struct thread *t)
{
    struct array *a = any_array(t), *b = any_array(t);

    if (a == NULL || b == NULL || a == b || !a->set || !b->set || a->depth > 0 || b->depth > 0)
        return;
    size_t bytes = row_of(a) < row_of(b) ? row_of(a) : row_of(b);
    size_t rows = rows_of(a) < rows_of(b) ? rows_of(a) : rows_of(b);
    if (a->element != b->element)
        return;
    NOTE(a - t->array, b - t->array, bytes, rows);
    OK_RT(cudaMemcpy2DArrayToArray(a->h, 0, 0, b->h, 0, 0, bytes, rows, cudaMemcpyDeviceToDevice));
    for (size_t r = 0; r < rows; r++)
        memcpy(a->model + r * row_of(a), b->model + r * row_of(b), bytes);
    enqueued(t, LEGACY);
}

static void check_array(struct thread *t)
{
    struct array *a = any_array(t);

    if (a == NULL || !a->set)
        return;
    size_t row = row_of(a), rows = rows_of(a);
    memset(t->scratch, 0xcc, row * rows);
    NOTE(a - t->array, row, rows, 0);
    if (a->depth > 0 || one_in(t, 2))
        copy_volume(t, a, t->scratch, false);
    else
        OK_RT(
            cudaMemcpy2DFromArray(t->scratch, row, a->h, 0, 0, row, rows, cudaMemcpyDeviceToHost));
    enqueued(t, LEGACY);
    stream_done(t, LEGACY);
    for (size_t i = 0; i < row * rows; i++)
        if (t->scratch[i] != a->model[i])
            fail(t, "array %d holds %d at byte %zu, not %d", (int)(a - t->array), t->scratch[i], i,
                 a->model[i]);
}

static void textures(struct thread *t)
{
    struct array *a = any_array(t);
    struct cudaResourceDesc r, got;
    struct cudaTextureDesc d;
    cudaTextureObject_t texture = 0;
    cudaSurfaceObject_t surface = 0;

    if (a == NULL)
        return;
    memset(&r, 0, sizeof r);
    memset(&d, 0, sizeof d);
    memset(&got, 0, sizeof got);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a->h;
    OK_RT(cudaCreateTextureObject(&texture, &r, &d, NULL));
    MUST(texture != 0);
    OK_RT(cudaGetTextureObjectResourceDesc(&got, texture));
    MUST(got.resType == cudaResourceTypeArray && got.res.array.array == a->h);
    OK_RT(cudaDestroyTextureObject(texture));
    if (a->flags & cudaArraySurfaceLoadStore) {
        OK_RT(cudaCreateSurfaceObject(&surface, &r));
        OK_RT(cudaGetSurfaceObjectResourceDesc(&got, surface));
        MUST(got.res.array.array == a->h);
        OK_RT(cudaDestroySurfaceObject(surface));
    }
    r.res.array.array = NULL;
    RT(cudaErrorInvalidResourceHandle, cudaCreateTextureObject(&texture, &r, &d, NULL));
}

static void wrong_arrays(struct thread *t)
{
    struct array *a = any_array(t);
    const struct cudaChannelFormatDesc good = {32, 0, 0, 0, cudaChannelFormatKindFloat},
                                       odd = {3, 0, 0, 0, cudaChannelFormatKindFloat};
    cudaArray_t out;
    unsigned char *stage = t->stage[0];

    switch (below(t, 7)) {
    case 0: RT(cudaErrorInvalidValue, cudaMallocArray(NULL, &good, 4, 4, 0)); break;
    case 1: RT(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&out, &odd, 4, 4, 0)); break;
    case 2: RT(cudaErrorInvalidValue, cudaMallocArray(&out, &good, 0, 4, 0)); break;
    case 3: OK_RT(cudaFreeArray(NULL)); break;
    case 4:
        RT(cudaErrorInvalidResourceHandle,
           cudaMemcpy2DToArray(NULL, 0, 0, stage, 64, 64, 4, cudaMemcpyHostToDevice));
        break;
    default:
        if (a != NULL && a->depth == 0)
            RT(cudaErrorInvalidValue, cudaMemcpy2DToArray(a->h, 0, rows_of(a), stage, row_of(a),
                                                          row_of(a), 1, cudaMemcpyHostToDevice));
    }
}

void arrays_end(struct thread *t)
{
    for (int i = 0; i < ARRAYS; i++) {
        if (t->array[i].live)
            OK_RT(cudaFreeArray(t->array[i].h));
        t->array[i].live = false;
        free(t->array[i].model);
        t->array[i].model = NULL;
    }
}

const struct op ops_arrays[] = {
    {"arrays", "make array", make_array, 4, true},
    {"arrays", "free array", free_array, 3, true},
    {"arrays", "ask array", ask_array, 4, false},
    {"arrays", "fill array", fill_array, 6, true},
    {"arrays", "copy between arrays", between_arrays, 4, true},
    {"arrays", "check array", check_array, 6, true},
    {"textures", "textures", textures, 4, true},
    {"arrays", "wrong arrays", wrong_arrays, 4, true},
    {NULL, NULL, NULL, 0, false},
};
