/* variant: code for a kernel and a block's shape. A kernel that takes long to compile gets baseline
 * code first, and optimized code from the background compiler (jit_tier_up) when that has come to
 * it. Both run blocks in the same frames, so replacing the function that runs a block is all there
 * is to do: what is launched by then, graphs and grids in flight included, goes on with the
 * optimized code, and so do blocks that are running when they come to a barrier (on-stack
 * replacement).
 *
 * The records of one compiled kernel, who owns which (=>), and who only points where (->):
 *
 *   CUfunc_st                a kernel of a loaded module; until the module is unloaded
 *     => variant             one for each block shape it was launched with; as long
 *          == grid_kernel    embedded: what src/exec needs to run blocks; launches, graphs and
 *          |                 cdp_variants point to it
 *          => cdp_variant    what device code needs to launch it, one for each cluster size and
 *          |                 limit of shared memory that is in force; until the module is unloaded
 *          -> jit_code       two references, `code` and `optimized`, until jit_release
 *   ---------------------------------------------------------------- driver above, loader below
 *   compilation              code for a module's text, kernel and options, whoever loaded it: its
 *     |                      ELF object. One in the process; until its last mapping goes
 *     => mapping             the object in memory with one loaded module's addresses; until
 *          |                 its last jit_release
 *          == jit_code       embedded: the part of a mapping that the driver sees
 *
 * They are six because they have six lives: shapes of one module, launches by the device, code that
 * two loads of a module share, and code whose addresses they cannot share. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/schedule.h"
#include "base/stack.h"
#include "driver/error/checks.h"
#include "driver/error/races.h"
#include "driver/error/symbols.h"
#include "driver/module/perf_map.h"
#include "driver/objects.h"
#include "loader/loader.h"
#include "memory/defined.h"
#include "memory/view.h"

/* Of a grid, for each worker: from here on baseline code does little of it. */
enum { MANY_BLOCKS = 16 };

static struct variant *find_variant(CUfunction f, const uint32_t ntid[3], bool grid_small,
                                    uint32_t joined)
{
    for (struct variant *v = atomic_load_explicit(&f->variants, memory_order_acquire); v != NULL;
         v = v->next)
        if (v->ntid[0] == ntid[0] && v->ntid[1] == ntid[1] && v->ntid[2] == ntid[2] &&
            v->grid_small == grid_small && v->joined == joined)
            return v;
    return NULL;
}

/* What WEIR_JIT asks for: how to compile first, and whether optimized code is to follow baseline
 * code. */
static uint32_t first_tier(CUfunction f, const uint32_t grid[3], bool *follow)
{
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    bool both = env_lists(ENV_JIT, "both"), baseline = env_lists(ENV_JIT, "baseline");
    *follow = !baseline;
    if (env_lists(ENV_JIT, "optimizing"))
        return JIT_TIER_OPTIMIZING;
    if (both || baseline)
        return JIT_TIER_BASELINE;
    struct device_facts facts;
    device_facts(driver_device(f->module->ctx->ordinal), &facts);
    return blocks >= (uint64_t)MANY_BLOCKS * facts.workers ? JIT_TIER_FIRST_OF_MANY
                                                           : JIT_TIER_FIRST;
}

/* On the background compiler's thread; the variant is there until jit_tier_up_end has returned. */
static void variant_optimized(void *self, struct jit_code *code)
{
    struct variant *v = self;
    const struct jit_code *first = v->code;
    if (code->frame_bytes != first->frame_bytes || code->pc_count != first->pc_count ||
        code->local_bytes != first->local_bytes || code->can_suspend != first->can_suspend) {
        jit_release(code); /* made by a compiler that is not the first one's: never seen */
        return;
    }
    perf_map_add(v->kernel.name, code);
    if (code->stack_bytes > atomic_load_explicit(&v->kernel.stack_bytes, memory_order_relaxed))
        atomic_store_explicit(&v->kernel.stack_bytes, code->stack_bytes, memory_order_relaxed);
    v->kernel.optimized_bytes = code->text_bytes;
    atomic_store_explicit(&v->kernel.optimized_text, code->text, memory_order_release);
    atomic_store_explicit(&v->optimized, code, memory_order_release);
    atomic_store_explicit(&v->kernel.run, code->run, memory_order_release);
    if ((code->flags & JIT_CODE_OSR_ENTRY) != 0)
        atomic_store_explicit(&v->kernel.replaced, 1, memory_order_release);
}

