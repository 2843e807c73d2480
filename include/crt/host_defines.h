/* crt/host_defines.h: the words of CUDA C++, under the name some programs use. */
#ifndef WEIR_CRT_HOST_DEFINES_H
#define WEIR_CRT_HOST_DEFINES_H

#include "../host_defines.h"

#endif
