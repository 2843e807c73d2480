/* surface_functions.h: surface accesses. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_SURFACE_FUNCTIONS_H
#define WEIR_SURFACE_FUNCTIONS_H

#include "cuda_runtime.h"

#endif
