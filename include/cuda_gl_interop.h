/* cuda_gl_interop.h: OpenGL's objects as memory of CUDA. Programs that can do without at run time,
 * as in a test without a window, compile and run; each function refuses (cudaErrorNotSupported), as
 * there is no GPU that draws. */
#ifndef CUDA_GL_INTEROP_H
#define CUDA_GL_INTEROP_H

#include "cuda_runtime_api.h"

#if __has_include(<GL/gl.h>)
#include <GL/gl.h>
#else /* as OpenGL has them */
typedef unsigned int GLuint, GLenum;
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum cudaGLDeviceList {
    cudaGLDeviceListAll = 1,
    cudaGLDeviceListCurrentFrame = 2,
    cudaGLDeviceListNextFrame = 3,
};

enum cudaGLMapFlags {
    cudaGLMapFlagsNone = 0,
    cudaGLMapFlagsReadOnly = 1,
    cudaGLMapFlagsWriteDiscard = 2,
};

cudaError_t cudaGLGetDevices(unsigned int *count, int *devices, unsigned int capacity,
                             enum cudaGLDeviceList list);
cudaError_t cudaGraphicsGLRegisterImage(struct cudaGraphicsResource **resource, GLuint image,
                                        GLenum target, unsigned int flags);
cudaError_t cudaGraphicsGLRegisterBuffer(struct cudaGraphicsResource **resource, GLuint buffer,
                                         unsigned int flags);

/* Of CUDA 2. */
cudaError_t cudaGLSetGLDevice(int device);
cudaError_t cudaGLRegisterBufferObject(GLuint buffer);
cudaError_t cudaGLUnregisterBufferObject(GLuint buffer);
cudaError_t cudaGLSetBufferObjectMapFlags(GLuint buffer, unsigned int flags);
cudaError_t cudaGLMapBufferObject(void **memory, GLuint buffer);
cudaError_t cudaGLMapBufferObjectAsync(void **memory, GLuint buffer, cudaStream_t stream);
cudaError_t cudaGLUnmapBufferObject(GLuint buffer);
cudaError_t cudaGLUnmapBufferObjectAsync(GLuint buffer, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
