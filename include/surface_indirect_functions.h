/* surface_indirect_functions.h: surface accesses through objects. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_SURFACE_INDIRECT_FUNCTIONS_H
#define WEIR_SURFACE_INDIRECT_FUNCTIONS_H

#include "cuda_runtime.h"

#endif
