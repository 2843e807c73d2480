/* lanes: how helpers of compiled code go over the lanes of a warp and read their arguments, which
 * come as 32 values each (abi/kernel_abi.h). */
#ifndef WEIR_EXEC_LANES_H
#define WEIR_EXEC_LANES_H

#include "abi/kernel_abi.h"

// NOLINTBEGIN(bugprone-macro-parentheses): `lane` is a name to declare
#define EACH_LANE(lane, mask)                                                                      \
    for (uint32_t lanes_left = (mask), lane = 0; lanes_left != 0; lanes_left &= lanes_left - 1)    \
        if (lane = (uint32_t)__builtin_ctz(lanes_left), true)
// NOLINTEND(bugprone-macro-parentheses)

/* A lane's value of the argument with that index. */
static inline uint64_t lane_arg(const uint64_t *args, int index, uint32_t lane)
{
    return args[index * JIT_WARP + (int)lane];
}

#endif
