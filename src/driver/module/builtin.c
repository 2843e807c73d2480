/* builtin: functions that a vendor's device runtime library defines and that PTX calls by name:
 * those of cooperative groups over a grid (cudaCG*). They are PTX themselves, linked to a module
 * that declares them; the library, where a program gives it to the linker, holds machine code
 * alone.
 *
 * A grid's handle is the address of its workspace, which %envreg1 and %envreg2 tell in a
 * cooperative launch. The barrier is that of include/cooperative_groups/details/groups.h: each
 * block adds 1 to a word, block 0 as much as makes the sum of all 2^31, and all wait for the top
 * bit to change. Other scopes than the grid's (several devices) have no handle. */
#include <string.h>

#include "driver/objects.h"

static const char text[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    ".weak .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)\n{\n"
    ".reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d;\n"
    "ld.param.b32 %r1, [scope];\nmov.u32 %r2, %envreg2;\nmov.u32 %r3, %envreg1;\n"
    "mov.b64 %d, {%r2, %r3};\nsetp.eq.u32 %p, %r1, 1;\nselp.b64 %d, %d, 0, %p;\n"
    "st.param.b64 [handle], %d;\nret;\n}\n"

    ".weak .func (.param .b32 error) cudaCGSynchronizeGrid(.param .b64 handle, .param .b32 flags)\n"
    "{\n.reg .pred %p; .reg .b32 %r<12>; .reg .b64 %d;\n"
    "ld.param.b64 %d, [handle];\nsetp.ne.u64 %p, %d, 0;\n@%p bra VALID;\n"
    "trap;\n" /* not launched as a cooperative kernel */
    "VALID:\nbar.sync 0;\n"
    "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %tid.z;\n"
    "or.b32 %r1, %r1, %r2;\nor.b32 %r1, %r1, %r3;\nsetp.ne.u32 %p, %r1, 0;\n@%p bra DONE;\n"
    "fence.acq_rel.gpu;\n"
    "mov.u32 %r1, %nctaid.x;\nmov.u32 %r2, %nctaid.y;\nmov.u32 %r3, %nctaid.z;\n"
    "mul.lo.u32 %r4, %r1, %r2;\nmul.lo.u32 %r4, %r4, %r3;\n"
    "sub.u32 %r4, 0x80000001, %r4;\n"
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ctaid.y;\nmov.u32 %r3, %ctaid.z;\n"
    "or.b32 %r1, %r1, %r2;\nor.b32 %r1, %r1, %r3;\nsetp.eq.u32 %p, %r1, 0;\n"
    "selp.b32 %r4, %r4, 1, %p;\n"
    "atom.add.release.gpu.u32 %r5, [%d+4], %r4;\n"
    "WAIT:\nld.acquire.gpu.u32 %r6, [%d+4];\nxor.b32 %r7, %r5, %r6;\n"
    "setp.ge.s32 %p, %r7, 0;\n@%p bra WAIT;\n"
    "fence.acq_rel.gpu;\n"
    "DONE:\nbar.sync 0;\nst.param.b32 [error], 0;\nret;\n}\n"

    ".weak .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)\n"
    "{\n.reg .b64 %d; .reg .b32 %r<3>;\n.param .b64 a; .param .b32 b; .param .b32 c;\n"
    "ld.param.b64 %d, [handle];\nld.param.b32 %r1, [flags];\n"
    "st.param.b64 [a], %d;\nst.param.b32 [b], %r1;\n"
    "call.uni (c), cudaCGSynchronizeGrid, (a, b);\n"
    "ld.param.b32 %r2, [c];\nst.param.b32 [error], %r2;\nret;\n}\n"

    /* cudaErrorInvalidValue where there is no grid's handle; NULL: not asked for */
    ".weak .func (.param .b32 error) cudaCGGetSize(.param .b64 threads, .param .b64 grids,"
    " .param .b64 handle)\n"
    "{\n.reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<4>;\n"
    "ld.param.b64 %d1, [threads];\nld.param.b64 %d2, [grids];\nld.param.b64 %d3, [handle];\n"
    "st.param.b32 [error], 1;\nsetp.eq.u64 %p, %d3, 0;\n@%p bra OUT;\n"
    "st.param.b32 [error], 0;\n"
    "mov.u32 %r1, %nctaid.x;\nmov.u32 %r2, %nctaid.y;\nmov.u32 %r3, %nctaid.z;\n"
    "mov.u32 %r4, %ntid.x;\nmov.u32 %r5, %ntid.y;\nmov.u32 %r6, %ntid.z;\n"
    "mul.lo.u32 %r1, %r1, %r2;\nmul.lo.u32 %r1, %r1, %r3;\nmul.lo.u32 %r1, %r1, %r4;\n"
    "mul.lo.u32 %r1, %r1, %r5;\nmul.lo.u32 %r1, %r1, %r6;\n"
    "setp.eq.u64 %p, %d1, 0;\n@%p bra GRIDS;\nst.u32 [%d1], %r1;\n"
    "GRIDS:\nsetp.eq.u64 %p, %d2, 0;\n@%p bra OUT;\nst.u32 [%d2], 1;\nOUT:\nret;\n}\n"

    ".weak .func (.param .b32 error) cudaCGGetRank(.param .b64 thread, .param .b64 grid,"
    " .param .b64 handle)\n"
    "{\n.reg .pred %p; .reg .b32 %r<12>; .reg .b64 %d<4>;\n"
    "ld.param.b64 %d1, [thread];\nld.param.b64 %d2, [grid];\nld.param.b64 %d3, [handle];\n"
    "st.param.b32 [error], 1;\nsetp.eq.u64 %p, %d3, 0;\n@%p bra OUT;\n"
    "st.param.b32 [error], 0;\n"
    "mov.u32 %r1, %ctaid.z;\nmov.u32 %r2, %nctaid.y;\nmov.u32 %r3, %ctaid.y;\n"
    "mad.lo.u32 %r1, %r1, %r2, %r3;\nmov.u32 %r2, %nctaid.x;\nmov.u32 %r3, %ctaid.x;\n"
    "mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "mov.u32 %r4, %ntid.x;\nmov.u32 %r5, %ntid.y;\nmov.u32 %r6, %ntid.z;\n"
    "mov.u32 %r7, %tid.z;\nmov.u32 %r8, %tid.y;\nmad.lo.u32 %r7, %r7, %r5, %r8;\n"
    "mov.u32 %r8, %tid.x;\nmad.lo.u32 %r7, %r7, %r4, %r8;\n"
    "mul.lo.u32 %r4, %r4, %r5;\nmul.lo.u32 %r4, %r4, %r6;\nmad.lo.u32 %r1, %r1, %r4, %r7;\n"
    "setp.eq.u64 %p, %d1, 0;\n@%p bra GRID;\nst.u32 [%d1], %r1;\n"
    "GRID:\nsetp.eq.u64 %p, %d2, 0;\n@%p bra OUT;\nst.u32 [%d2], 0;\nOUT:\nret;\n}\n";

static bool is_missing(const struct ptx_module *m)
{
    for (int32_t n = 0; n < m->nfuncs; n++) {
        const struct ptx_func *f = m->funcs[n];
        if (!f->has_body && f->alias_of == NULL && strncmp(f->name, "cudaCG", 6) == 0)
            return true;
    }
    return false;
}

struct ptx_module *module_link_builtin(struct ptx_module *m, struct diag *d)
{
    if (m == NULL || !is_missing(m))
        return m;
    struct ptx_module *units[] = {m, ptx_parse(text, sizeof text - 1, d)};
    struct ptx_module *linked = units[1] != NULL ? ptx_link(units, 2, d) : NULL;
    if (units[1] != NULL)
        ptx_free(units[1]);
    ptx_free(m);
    return linked;
}
