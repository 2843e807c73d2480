// FLAGS: -arch=sm_90a
// SANITIZERS: products of warp groups (src/exec/wgmma.c)
/* K2: wgmma.mma_async: types, widths, factors in shared memory (every swizzle, along k and across
 * it, dense and with gaps) and in registers, scales and signs; and with a sparse A. The numbers are
 * small integers, so that no order of a sum rounds. Kernels are made as PTX here and loaded by the
 * driver. */
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <map>
#include <string>
#include <vector>

#include "check.h"

enum type { F16, BF16, TF32, E4M3, E5M2, S8, U8, B1 };
enum result { F32, HALF, S32 };

static const struct {
    const char *name;
    int bits, k;
} types[] = {{"f16", 16, 16}, {"bf16", 16, 16}, {"tf32", 32, 8}, {"e4m3", 8, 32},
             {"e5m2", 8, 32}, {"s8", 8, 32},    {"u8", 8, 32},   {"b1", 1, 256}};
static const char *const result_names[] = {"f32", "f16", "s32"};

struct layout {
    int width;           /* pieces of 16 bytes that a swizzle exchanges: 1, 2, 4, 8 */
    bool across;         /* M- or N-major */
    uint32_t lead, step; /* bytes */
    uint32_t start;      /* bytes from the beginning of the matrix's memory */
};

struct product {
    type a, b;
    result d;
    int n;
    layout la, lb;
    bool registers;
    int scale_d, scale_a, scale_b;
    bool saturates;
    bool sparse = false;
    int selector = 0;
};

static int k_of(const product &p) { return types[p.a].k * (p.sparse ? 2 : 1); }

/* ---- numbers ---- */

static unsigned random_state = 7;
static int random_below(int n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((random_state >> 8) % (unsigned)n);
}

/* Bits of a small integer. */
static uint32_t encode(type t, int v)
{
    float f = (float)v;
    uint32_t w;
    memcpy(&w, &f, 4);
    uint32_t sign = w >> 31, exponent = (w >> 23 & 0xff), fraction = w & 0x7fffff;
    int e = (int)exponent - 127;
    switch (t) {
    case F16: return v == 0 ? 0 : sign << 15 | (uint32_t)(e + 15) << 10 | fraction >> 13;
    case BF16: return w >> 16;
    case TF32: return w | 0x1234; /* the lower bits are not looked at */
    case E4M3: return v == 0 ? 0 : sign << 7 | (uint32_t)(e + 7) << 3 | fraction >> 20;
    case E5M2: return v == 0 ? 0 : sign << 7 | (uint32_t)(e + 15) << 2 | fraction >> 21;
    default: return (uint32_t)v & 0xff;
    }
}

static int random_element(type t)
{
    switch (t) {
    case E5M2: return random_below(9) - 4;
    case S8: return random_below(256) - 128;
    case U8: return random_below(256);
    case B1: return random_below(2);
    default: return random_below(17) - 8;
    }
}

static float half_value(uint32_t h)
{
    uint32_t e = h >> 10 & 31, f = h & 0x3ff;
    float v = e == 0 ? (float)f / 16777216.0f : (float)(f + 1024) / 33554432.0f * (float)(1u << e);
    return (h & 0x8000) != 0 ? -v : v;
}

/* ---- where elements are ---- */

/* Byte at which element (i, k) begins: i is a row of A or a column of B. */
static size_t place(const layout &l, int bits, int i, int k)
{
    size_t at;
    if (!l.across) {
        size_t byte = (size_t)k * (size_t)bits / 8;
        at = (size_t)(i % 8) * (size_t)l.width * 16 + (size_t)(i / 8) * l.step +
             (l.width == 1 ? byte / 16 * l.lead : byte / 16 * 16) + byte % 16;
    } else {
        size_t group = (size_t)i / 8, w = (size_t)l.width;
        at = group % w * 16 + (size_t)(k % 8) * w * 16 + (size_t)(i % 8) * 2 +
             (l.width == 1 ? group * l.step + (size_t)(k / 8) * l.lead
                           : group / w * l.lead + (size_t)(k / 8) * l.step);
    }
    at += l.start;
    return at ^ ((at >> 7 & (size_t)(l.width - 1)) << 4);
}

static uint64_t descriptor(const layout &l, uint32_t base)
{
    static const uint64_t modes[9] = {0, 0, 3, 0, 2, 0, 0, 0, 1};
    return (uint64_t)((base + l.start) >> 4) | (uint64_t)(l.lead >> 4) << 16 |
           (uint64_t)(l.step >> 4) << 32 | modes[l.width] << 62;
}

