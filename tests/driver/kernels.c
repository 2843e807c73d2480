/* The kernels of the driver's tests. */
#include "common.h"

const char kernels[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, "
    ".param .b64 c);\n"
    ".global .align 1 .b8 hello[7] = {104, 101, 108, 108, 111, 10, 0};\n"
    ".visible .global .align 4 .u32 counter = 5;\n"
    ".visible .global .align 8 .u64 place = counter;\n"
    ".visible .const .align 4 .f32 scale = 0f40000000;\n"

    /* c[i] = a[i] + b[i] */
    ".visible .entry vadd(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n"
    ".reg .pred %p; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %d<9>;\n"
    "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [c]; ld.param.u32 %r2, [n];\n"
    "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"
    "mad.lo.s32 %r1, %r3, %r4, %r5; setp.ge.s32 %p, %r1, %r2; @%p bra DONE;\n"
    "mul.wide.s32 %d5, %r1, 4; add.s64 %d6, %d1, %d5; add.s64 %d7, %d2, %d5;\n"
    "add.s64 %d8, %d3, %d5; ld.global.f32 %f1, [%d6]; ld.global.f32 %f2, [%d7];\n"
    "add.f32 %f3, %f1, %f2; st.global.f32 [%d8], %f3;\nDONE: ret;\n}\n"

    /* adds 1 to *p, once for each thread */
    ".visible .entry count(.param .u64 p)\n{\n.reg .b64 %d; .reg .b32 %r;\n"
    "ld.param.u64 %d, [p]; atom.global.add.u32 %r, [%d], 1; ret;\n}\n"

    /* a store of 4 bytes anywhere */
    ".visible .entry store(.param .u64 p, .param .u32 v)\n{\n.reg .b64 %d; .reg .b32 %r;\n"
    "ld.param.u64 %d, [p]; ld.param.u32 %r, [v]; st.global.u32 [%d], %r; ret;\n}\n"

    /* waits until *p is not 0 */
    ".visible .entry spin(.param .u64 p)\n{\n.reg .pred %p; .reg .b64 %d; .reg .b32 %r;\n"
    "ld.param.u64 %d, [p];\nAGAIN: ld.volatile.global.u32 %r, [%d];\n"
    "setp.eq.u32 %p, %r, 0; @%p bra AGAIN; ret;\n}\n"

    ".visible .entry stop()\n{\ntrap; ret;\n}\n"
    ".visible .entry nothing()\n{\nret;\n}\n"
    ".visible .entry say()\n{\n.reg .b64 %d<3>; .reg .b32 %r; .param .b64 f; .param .b64 a;\n"
    ".param .b32 r;\nmov.u64 %d1, hello; cvta.global.u64 %d1, %d1; mov.u64 %d2, 0;\n"
    "st.param.b64 [f], %d1; st.param.b64 [a], %d2; call.uni (r), vprintf, (f, a); ret;\n}\n"
    ".visible .entry insist()\n{\n.reg .b64 %d; .param .b64 m; .param .b64 f; .param .b32 l;\n"
    ".param .b64 n; .param .b64 c;\nmov.u64 %d, hello; cvta.global.u64 %d, %d;\n"
    "st.param.b64 [m], %d; st.param.b64 [f], %d; st.param.b32 [l], 42; st.param.b64 [n], %d;\n"
    "st.param.b64 [c], 1; call.uni __assertfail, (m, f, l, n, c); ret;\n}\n"

    /* out[0] = size of dynamic shared memory, out[1] = limits of the block */
    ".extern .shared .align 16 .b8 area[];\n"
    ".visible .entry shared(.param .u64 out)\n{\n.reg .b64 %d; .reg .b32 %r<3>;\n"
    ".shared .align 4 .b8 own[1024];\n"
    "ld.param.u64 %d, [out]; mov.u32 %r1, %dynamic_smem_size; st.global.u32 [%d], %r1;\n"
    "mov.u32 %r2, own; st.shared.u32 [%r2], 7; ld.shared.u32 %r1, [%r2];\n"
    "st.global.u32 [%d+4], %r1; mov.u32 %r2, area; st.shared.u32 [%r2], 8;\n"
    "ld.shared.u32 %r1, [%r2]; st.global.u32 [%d+8], %r1; ret;\n}\n"

    ".visible .entry small() .maxntid 64, 1, 1\n{\nret;\n}\n"

    /* parameters of every size, at their places */
    ".visible .entry mixed(.param .u8 a, .param .u64 out, .param .u16 b, .param .align 8 .b8 "
    "c[12])\n"
    "{\n.reg .b64 %d<2>; .reg .b32 %r<4>; .reg .b16 %h<2>;\n"
    "ld.param.u64 %d1, [out]; ld.param.u8 %h1, [a]; cvt.u32.u16 %r1, %h1;\n"
    "st.global.u32 [%d1], %r1; ld.param.u16 %h1, [b]; cvt.u32.u16 %r1, %h1;\n"
    "st.global.u32 [%d1+4], %r1; ld.param.u32 %r2, [c+8]; st.global.u32 [%d1+8], %r2; ret;\n}\n"

    /* vectors at words of an array that is aligned for words only */
    ".visible .entry local_vectors(.param .u64 out)\n{\n.local .align 4 .b8 area[76];\n"
    ".reg .b64 %d<4>; .reg .f32 %f<6>; .reg .b32 %r;\n"
    "ld.param.u64 %d1, [out]; mov.u32 %r, %tid.x; mul.wide.u32 %d2, %r, 24;\n"
    "add.s64 %d1, %d1, %d2; mov.u64 %d2, area; cvt.rn.f32.u32 %f1, %r; add.f32 %f2, %f1, %f1;\n"
    "add.f32 %f3, %f2, %f1; add.f32 %f4, %f3, %f1; and.b32 %r, %r, 3; mul.wide.u32 %d3, %r, 4;\n"
    "add.s64 %d3, %d2, %d3; st.local.v4.f32 [%d3+4], {%f1, %f2, %f3, %f4};\n"
    "st.local.v2.f32 [area+36], {%f3, %f4};\n"
    "ld.local.v2.f32 {%f1, %f2}, [%d3+4]; st.global.v2.f32 [%d1], {%f1, %f2};\n"
    "ld.local.v2.f32 {%f1, %f2}, [%d3+12]; st.global.v2.f32 [%d1+8], {%f1, %f2};\n"
    "ld.local.b64 %d3, [area+36]; st.global.b64 [%d1+16], %d3; ret;\n}\n"

    /* *p = counter * scale */
    ".visible .entry variables(.param .u64 p)\n{\n.reg .b64 %d<3>; .reg .b32 %r; .reg .f32 %f<3>;\n"
    "ld.param.u64 %d1, [p]; ld.global.u64 %d2, [place]; ld.global.u32 %r, [%d2];\n"
    "cvt.rn.f32.u32 %f1, %r; ld.const.f32 %f2, [scale]; mul.f32 %f1, %f1, %f2;\n"
    "st.global.f32 [%d1], %f1; ret;\n}\n";
