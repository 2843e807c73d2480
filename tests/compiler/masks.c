/* Masks of lanes: elements of shared memory that some lanes load and store, at its ends and beyond,
 * forwards and backwards, in warps of which no lane is active and whose address may then be any;
 * conditions by which one lane of a row differs, and logic of those with what data says; sums that
 * carry. All against the same in C. */
#include <stdint.h>
#include <stdlib.h>

#include <cuda.h>

#include "../check.h"

enum { THREADS = 64, ROW = 16, ROUNDS = 40 };

static uint32_t draw(uint32_t below)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % below;
}

/* Thread t, if its flag is set, reads element t + shift of shared memory and that which is as far
 * from its end, and adds one to the former. */
#define ENDS(type, bytes)                                                                          \
    ".visible .entry ends_" type "(.param .u64 in, .param .u64 flags, .param .u64 out, "           \
    ".param .u32 shift)\n{\n"                                                                      \
    ".shared .align " bytes " .b8 s[" bytes "*64];\n"                                              \
    ".reg .b32 %t, %h, %i, %j, %f, %v, %x, %y, %z, %s, %b, %e, %o; .reg .b64 %a, %k, %w;\n"        \
    ".reg .pred %p;\n"                                                                             \
    "mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 4; ld.param.u32 %h, [shift];\n"                      \
    "ld.param.u64 %a, [in]; add.u64 %k, %a, %w; ld.global.u32 %v, [%k];\n"                         \
    "ld.param.u64 %a, [flags]; add.u64 %k, %a, %w; ld.global.u32 %f, [%k];\n"                      \
    "mov.u32 %s, s; mad.lo.u32 %o, %t, " bytes ", %s; st.shared." type " [%o], %v;\n"              \
    "bar.sync 0;\n"                                                                                \
    "mov.u32 %x, 0; mov.u32 %y, 0; setp.ne.u32 %p, %f, 0;\n"                                       \
    "add.s32 %i, %t, %h; mad.lo.u32 %b, %i, " bytes ", %s;\n"                                      \
    "sub.s32 %j, 63, %i; mad.lo.u32 %e, %j, " bytes ", %s;\n"                                      \
    "@!%p bra NONE;\nld.shared." type " %x, [%b];\nNONE:\n"                                        \
    "@!%p bra NEITHER;\nld.shared." type " %y, [%e];\nNEITHER:\n"                                  \
    "bar.sync 0;\nadd.u32 %z, %x, 1;\n"                                                            \
    "@!%p bra NOTHING;\nst.shared." type " [%b], %z;\nNOTHING:\nbar.sync 0;\n"                     \
    "ld.shared." type " %z, [%o]; shl.b32 %x, %x, 8; shl.b32 %y, %y, 16;\n"                        \
    "or.b32 %z, %z, %x; or.b32 %z, %z, %y;\n"                                                      \
    "ld.param.u64 %a, [out]; add.u64 %k, %a, %w; st.global.u32 [%k], %z;\nret;\n}\n"

/* Bits of which conditions hold, each by a branch of its own: x == n and a flag, x != n or a flag,
 * x == n, and whether x + from + step carries. */
static const char text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n" ENDS("u8", "1") ENDS("u16", "2") ENDS(
        "u32",
        "4") ".visible .entry conditions(.param .u64 flags, .param .u64 out, .param .u32 n, "
             ".param .u32 from)\n{\n"
             ".reg .b32 %x, %y, %d, %t, %n, %f, %r, %c, %s; .reg .b64 %a, %k, %w;\n"
             ".reg .pred %e, %q, %u, %v;\n"
             "mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mov.u32 %d, %ntid.x; mad.lo.u32 %t, %y, %d, "
             "%x;\n"
             "mul.wide.u32 %w, %t, 4; ld.param.u32 %n, [n]; mov.u32 %r, 0;\n"
             "ld.param.u64 %a, [flags]; add.u64 %k, %a, %w; ld.global.u32 %f, [%k];\n"
             "setp.eq.s32 %e, %x, %n; setp.ne.u32 %q, %f, 0; and.pred %u, %e, %q;\n"
             "@!%u bra A;\nadd.u32 %r, %r, %t; \nA:\n"
             "setp.ne.s32 %e, %x, %n; or.pred %u, %e, %q;\n"
             "@!%u bra B;\nmad.lo.u32 %r, %r, 3, 7;\nB:\n"
             "setp.eq.u32 %e, %x, %n;\n"
             "@%e bra C;\nadd.u32 %r, %r, 1000;\nC:\n"
             "ld.param.u32 %c, [from]; add.u32 %c, %c, %x; add.u32 %s, %c, 16;\n"
             "setp.lt.u32 %v, %s, %c;\n"
             "@!%v bra D;\nadd.u32 %r, %r, 10000;\nD:\n"
             "setp.le.u32 %v, %c, %s;\n"
             "@!%v bra E;\nadd.u32 %r, %r, 100000;\nE:\n"
             "ld.param.u64 %a, [out]; add.u64 %k, %a, %w; st.global.u32 [%k], %r;\nret;\n}\n";

