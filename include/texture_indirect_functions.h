/* texture_indirect_functions.h: texture fetches through objects. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_TEXTURE_INDIRECT_FUNCTIONS_H
#define WEIR_TEXTURE_INDIRECT_FUNCTIONS_H

#include "cuda_runtime.h"

#endif
