/* plane: filtered reads of rows, planes, layers and volumes, from coordinates to results, by the
 * CPU's vectors: for the formats and address modes that programs use most. The elements beside each
 * other on an axis are read as one piece of memory, so what lies across an edge (the last element
 * beside the first, or beside the border) is left to the functions of fetch.c, as are
 * elements that are infinite or NaN. Results are the same. */
#ifndef WEIR_TEXTURE_PLANE_H
#define WEIR_TEXTURE_PLANE_H

#include "texture/texture.h"

/* What is asked for: one of GEOMETRY_1D, 2D, 3D, A1D, A2D, with floats for coordinates, not moved
 * by offsets, filtered. False: not done, and `out` may hold anything. */
typedef bool plane_function(const struct texture *t, enum texture_geometry g,
                            const uint32_t (*coordinates)[TEXTURE_LANES],
                            uint32_t (*out)[TEXTURE_LANES]);

#ifdef __x86_64__
/* plane_lanes.h, compiled for vectors of 8 and of 16 lanes. */
plane_function plane_fetch_avx2, plane_fetch_avx512;
#endif

/* The one for this CPU and texture_use_vectors; NULL: none. */
plane_function *plane_fetch_here(void);

#endif
