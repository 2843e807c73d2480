/* host: asks LLVM which machine this is, and decides which of its features code may use. */
#include "compiler/host.h"

#include <llvm-c/Core.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/env.h"
#include "base/reserve.h"
#include "compiler/out_of_memory.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool known;
static struct slow_gathers slow_gathers;
static char *cpu, *features, *cpu_text, *triple;

/* What LLVM decides for the process, by options and not for a machine or a function. Its second
 * scheduler runs for some CPUs (AMD's Zen, whose cores reorder all of that themselves) and
 * takes time with the square of the loads and stores in a row, of which kernels that spill, or copy
 * structures of kilobytes, have thousands: a half to nine tenths of their compilation. And short
 * loops begin at multiples of 32 bytes: one that lies across two lines of decoded instructions
 * takes twice the time to fetch, and at multiples of 16 that is chance. And its register allocator
 * gives up earlier to look for the best part of a function in which a value has a register: among
 * thousands of short blocks that took up to four fifths of a compilation, and gained nothing. */
static void set_llvm_options(void)
{
    static const char *const options[] = {
        "weir",
        "-disable-post-ra",
        "-grow-region-complexity-budget=500",
#ifdef __x86_64__
        "-x86-experimental-pref-innermost-loop-alignment=5",
#endif
    };
    LLVMParseCommandLineOptions((int)WEIR_COUNT(options), options, "");
}

/* The CPU's features, but for:
 * - gathers, which beat what LLVM does without: a test, a branch and a load for each of 32 lanes;
 * - bf16 instructions, whose conversions make subnormal numbers zeros;
 * - f16 instructions: LLVM 19 swaps the operands of a masked comparison of halves to take one from
 *   memory, and leaves the comparison as it was. (The arithmetic of code generation knows of them,
 *   and llvm/half_arithmetic.c makes the instructions;)
 * - AVX-512 where vectors are to have 256 bits. */
static char *choose_features(char *host)
{
    if (env_lists(ENV_VECTORS, "256"))
        for (char *p = host; (p = strstr(p, "+avx512")) != NULL;)
            *p = '-';
    return xprintf("%s%s", host,
                   strstr(host, "+avx512f,") != NULL ? ",+fast-gather,-avx512bf16,-avx512fp16"
                   : strstr(host, "+avx2") != NULL   ? ",+fast-gather"
                                                     : "");
}

/* With registers for masks, what is measured of gathers under masks does not hold. */
static struct slow_gathers choose_gathers(bool has_avx512)
{
    if (env_lists(ENV_VECTORS, "gathers"))
        return (struct slow_gathers){false, false};
    if (env_lists(ENV_VECTORS, "loads"))
        return (struct slow_gathers){true, true};
    struct slow_gathers slow = find_slow_gathers();
    if (has_avx512)
        slow.masked = slow.full;
    return slow;
}

static void find_host(void *unused)
{
    static bool options_set; /* LLVM takes each once */
    (void)unused;
    if (!options_set) {
        options_set = true;
        set_llvm_options();
    }
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMInitializeNativeAsmParser(); /* for llvm/half_arithmetic.c */
    cpu = LLVMGetHostCPUName();
    char *all = LLVMGetHostCPUFeatures();
    features = choose_features(all);
    LLVMDisposeMessage(all);
    triple = LLVMGetDefaultTargetTriple();
    cpu_text = xprintf("%s", cpu);
    slow_gathers = choose_gathers(strstr(features, "+avx512f,") != NULL);
}

void host_init(void)
{
    if (atomic_load(&known))
        return;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&known))
        atomic_store(&known, compile_guarded_below(find_host, NULL));
    pthread_mutex_unlock(&lock);
    if (!atomic_load(&known))
        memory_escape(); /* the next caller begins anew */
}

const char *host_cpu_text(void)
{
    host_init();
    return cpu_text;
}

const char *host_triple(void) { return triple; }
const char *host_features(void) { return features; }
struct slow_gathers host_slow_gathers(void) { return slow_gathers; }

LLVMTargetMachineRef host_machine(bool baseline, struct diag *d)
{
    LLVMTargetRef target;
    char *why = NULL;
    if (LLVMGetTargetFromTriple(triple, &target, &why)) {
        diag_set(d, 0, 0, "no code generator for %s: %s", triple, why);
        LLVMDisposeMessage(why);
        return NULL;
    }
    return LLVMCreateTargetMachine(target, triple, cpu, features,
                                   baseline ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault,
                                   LLVMRelocPIC, LLVMCodeModelSmall);
}