/* ---- the kernel ---- */

static std::string registers(const char *prefix, int first, int count)
{
    std::string s = "{";
    for (int n = 0; n < count; n++)
        s += std::string(n > 0 ? ", %" : "%") + prefix + std::to_string(first + n);
    return s + "}";
}

static int registers_of_d(const product &p) { return p.n / (p.d == HALF ? 4 : 2); }

/* Threads copy an image into shared memory, load D (and A), multiply, and store D. */
static std::string kernel(const product &p)
{
    int nd = registers_of_d(p);
    const char *d = p.d == F32 ? "f" : "r";
    auto line = [](const char *format, auto... args) {
        char text[256];
        snprintf(text, sizeof text, format, args...);
        return std::string(text) + "\n";
    };
    std::string s = ".version 8.4\n.target sm_90a\n.address_size 64\n"
                    ".extern .shared .align 1024 .b8 memory[];\n"
                    ".visible .entry kernel(.param .u64 image, .param .u32 bytes, .param .u64 da,"
                    " .param .u64 db, .param .u64 registers, .param .u32 adds)\n{\n"
                    ".reg .pred %p<4>; .reg .b32 %t<16>; .reg .b64 %q<16>; .reg .b32 %x<4>;\n";
    s += line(".reg .%s %%%s<%d>;", p.d == F32 ? "f32" : "b32", d, nd);
    s += "ld.param.u64 %q0, [image]; ld.param.u32 %t0, [bytes]; ld.param.u64 %q1, [da];\n"
         "ld.param.u64 %q2, [db]; ld.param.u64 %q3, [registers]; ld.param.u32 %t8, [adds];\n"
         "mov.u32 %t1, %tid.x; mov.u32 %t2, memory; shl.b32 %t3, %t1, 2;\n"
         "L: setp.ge.u32 %p0, %t3, %t0; @%p0 bra M;\n"
         "cvt.u64.u32 %q4, %t3; add.u64 %q4, %q4, %q0; ld.global.u32 %t4, [%q4];\n"
         "add.u32 %t5, %t2, %t3; st.shared.u32 [%t5], %t4; add.u32 %t3, %t3, 512; bra L;\n"
         "M: fence.proxy.async; bar.sync 0;\n"
         "shr.u32 %t6, %t2, 4; cvt.u64.u32 %q5, %t6; add.u64 %q1, %q1, %q5;\n"
         "add.u64 %q2, %q2, %q5; setp.ne.u32 %p1, %t8, 0;\n";
    s += "shl.b32 %t7, %t1, 2; cvt.u64.u32 %q6, %t7; add.u64 %q3, %q3, %q6;\n";
    for (int n = 0; n < nd; n++)
        s += line("ld.global.%s %%%s%d, [%%q3+%d];", p.d == F32 ? "f32" : "b32", d, n, 512 * n);
    for (int n = 0; n < 4; n++)
        s += line("ld.global.b32 %%x%d, [%%q3+%d];", n, 512 * (nd + n));
    s += "wgmma.fence.sync.aligned;\n";
    s += line("ld.global.b32 %%t9, [%%q3+%d];", 512 * (nd + 4));
    s += line("wgmma.mma_async%s.sync.aligned.m64n%dk%d.%s.%s.%s%s", p.sparse ? ".sp" : "", p.n,
              k_of(p), result_names[p.d], types[p.a].name, types[p.b].name,
              p.a == B1     ? ".and.popc"
              : p.saturates ? ".satfinite"
                            : "");
    s += registers(d, 0, nd) + ", " + (p.registers ? registers("x", 0, 4) : "%q1") + ", %q2, " +
         (p.sparse ? "%t9, " + std::to_string(p.selector) + ", " : "") + "%p1";
    if (p.d != S32)
        s += ", " + std::to_string(p.scale_a) + ", " + std::to_string(p.scale_b);
    if (p.a == F16 || p.a == BF16)
        s += (p.registers   ? ""
              : p.la.across ? ", 1"
                            : ", 0") +
             std::string(p.lb.across ? ", 1" : ", 0");
    s += ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
    for (int n = 0; n < nd; n++)
        s += line("st.global.%s [%%q3+%d], %%%s%d;", p.d == F32 ? "f32" : "b32", 512 * n, d, n);
    return s + "ret;\n}\n";
}

