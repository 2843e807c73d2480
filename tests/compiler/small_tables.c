/* Tables of a few elements: loads by an index that its instructions bound, from shared memory and
 * from global memory up to the last byte of an allocation and across pages, where some lanes take
 * part, or none and the address may be any; addresses that step from row to row, for as many rows
 * as each lane wants; and what is made after a barrier of votes before it. All against the same in
 * C. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cuda.h>

#include "../check.h"

enum { THREADS = 64, ROUNDS = 30, WORDS = 1 << 19, PAGE_WORDS = 1024, ROWS = 8, ROW = 16 };

static uint32_t draw(uint32_t below)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % below;
}

static CUdeviceptr in, flags, out, table;
static uint32_t values[THREADS], set[THREADS], got[THREADS];

#define HEAD                                                                                       \
    ".version 8.0\n.target sm_80\n.address_size 64\n"                                              \
    ".visible .entry k(.param .u64 in, .param .u64 flags, .param .u64 out, .param .u64 table)\n"   \
    "{\n.shared .align 64 .b8 s[512];\n"                                                           \
    ".reg .b32 %%t, %%x, %%f, %%i, %%v, %%r, %%n, %%c; .reg .b64 %%a, %%k, %%w, %%b, %%j, %%q, "   \
    "%%d<5>;\n"                                                                                    \
    ".reg .pred %%p, %%z; .reg .b32 %%b<5>, %%s<5>; .reg .pred %%p<5>;\n"                          \
    "mov.u32 %%t, %%tid.x; mul.wide.u32 %%w, %%t, 4;\n"                                            \
    "ld.param.u64 %%a, [in]; add.u64 %%k, %%a, %%w; ld.global.u32 %%x, [%%k];\n"                   \
    "ld.param.u64 %%a, [flags]; add.u64 %%k, %%a, %%w; ld.global.u32 %%f, [%%k];\n"                \
    "ld.param.u64 %%b, [table]; mov.u32 %%r, 0; setp.eq.u32 %%p, %%f, 0;\n"
#define TAIL "ld.param.u64 %%a, [out]; add.u64 %%k, %%a, %%w; st.global.u32 [%%k], %%r;\nret;\n}\n"
/* 512 bytes of the table are in shared memory. */
#define COPY                                                                                       \
    "mov.u64 %%q, s; add.u64 %%a, %%q, %%w; add.u64 %%k, %%b, %%w;\n"                              \
    "ld.global.u32 %%v, [%%k]; st.shared.u32 [%%a], %%v;\n"                                        \
    "ld.global.u32 %%v, [%%k+256]; st.shared.u32 [%%a+256], %%v; bar.sync 0;\n"

/* One lookup; `index` makes %i of %x. */
static const char lookup[] = HEAD "%s@%%p bra NONE;\n%s mul.wide.u32 %%j, %%i, 4;\n"
                                  "add.u64 %%k, %s, %%j; ld.%s.u32 %%r, [%%k+%u];\nNONE:\n" TAIL;

/* Each lane's sum of its column of so many rows as its flag says, and one more. */
static const char columns[] =
    HEAD COPY "mov.u64 %%d3, s; and.b32 %%i, %%x, 15; cvt.u64.u32 %%d0, %%i; shl.b64 %%d1, %%d0, "
              "2; add.u64 %%d2, %%d1, %%d3;\n"
              "add.u64 %%d4, %%d2, %u; mov.u32 %%n, 0;\n"
              "LOOP:\n"
              "ld.shared.u32 %%v, [%%d4+-64]; add.u32 %%r, %%r, %%v; add.u64 %%d4, %%d4, 64;\n"
              "add.u32 %%n, %%n, 1; setp.lt.u32 %%z, %%n, %%f;\n@%%z bra LOOP;\n" TAIL;

