/* compile: the interface of libweir-jit.so: compiles a PTX entry to an ELF object and prints the
 * stages of that on demand.
 *
 * Optimization is LLVM's, by a pipeline of our own: no vectorizer, and only loops of known length
 * are unrolled (kernels come vectorized, and nvcc and clang have unrolled what their source asked
 * for). */
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/plugin.h"
#include "base/reserve.h"
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/frame.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/scalar_functions.h"
#include "compiler/host.h"
#include "compiler/llvm/baseline.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/llvm/stack_size.h"
#include "compiler/out_of_memory.h"
#include "compiler/passes.h"

/* ---- checks and facts ---- */

/* Says in which function a refused instruction is, and where in the source, if that is known. */
static bool refuse_in(const struct ptx_func *f, const struct ptx_instr *i, struct diag *d)
{
    const struct ptx_module *m = f->module;
    if (d == NULL || d->text[0] == 0)
        return false;
    struct diag why = *d;
    const char *file = i->loc_line > 0 && i->loc_file > 0 && i->loc_file < m->nfiles
                           ? m->files[i->loc_file]
                           : NULL;
    d->text[0] = 0;
    if (file != NULL)
        return diag_set(d, why.line, why.column, "%s:%d: %.600s (in %s, line %d of its PTX)", file,
                        i->loc_line, why.text, f->name, why.line);
    return diag_set(d, why.line, why.column, "%.600s (in %s, line %d of its PTX)", why.text,
                    f->name, why.line);
}

static bool check_func(const struct ptx_func *f, struct diag *d)
{
    for (int n = 0; n < f->ninstrs; n++)
        if (!emit_supported(&f->instrs[n], d))
            return refuse_in(f, &f->instrs[n], d);
    return true;
}

static void add_callee(struct callees *list, const struct ptx_func *f)
{
    for (size_t n = 0; n < list->count; n++)
        if (list->items[n] == f)
            return;
    vec_push(list, f);
}

/* Checks the calls that flattening leaves: their functions must exist; those with a body are
 * listed. */
static bool check_calls(const struct jkernel *k, struct callees *list)
{
    const struct ptx_module *m = k->entry->module;
    for (size_t n = 0; n < k->ninstrs; n++) {
        const struct ptx_instr *i = &k->instrs[n];
        if (i->op != PTX_OP_call)
            continue;
        const struct ptx_func *f = i->call->func;
        if (f != NULL && f->has_body)
            add_callee(list, f);
        else if (f != NULL && !alu_math_known(f->name, NULL) && !jit_is_helper(f->name))
            return diag_set(k->diag, i->line, i->column,
                            "kernel %s calls %s, which is defined nowhere", k->entry->name,
                            f->name);
        /* through a pointer: as emit_call finds the targets */
        const struct ptx_call *call = i->call;
        for (int c = 0; f == NULL && c < (call->proto != NULL ? m->nfuncs : call->ncandidates);
             c++) {
            const struct ptx_func *to = call->proto != NULL ? m->funcs[c] : call->candidates[c];
            if (to->has_body && !to->is_entry &&
                (call->proto == NULL ||
                 (jit_same_prototype(to, call->proto) && jit_address_taken(m, to))))
                add_callee(list, to);
        }
    }
    return true;
}

/* Checks an entry, and the functions that it calls, by the passes that may refuse them. */
static bool check_entry(const struct ptx_func *entry, struct diag *d)
{
    struct jit_options opt = {.ntid = {32, 1, 1}};
    struct callees list = {0};
    bool ok = true, fibers = false;
    for (size_t n = 0; ok && n <= list.count; n++) {
        const struct ptx_func *f = n == 0 ? entry : list.items[n - 1];
        struct jkernel k = {.entry = f, .opt = &opt, .diag = d, .is_function = n > 0};
        k.fibers = fibers;
        ok = pass_flatten(&k) && pass_limits(&k) && pass_cfg(&k) && check_calls(&k, &list);
        fibers = k.fibers;
        jkernel_free(&k);
    }
    free(list.items);
    return ok;
}