/* Code with checks of its own does not distinguish devices, too. */
static uint32_t checks(void)
{
    uint32_t asked = (mem_checked() ? (uint32_t)JIT_CHECKS_MEMORY : 0) |
                     (races_checked() ? (uint32_t)JIT_CHECKS_TOUCHED : 0) |
                     (races_threads_checked() ? (uint32_t)JIT_CHECKS_THREADS : 0);
    return asked == 0 && mem_needs_checks() ? JIT_CHECKS_DEVICES : asked;
}

/* Code with other checks does not distinguish devices, either. */
static uint32_t all_checks(void)
{
    uint32_t found = (defined_on ? (uint32_t)JIT_CHECKS_DEFINED : 0) |
                     (sync_checked() ? (uint32_t)JIT_CHECKS_SYNC : 0);
    return found != 0 ? (checks() & ~(uint32_t)JIT_CHECKS_DEVICES) | found : checks();
}

/* The order of warps and lanes that the schedule wants of the kernel: enum jit_order. */
static uint32_t order(CUfunction f)
{
    if (!schedule_on())
        return 0;
    uint64_t name = schedule_name(f->func->name);
    uint32_t warps = schedule_which(SCHEDULE_WARPS, name, 4);
    return ((warps & 1) != 0 ? JIT_ORDER_WARPS : 0) | ((warps & 2) != 0 ? JIT_ORDER_TURNED : 0) |
           (schedule_which(SCHEDULE_LANES, name, 2) != 0 ? JIT_ORDER_LANES : 0);
}

/* Columns of the grid that are a panel: some hundred columns of threads. */
static uint32_t panel_width(uint32_t columns)
{
    enum { THREADS = 128 };
    return columns < THREADS ? THREADS / columns : 1;
}

/* From how many blocks on neighbours are joined: fewer would leave workers idle. Not where somebody
 * looks at threads or blocks one by one. */
void variant_describe(CUfunction f)
{
    enum { EACH = 16 };
    if (f->info.joins == JIT_JOINS_NEVER || f->func->module->debug || schedule_on() ||
        (all_checks() & ~(uint32_t)JIT_CHECKS_DEVICES) != 0)
        return;
    struct device_facts facts;
    device_facts(driver_device(f->module->ctx->ordinal), &facts);
    bool wide = facts.simd_bits == 512 && !env_lists(ENV_VECTORS, "256");
    f->join_least = EACH * facts.workers;
    f->joins_full = f->info.joins == JIT_JOINS || (f->info.joins == JIT_JOINS_512 && wide);
}

/* What the kernel demands of a launch, and has: asked once for each shape of its blocks. */
static CUresult check_demands(CUfunction f, const uint32_t ntid[3])
{
    const uint32_t *exact = f->func->reqntid;
    if (f->info.local_bytes > LOCAL_MAX)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "kernel %s needs %llu bytes of local memory for each thread; a device "
                            "has %d (line %d of its PTX)",
                            symbol_short(f->func->name), (unsigned long long)f->info.local_bytes,
                            LOCAL_MAX, f->func->line);
    for (int n = 0; exact[0] != 0 && n < 3; n++)
        if (ntid[n] != (exact[n] != 0 ? exact[n] : 1))
            return driver_error(CUDA_ERROR_INVALID_VALUE,
                                "kernel %s demands blocks of %ux%ux%u threads (.reqntid), not "
                                "%ux%ux%u",
                                symbol_short(f->func->name), exact[0], exact[1] != 0 ? exact[1] : 1,
                                exact[2] != 0 ? exact[2] : 1, ntid[0], ntid[1], ntid[2]);
    return CUDA_SUCCESS;
}

