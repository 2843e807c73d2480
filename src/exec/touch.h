/* touch: which bytes of global memory a grid reads and writes, for those who look for races.
 * Kernels compiled with JIT_CHECKS_TOUCHED call weir_rt_touch before each access. */
#ifndef WEIR_EXEC_TOUCH_H
#define WEIR_EXEC_TOUCH_H

#include "abi/kernel_abi.h"
#include "exec/grid.h"

enum touch { TOUCH_READ, TOUCH_WRITE, TOUCH_ATOMIC, TOUCH_KINDS };

/* An instruction that touched bytes in [low, high), by the block and thread that came first. */
struct touch_site {
    const void *pc;
    enum touch how;
    bool writes, system; /* it is atomic for the host, too */
    uint64_t low, high;
    uint32_t block[3], warp;
};

/* The lanes of `mask` are about to touch bytes at the addresses; what: see JIT_CHECK_WRITES. */
void weir_rt_touch(struct jit_block *j, uint32_t mask, const uint64_t *address, uint32_t what,
                   uint32_t shape, uint32_t slot);
struct jit_touched *weir_rt_touched(const struct jit_block *j, uint32_t first);

/* From now on what grids touch is asked for; once, before the first. */
void touch_tell(void);
bool touch_is_told(void);
/* A block of a kernel of ours, which one of the program's has launched as a copy or a fill, reads
 * or writes so many bytes: for those who look for races, between streams and within grids. `value`:
 * what is written, again and again, or NULL. Only if touch_is_told. */
void touch_block(struct jit_block *j, const void *at, uint64_t bytes, bool writes,
                 const uint32_t *value);

/* A grid whose accesses are told gives bytes of its heap back, ... and gets them. */
void touch_freed(struct grid_run *run, uint64_t low, uint64_t high);
void touch_allocated(struct grid_run *run, uint64_t low, uint64_t high);

/* A thread of the block is about to launch something beside its grid: what the grid touches from
 * then on, as far as it is known to be later, is another part. Returns the number of launches
 * before, TOUCH_PARTS: they are not counted any more. */
enum { TOUCH_PARTS = 64 };
uint32_t touch_launches(struct jit_block *j);

/* What a complete run has touched in that part: calls range(self, how, low, high) for each range of
 * bytes, not in order and maybe more than once, and site(self, site) for each instruction. Forgets
 * it. */
void grid_touched(struct grid_run *run, uint32_t part,
                  void (*range)(void *self, enum touch how, uint64_t low, uint64_t high),
                  void (*site)(void *self, const struct touch_site *site), void *self);

#endif