/* The lanes that have a thread's value of four, or its old result, again and again. */
static const char votes[] =
    HEAD "mov.u32 %%n, 0;\n"
         "LOOP:\n"
         "add.u32 %%c, %%x, %%n; and.b32 %%c, %%c, 7;\n"
         "setp.eq.u32 %%p0, %%c, 0; vote.sync.ballot.b32 %%b0, %%p0, -1;\n"
         "setp.eq.u32 %%p1, %%c, 1; vote.sync.ballot.b32 %%b1, %%p1, -1;\n"
         "setp.eq.u32 %%p2, %%c, 2; vote.sync.ballot.b32 %%b2, %%p2, -1;\n"
         "setp.eq.u32 %%p3, %%c, 3; vote.sync.ballot.b32 %%b3, %%p3, -1;\n"
         "bar.sync 0;\n"
         "@%%p bra NEXT;\n"
         "selp.b32 %%s0, %%b0, 77, %%p0; selp.b32 %%s1, %%b1, %%s0, %%p1;\n"
         "selp.b32 %%s2, %%b2, %%s1, %%p2; selp.b32 %%s3, %%b3, %%s2, %%p3;\n"
         "mad.lo.u32 %%r, %%r, 3, %%s3;\n"
         "NEXT:\n"
         "add.u32 %%n, %%n, 1; setp.lt.u32 %%z, %%n, %u;\n@%%z bra LOOP;\n" TAIL;

static void draw_lanes(uint32_t most)
{
    uint32_t kind = draw(4);
    for (int t = 0; t < THREADS; t++) {
        values[t] = draw(4) == 0 ? draw(UINT32_MAX) : draw(most) * 0x11111111u;
        set[t] = kind == 0 ? 1 : kind == 1 ? (uint32_t)t / 32 : draw(ROWS);
    }
}

static CUmodule load(const char *text, CUfunction *f)
{
    CUmodule module = NULL;
    CHECK_EQ_INT(cuModuleLoadData(&module, text), CUDA_SUCCESS);
    CHECK_EQ_INT(cuModuleGetFunction(f, module, "k"), CUDA_SUCCESS);
    return module;
}

static void launch(CUfunction f, CUdeviceptr at)
{
    CHECK_EQ_INT(cuMemcpyHtoD(in, values, sizeof values), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemcpyHtoD(flags, set, sizeof set), CUDA_SUCCESS);
    CHECK_EQ_INT(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL,
                                (void *[]){&in, &flags, &out, &at}, NULL),
                 CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemcpyDtoH(got, out, sizeof got), CUDA_SUCCESS);
}

/* Element n of the table has this value. */
static uint32_t element(uint32_t n) { return n * 2654435761u; }

static const struct bound {
    const char *text;
    uint32_t shift, mask, plus; /* the same in C */
} bounds[] = {
    {"and.b32 %i, %x, 1;", 0, 1, 0},
    {"and.b32 %i, %x, 7;", 0, 7, 0},
    {"and.b32 %i, %x, 15;", 0, 15, 0},
    {"shr.u32 %i, %x, 28;", 28, 15, 0},
    {"and.b32 %i, %x, 31;", 0, 31, 0},
    {"and.b32 %i, %x, 11; add.u32 %i, %i, 5;", 0, 11, 5},
    {"shr.u32 %i, %x, 27; add.u32 %i, %i, 3;", 27, 31, 3},
    {"and.b32 %i, %x, 63;", 0, 63, 0},
};

static void look_up(const struct bound *b, bool shared, uint32_t further)
{
    char text[4096], copy[1024];
    CUfunction f;
    uint32_t most = b->mask + b->plus + further + 1;
    snprintf(copy, sizeof copy, COPY);
    snprintf(text, sizeof text, lookup, shared ? copy : "", b->text, shared ? "%q" : "%b",
             shared ? "shared" : "global", further * 4);
    CUmodule module = load(text, &f);
    for (int n = 0; n < ROUNDS; n++) {
        /* up to the end, across pages, anywhere */
        uint32_t first = n % 3 == 0   ? WORDS - most
                         : n % 3 == 1 ? PAGE_WORDS * (1 + draw(4)) - draw(most + 1)
                                      : draw(WORDS - 2 * THREADS);
        if (shared)
            first = draw(1000);
        draw_lanes(b->mask + 1);
        launch(f, table + 4ull * first);
        for (int t = 0; t < THREADS; t++) {
            uint32_t i = (values[t] >> b->shift & b->mask) + b->plus + further;
            uint32_t want = set[t] == 0 ? 0 : element(first + i);
            if (!check_count(got[t] == want))
                printf("%s, %s, thread %d: %x instead of %x\n", b->text,
                       shared ? "shared" : "global", t, got[t], want);
        }
    }
    CHECK_EQ_INT(cuModuleUnload(module), CUDA_SUCCESS);
}

