/* On-stack replacement: a block may leave baseline code at every barrier of a loop, and go on in
 * optimized code or in baseline code again: what it computes is the same. The kernels are in
 * lockstep, with more values kept once for the block than jit_block.scratch holds, nested loops and
 * reducing barriers; one has a dispatcher instead. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "loader/loader.h"

enum { THREADS = 96, WARPS = THREADS / 32, ROUNDS = 5, KEPT = 20, LARGE = 120 };

static int failed;
#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #x);                                 \
            failed++;                                                                              \
        }                                                                                          \
    } while (0)

/* PTX of replace(out, rounds). Each round writes to shared memory, waits at a barrier, reads what
 * the neighbour wrote, and waits again; `diverges`: odd and even warps take different paths in each
 * round, through different barriers. KEPT numbers change with the rounds and are the same for all
 * threads. */
static char *source(bool diverges, unsigned groups)
{
    struct strbuf s = {0};
    sb_printf(&s, ".version 8.0\n.target sm_80\n.address_size 64\n"
                  ".visible .entry replace(.param .u64 out, .param .u32 rounds)\n{\n"
                  ".reg .b64 %%d<8>;\n.reg .b32 %%r<16>, %%k<32>, %%g<4>;\n.reg .pred %%p<8>;\n"
                  ".shared .align 4 .b8 s[512];\n"
                  "ld.param.u64 %%d0, [out];\nld.param.u32 %%r0, [rounds];\n"
                  "mov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, s;\nshl.b32 %%r3, %%r1, 2;\n"
                  "add.u32 %%r4, %%r2, %%r3;\nmul.lo.u32 %%r5, %%r1, 40503;\nmov.u32 %%r6, 0;\n"
                  "setp.gt.u32 %%p5, %%r0, 3;\nmov.u32 %%g0, %%r5;\n");
    for (int n = 0; n < KEPT; n++)
        sb_printf(&s, "add.u32 %%k%d, %%r0, %d;\n", n, n * 77);
    sb_printf(&s, "again:\nst.shared.u32 [%%r4], %%r5;\nbar.sync 0;\n"
                  "xor.b32 %%r7, %%r3, 4;\nadd.u32 %%r7, %%r7, %%r2;\nld.shared.u32 %%r8, [%%r7];\n"
                  "mad.lo.u32 %%r5, %%r5, 1664525, %%r8;\nmov.u32 %%r9, 0;\n");
    if (diverges)
        sb_printf(&s, "shr.u32 %%r10, %%r1, 5;\nadd.u32 %%r10, %%r10, %%r6;\n"
                      "and.b32 %%r10, %%r10, 1;\nsetp.eq.u32 %%p1, %%r10, 0;\n@%%p1 bra over;\n");
    sb_printf(&s, "inner:\nbar.sync 0;\nadd.u32 %%r5, %%r5, %%r9;\n"
                  "setp.gt.u32 %%p2, %%r5, 2000000000;\nbar.red.popc.u32 %%r11, 0, %%p2;\n"
                  "mad.lo.u32 %%r5, %%r11, 31, %%r5;\nadd.u32 %%r9, %%r9, 1;\n"
                  "setp.lt.u32 %%p3, %%r9, 3;\n@%%p3 bra inner;\n");
    if (diverges)
        sb_printf(&s, "bra.uni met;\nover:\nbar.sync 0;\nadd.u32 %%r5, %%r5, 5;\n"
                      "bar.red.popc.u32 %%r11, 0, %%p5;\nbar.sync 0;\nbar.red.popc.u32 %%r11, 0, "
                      "%%p5;\nbar.sync 0;\nbar.red.popc.u32 %%r11, 0, %%p5;\nmet:\n");
    for (unsigned n = 0; n < groups; n++)
        sb_printf(&s,
                  "and.b32 %%g1, %%g0, 124;\nadd.u32 %%g1, %%g1, %%r2;\n"
                  "ld.shared.u32 %%g2, [%%g1];\nor.b32 %%g3, %%g2, %u;\nrem.u32 %%g3, %%g0, %%g3;\n"
                  "setp.gt.u32 %%p4, %%g3, %u;\n@%%p4 bra skip%u;\n"
                  "mad.lo.u32 %%g0, %%g2, %u, %%g3;\nskip%u:\n",
                  n + 1, n * 3, n, n * 2 + 1, n);
    for (int n = 0; n < KEPT; n++)
        sb_printf(&s, "mad.lo.u32 %%k%d, %%k%d, 3, %%k%d;\n@%%p5 xor.b32 %%k%d, %%k%d, %%r6;\n", n,
                  n, (n + 1) % KEPT, n, n);
    sb_printf(&s,
              "setp.eq.u32 %%p6, %%r6, 2;\nxor.b32 %%r12, %%k1, %%r6;\nand.b32 %%r12, %%r12, 1;\n"
              "setp.ne.u32 %%p5, %%r12, 0;\nbar.sync 0;\nadd.u32 %%r6, %%r6, 1;\n"
              "setp.lt.u32 %%p0, %%r6, %%r0;\n@%%p0 bra again;\nadd.u32 %%r5, %%r5, %%g0;\n");
    for (int n = 0; n < KEPT; n++)
        sb_printf(&s, "mad.lo.u32 %%r5, %%k%d, %d, %%r5;\n", n, n * 2 + 1);
    sb_printf(&s, "mul.wide.u32 %%d2, %%r1, 4;\nadd.u64 %%d3, %%d0, %%d2;\n"
                  "st.global.u32 [%%d3], %%r5;\nret;\n}\n");
    return s.items;
}