static bool check_module(const struct ptx_module *m, struct diag *d)
{
    for (int n = 0; n < m->nfuncs; n++) {
        const struct ptx_func *f = m->funcs[n];
        if (f->has_body && !check_func(f, d))
            return false;
        if (f->is_entry && f->has_body && !check_entry(f, d))
            return false;
    }
    return true;
}

uint64_t jit_param_bytes(const struct ptx_func *f)
{
    uint64_t at = 0;
    for (int n = 0; n < f->nparams; n++) {
        uint64_t align = f->params[n]->align ? f->params[n]->align : 1;
        at = (at + align - 1) / align * align + f->params[n]->size;
    }
    return at;
}

/* ---- LLVM ---- */

#define FIRST_PASSES                                                                               \
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"                 \
    "loop-mssa(loop-rotate,licm),loop(indvars,loop-unroll-full),simplifycfg,gvn,"                  \
    "instcombine<no-verify-fixpoint>,"
#define LAST_PASSES "adce,dse,simplifycfg,instcombine<no-verify-fixpoint>,sink)"
static const char *const PIPELINE = FIRST_PASSES "loop-mssa(licm)," LAST_PASSES;
/* Loops with an invariant condition, such as whether an array is aligned, are unswitched. Between
 * barriers that costs more than it gains: the condition is kept and spilled. */
static const char *const UNSWITCHING_PIPELINE =
    FIRST_PASSES "loop-mssa(licm,simple-loop-unswitch<nontrivial;trivial>)," LAST_PASSES;

/* For debuggers, which look for variables in memory: what is stored there is stored where it
 * stands. */
static const char *const DEBUG_PIPELINE =
    "function(sroa,simplifycfg,instcombine<no-verify-fixpoint>,adce)";
/* The same where the others take time with the square of the kernel. */
static const char *const DEBUG_LARGE_PIPELINE = "function(simplifycfg,adce)";

/* Without passes that take more than linear time. */
static const char *const LARGE_PIPELINE =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "early-cse<memssa>,adce,simplifycfg)";
/* After cold_sink. */
static const char *const SINK_PIPELINE = "function(mem2reg,simplifycfg)";
/* After prefetch_insert: the prefetch distance is computed once. */
static const char *const PREFETCH_PIPELINE = "function(early-cse,loop-mssa(licm))";
/* Before and after warp_jam. */
static const char *const LOOP_FORM_PIPELINE = "function(loop-simplify,lcssa)";
static const char *const JAMMED_PIPELINE = "function(simplifycfg,instsimplify,early-cse,adce)";
enum {
    /* As emitted: from here on ... */
    BASELINE_INSTRUCTIONS = 3000, /* optimized code may take more than half a second */
    OSR_INSTRUCTIONS = 7000,      /* it can be entered, which costs kernels in lockstep */
    MEDIUM_INSTRUCTIONS = 8000,   /* baseline code takes the cheaper passes */
    BASELINE_LARGE = 40000,       /* baseline code takes none but the cheapest */
    LARGE_INSTRUCTIONS = 60000,   /* most passes of the optimizing tier take too long */
};

/* Instructions of the module. */
static size_t count_instructions(LLVMModuleRef m)
{
    size_t n = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f != NULL; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b != NULL;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i != NULL;
                 i = LLVMGetNextInstruction(i))
                n++;
    return n;
}