/* The lanes of the warp that have a thread's value, among those whose flags are set if it is its
 * own which is; and where a thread leaves a loop that counts in 64 bits, compared as 32. */
static const char others[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
#define MATCH(type, scale)                                                                         \
    ".visible .entry match_" type "(.param .u64 in, .param .u64 flags, .param .u64 out)\n{\n"      \
    ".reg .b32 %t, %f, %m, %r; .reg .b64 %a, %k, %w, %x; .reg ." type " %v; .reg .pred %p;\n"      \
    "mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 4; mul.wide.u32 %x, %t, " scale ";\n"                \
    "ld.param.u64 %a, [in]; add.u64 %k, %a, %x; ld.global." type " %v, [%k];\n"                    \
    "ld.param.u64 %a, [flags]; add.u64 %k, %a, %w; ld.global.u32 %f, [%k];\n"                      \
    "setp.ne.u32 %p, %f, 0; vote.sync.ballot.b32 %m, %p, -1; mov.u32 %r, 0;\n"                     \
    "@!%p bra NONE;\nmatch.any.sync." type " %r, %v, %m;\nbra DONE;\n"                             \
    "NONE:\nnot.b32 %m, %m; match.any.sync." type " %r, %v, %m;\nDONE:\n"                          \
    "ld.param.u64 %a, [out]; add.u64 %k, %a, %w; st.global.u32 [%k], %r;\nret;\n}\n"
    MATCH("b32", "4")
        MATCH("b64",
              "8") ".visible .entry walk(.param .u64 in, .param .u64 flags, .param .u64 out)\n{\n"
                   ".local .align 4 .b8 stack[64];\n"
                   ".reg .b32 %t, %x, %y, %z, %f, %i, %j, %d, %e, %r; .reg .b64 %a, %k, %w;\n"
                   ".reg .pred %p, %q;\n"
                   "mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 4; mov.u32 %r, 0; mov.u32 %d, 0;\n"
                   "ld.param.u64 %a, [in]; add.u64 %k, %a, %w; ld.global.u32 %x, [%k];\n"
                   "ld.param.u64 %a, [flags]; add.u64 %k, %a, %w; ld.global.u32 %f, [%k];\n"
                   "mov.u32 %i, stack; st.local.u32 [%i], %x; st.local.u32 [stack+60], %t;\n"
                   "setp.eq.u32 %p, %f, 0;\n@%p bra DONE;\n"
                   "LOOP:\n"
                   "shl.b32 %j, %d, 2; add.u32 %j, %j, %i; ld.local.u32 %x, [%j]; setp.ne.u32 %q, "
                   "%x, 0;\n"
                   "@%q bra DEEPER;\n"
                   "add.s32 %d, %d, -1; setp.lt.s32 %p, %d, 0;\n@%p bra DONE;\nbra LOOP;\n"
                   "DEEPER:\n"
                   "add.u32 %y, %x, -1; and.b32 %y, %y, %x; st.local.u32 [%j], %y;\n"
                   "shr.u32 %z, %x, 2; add.s32 %d, %d, 1; st.local.u32 [%j+4], %z;\n"
                   "mad.lo.u32 %r, %r, 3, %x; ld.local.u32 %e, [stack+60]; add.u32 %r, %r, %e;\n"
                   "bra LOOP;\nDONE:\n"
                   "ld.local.u32 %e, [stack+60]; add.u32 %r, %r, %e;\n"
                   "ld.param.u64 %a, [out]; add.u64 %k, %a, %w; st.global.u32 [%k], %r;\nret;\n}\n"
                   ".visible .entry leaves(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n"
                   ".reg .b32 %t, %n, %k, %r; .reg .b16 %c, %d; .reg .b64 %a, %b, %i, %w, %o, %q;\n"
                   ".reg .pred %p;\n"
                   "mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 4; ld.param.u32 %n, [n];\n"
                   "ld.param.u64 %a, [in]; cvt.u64.u32 %b, %t; add.u64 %b, %a, %b; mov.u64 %i, 0;\n"
                   "LOOP:\n"
                   "add.u64 %q, %b, %i; ld.global.u8 %c, [%q]; add.u64 %q, %a, %i; ld.global.u8 "
                   "%d, [%q];\n"
                   "setp.ne.u16 %p, %c, %d;\n@%p bra OUT;\n"
                   "add.u64 %i, %i, 1; cvt.u32.u64 %k, %i; setp.lt.u32 %p, %k, %n;\n@%p bra LOOP;\n"
                   "OUT:\ncvt.u32.u64 %k, %i; setp.eq.u32 %p, %k, %n; selp.b32 %r, 1000, 0, %p;\n"
                   "add.u32 %r, %r, %k;\n"
                   "ld.param.u64 %o, [out]; add.u64 %o, %o, %w; st.global.u32 [%o], %r;\nret;\n}\n";

static CUmodule module;
static CUdeviceptr in, flags, out;
static uint32_t values[2 * THREADS], set[THREADS], got[THREADS];

static void launch(const char *name, unsigned x, void **arguments)
{
    CUfunction f;
    CHECK_EQ_INT(cuMemcpyHtoD(in, values, sizeof values), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemcpyHtoD(flags, set, sizeof set), CUDA_SUCCESS);
    CHECK_EQ_INT(cuModuleGetFunction(&f, module, name), CUDA_SUCCESS);
    CHECK_EQ_INT(cuLaunchKernel(f, 1, 1, 1, x, THREADS / x, 1, 0, NULL, arguments, NULL),
                 CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemcpyDtoH(got, out, sizeof got), CUDA_SUCCESS);
}

/* `shift` is where no lane of a warp finds an element, now and then. */
static void ends(const char *name, uint32_t most)
{
    int32_t shift = (int32_t)draw(200) - 100;
    uint32_t s[THREADS], x[THREADS] = {0}, y[THREADS] = {0}, after[THREADS];
    if (draw(4) == 0)
        shift = (int32_t)draw(1u << 30);
    for (int t = 0; t < THREADS; t++) {
        int32_t i = t + shift;
        values[t] = s[t] = draw(most);
        set[t] = i >= 0 && i < THREADS && draw(3) != 0;
    }
    memcpy(after, s, sizeof s);
    for (int t = 0; t < THREADS; t++)
        if (set[t]) {
            x[t] = s[t + shift];
            y[t] = s[THREADS - 1 - t - shift];
            after[t + shift] = x[t] + 1;
        }
    launch(name, THREADS, (void *[]){&in, &flags, &out, &shift});
    for (int t = 0; t < THREADS; t++)
        if (!check_count(got[t] == (after[t] | x[t] << 8 | y[t] << 16)))
            printf("%s, shift %d, thread %d: %x instead of %x\n", name, shift, t, got[t],
                   after[t] | x[t] << 8 | y[t] << 16);
}

static void conditions(unsigned width)
{
    uint32_t n = draw(width + 2) - 1, from = draw(3) ? 0u - draw(60) : draw(UINT32_MAX);
    for (int t = 0; t < THREADS; t++)
        set[t] = draw(2);
    launch("conditions", width, (void *[]){&flags, &out, &n, &from});
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t x = t % width, r = 0, c = from + x;
        r += x == n && set[t] ? t : 0;
        r = x != n || set[t] ? r * 3 + 7 : r;
        r += x == n ? 0 : 1000;
        r += c + 16 < c ? 10000 : 100000;
        if (!check_count(got[t] == r))
            printf("width %u, n %d, from %x, thread %u: %u instead of %u\n", width, (int)n, from, t,
                   got[t], r);
    }
}

