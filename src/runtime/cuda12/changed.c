/* cuda12/changed: functions of libcudart.so.12 whose types CUDA 13 changed. What does the work is
 * CUDA 13's function, which this library has as weir13_... (renames.txt). */
#include "layouts.h"

#include <string.h>

#define PUBLIC __attribute__((visibility("default")))

_Static_assert(sizeof(struct cuda12_properties) == 1032, "as in CUDA 12");
_Static_assert(offsetof(struct cuda12_properties, hostRegisterSupported) == 728, "as in CUDA 11");
_Static_assert(sizeof(struct cuda12_pointer) == 24, "as in CUDA 12");
_Static_assert(sizeof(struct cuda12_resource) == 64, "as in CUDA 12");
_Static_assert(sizeof(struct cuda12_view) == 48, "as in CUDA 12");
_Static_assert(offsetof(struct cudaResourceDesc, res) == offsetof(struct cuda12_resource, res),
               "resources begin alike");
_Static_assert(offsetof(struct cudaResourceViewDesc, lastLayer) ==
                   offsetof(struct cuda12_view, lastLayer),
               "views begin alike");

/* ---- devices ---- */

cudaError_t weir13_cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
cudaError_t weir13_cudaChooseDevice(int *device, const struct cudaDeviceProp *prop);

#define FROM_13(type, name) out->name = in->name;
#define COPY_13(type, name, count)                                                                 \
    _Static_assert(sizeof out->name == sizeof in->name, "the same array");                         \
    memcpy(out->name, in->name, sizeof out->name);

static void properties_to_12(const struct cudaDeviceProp *in, struct cuda12_properties *out)
{
    memset(out, 0, sizeof *out);
    CUDA12_PROPERTIES(FROM_13, COPY_13)
}

static void properties_to_13(const struct cuda12_properties *in, struct cudaDeviceProp *out)
{
    memset(out, 0, sizeof *out);
    CUDA12_PROPERTIES(FROM_13, COPY_13)
}

/* `bytes`: how much of the structure the caller has. */
static cudaError_t properties(void *prop, int device, size_t bytes)
{
    struct cudaDeviceProp now;
    struct cuda12_properties then;
    cudaError_t error = weir13_cudaGetDeviceProperties(prop != NULL ? &now : NULL, device);

    if (error != cudaSuccess)
        return error;
    properties_to_12(&now, &then);
    memcpy(prop, &then, bytes);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaGetDeviceProperties_v2(struct cuda12_properties *prop, int device)
{
    return properties(prop, device, sizeof *prop);
}

/* That of programs built for CUDA 11, whose structure ends earlier. */
PUBLIC cudaError_t cudaGetDeviceProperties(struct cuda12_properties *prop, int device)
{
    return properties(prop, device, offsetof(struct cuda12_properties, hostRegisterSupported));
}

PUBLIC cudaError_t cudaChooseDevice(int *device, const struct cuda12_properties *prop)
{
    struct cudaDeviceProp now;

    if (prop != NULL)
        properties_to_13(prop, &now);
    return weir13_cudaChooseDevice(device, prop != NULL ? &now : NULL);
}

/* ---- memory ---- */

cudaError_t weir13_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                            const void *ptr);

PUBLIC cudaError_t cudaPointerGetAttributes(struct cuda12_pointer *attributes, const void *ptr)
{
    struct cudaPointerAttributes now;
    cudaError_t error = weir13_cudaPointerGetAttributes(attributes != NULL ? &now : NULL, ptr);

    if (error == cudaSuccess)
        *attributes = (struct cuda12_pointer){.type = now.type,
                                              .device = now.device,
                                              .devicePointer = now.devicePointer,
                                              .hostPointer = now.hostPointer};
    return error;
}

/* ---- textures and surfaces ---- */

cudaError_t weir13_cudaCreateTextureObject(cudaTextureObject_t *object,
                                           const struct cudaResourceDesc *resource,
                                           const struct cudaTextureDesc *texture,
                                           const struct cudaResourceViewDesc *view);
cudaError_t weir13_cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *resource,
                                                    cudaTextureObject_t object);
cudaError_t weir13_cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *view,
                                                        cudaTextureObject_t object);
cudaError_t weir13_cudaCreateSurfaceObject(cudaSurfaceObject_t *object,
                                           const struct cudaResourceDesc *resource);
cudaError_t weir13_cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *resource,
                                                    cudaSurfaceObject_t object);

static const struct cudaResourceDesc *resource_to_13(const struct cuda12_resource *in,
                                                     struct cudaResourceDesc *out)
{
    if (in == NULL)
        return NULL;
    memset(out, 0, sizeof *out);
    out->resType = in->resType;
    memcpy(&out->res, &in->res, sizeof in->res);
    return out;
}

static cudaError_t resource_to_12(cudaError_t error, const struct cudaResourceDesc *in,
                                  struct cuda12_resource *out)
{
    if (error != cudaSuccess)
        return error;
    out->resType = in->resType;
    memcpy(&out->res, &in->res, sizeof out->res);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaCreateTextureObject(cudaTextureObject_t *object,
                                           const struct cuda12_resource *resource,
                                           const struct cudaTextureDesc *texture,
                                           const struct cuda12_view *view)
{
    struct cudaResourceDesc r;
    struct cudaResourceViewDesc v;

    if (view != NULL) {
        memset(&v, 0, sizeof v);
        memcpy(&v, view, sizeof *view);
    }
    return weir13_cudaCreateTextureObject(object, resource_to_13(resource, &r), texture,
                                          view != NULL ? &v : NULL);
}

PUBLIC cudaError_t cudaGetTextureObjectResourceDesc(struct cuda12_resource *resource,
                                                    cudaTextureObject_t object)
{
    struct cudaResourceDesc r;

    return resource_to_12(
        weir13_cudaGetTextureObjectResourceDesc(resource != NULL ? &r : NULL, object), &r,
        resource);
}

PUBLIC cudaError_t cudaGetTextureObjectResourceViewDesc(struct cuda12_view *view,
                                                        cudaTextureObject_t object)
{
    struct cudaResourceViewDesc v;
    cudaError_t error =
        weir13_cudaGetTextureObjectResourceViewDesc(view != NULL ? &v : NULL, object);

    if (error == cudaSuccess && view != NULL)
        memcpy(view, &v, sizeof *view);
    return error;
}

PUBLIC cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *object,
                                           const struct cuda12_resource *resource)
{
    struct cudaResourceDesc r;

    return weir13_cudaCreateSurfaceObject(object, resource_to_13(resource, &r));
}

PUBLIC cudaError_t cudaGetSurfaceObjectResourceDesc(struct cuda12_resource *resource,
                                                    cudaSurfaceObject_t object)
{
    struct cudaResourceDesc r;

    return resource_to_12(
        weir13_cudaGetSurfaceObjectResourceDesc(resource != NULL ? &r : NULL, object), &r,
        resource);
}
