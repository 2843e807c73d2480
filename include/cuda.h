/* cuda.h: the driver API.
 *
 * Values, layouts and symbol names are those of CUDA 13.0. The pieces under weir/cu are not meant
 * to be included on their own. Compiles as C and C++. */
#ifndef __cuda_cuda_h__
#define __cuda_cuda_h__

#include "weir/cu/array_types.h"
#include "weir/cu/base.h"
#include "weir/cu/calls_array.h"
#include "weir/cu/calls_context.h"
#include "weir/cu/calls_copy.h"
#include "weir/cu/calls_device.h"
#include "weir/cu/calls_external.h"
#include "weir/cu/calls_graph.h"
#include "weir/cu/calls_graph_exec.h"
#include "weir/cu/calls_graph_nodes.h"
#include "weir/cu/calls_launch.h"
#include "weir/cu/calls_memory.h"
#include "weir/cu/calls_misc.h"
#include "weir/cu/calls_module.h"
#include "weir/cu/calls_pool.h"
#include "weir/cu/calls_stream.h"
#include "weir/cu/copy_types.h"
#include "weir/cu/device_attr.h"
#include "weir/cu/device_types.h"
#include "weir/cu/external_types.h"
#include "weir/cu/graph_node_types.h"
#include "weir/cu/graph_types.h"
#include "weir/cu/green_context.h"
#include "weir/cu/jit_options.h"
#include "weir/cu/launch_types.h"
#include "weir/cu/limits.h"
#include "weir/cu/memory_flags.h"
#include "weir/cu/pool_types.h"
#include "weir/cu/result.h"
#include "weir/cu/sparse_types.h"
#include "weir/cu/stream_flags.h"
#include "weir/cu/tensor_map.h"
#include "weir/cu/texture_types.h"

#endif
