/* large_kernels: writes the PTX of large kernels, to measure and to test how compile time grows
 * with size.
 *
 *   large_kernels SHAPE SIZE [SEED]
 *
 * SHAPE is one of those below; SIZE is the number of instructions, for `tangled`, `phases` and
 * `cases` the number of branches. The kernel is in the form of tests/fuzz (gen.h): `fuzz_kernels
 * FILE` runs it against the interpreter. It writes back what it has computed, so that nothing is
 * dead.
 *
 *   straight    arithmetic and loads
 *   divergent   nested if and else by the threads' data
 *   loops       nested loops of as many iterations as the threads' data say, with branches
 *   live        straight, with hundreds of values that all live to the end
 *   barriers    an exchange by shared memory every few dozen instructions
 *   calls       device functions, which are inlined
 *   mixed       all of these
 *   tangled     SIZE branches, each from a block of its own to any other, forwards and backwards
 *   phases      SIZE branches, forty a tangle; between tangles all threads exchange values
 *   cases       SIZE blocks, from each of which all threads go to the next one or to any other: in
 *               each they exchange values, and each reads a predicate that was made at the start */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 64, VALUES = 24, LIVE_VALUES = 400, OUT_BYTES = 768, IN_WORDS = 4096 };

static uint64_t state;
static long written; /* instructions so far */
static int values = VALUES, labels, scratch;

