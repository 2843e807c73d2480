/* host_config.h: what the host compiler must be: any C or C++ compiler of a 64-bit Linux. */
#ifndef __HOST_CONFIG_H__
#define __HOST_CONFIG_H__

#include <features.h>

#if !defined(__LP64__)
#error "CUDA programs are 64-bit: compile for a 64-bit target"
#endif

#include "host_defines.h"

#endif