static void add_attribute(struct codegen *cg, const char *key, const char *value)
{
    LLVMAttributeRef a = LLVMCreateStringAttribute(cg->alu.ctx, key, (unsigned)strlen(key), value,
                                                   (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(cg->fn, LLVMAttributeFunctionIndex, a);
}

/* One compilation: everything that must be released at its end. */
struct session {
    struct jkernel k;
    struct callees callees;
    struct scalar_functions scalars;
    struct codegen cg;
    LLVMTargetMachineRef tm;
    LLVMTargetDataRef data;
    size_t emitted;          /* instructions */
    struct stack_size stack; /* what code generation tells of it */
    bool baseline;           /* JIT_TIER_BASELINE, chosen or asked for */
    bool debugged;           /* debuggers look for variables in memory */
    bool osr_entry;          /* blocks that began in other code may enter it */
};

static void finish_function(struct codegen *cg)
{
    add_attribute(cg, "prefer-vector-width", "512");
    add_attribute(cg, "min-legal-vector-width", "512");
    unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
    LLVMAddAttributeAtIndex(cg->fn, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(cg->alu.ctx, nounwind, 0));
}

/* A function that is called and not inlined, into the same module, for warps or for one lane. */
static bool emit_callee(struct session *s, const struct ptx_func *func,
                        const struct jit_options *opt, struct diag *d, bool one_lane)
{
    struct jkernel k = {
        .is_function = true, .one_lane = one_lane, .fibers = s->k.fibers, .layout = &s->k};
    bool ok = jkernel_build(&k, func, opt, d);
    if (ok) {
        struct codegen cg = {.k = &k,
                             .alu = s->cg.alu,
                             .callees = &s->callees,
                             .scalars = &s->scalars,
                             .lines = s->cg.lines};
        ok = emit_function(&cg);
        finish_function(&cg);
    }
    jkernel_free(&k);
    return ok;
}

/* May a block of this kernel pass a barrier more than once? */
static bool loops_over_barriers(const struct jkernel *k)
{
    for (int32_t b = 0; b < k->nblocks; b++)
        if (k->blocks[b].depth > 0 && k->blocks[b].term == TERM_SUSPEND &&
            k->blocks[b].suspend == SUSPEND_BARRIER)
            return true;
    return k->fibers;
}

/* Is each block at work for long, in the order of the program? Tiles of matrices, as a rule. */
static bool is_long(const struct jkernel *k) { return k->lockstep && loops_over_barriers(k); }

/* Is it a kernel for which most passes take too long? */
static bool is_large(const struct session *s)
{
    return s->emitted > LARGE_INSTRUCTIONS || (s->k.entry->pragmas & PTX_PRAGMA_LARGE) != 0;
}

/* LLVM may think that an access by a null pointer never comes; in kernels it is a fault. */
static void allow_null(struct session *s)
{
    static const char name[] = "null_pointer_is_valid";
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAttributeRef valid = LLVMCreateEnumAttribute(s->cg.alu.ctx, kind, 0);
    for (LLVMValueRef f = LLVMGetFirstFunction(s->cg.alu.module); f != NULL;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, valid);
}

/* Chooses the tier: up to here tiers do not differ. */
static bool choose_tier(struct session *s, const struct jit_options *opt, struct diag *d)
{
    size_t n = s->emitted = count_instructions(s->cg.alu.module);
    bool enters = osr_possible(&s->cg) && (n > OSR_INSTRUCTIONS || !s->k.lockstep);
    bool may = opt->tier == JIT_TIER_FIRST_OF_MANY ||
               (opt->tier == JIT_TIER_FIRST && (enters || !loops_over_barriers(&s->k)));
    s->baseline = opt->tier == JIT_TIER_BASELINE || (may && n > BASELINE_INSTRUCTIONS);
    s->osr_entry = enters || (osr_possible(&s->cg) && s->baseline);
    osr_decide(s->cg.alu.module, OSR_LEAVES, s->baseline);
    osr_decide(s->cg.alu.module, OSR_ENTERS, s->osr_entry);
    if (!s->baseline)
        return true;
    LLVMDisposeTargetMachine(s->tm);
    s->tm = host_machine(true, d);
    return s->tm != NULL;
}

static bool session_open(struct session *s, const struct ptx_func *entry,
                         const struct jit_options *opt, struct diag *d)
{
    host_init();
    if (!jkernel_build(&s->k, entry, opt, d))
        return false;
    s->tm = host_machine(false, d);
    if (s->tm == NULL)
        return false;
    s->cg.k = &s->k;
    s->cg.callees = &s->callees;
    s->cg.scalars = &s->scalars;
    s->cg.alu.ctx = LLVMContextCreate();
    s->cg.alu.module = LLVMModuleCreateWithNameInContext("weir", s->cg.alu.ctx);
    s->cg.alu.b = LLVMCreateBuilderInContext(s->cg.alu.ctx);
    alu_host(&s->cg.alu, host_features());
    s->data = LLVMCreateTargetDataLayout(s->tm);
    LLVMSetModuleDataLayout(s->cg.alu.module, s->data);
    LLVMSetTarget(s->cg.alu.module, host_triple());
    if (opt->lineinfo)
        s->cg.lines = debug_open(&s->cg);
    bool ok = emit_kernel(&s->cg);
    if (ok)
        finish_function(&s->cg);
    for (size_t n = 0; ok && n < s->callees.count; n++)
        ok = emit_callee(s, s->callees.items[n], opt, d, false);
    for (size_t n = 0; ok && n < s->scalars.count; n++)
        if (s->scalars.items[n].lanes > 0)
            ok = emit_callee(s, s->scalars.items[n].func, opt, d, true);
    allow_null(s);
    s->debugged = debug_close(s->cg.lines);
    if (!ok && d->text[0] == '\0')
        diag_set(d, 0, 0, "%s cannot be compiled", entry->name);
    return ok && choose_tier(s, opt, d);
}

static void session_close(struct session *s)
{
    if (s->cg.alu.b != NULL)
        LLVMDisposeBuilder(s->cg.alu.b);
    if (s->cg.alu.module != NULL)
        LLVMDisposeModule(s->cg.alu.module);
    if (s->cg.alu.ctx != NULL)
        LLVMContextDispose(s->cg.alu.ctx);
    if (s->data != NULL)
        LLVMDisposeTargetData(s->data);
    if (s->tm != NULL)
        LLVMDisposeTargetMachine(s->tm);
    free(s->callees.items);
    free(s->scalars.items);
    jkernel_free(&s->k);
}

static bool run_passes(struct session *s, const char *passes, struct diag *d)
{
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMErrorRef err = LLVMRunPasses(s->cg.alu.module, passes, s->tm, o);
    LLVMDisposePassBuilderOptions(o);
    if (err == NULL)
        return true;
    char *text = LLVMGetErrorMessage(err);
    diag_set(d, 0, 0, "optimizing %s: %s", s->k.entry->name, text);
    LLVMDisposeErrorMessage(text);
    return false;
}

static bool verify(struct session *s, struct diag *d)
{
    char *why = NULL;
    bool bad = LLVMVerifyModule(s->cg.alu.module, LLVMReturnStatusAction, &why);
    if (bad)
        diag_set(d, 0, 0, "internal error: bad code for %s: %s", s->k.entry->name, why);
    LLVMDisposeMessage(why);
    return !bad;
}

/* Is it one for which passes take longer than what they save in generating baseline code? */
static bool is_large_baseline(const struct session *s)
{
    return is_large(s) || s->emitted > BASELINE_LARGE;
}

static const char *baseline_passes(const struct session *s)
{
    if (is_large_baseline(s))
        return BASELINE_LARGE_PASSES;
    return s->emitted > MEDIUM_INSTRUCTIONS ? BASELINE_MEDIUM_PASSES : BASELINE_PASSES;
}

static const char *debug_passes(const struct session *s)
{
    return is_large_baseline(s) ? DEBUG_LARGE_PIPELINE : DEBUG_PIPELINE;
}

static bool jam_warps(struct session *s, struct diag *d)
{
    bool always = s->k.entry->pragmas & PTX_PRAGMA_JAM;
    return run_passes(s, LOOP_FORM_PIPELINE, d) &&
           (!warp_jam(s->cg.alu.module, s->cg.alu.simd_bits, s->k.shared_bytes, always) ||
            run_passes(s, JAMMED_PIPELINE, d));
}

/* What lanes make of votes on which of them have some number. */
static bool narrow_votes(struct session *s)
{
    if (!s->cg.alu.has_avx2)
        return false;
    bool changed = make_selection_tables(s->cg.alu.module, s->cg.alu.has_avx512);
    return compare_as_bytes(s->cg.alu.module, s->cg.alu.has_avx512) || changed;
}

static bool inline_halves(struct session *s, struct diag *d)
{
    if (alu_fma_slow(&s->cg.alu)) {
        if (!run_passes(s, "function(sroa)", d))
            return false;
        alu_fma_sums(&s->cg.alu);
    }
    return !alu_fma_inline(&s->cg.alu) || run_passes(s, "always-inline", d);
}

/* Blocks of few threads: vectors of as many lanes. */
static bool narrow_to_threads(struct session *s, struct diag *d)
{
    static const char *const passes = "function(instcombine<no-verify-fixpoint>,simplifycfg,adce)";
    unsigned lanes = jit_lanes_used(&s->k);
    if (lanes == JIT_WARP || s->k.is_function)
        return true;
    if (fold_lane_masks(s->cg.alu.module, s->cg.fn, lanes) && !run_passes(s, passes, d))
        return false;
    return !narrow_lanes(s->cg.alu.module, s->cg.fn, lanes) || run_passes(s, passes, d);
}

static bool compile_optimize(struct session *s, struct diag *d)
{
    bool large = is_large(s);
    if (s->baseline) {
        if (!run_passes(s, s->debugged ? debug_passes(s) : baseline_passes(s), d))
            return false;
        baseline_prepare(s->cg.alu.module);
        if (!large && !s->debugged && !run_passes(s, BASELINE_SECOND_PASSES, d))
            return false;
        baseline_demote(s->cg.alu.module);
        baseline_calls(s->cg.alu.module, s->data);
        return true;
    }
    if (s->debugged)
        return run_passes(s, debug_passes(s), d);
    if (!large && !inline_halves(s, d))
        return false;
    const char *passes = s->k.nresume > 1 ? PIPELINE : UNSWITCHING_PIPELINE;
    if (!run_passes(s, large ? LARGE_PIPELINE : passes, d))
        return false;
    if (!large && !narrow_to_threads(s, d))
        return false;
    if (!large)
        narrow_integers(s->cg.alu.module);
    if (!large && narrow_wide_vectors(s->cg.alu.module) && !run_passes(s, "function(adce)", d))
        return false;
    if (!large && (!run_passes(s, "function(break-crit-edges)", d) ||
                   (cold_sink(s->cg.alu.module), !run_passes(s, SINK_PIPELINE, d))))
        return false;
    if (!large && prefetch_insert(s->cg.alu.module, s->data, is_long(&s->k)) &&
        !run_passes(s, PREFETCH_PIPELINE, d))
        return false;
    if (!large && s->k.lockstep)
        shared_reload(s->cg.alu.module, s->data, s->k.shared_bytes, s->cg.alu.simd_bits);
    if (!large && s->k.nwarps > 1 && !jam_warps(s, d))
        return false;
    bool changed = !large && narrow_votes(s);
    strip_mine(s->cg.alu.module, s->cg.alu.simd_bits, s->k.entry->pragmas & PTX_PRAGMA_STRIPS);
    if (!large)
        scalarize_gathers(s->cg.alu.module, host_slow_gathers());
    if (large)
        return true;
    if (alu_fma_inline_rare(&s->cg.alu) && !run_passes(s, "always-inline", d))
        return false;
    changed |= mask_logic(s->cg.alu.module, s->cg.alu.has_avx512);
    if (s->cg.alu.has_avx2 && !s->cg.alu.has_avx512) {
        changed |= count_bits(s->cg.alu.module);
        changed |= mask_width(s->cg.alu.module);
    }
    narrow_constant_masks(s->cg.alu.module);
    return !changed || run_passes(s, "function(adce)", d);
}

static LLVMMemoryBufferRef generate(struct session *s, LLVMCodeGenFileType type, struct diag *d)
{
    LLVMMemoryBufferRef out = NULL;
    char *why = NULL;
    if (s->cg.alu.has_f16c)
        half_arithmetic(s->cg.alu.module, s->cg.alu.has_fp16);
    if (s->cg.alu.has_avx512)
        avoid_mask_faults(s->cg.alu.module);
    stack_size_watch(s->cg.alu.module, s->cg.alu.ctx, &s->stack);
    if (LLVMTargetMachineEmitToMemoryBuffer(s->tm, s->cg.alu.module, type, &why, &out)) {
        diag_set(d, 0, 0, "generating code for %s: %s", s->k.entry->name, why);
        LLVMDisposeMessage(why);
        return NULL;
    }
    if (s->stack.failed[0] != '\0') {
        diag_set(d, 0, 0, "generating code for %s: %s", s->k.entry->name, s->stack.failed);
        LLVMDisposeMemoryBuffer(out);
        return NULL;
    }
    return out;
}

static bool make_object(const struct ptx_func *entry, const struct jit_options *options,
                        struct jit_object *out, struct diag *d)
{
    struct session s = {0};
    bool ok = session_open(&s, entry, options, d) && verify(&s, d) && compile_optimize(&s, d);
    LLVMMemoryBufferRef code = ok ? generate(&s, LLVMObjectFile, d) : NULL;
    if (code != NULL) {
        out->size = LLVMGetBufferSize(code);
        out->data = xmalloc(out->size);
        memcpy(out->data, LLVMGetBufferStart(code), out->size);
        LLVMDisposeMemoryBuffer(code);
        out->meta = (struct jit_meta){
            .local_bytes = s.k.local_bytes + s.k.kept_bytes,
            .frame_bytes = s.cg.frame->bytes,
            .pc_count = (uint32_t)s.k.nresume,
            .can_suspend = s.k.has_poll || s.k.fibers,
            .flags = (s.baseline ? JIT_CODE_BASELINE : 0u) |
                     (s.osr_entry ? JIT_CODE_OSR_ENTRY : 0u) |
                     (batch_streams(&s.cg) ? JIT_CODE_STREAMS : 0u) |
                     (batch_abreast(&s.cg) && s.cg.counter == NULL ? JIT_CODE_ABREAST : 0u) |
                     (is_long(&s.k) ? JIT_CODE_PANELS : 0u) |
                     (s.cg.deferred != NULL ? JIT_CODE_COLLECTS : 0u),
            .stack_bytes = stack_size_wanted(&s.stack)};
    }
    session_close(&s);
    return code != NULL;
}

static void print_module(struct session *s, struct strbuf *out)
{
    char *text = LLVMPrintModuleToString(s->cg.alu.module);
    sb_printf(out, "%s", text);
    LLVMDisposeMessage(text);
}

/* Milliseconds of CPU time that this thread has used. */
static double thread_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Compiles, and prints how long that took; the session is open. */
static bool print_times(struct session *s, double start, struct strbuf *out, struct diag *d)
{
    double emitted = thread_ms(), optimized;
    size_t before = count_instructions(s->cg.alu.module);
    if (!verify(s, d) || !compile_optimize(s, d))
        return false;
    optimized = thread_ms();
    size_t after = count_instructions(s->cg.alu.module);
    LLVMMemoryBufferRef code = generate(s, LLVMObjectFile, d);
    if (code == NULL)
        return false;
    double end = thread_ms();
    sb_printf(out,
              "// %zu instructions, %zu of LLVM, %zu optimized, %zu bytes; "
              "ms: emit %.1f, optimize %.1f, generate %.1f, all %.1f%s\n",
              s->k.ninstrs, before, after, LLVMGetBufferSize(code), emitted - start,
              optimized - emitted, end - optimized, end - start, s->baseline ? " (baseline)" : "");
    LLVMDisposeMemoryBuffer(code);
    return true;
}

static bool dump_stages(const struct ptx_func *entry, const struct jit_options *options,
                        unsigned stages, struct strbuf *out, struct diag *d)
{
    struct session s = {0};
    double start = thread_ms();
    bool ok = session_open(&s, entry, options, d);
    if (ok && (stages & JIT_STAGE_TIMES) != 0) {
        ok = print_times(&s, start, out, d);
        session_close(&s);
        return ok;
    }
    if (ok && (stages & JIT_STAGE_UNIFORMITY))
        jkernel_print_uniformity(&s.k, out);
    if (ok && (stages & JIT_STAGE_IR_RAW))
        print_module(&s, out);
    ok = ok && verify(&s, d) && compile_optimize(&s, d) && verify(&s, d);
    if (ok && (stages & JIT_STAGE_IR))
        print_module(&s, out);
    if (ok && (stages & JIT_STAGE_ASM)) {
        LLVMMemoryBufferRef text = generate(&s, LLVMAssemblyFile, d);
        ok = text != NULL;
        if (ok) {
            sb_append(out, LLVMGetBufferStart(text), LLVMGetBufferSize(text));
            LLVMDisposeMemoryBuffer(text);
        }
    }
    session_close(&s);
    return ok;
}

/* ---- the library's functions, each under a guard: memory may run out anywhere in them ---- */

/* One call; what its function does not take is 0. */
struct guarded_call {
    const struct ptx_module *m;
    const struct ptx_func *entry;
    const struct jit_options *options;
    struct jit_kernel_info *info;
    struct jit_object *object;
    unsigned stages;
    struct strbuf *out;
    struct diag d;
    bool ok;
    const char *text;
};

/* Calls it. The message goes to `d`, which may be NULL. */
static bool under_guard(void (*call)(void *arg), struct guarded_call *c, struct diag *d)
{
    const char *name = c->entry != NULL ? c->entry->name : "the module";
    char what[256];
    snprintf(what, sizeof what, "%.200s cannot be compiled", name);
    bool ok = compile_guarded(call, c, what, &c->d) && c->ok;
    if (d != NULL && d->text[0] == '\0')
        *d = c->d;
    return ok;
}

static void call_cpu(void *arg) { ((struct guarded_call *)arg)->text = host_cpu_text(); }
static const char *compile_cpu(void)
{
    struct guarded_call c = {0};
    under_guard(call_cpu, &c, NULL);
    return c.text != NULL ? c.text : "";
}

static void call_check(void *arg)
{
    struct guarded_call *c = arg;
    c->ok = check_module(c->m, &c->d);
}
static bool compile_check(const struct ptx_module *m, struct diag *d)
{
    struct guarded_call c = {.m = m};
    return under_guard(call_check, &c, d);
}

static void call_kernel_info(void *arg)
{
    struct guarded_call *c = arg;
    c->ok = kernel_facts(c->entry, c->info, &c->d);
}
static bool compile_kernel_info(const struct ptx_func *entry, struct jit_kernel_info *info,
                                struct diag *d)
{
    struct guarded_call c = {.entry = entry, .info = info};
    return under_guard(call_kernel_info, &c, d);
}

static void call_dump(void *arg)
{
    struct guarded_call *c = arg;
    c->ok = dump_stages(c->entry, c->options, c->stages, c->out, &c->d);
}
static bool compile_dump(const struct ptx_func *entry, const struct jit_options *options,
                         unsigned stages, struct strbuf *out, struct diag *d)
{
    struct guarded_call c = {.entry = entry, .options = options, .stages = stages, .out = out};
    return under_guard(call_dump, &c, d);
}

static void call_compile(void *arg)
{
    struct guarded_call *c = arg;
    c->ok = make_object(c->entry, c->options, c->object, &c->d);
}
static bool compile_entry(const struct ptx_func *entry, const struct jit_options *options,
                          struct jit_object *out, struct diag *d)
{
    struct guarded_call c = {.entry = entry, .options = options, .object = out};
    return under_guard(call_compile, &c, d);
}

const struct jit_plugin *weir_jit_plugin(void)
{
    static const struct jit_plugin plugin = {JIT_PLUGIN_HEAD,
                                             .cpu = compile_cpu,
                                             .check = compile_check,
                                             .kernel_info = compile_kernel_info,
                                             .dump = compile_dump,
                                             .compile = compile_entry,
                                             .abandoned = compile_abandoned};
    return &plugin;
}
