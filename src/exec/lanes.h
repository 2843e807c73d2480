/* lanes: how helpers of compiled code go over the lanes of a warp and read their arguments, which
 * come as 32 values each (abi/kernel_abi.h). */
#ifndef WEIR_EXEC_LANES_H
#define WEIR_EXEC_LANES_H

#include <stdbool.h>

#include "abi/kernel_abi.h"

// NOLINTBEGIN(bugprone-macro-parentheses): `lane` is a name to declare
#define EACH_LANE(lane, mask)                                                                      \
    for (uint32_t lanes_left = (mask), lane = 0; lanes_left != 0; lanes_left &= lanes_left - 1)    \
        if (lane = (uint32_t)__builtin_ctz(lanes_left), true)
// NOLINTEND(bugprone-macro-parentheses)

/* Lanes of an access that go through memory one after the other (JIT_SHAPE_NEXT), or access the
 * same bytes: lane n from origin + n * bytes on, or from origin. */
struct lane_run {
    uint64_t origin;
    uint32_t mask;
};
enum { LANE_RUNS = 4 };

/* The runs of an access of such a shape, which is not 0; segments that go on are one. */
static inline int lane_runs(uint32_t shape, uint32_t mask, const uint64_t *first, uint32_t bytes,
                            struct lane_run out[LANE_RUNS])
{
    uint32_t seg = shape & JIT_SHAPE_SEG;
    uint64_t step = (shape & JIT_SHAPE_NEXT) != 0 ? (uint64_t)bytes << seg : 0;
    int count = 0;
    if (seg == 5) {
        out[0] = (struct lane_run){first[0], mask};
        return mask != 0;
    }
    for (uint32_t s = 0, n = (uint32_t)JIT_WARP >> seg; s < n && s < LANE_RUNS; s++) {
        uint32_t lanes = mask & (((uint32_t)1 << (1u << seg)) - 1) << (s << seg);
        uint64_t origin = first[s] - s * step;
        if (lanes == 0)
            continue;
        if (count > 0 && out[count - 1].origin == origin)
            out[count - 1].mask |= lanes;
        else
            out[count++] = (struct lane_run){origin, lanes};
    }
    return count;
}

/* The bytes of a run. False: lanes between its first and its last leave some out. */
static inline bool lane_run_range(const struct lane_run *r, uint32_t shape, uint32_t bytes,
                                  uint64_t *low, uint64_t *high)
{
    uint32_t first = (uint32_t)__builtin_ctz(r->mask), last = 31 - (uint32_t)__builtin_clz(r->mask);
    if ((shape & JIT_SHAPE_NEXT) == 0) {
        *low = r->origin;
        *high = r->origin + bytes;
        return true;
    }
    uint32_t moved = r->mask >> first;
    *low = r->origin + (uint64_t)first * bytes;
    *high = r->origin + (uint64_t)(last + 1) * bytes;
    return (moved & (moved + 1)) == 0;
}

/* Whether all 32 lanes are neighbours. */
static inline bool lanes_are_next(uint32_t mask, const uint64_t *address, uint32_t bytes)
{
    uint64_t differ = ~mask;
    for (uint64_t lane = 0; lane < JIT_WARP; lane++)
        differ |= address[lane] - address[0] - lane * bytes;
    return differ == 0;
}

/* The address of each lane of `mask` for piece `piece` of an access of such a shape. */
static inline void lane_addresses(uint32_t shape, uint32_t mask, const uint64_t *first,
                                  uint32_t bytes, uint32_t piece, uint64_t out[JIT_WARP])
{
    uint32_t seg = shape & JIT_SHAPE_SEG, within = (1u << seg) - 1;
    uint64_t step = (shape & JIT_SHAPE_NEXT) != 0 ? bytes : 0;
    EACH_LANE(lane, mask)
    out[lane] =
        first[lane >> seg] + (lane & within) * step + (uint64_t)piece * JIT_SHAPE_STEP(shape);
}

/* A lane's value of the argument with that index. */
static inline uint64_t lane_arg(const uint64_t *args, int index, uint32_t lane)
{
    return args[index * JIT_WARP + (int)lane];
}

#endif
