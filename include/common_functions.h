/* common_functions.h: functions that host and device share. A name that programs include; everything is in
 * cuda_runtime.h. */
#ifndef WEIR_COMMON_FUNCTIONS_H
#define WEIR_COMMON_FUNCTIONS_H

#include "cuda_runtime.h"

#endif
