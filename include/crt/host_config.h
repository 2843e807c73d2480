/* crt/host_config.h: which compilers compile the host side, under the name some programs use. */
#ifndef WEIR_CRT_HOST_CONFIG_H
#define WEIR_CRT_HOST_CONFIG_H

#include "../host_config.h"

#endif