static void *helper(void *self, const char *name)
{
    (void)self, (void)name;
    return (void *)abort; /* these kernels call no helper */
}

static struct jit_code *compile(const struct ptx_func *entry, uint32_t tier)
{
    struct jit_resolver resolver = {.helper = helper};
    struct jit_options options = {.ntid = {THREADS, 1, 1}, .grid_small = 1, .tier = tier};
    struct diag d = {0};
    struct jit_code *code = jit_get(entry, &options, &resolver, &d);
    if (code == NULL) {
        printf("%s\n", d.text);
        exit(1);
    }
    return code;
}

struct result {
    uint32_t out[THREADS];
    int exits; /* how often the block has left the code it began in */
};

/* Runs one block: `first` until it has left that often, then `then`. */
static struct result run(const struct jit_code *first, int exits, const struct jit_code *then)
{
    struct result r = {.exits = 0};
    const struct {
        uint32_t *out;
        uint32_t rounds;
    } params = {r.out, ROUNDS};
    uint32_t replaced = exits > 0, pc[WARPS] = {0}, status;
    uint8_t *frame = aligned_alloc(64, (size_t)WARPS * (first->frame_bytes + 64));
    uint8_t *shared = aligned_alloc(128, 1024);
    memset(frame, 0xee, (size_t)WARPS * (first->frame_bytes + 64));
    struct jit_block b = {.params = (const uint8_t *)&params,
                          .shared = shared,
                          .frame = frame,
                          .pc = pc,
                          .nctaid = {1, 1, 1},
                          .ntid = {THREADS, 1, 1},
                          .nthreads = THREADS,
                          .nwarps = WARPS,
                          .replaced = &replaced};
    while ((status = (r.exits < exits || exits == 0 ? first : then)->run(&b)) == JIT_OSR_EXIT)
        r.exits++;
    CHECK(status == JIT_DONE);
    free(frame);
    free(shared);
    return r;
}

static void test(bool diverges, unsigned groups)
{
    struct diag d = {0};
    char *text = source(diverges, groups);
    struct ptx_module *m = ptx_parse(text, strlen(text), &d);
    if (m == NULL) {
        printf("%d: %s\n", d.line, d.text);
        exit(1);
    }
    struct jit_code *baseline = compile(m->funcs[0], JIT_TIER_BASELINE),
                    *optimized = compile(m->funcs[0], JIT_TIER_OPTIMIZING);
    CHECK((baseline->flags & JIT_CODE_BASELINE) != 0 &&
          (optimized->flags & JIT_CODE_BASELINE) == 0);
    CHECK(baseline->frame_bytes == optimized->frame_bytes &&
          baseline->pc_count == optimized->pc_count);
    bool entered = (optimized->flags & JIT_CODE_OSR_ENTRY) != 0;
    CHECK(entered == (diverges || groups > 0)); /* small ones in lockstep need not be */
    struct result want = run(optimized, 0, optimized), got = run(baseline, 0, baseline);
    CHECK(memcmp(want.out, got.out, sizeof want.out) == 0);
    got = run(baseline, 1 << 20, baseline);
    CHECK(memcmp(want.out, got.out, sizeof want.out) == 0);
    CHECK(got.exits >= ROUNDS);
    for (int exits = 1; entered && exits <= got.exits; exits++) {
        struct result r = run(baseline, exits, optimized);
        CHECK(r.exits == exits);
        CHECK(memcmp(want.out, r.out, sizeof want.out) == 0);
    }
    jit_release(baseline);
    jit_release(optimized);
    ptx_free(m);
    free(text);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return printf("usage: compiler_osr LIBRARY\n"), 2;
    jit_set_plugin_path(argv[1]);
    test(false, 0);
    test(true, 0);
    test(false, LARGE);
    printf("%s\n", failed ? "failed" : "ok");
    return failed != 0;
}
