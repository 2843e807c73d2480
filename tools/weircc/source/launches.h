/* launches: kernels that launch kernels, made into what clang 19 can compile.
 *
 * clang refuses `child<<<grid, block>>>(args)` in device code. So a file that has it is compiled
 * from its preprocessed text, rewritten here:
 *
 * - For the device, kernels become functions that device code may call and that PTX still has as
 *   entries, and each launch becomes
 *       (__weir_launch(grid, block), child(args), __weir_launched())
 *   The compiler thus resolves overloads and deduces templates as for any call, and PTX holds a
 *   call whose target is an entry: the device launches it with the configuration that the calling
 *   thread has just set. Kernels get an opaque first statement, so that no launch of a kernel that
 *   seems to do nothing is optimised away.
 * - For the host, launches in functions that only the device runs are taken out; what the host
 *   itself launches stays.
 *
 * Lines keep their numbers. */
#ifndef WEIRCC_LAUNCHES_H
#define WEIRCC_LAUNCHES_H

#include "base/base.h"

enum launch_side { LAUNCH_DEVICE, LAUNCH_HOST };

/* Whether clang's messages say that device code launches kernels. */
bool launches_are_why(const char *messages);

/* Rewrites preprocessed text; appends the result. Returns how many launches were changed. */
int launches_rewrite(const char *text, enum launch_side side, struct strbuf *out);

/* Rewrites a file in place. False and a message when it cannot be read or written. */
bool launches_rewrite_file(const char *path, enum launch_side side, struct diag *d);

/* The name of a kernel that the rewritten text for the device has besides the program's: a static
 * one, from which launch_ptx.h learns how clang names those. */
#define LAUNCH_STATIC_KERNEL "__weir_static_kernel"

/* What else the rewritten text holds: the beginning and the end of a launch; instead of a kernel's
 * attribute; at the beginning of its body. */
#define LAUNCH_PREFIX            "(__weir_launch("
#define LAUNCH_SUFFIX            ", __weir_launched())"
#define LAUNCH_KERNEL_ATTRIBUTES "host, device, nvptx_kernel, noinline, used, disable_tail_calls"
#define LAUNCH_KERNEL_STATEMENT  "__asm__ volatile(\"\" ::: \"memory\");"

#endif