/* ---- the check ---- */

static void put(std::vector<unsigned char> &memory, size_t at, int bits, int k, uint32_t v)
{
    if (bits == 1) {
        memory[at] = (unsigned char)(memory[at] | v << (k % 8));
        return;
    }
    memcpy(&memory[at], &v, (size_t)bits / 8);
}

/* Chooses the elements of a sparse A that are present: two of every four along k, of TF32 one of
 * two. `a` keeps those where they are and `packed` has them alone; the others are zero. regs:
 * metadata of 128 threads, of which those that the selector does not name have noise. */
static void make_sparse(const product &p, std::vector<int> &a, std::vector<int> &packed,
                        uint32_t *regs)
{
    const int k = k_of(p), each = p.a == TF32 ? 1 : 2, bits = types[p.a].bits;
    packed.assign((size_t)64 * k / 2, 0);
    for (int t = 0; t < 128; t++)
        regs[t] = bits == 8 || t % 4 / 2 == p.selector ? 0 : (uint32_t)random_below(1 << 24) * 255u;
    for (int row = 0; row < 64; row++)
        for (int q = 0; q < k / (2 * each); q++) {
            int first = random_below(each == 1 ? 2 : 3);
            int second = first + 1 + random_below(3 - first);
            uint32_t nibble = each == 1 ? (first ? 14u : 4u) : (uint32_t)(first | second << 2);
            for (int i = 0; i < 2 * each; i++) {
                int &v = a[(size_t)row * k + q * 2 * each + i];
                if (i == first || (each == 2 && i == second))
                    packed[(size_t)row * k / 2 + q * each + (i != first)] = v;
                else
                    v = 0;
            }
            int h = row % 16 / 8, lane = bits == 8 ? h + q / 8 * 2 : 2 * p.selector + q / 4;
            int at = bits == 8 ? q % 8 * 4 : 16 * h + q % 4 * 4;
            regs[row / 16 * 32 + row % 8 * 4 + lane] |= nibble << at;
        }
}

/* Loads each text once: layouts differ in what a kernel is told, not in its text. */
static std::map<std::string, CUmodule> modules;

static CUmodule load(const std::string &ptx)
{
    CUmodule &module = modules[ptx];
    if (module == nullptr) {
        CUresult loaded = cuModuleLoadData(&module, ptx.c_str());
        CHECK_EQ_INT(loaded, CUDA_SUCCESS);
        if (loaded != CUDA_SUCCESS)
            printf("%s\n", ptx.c_str());
    }
    return module;
}

