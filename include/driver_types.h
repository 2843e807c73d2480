/* driver_types.h: the types of the runtime API: error codes, attributes, handles, descriptions.
 *
 * Values and layouts are those of CUDA 13.0, so that objects compiled against either set of headers
 * meet in one process. Compiles as C and C++. */
#ifndef __DRIVER_TYPES_H__
#define __DRIVER_TYPES_H__

#ifndef __CUDACC_RTC__
#include <limits.h> /* not for this file: programs count on its being included */
#endif
#include <stddef.h>

#include "host_defines.h"
#include "surface_types.h"
#include "texture_types.h"
#include "vector_types.h"
#include "weir/rt/device_props.h"
#include "weir/rt/error_codes.h"
#include "weir/rt/external_types.h"
#include "weir/rt/flags.h"
#include "weir/rt/graph_types.h"
#include "weir/rt/handles.h"
#include "weir/rt/launch_types.h"
#include "weir/rt/memory_types.h"
#include "weir/rt/misc_types.h"
#include "weir/rt/pool_types.h"
#include "weir/rt/texture_objects.h"

#endif