/* Of few values, of many, all alike or all different; `words` are two for 64 bits. */
static void match(const char *name, unsigned words)
{
    uint32_t kinds = draw(4) == 0 ? 1 : 1u << draw(12), step = draw(2) ? 1 : 0x01234567;
    uint64_t v[THREADS];
    for (unsigned t = 0; t < THREADS; t++) {
        v[t] = draw(8) == 0 && kinds > 1 ? draw(UINT32_MAX) : draw(kinds) * step;
        v[t] |= words == 2 ? (uint64_t)draw(2) << (32 + draw(32)) : 0;
        memcpy(&values[t * words], &v[t], words * sizeof(uint32_t));
        set[t] = draw(2);
    }
    launch(name, THREADS, (void *[]){&in, &flags, &out});
    for (unsigned t = 0; t < THREADS; t++) {
        uint32_t same = 0;
        for (unsigned l = 0; l < 32; l++)
            same |= (uint32_t)(v[t / 32 * 32 + l] == v[t] && set[t / 32 * 32 + l] == set[t]) << l;
        if (!check_count(got[t] == same))
            printf("%s, thread %u: %x instead of %x\n", name, t, got[t], same);
    }
}

static void leaves(void)
{
    uint8_t letters[sizeof values];
    uint32_t n = 1 + draw(12);
    for (size_t k = 0; k < sizeof letters; k++)
        letters[k] = (uint8_t)draw(k % 16 < 8 ? 2 : 3);
    memcpy(values, letters, sizeof letters);
    launch("leaves", THREADS, (void *[]){&in, &out, &n});
    for (unsigned t = 0; t < THREADS; t++) {
        uint32_t k = 0;
        while (k < n && letters[t + k] == letters[k])
            k++;
        k += k == n ? 1000 : 0;
        if (!check_count(got[t] == k))
            printf("leaves, thread %u: %u instead of %u\n", t, got[t], k);
    }
}