static void check(const product &p)
{
    const int k = k_of(p), ka = types[p.a].k, nd = registers_of_d(p), per_thread = nd + 5;
    const uint32_t base_b = 65536, bytes = 131072 + 16384;
    std::vector<int> a((size_t)64 * k), b((size_t)k * p.n);
    std::vector<unsigned char> memory(bytes);
    std::vector<uint32_t> regs((size_t)128 * per_thread);
    for (int &v : a)
        v = random_element(p.a);
    for (int &v : b)
        v = random_element(p.b);
    std::vector<int> packed = a;
    if (p.sparse)
        make_sparse(p, a, packed, &regs[(size_t)128 * (nd + 4)]);
    layout lb = p.lb;
    lb.start += base_b;
    for (int r = 0; r < 64; r++)
        for (int n = 0; n < ka; n++) {
            int v = packed[(size_t)r * ka + n];
            put(memory, place(p.la, types[p.a].bits, r, n), types[p.a].bits, n,
                p.a == B1 ? (uint32_t)v : encode(p.a, v));
        }
    for (int c = 0; c < p.n; c++)
        for (int n = 0; n < k; n++)
            put(memory, place(lb, types[p.b].bits, c, n), types[p.b].bits, n,
                p.b == B1 ? (uint32_t)b[(size_t)n * p.n + c] : encode(p.b, b[(size_t)n * p.n + c]));
    /* thread t: rows t / 32 * 16 + t % 32 / 4 and 8 below, columns 8 j + t % 4 * 2 and the next */
    auto where = [&](int t, int reg, int half, int *row, int *column) {
        int pair = p.d == HALF ? reg : reg / 2, within = p.d == HALF ? half : reg % 2;
        *row = t / 32 * 16 + t % 32 / 4 + pair % 2 * 8;
        *column = pair / 2 * 8 + t % 4 * 2 + within;
    };
    std::vector<int> c((size_t)64 * p.n);
    for (int &v : c)
        v = p.saturates && random_below(2) ? (random_below(2) ? 2147483600 : -2147483600)
                                           : random_below(200) - 100;
    for (int t = 0; t < 128; t++) {
        for (int n = 0; n < nd; n++)
            for (int half = 0; half < (p.d == HALF ? 2 : 1); half++) {
                int row, column;
                where(t, n, half, &row, &column);
                int v = c[(size_t)row * p.n + column];
                float f = (float)v;
                uint32_t *to = &regs[(size_t)n * 128 + (size_t)t];
                if (p.d == HALF)
                    *to |= encode(F16, v) << 16 * half;
                else if (p.d == F32)
                    memcpy(to, &f, 4);
                else
                    *to = (uint32_t)v;
            }
        for (int n = 0; n < 4; n++) { /* of A: 32 bits along k, at row, 8 below, 16 bytes on */
            int row = t / 32 * 16 + t % 32 / 4 + n % 2 * 8;
            size_t bit = (size_t)(t % 4) * 32 + (size_t)(n / 2) * 128;
            for (int e = 0; e < 32 / types[p.a].bits; e++) {
                int at = (int)(bit / (size_t)types[p.a].bits) + e,
                    v = packed[(size_t)row * ka + at];
                regs[(size_t)(nd + n) * 128 + (size_t)t] |=
                    (p.a == B1 ? (uint32_t)v : encode(p.a, v)) << e * types[p.a].bits;
            }
        }
    }
    std::string ptx = kernel(p);
    CUfunction function;
    CUdeviceptr image, device_regs;
    CUmodule module = load(ptx);
    if (module == nullptr)
        return;
    CHECK_EQ_INT(cuModuleGetFunction(&function, module, "kernel"), CUDA_SUCCESS);
    CHECK_EQ_INT(
        cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes),
        CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemAlloc(&image, bytes), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemAlloc(&device_regs, regs.size() * 4), CUDA_SUCCESS);
    cuMemcpyHtoD(image, memory.data(), bytes);
    cuMemcpyHtoD(device_regs, regs.data(), regs.size() * 4);
    uint32_t count = bytes, adds = (uint32_t)p.scale_d;
    uint64_t da = descriptor(p.la, 0), db = descriptor(lb, 0);
    void *params[] = {&image, &count, &da, &db, &device_regs, &adds};
    CHECK_EQ_INT(cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, bytes, nullptr, params, nullptr),
                 CUDA_SUCCESS);
    CHECK_EQ_INT(cuCtxSynchronize(), CUDA_SUCCESS);
    cuMemcpyDtoH(regs.data(), device_regs, regs.size() * 4);
    int wrong = 0;
    for (int t = 0; t < 128; t++)
        for (int n = 0; n < nd; n++)
            for (int half = 0; half < (p.d == HALF ? 2 : 1); half++) {
                int row, column;
                where(t, n, half, &row, &column);
                int64_t sum = 0;
                for (int x = 0; x < k; x++)
                    sum += a[(size_t)row * k + x] * b[(size_t)x * p.n + column];
                sum = sum * p.scale_a * p.scale_b + (adds ? c[(size_t)row * p.n + column] : 0);
                if (p.saturates)
                    sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
                uint32_t is = regs[(size_t)n * 128 + (size_t)t];
                float f;
                memcpy(&f, &is, 4);
                if (p.d == S32)
                    wrong += is != (uint32_t)sum;
                else
                    wrong += (p.d == HALF ? half_value(is >> 16 * half & 0xffff) : f) != (float)sum;
            }
    CHECK_EQ_INT(wrong, 0);
    if (wrong != 0)
        printf("m64n%dk%d%s %s %s %s, A %s width %d%s, B width %d%s\n", p.n, k,
               p.sparse ? " sparse" : "", result_names[p.d], types[p.a].name, types[p.b].name,
               p.registers ? "in registers," : "", p.la.width, p.la.across ? " across" : "",
               p.lb.width, p.lb.across ? " across" : "");
    cuMemFree(image);
    cuMemFree(device_regs);
}

static layout along(int width, uint32_t start = 0)
{
    return width == 1 ? layout{1, false, 128, 256, start}
                      : layout{width, false, 16, (uint32_t)width * 128, start};
}

/* Of `extent` rows or columns of 16-bit elements, 8 * atoms along k. */
static layout across(int width, int extent, int atoms = 2)
{
    if (width == 1)
        return {1, true, (uint32_t)extent / 8 * 128 + 128, 128, 0};
    uint32_t atom = (uint32_t)width * 128; /* eight of k */
    return {width, true, (uint32_t)atoms * atom, atom, 0};
}

