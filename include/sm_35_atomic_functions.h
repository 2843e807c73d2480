/* sm_35_atomic_functions.h: atomic functions. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_SM_35_ATOMIC_FUNCTIONS_H
#define WEIR_SM_35_ATOMIC_FUNCTIONS_H

#include "cuda_runtime.h"

#endif