/* By a stack in local memory, whose last word is the thread's number. */
static void walk(void)
{
    for (unsigned t = 0; t < THREADS; t++) {
        values[t] = draw(1u << 9);
        set[t] = draw(4);
    }
    launch("walk", THREADS, (void *[]){&in, &flags, &out});
    for (unsigned t = 0; t < THREADS; t++) {
        uint32_t stack[16] = {values[t]}, r = 0;
        for (int depth = 0; depth >= 0 && set[t];) {
            uint32_t x = stack[depth];
            if (x == 0) {
                depth--;
                continue;
            }
            stack[depth] = x & (x - 1);
            stack[++depth] = x >> 2;
            r = r * 3 + x + t;
        }
        if (!check_count(got[t] == r + t))
            printf("walk, thread %u: %x instead of %x\n", t, got[t], r + t);
    }
}

int main(void)
{
    CUdevice device;
    CUcontext context;
    CHECK_EQ_INT(cuInit(0), CUDA_SUCCESS);
    CHECK_EQ_INT(cuDeviceGet(&device, 0), CUDA_SUCCESS);
    CHECK_EQ_INT(cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    CHECK_EQ_INT(cuCtxSetCurrent(context), CUDA_SUCCESS);
    CHECK_EQ_INT(cuModuleLoadData(&module, text), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemAlloc(&in, sizeof values), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemAlloc(&flags, sizeof set), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemAlloc(&out, sizeof got), CUDA_SUCCESS);
    for (int n = 0; n < ROUNDS; n++) {
        ends("ends_u8", 255);
        ends("ends_u16", 255);
        ends("ends_u32", 255);
        conditions(THREADS);
        conditions(ROW);
        conditions(ROW / 2);
    }
    CHECK_EQ_INT(cuModuleLoadData(&module, others), CUDA_SUCCESS);
    for (int n = 0; n < ROUNDS; n++) {
        match("match_b32", 1);
        match("match_b64", 2);
        leaves();
        walk();
    }
    return check_done();
}