static CUresult compile_variant(CUfunction f, const uint32_t ntid[3], const uint32_t grid[3],
                                uint32_t joined, struct variant **out)
{
    bool follow;
    CU_TRY(check_demands(f, ntid));
    struct jit_options opt = {.ntid = {ntid[0] * joined, ntid[1], ntid[2]},
                              .grid_small = grid_is_small(grid, ntid),
                              .tier = first_tier(f, grid, &follow),
                              .checked = all_checks(),
                              .lineinfo = 1,
                              .order = order(f),
                              .joined = joined > 1 ? joined : 0}; /* as others key it */
    struct diag d = {0};
    uint64_t begun = observed() ? clock_ns() : 0;
    struct jit_code *code = jit_get(f->func, &opt, &f->module->resolver, &d);
    if (code == NULL)
        return driver_error(d.out_of_memory             ? CUDA_ERROR_OUT_OF_MEMORY
                            : jit_plugin_path() == NULL ? CUDA_ERROR_JIT_COMPILER_NOT_FOUND
                                                        : CUDA_ERROR_INVALID_PTX,
                            "kernel %s: %s", symbol_short(f->func->name), d.text);
    perf_map_add(f->func->name, code);
    struct variant *v = xcalloc(1, sizeof *v);
    memcpy(v->ntid, ntid, sizeof v->ntid);
    v->grid_small = opt.grid_small;
    v->joined = joined;
    v->code = code;
    v->kernel = (struct grid_kernel){
        .run = code->run,
        .name = f->func->name,
        .replaced = !follow, /* by itself, to be tested */
        .stack_bytes = code->stack_bytes,
        .frame_bytes = code->frame_bytes,
        .pc_count = code->pc_count,
        .static_shared = f->info.static_shared,
        .shared_align = f->info.shared_align,
        .local_align = f->info.local_align,
        .local_bytes = code->local_bytes,
        .can_suspend = code->can_suspend != 0,
        .streams = (code->flags & JIT_CODE_STREAMS) != 0,
        .abreast = (code->flags & JIT_CODE_ABREAST) != 0,
        .collects = (code->flags & JIT_CODE_COLLECTS) != 0,
        .panel = (code->flags & JIT_CODE_PANELS) != 0 ? panel_width(opt.ntid[0]) : 0,
        .joined = joined,
        .recursive = f->info.recursive,
        .debug_frames = f->func->module->debug,
        .text = code->text,
        .text_bytes = code->text_bytes,
        .user = v};
    if (observed())
        observe_code_made(&(struct observe_code){.kernel = &v->kernel,
                                                 .name = f->func->name,
                                                 .block = {ntid[0], ntid[1], ntid[2]},
                                                 .registers = f->info.num_regs,
                                                 .begun = begun,
                                                 .ended = clock_ns()});
    if ((code->flags & JIT_CODE_BASELINE) != 0 && follow)
        v->tier_up = jit_tier_up(f->func, &opt, &f->module->resolver, variant_optimized, v);
    v->next = atomic_load(&f->variants);
    atomic_store_explicit(&f->variants, v, memory_order_release);
    *out = v;
    return CUDA_SUCCESS;
}

struct compile_call {
    CUfunction f;
    const uint32_t *ntid, *grid;
    uint32_t joined;
    struct variant **out;
    CUresult result;
};

static void compile_here(void *arg)
{
    struct compile_call *c = arg;
    c->result = compile_variant(c->f, c->ntid, c->grid, c->joined, c->out);
}

CUresult function_variant(CUfunction f, const uint32_t ntid[3], const uint32_t grid[3],
                          uint32_t joined, struct variant **out)
{
    bool small = grid_is_small(grid, ntid);
    *out = find_variant(f, ntid, small, joined);
    if (WEIR_LIKELY(*out != NULL))
        return CUDA_SUCCESS;
    struct compile_call c = {.f = f, .ntid = ntid, .grid = grid, .joined = joined, .out = out};
    pthread_mutex_lock(&f->lock);
    *out = find_variant(f, ntid, small, joined);
    if (*out == NULL)
        stack_call(compile_here, &c);
    pthread_mutex_unlock(&f->lock);
    return c.result; /* success, unless the compiler says otherwise */
}

void variants_free(CUfunction f)
{
    for (struct variant *v = atomic_load(&f->variants), *next; v != NULL; v = next) {
        next = v->next;
        jit_tier_up_end(v->tier_up);
        jit_release(atomic_load(&v->optimized));
        jit_release(v->code);
        variant_free_cdp(v);
        free(v);
    }
}

bool variant_find_line(const struct variant *v, const void *address, const char **file, int *line)
{
    const struct jit_code *optimized = atomic_load_explicit(&v->optimized, memory_order_acquire);
    return jit_find_line(v->code, address, file, line) ||
           (optimized != NULL && jit_find_line(optimized, address, file, line));
}