static void test_types()
{
    static const struct {
        type a, b;
        result d;
    } kinds[] = {{F16, F16, F32},   {F16, F16, HALF},   {BF16, BF16, F32}, {TF32, TF32, F32},
                 {E4M3, E4M3, F32}, {E4M3, E5M2, HALF}, {E5M2, E4M3, F32}, {E5M2, E5M2, HALF},
                 {S8, S8, S32},     {U8, U8, S32},      {S8, U8, S32},     {U8, S8, S32},
                 {B1, B1, S32}};
    for (const auto &k : kinds)
        for (int registers = 0; registers < 2; registers++) {
            product p = {k.a, k.b, k.d, 16, along(8), along(8), registers != 0, 1, 1, 1, false};
            check(p);
            p.n = 8;
            p.scale_d = 0;
            p.la = along(1);
            p.lb = along(2);
            check(p);
        }
    for (int both = 0; both < 2; both++) {
        product p = {S8, both ? U8 : S8, S32, 32, along(4), along(1), false, 1, 1, 1, true};
        check(p);
    }
}

static void test_widths()
{
    static const int widths[] = {24, 128, 256};
    for (int n : widths)
        check(
            {F16, F16, n == 128 ? HALF : F32, n, along(8), across(8, n), n == 24, 1, 1, 1, false});
    check({S8, S8, S32, 256, along(8), along(8), false, 1, 1, 1, false});
    check({TF32, TF32, F32, 256, along(8), along(4), true, 1, 1, 1, false});
}

static void test_layouts()
{
    static const int widths[] = {1, 2, 4, 8};
    for (int wa : widths)
        for (int wb : widths)
            for (int ways = 0; ways < 4; ways++)
                check({ways % 2 ? F16 : BF16, ways % 2 ? F16 : BF16, F32, 64,
                       ways & 1 ? across(wa, 64) : along(wa), ways & 2 ? across(wb, 64) : along(wb),
                       false, 1, 1, 1, false});
    /* parts along k of a wider tile */
    for (uint32_t part = 0; part < 4; part++)
        check({F16, F16, F32, 64, along(8, 32 * part), along(8, 32 * (3 - part)), false, 1, 1, 1,
               false});
    layout loose = {1, false, 2048, 144, 0};
    check({F16, F16, F32, 64, loose, {1, false, 4096, 128, 0}, false, 1, 1, 1, false});
}

static void test_scales()
{
    for (int sa = -1; sa <= 1; sa += 2)
        for (int sb = -1; sb <= 1; sb += 2)
            for (int d = 0; d < 2; d++)
                check({F16, F16, d ? HALF : F32, 8, along(8), along(8), d == 0, d, sa, sb, false});
}

static void test_sparse()
{
    static const struct {
        type a, b;
        result d;
    } kinds[] = {{F16, F16, F32},   {F16, F16, HALF},   {BF16, BF16, F32}, {TF32, TF32, F32},
                 {E4M3, E5M2, F32}, {E5M2, E4M3, HALF}, {S8, U8, S32},     {U8, S8, S32}};
    for (const auto &k : kinds)
        for (int registers = 0; registers < 2; registers++)
            for (int selector = 0; selector < (types[k.a].bits == 8 ? 1 : 2); selector++) {
                /* a row of B is 64 bytes or more */
                product p = {k.a,
                             k.b,
                             k.d,
                             selector ? 24 : 16,
                             along(2),
                             along(selector ? 4 : 8),
                             registers != 0,
                             selector,
                             1,
                             1,
                             false,
                             true,
                             selector};
                check(p);
                p.lb = {1, false, 128, 512, 0};
                check(p);
            }
    check({S8, S8, S32, 64, along(8), along(8), false, 1, 1, 1, true, true, 0});
    check({F16, F16, F32, 256, across(8, 64), across(8, 256, 4), false, 1, -1, 1, false, true, 1});
    check({BF16, BF16, F32, 128, along(8, 64), across(4, 128, 4), false, 1, 1, -1, false, true, 0});
}

int main()
{
    CHECK_EQ_INT(cudaFree(nullptr), cudaSuccess); /* makes the context */
    test_types();
    test_scales();
    test_layouts();
    test_widths();
    test_sparse();
    for (auto &m : modules)
        cuModuleUnload(m.second);
    return check_done();
}
