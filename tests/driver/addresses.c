/* Addresses of lanes that are scattered, in each form in which compilers add them up: the code that
 * gathers separates them into a base and an index. Each kernel reads one word of a lane's row of
 * 64 bytes; the forms differ in how the row's address comes about. */
#include "common.h"

enum { THREADS = 64, ROW = 16 }; /* words of a row */

/* In each form: %b the array, %x 16 * thread, %s a byte offset that all lanes share, 8. */
static const struct {
    const char *what, *code;
    int words; /* that it adds */
} forms[] = {
    {"mul, add", "mul.wide.u32 %t, %x, 4; add.s64 %a, %b, %t;", 0},
    {"shl, add", "cvt.u64.u32 %t, %x; shl.b64 %t, %t, 2; add.s64 %a, %t, %b;", 0},
    {"mad", "mad.wide.u32 %a, %x, 4, %b;", 0},
    {"mad, add of a constant", "mad.wide.u32 %t, %x, 4, %b; add.s64 %a, %t, 8;", 2},
    {"mad, add of a register", "mad.wide.u32 %t, %x, 4, %b; add.s64 %a, %s, %t;", 2},
    {"signed mad, add", "mad.wide.s32 %t, %x, 4, %b; add.s64 %a, %t, %s;", 2},
    {"mad that changes what was added",
     "mov.u64 %c, %b; mad.wide.u32 %t, %x, 4, %c; mov.u64 %c, 0; add.s64 %a, %t, 8;", 2},
    {"mad of lanes' own sums",
     "cvt.u64.u32 %c, %x; add.s64 %c, %c, %b; add.s64 %c, %c, %c; "
     "mad.wide.u32 %t, %x, 2, %c; sub.s64 %a, %t, %b;",
     0},
};

int main(void)
{
    begin();
    static unsigned in[THREADS * ROW], out[THREADS];
    for (unsigned n = 0; n < THREADS * ROW; n++)
        in[n] = n;
    CUdeviceptr array, result;
    NEED(cuMemAlloc(&array, sizeof in));
    NEED(cuMemAlloc(&result, sizeof out));
    NEED(cuMemcpyHtoD(array, in, sizeof in));
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        char text[2048];
        snprintf(text, sizeof text,
                 ".version 8.0\n.target sm_80\n.address_size 64\n"
                 ".visible .entry k(.param .u64 array, .param .u64 result, .param .u64 shared) {\n"
                 ".reg .b64 %%a, %%b, %%c, %%s, %%t, %%o; .reg .b32 %%x, %%i, %%v;\n"
                 "ld.param.u64 %%b, [array]; ld.param.u64 %%o, [result]; ld.param.u64 %%s, "
                 "[shared];\n"
                 "mov.u32 %%i, %%tid.x; shl.b32 %%x, %%i, 4;\n%s\n"
                 "ld.global.u32 %%v, [%%a+4];\n"
                 "mul.wide.u32 %%t, %%i, 4; add.s64 %%o, %%o, %%t; st.global.u32 [%%o], %%v;\n"
                 "ret;\n}\n",
                 forms[f].code);
        CUmodule m;
        uint64_t offset = 8;
        NEED(cuModuleLoadData(&m, text));
        void *params[] = {&array, &result, &offset};
        OK(launch(kernel(m, "k"), 1, THREADS, NULL, params));
        OK(cuCtxSynchronize());
        OK(cuMemcpyDtoH(out, result, sizeof out));
        int wrong = 0;
        for (int t = 0; t < THREADS; t++)
            wrong += out[t] != (unsigned)(t * ROW + forms[f].words + 1);
        if (wrong > 0)
            printf("%s: %d lanes read from elsewhere\n", forms[f].what, wrong);
        CHECK_EQ_INT(wrong, 0);
        NEED(cuModuleUnload(m));
    }
    OK(cuMemFree(array));
    OK(cuMemFree(result));
    return check_done();
}
