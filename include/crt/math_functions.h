/* crt/math_functions.h: the math functions of host and device. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_CRT_MATH_FUNCTIONS_H
#define WEIR_CRT_MATH_FUNCTIONS_H

#include "../cuda_runtime.h"

#endif