/* No lane takes part: the table may be anywhere. */
static void nowhere(void)
{
    char text[4096];
    CUfunction f;
    snprintf(text, sizeof text, lookup, "", bounds[2].text, "%b", "global", 0u);
    CUmodule module = load(text, &f);
    draw_lanes(16);
    memset(set, 0, sizeof set);
    launch(f, 16);
    for (int t = 0; t < THREADS; t++)
        CHECK_EQ_INT(got[t], 0);
    CHECK_EQ_INT(cuModuleUnload(module), CUDA_SUCCESS);
}

static void sum_columns(void)
{
    char text[4096];
    CUfunction f;
    snprintf(text, sizeof text, columns, 64);
    CUmodule module = load(text, &f);
    for (int n = 0; n < ROUNDS; n++) {
        draw_lanes(ROW);
        launch(f, table);
        for (int t = 0; t < THREADS; t++) {
            uint32_t sum = 0, row = 0;
            do
                sum += element(row * ROW + values[t] % ROW);
            while (++row < set[t]);
            if (!check_count(got[t] == sum))
                printf("columns, thread %d: %x instead of %x\n", t, got[t], sum);
        }
    }
    CHECK_EQ_INT(cuModuleUnload(module), CUDA_SUCCESS);
}

static void vote(void)
{
    char text[4096];
    CUfunction f;
    snprintf(text, sizeof text, votes, 5);
    CUmodule module = load(text, &f);
    for (int n = 0; n < ROUNDS; n++) {
        draw_lanes(8);
        launch(f, table);
        for (uint32_t t = 0; t < THREADS; t++) {
            uint32_t r = 0;
            for (uint32_t k = 0; k < 5 && set[t] != 0; k++) {
                uint32_t c = (values[t] + k) & 7, same = 0;
                for (uint32_t l = 0; l < 32; l++)
                    same |= (uint32_t)(((values[t / 32 * 32 + l] + k) & 7) == c) << l;
                r = r * 3 + (c < 4 ? same : 77);
            }
            if (!check_count(got[t] == r))
                printf("votes, thread %u: %x instead of %x\n", t, got[t], r);
        }
    }
    CHECK_EQ_INT(cuModuleUnload(module), CUDA_SUCCESS);
}

int main(void)
{
    static uint32_t elements[WORDS];
    CUcontext context;
    CHECK_EQ_INT(cuInit(0), CUDA_SUCCESS);
    CHECK_EQ_INT(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    CHECK_EQ_INT(cuCtxSetCurrent(context), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemAlloc(&in, sizeof values), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemAlloc(&flags, sizeof set), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemAlloc(&out, sizeof got), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemAlloc(&table, sizeof elements), CUDA_SUCCESS);
    for (uint32_t n = 0; n < WORDS; n++)
        elements[n] = element(n);
    CHECK_EQ_INT(cuMemcpyHtoD(table, elements, sizeof elements), CUDA_SUCCESS);
    for (size_t n = 0; n < sizeof bounds / sizeof *bounds; n++) {
        look_up(&bounds[n], true, 0);
        look_up(&bounds[n], false, 0);
    }
    look_up(&bounds[2], true, 3);
    look_up(&bounds[2], false, 3);
    nowhere();
    sum_columns();
    vote();
    return check_done();
}
