/* What is known of a kernel without compiling it: its memory, the threads that a block of it may
 * have, and an estimate of its registers. */
#include "abi/compile.h"
#include "compiler/passes.h"

#include <string.h>

/* The most 32-bit registers that are live at a block boundary, to estimate occupancy by. */
static uint32_t register_pressure(const struct jkernel *k)
{
    uint32_t worst = 0;
    for (int32_t b = 0; b < k->nblocks; b++) {
        uint32_t sum = 0;
        EACH_BIT (r, k->blocks[b].live_in, (int32_t)k->nregs)
            sum += (ptx_type_bits((enum ptx_type)k->regs[r].type) + 31) / 32;
        worst = sum > worst ? sum : worst;
    }
    worst += 10; /* addresses and temporaries inside a block */
    return worst < 16 ? 16 : worst > 255 ? 255 : worst;
}

/* So many registers that blocks of that many threads fit into a multiprocessor (65536 of them), as
 * many as the kernel asks for: compilers for a GPU keep to that, and a block that may be launched
 * must not have an occupancy of zero. */
static uint32_t most_registers(const struct ptx_func *entry, uint32_t threads)
{
    uint32_t warps = (threads + JIT_WARP - 1) / JIT_WARP;
    uint32_t blocks = entry->minnctapersm > 0 ? entry->minnctapersm : 1;
    uint32_t most = 65536 / (warps * JIT_WARP) / blocks / 8 * 8;
    return most < 16 ? 16 : most;
}

/* How many threads .maxntid or .reqntid allow; 0 where it is absent. */
static uint64_t block_threads(const uint32_t shape[3])
{
    uint64_t threads = shape[0];
    for (int n = 1; n < 3; n++)
        if (shape[n] != 0 && __builtin_mul_overflow(threads, shape[n], &threads))
            threads = UINT64_MAX;
    return threads;
}

bool kernel_facts(const struct ptx_func *entry, struct jit_kernel_info *info, struct diag *d)
{
    struct jit_options opt = {.ntid = {32, 1, 1}};
    struct jkernel k = {.entry = entry, .opt = &opt, .diag = d};
    bool ok = pass_flatten(&k) && pass_cfg(&k) && pass_liveness(&k);
    if (ok) {
        memset(info, 0, sizeof *info);
        info->static_shared = k.shared_bytes;
        info->local_bytes = k.local_bytes + k.kept_bytes;
        info->shared_align = (uint32_t)k.shared_align;
        info->local_align = (uint32_t)k.local_align;
        info->recursive = k.has_calls;
        info->param_bytes = jit_param_bytes(entry);
        for (int n = 0; n < entry->module->nvars; n++)
            if (entry->module->vars[n]->space == PTX_SPACE_CONST)
                info->const_bytes += entry->module->vars[n]->size;
        info->max_threads = 1024;
        uint64_t bound = block_threads(entry->maxntid), exact = block_threads(entry->reqntid);
        if (bound != 0 && bound < info->max_threads)
            info->max_threads = (uint32_t)bound;
        if (exact != 0 && exact < info->max_threads)
            info->max_threads = (uint32_t)exact;
        uint32_t registers = register_pressure(&k), most = most_registers(entry, info->max_threads);
        info->num_regs = registers < most ? registers : most;
        info->ptx_version = (uint32_t)entry->module->target_sm;
        info->binary_version = (uint32_t)entry->module->target_sm;
        info->joins = jit_joining(&k);
        for (int32_t b = 0; b < k.nblocks; b++)
            info->uses_barriers |= k.fibers || k.blocks[b].suspend == SUSPEND_BARRIER;
    }
    jkernel_free(&k);
    return ok;
}