static unsigned below(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

/* Writes one instruction. */
__attribute__((format(printf, 1, 2))) static void put(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    puts(";");
    written++;
}

static int any(void) { return (int)below((unsigned)values); }
static int temporary(void) { return scratch++; }

/* A load from anywhere in the input. */
static void put_load(int to)
{
    int at = temporary();
    put("and.b32 %%t%d, %%v%d, %d", at, any(), IN_WORDS - 1);
    put("mul.wide.u32 %%a, %%t%d, 4", at);
    put("add.u64 %%a, %%a, %%in");
    put("ld.global.u32 %%v%d, [%%a]", to);
}

/* Arithmetic of floats that stay small and whole enough to be converted back. */
static void put_floats(int to)
{
    int x = temporary(), y = temporary();
    put("and.b32 %%t%d, %%v%d, 65535", x, any());
    put("and.b32 %%t%d, %%v%d, 65535", y, any());
    put("cvt.rn.f32.u32 %%f0, %%t%d", x);
    put("cvt.rn.f32.u32 %%f1, %%t%d", y);
    put("fma.rn.f32 %%f2, %%f0, 0f3E800000, %%f1");
    put("cvt.rzi.s32.f32 %%v%d, %%f2", to);
}

static void put_integers(int to)
{
    int x = temporary(), y = temporary(), z = temporary();
    static const char *const ops[] = {"add.u32", "sub.u32", "xor.b32", "min.s32", "or.b32"};
    put("mad.lo.u32 %%t%d, %%v%d, %u, %%v%d", x, any(), below(1000) * 2 + 1, any());
    put("%s %%t%d, %%t%d, %%v%d", ops[below(5)], y, x, any());
    put("shr.u32 %%t%d, %%t%d, %u", z, x, below(16) + 1);
    put("xor.b32 %%v%d, %%t%d, %%t%d", to, y, z);
}

/* About n instructions without a branch. */
static void put_work(int n)
{
    for (long end = written + n; written < end;) {
        int to = any();
        unsigned what = below(12);
        if (what == 0)
            put_load(to);
        else if (what < 3)
            put_floats(to);
        else
            put_integers(to);
    }
}

static void put_condition(void)
{
    put("and.b32 %%c, %%v%d, 31", any());
    put("setp.lt.u32 %%p, %%c, %u", below(29) + 2);
}

/* if and else, nested up to `depth` deep. */
static void put_branches(int depth)
{
    int otherwise = labels++, end = labels++;
    put_condition();
    put("@%%p bra L%d", otherwise);
    put_work(6);
    if (depth > 1 && below(2))
        put_branches(depth - 1);
    put("bra.uni L%d", end);
    printf("L%d:\n", otherwise);
    put_work(6);
    if (depth > 1 && below(2))
        put_branches(depth - 1);
    printf("L%d:\n", end);
}

static void put_loop(int depth)
{
    int head = labels++;
    put("and.b32 %%n%d, %%v%d, 3", depth, any());
    printf("L%d:\n", head);
    put_work(6);
    if (depth > 1 && below(2))
        put_loop(depth - 1);
    else if (below(2))
        put_branches(1);
    put("sub.s32 %%n%d, %%n%d, 1", depth, depth);
    put("setp.gt.s32 %%p, %%n%d, 0", depth);
    put("@%%p bra L%d", head);
}

/* Every thread gives a value to another one. */
static void put_exchange(void)
{
    put("st.shared.u32 [%%own], %%v%d", any());
    put("bar.sync 0");
    put("xor.b32 %%c, %%thread, %u", below(THREADS - 1) + 1);
    put("shl.b32 %%c, %%c, 2");
    put("add.u32 %%c, %%c, %%shared");
    put("ld.shared.u32 %%v%d, [%%c]", any());
    put("bar.sync 0");
}

static void put_call(void)
{
    int to = any();
    printf("{\n.param .b32 x;\n.param .b32 y;\n.param .b32 r;\n");
    put("st.param.b32 [x], %%v%d", any());
    put("st.param.b32 [y], %%v%d", any());
    printf("call.uni (r), step, (x, y);\n");
    put("ld.param.b32 %%v%d, [r]", to);
    puts("}");
    written += 16; /* the function's */
}

static void put_function(void)
{
    puts(".func (.param .b32 r) step(.param .b32 x, .param .b32 y)\n{\n"
         ".reg .b32 %r<20>;\n.reg .pred %q;\n"
         "ld.param.b32 %r0, [x];\nld.param.b32 %r1, [y];\n"
         "mad.lo.u32 %r2, %r0, 1664525, %r1;\nshr.u32 %r3, %r2, 7;\nxor.b32 %r4, %r3, %r2;\n"
         "setp.lt.s32 %q, %r4, %r0;\n@%q bra LESS;\n"
         "mad.lo.u32 %r5, %r4, 69069, %r0;\nshl.b32 %r6, %r5, 3;\nsub.u32 %r4, %r6, %r1;\n"
         "LESS:\nxor.b32 %r7, %r4, %r1;\nmin.u32 %r8, %r7, %r2;\nadd.u32 %r9, %r8, %r4;\n"
         "st.param.b32 [r], %r9;\nret;\n}");
}

/* `branches` blocks, from each of which lanes go to the next one or to any other, until they have
 * used up their fuel; then all meet at a barrier. */
static void put_tangle(int branches)
{
    int first = labels, over = labels + branches;
    labels += branches + 1;
    put("mov.u32 %%fuel, 200");
    for (int n = 0; n < branches; n++) {
        printf("L%d:\n", first + n);
        put_work(5);
        put("sub.u32 %%fuel, %%fuel, 1");
        put("setp.eq.u32 %%p, %%fuel, 0");
        put("@%%p bra L%d", over);
        put_condition();
        put("@%%p bra L%d", first + (int)below((unsigned)branches));
    }
    printf("L%d:\n", over);
    put_exchange();
}

/* `cases` blocks with barriers, through which all threads take the same way, by a key that they
 * load from one place; the compiler cannot know that. */
static void put_cases(int cases)
{
    int first = labels, over = labels + cases;
    labels += cases + 1;
    put("ld.param.u32 %%c, [n]");
    put("shr.u32 %%c, %%c, 31"); /* 0 */
    put("mul.lo.u32 %%c, %%c, %%thread");
    put("mul.wide.u32 %%a, %%c, 4");
    put("add.u64 %%a, %%a, %%in");
    put("ld.global.u32 %%key, [%%a]");
    put("mov.u32 %%fuel, 30");
    for (int n = 0; n < cases; n++)
        put("setp.lt.s32 %%q%d, %%v%d, %u", n, any(), below(1u << 31));
    for (int n = 0; n < cases; n++) {
        printf("L%d:\n", first + n);
        put_work(5);
        put("@%%q%d add.u32 %%v%d, %%v%d, %d", n, n % VALUES, n % VALUES, n);
        put_exchange();
        put("sub.u32 %%fuel, %%fuel, 1");
        put("setp.eq.u32 %%p, %%fuel, 0");
        put("@%%p bra L%d", over);
        put("mad.lo.u32 %%key, %%key, 1664525, %u", below(1u << 31));
        put("setp.lt.s32 %%p, %%key, 0");
        put("@%%p bra L%d", first + (int)below((unsigned)cases));
    }
    printf("L%d:\n", over);
}

static void put_body(const char *shape, long size)
{
    if (strcmp(shape, "tangled") == 0) {
        put_tangle((int)size);
        return;
    }
    if (strcmp(shape, "phases") == 0) {
        for (long done = 0; done < size; done += 40)
            put_tangle(40);
        return;
    }
    if (strcmp(shape, "cases") == 0) {
        put_cases((int)size);
        return;
    }
    while (written < size) {
        bool mixed = strcmp(shape, "mixed") == 0;
        unsigned what = mixed ? below(5) : 5;
        if (what == 0 || strcmp(shape, "divergent") == 0)
            put_branches(3);
        else if (what == 1 || strcmp(shape, "loops") == 0)
            put_loop(2);
        else if (what == 2 || strcmp(shape, "barriers") == 0)
            put_work(50), put_exchange();
        else if (what == 3 || strcmp(shape, "calls") == 0)
            put_work(8), put_call();
        else
            put_work(20);
    }
}

/* The body goes to memory first: its registers are declared before it. */
static void put_kernel(const char *shape, long size)
{
    char *body = NULL;
    size_t bytes = 0;
    FILE *real = stdout, *memory = open_memstream(&body, &bytes);
    stdout = memory;
    put_body(shape, size);
    fclose(memory);
    stdout = real;
    puts(
        ".visible .entry kernel(.param .u64 in, .param .u64 out, .param .u64 work, .param .u32 n)");
    printf(".reqntid %d, 1, 1\n{\n", THREADS);
    printf(".reg .b32 %%v<%d>, %%t<%d>, %%n<4>, %%c, %%thread, %%own, %%shared, %%fuel, %%key;\n",
           values, scratch + 1);
    printf(".reg .b64 %%in, %%out, %%a;\n.reg .f32 %%f<3>;\n.reg .pred %%p, %%q<%ld>;\n", size);
    printf(".shared .align 4 .b8 s[%d];\n", 4 * THREADS);
    puts("ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %thread, %tid.x;\n"
         "mov.u32 %shared, s;\nshl.b32 %own, %thread, 2;\nadd.u32 %own, %own, %shared;");
    printf("mul.wide.u32 %%a, %%thread, %d;\nadd.u64 %%out, %%out, %%a;\n", OUT_BYTES);
    for (int v = 0; v < values; v++)
        printf("mad.lo.u32 %%v%d, %%thread, %u, %u;\n", v, below(100000) * 2 + 1, below(100000));
    fwrite(body, 1, bytes, stdout);
    for (int v = 0; v < values; v++)
        if (v < OUT_BYTES / 4)
            printf("st.global.u32 [%%out+%d], %%v%d;\n", 4 * v, v);
        else
            printf("xor.b32 %%v0, %%v0, %%v%d;\n", v);
    printf("st.global.u32 [%%out], %%v0;\nret;\n}\n");
    free(body);
}

int main(int argc, char **argv)
{
    static const char *const shapes[] = {"straight", "divergent", "loops",   "live",   "barriers",
                                         "calls",    "mixed",     "tangled", "phases", "cases"};
    bool known = false;
    for (size_t s = 0; argc > 2 && s < sizeof shapes / sizeof *shapes; s++)
        known |= strcmp(argv[1], shapes[s]) == 0;
    long size = known ? atol(argv[2]) : 0;
    if (size < 1 || argc > 4) {
        fprintf(stderr, "usage: large_kernels SHAPE SIZE [SEED]\n");
        return 2;
    }
    state = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    values = strcmp(argv[1], "live") == 0 ? LIVE_VALUES : VALUES;
    printf("// seed 1 block %d 1 1 grid 1 1 1\n", THREADS);
    puts(".version 8.0\n.target sm_80\n.address_size 64");
    put_function();
    put_kernel(argv[1], size);
    return 0;
}
