/* Texture and surface references as host code sees them: what a program sets before it binds memory
 * to the variable. Of CUDA 11, for --legacy-api. Compiles as C and C++. */
#ifndef WEIR_LEGACY_TYPES_H
#define WEIR_LEGACY_TYPES_H

#include "../../driver_types.h"
#include "../../surface_types.h"
#include "../../texture_types.h"

struct textureReference {
    int normalized; /* coordinates run from 0 to 1 */
    enum cudaTextureFilterMode filterMode;
    enum cudaTextureAddressMode addressMode[3];
    struct cudaChannelFormatDesc channelDesc; /* of the variable's elements */
    int sRGB;
    unsigned int maxAnisotropy;
    enum cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias;
    float minMipmapLevelClamp;
    float maxMipmapLevelClamp;
    int disableTrilinearOptimization;
    int __weirFractions; /* integers are read as fractions, which clang tells by itself */
    int __cudaReserved[13];
};

struct surfaceReference {
    struct cudaChannelFormatDesc channelDesc;
};

#endif
