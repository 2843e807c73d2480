/* texture_fetch_functions.h: texture fetches. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_TEXTURE_FETCH_FUNCTIONS_H
#define WEIR_TEXTURE_FETCH_FUNCTIONS_H

#include "cuda_runtime.h"

#endif
