/* mend: slips that nvcc lets pass, made into what clang takes.
 *
 * - In asm statements with operands: a register written with a single % ("mov.u32 %0, %smid;"), a
 *   missing comma between operands, operands that are texts ("C"), and, in code that is never
 *   emitted, the number of an operand that there is not.
 * - alignas after other attributes (`__shared__ alignas(16) float tile[16];`).
 * - Shared variables of types whose constructor or destructor does something, such as cuda::barrier
 *   with NVIDIA's CCCL. nvcc leaves both out and warns; clang refuses. They become members of
 * unions.
 * - Blanks within the brackets of a launch (`kernel << < grid, block >> > (x);`).
 * - Lists in braces in a launch's configuration (`kernel<<<grid, {32, 8}>>>(x);`).
 * - The word template left out before a member that depends on a template's parameters
 *   (`cast_to<T>::apply<n>(x)`, `v.apply<n>(x)`). nvcc reads a template's text when it is
 * instantiated and so knows what is a template.
 * - Macros that stand for a #pragma line (`#define UNROLL #pragma unroll`), which the preprocessed
 *   text has as such.
 * - Lines of #pragma unroll that stand before no loop or have no good number (unrolls.h).
 * - Deduction guides that device code uses: clang 19 takes them for functions of the host.
 * - Names that nothing declares and slips of syntax, in templates that are never instantiated, in
 *   device code: nvcc's front end for the device does not read these.
 * - Static functions whose names clang has for its own builtin functions (__rdtsc): they get
 * others.
 * - Specifiers that a function has in its declaration or its definition alone (specifiers.h,
 *   declarations.h), and default arguments that are added to the definition of a template's member.
 * - Functions that are constexpr in name only, and what constant expressions say (constexprs.h).
 * - Extern variables of the device that are definitions (externs.h).
 * - Builtin variables as values, and members of base classes without `this->` (uses.h).
 * - Calls across the sides in functions of the host where __CUDA_ARCH__ is defined, and in those of
 *   the device where it is not: nvcc's front ends do not look at what is the other's.
 * - Functions of the host that __host__ __device__ functions call (host_calls.h).
 * - Alignments by which clang dies (alignments.h).
 *
 * Programs have them, so a file that clang refuses for one of these is compiled again from its
 * preprocessed text, in which they are mended. Nothing else is changed, and no line moves. */
#ifndef WEIRCC_MEND_H
#define WEIRCC_MEND_H

#include "base/base.h"
#include "weircc/options/options.h"
#include "weircc/source/constexprs.h"
#include "weircc/source/host_calls.h"
#include "weircc/source/specifiers.h"
#include "weircc/source/uses.h"

/* The passes in which a call across the sides counts only where its function is compiled. */
enum mend_defers { MEND_DEFERS_DEVICE = 1, MEND_DEFERS_HOST = 2 };

/* What is to be mended beyond what shows in the text alone. */
struct mend_plan {
    bool any;          /* a file is to be mended at all */
    bool unions;       /* shared variables with constructors, in unions */
    bool guides;       /* deduction guides for the device, too */
    bool delayed;      /* templates of device code are parsed when they are instantiated */
    bool declarations; /* functions whose declarations and definitions differ */

    unsigned deferred; /* enum mend_defers, together */

    bool shared;  /* extern shared variables that have a size */
    bool pragmas; /* lines that macros stand for: nothing but to read the text again */
    struct specifier_places specifiers; /* of functions whose declarations differ in them */
    struct constexpr_places constexprs;
    struct use_places uses;
    struct host_calls host_calls; /* in the device pass */
    struct strlist members;       /* names of member templates before which the word is missing */
    bool unrolls;                 /* lines of #pragma unroll */
    bool alignments;              /* that functions compute */
    struct strlist variables;     /* extern variables of the device that are definitions */
    struct strlist builtins;      /* static functions of the program named as clang's own */
};

/* Adds what clang's messages say to the plan. True when mending by it may help more than before. */
bool mend_learn(const char *messages, struct mend_plan *plan);

/* Mends preprocessed text; appends the result. Returns the number of changes. */
int mend_text(const char *text, const struct mend_plan *plan, struct strbuf *out);

/* Mends a file in place. False when there was nothing to mend or on an error (then a message). */
bool mend_file(const char *path, const struct mend_plan *plan, struct diag *d);

#endif
