/* mma.h: matrix multiply-accumulate by a warp, nvcuda::wmma ("CUDA C++ Programming Guide", Warp
 * Matrix Functions). A fragment is the registers of the PTX instruction wmma as an array of
 * elements; which thread holds which element is the device's business. */
#ifndef __CUDA_MMA_H__
#define __CUDA_MMA_H__

#ifdef __CUDACC_RTC__ /* which takes operands of asm by number alone */
#error "this mma.h is for weircc: give NVRTC the one of NVIDIA's toolkit"
#endif
#if defined(__cplusplus) && defined(__CUDA__)

/* if constexpr is understood in older dialects, too. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++17-extensions"

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"

namespace nvcuda
{
namespace wmma
{

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

/* Element types that have no C type of their own size. */
namespace precision
{
struct u4;
struct s4;
struct b1;
struct tf32;
} // namespace precision
namespace experimental
{
namespace precision = wmma::precision;
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
} // namespace experimental

#define WEIR_WMMA static __inline__ __attribute__((always_inline, nodebug, device))

/* float with the mantissa cut to the 10 bits that the matrix unit sees */
WEIR_WMMA float __float_to_tf32(float x)
{
    int r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
    return __int_as_float(r);
}

/* How one element type is stored, and what a pointer to a matrix of it points to. */
template <typename T> struct storage {
    typedef T element;
    typedef T memory;
};
template <> struct storage<precision::tf32> {
    typedef float element;
    typedef float memory;
};
template <> struct storage<precision::u4> {
    typedef unsigned element;
    typedef void memory;
};
template <> struct storage<precision::s4> {
    typedef int element;
    typedef void memory;
};
template <> struct storage<precision::b1> {
    typedef unsigned element;
    typedef void memory;
};

/* Elements one thread holds, and 32-bit registers (64-bit for double) they are in. */
template <typename Use, int M, int N, int K, typename T> struct shape;
#define WEIR_SHAPE(use, m, n, k, type, elements, registers)                                        \
    template <> struct shape<use, m, n, k, type> {                                                 \
        static constexpr int count = elements, regs = registers;                                   \
    };

template <typename Use, int M, int N, int K, typename T, typename Layout = void> class fragment
{
    typedef shape<Use, M, N, K, T> held;

  public:
    typedef typename storage<T>::element element_type;
    typedef element_type storage_element_type;
    static constexpr int num_elements = held::count;
    static constexpr int num_storage_elements = held::count;
    element_type x[num_elements];
};

template <typename Use, int M, int N, int K, typename T, typename Layout, typename V>
WEIR_WMMA void fill_fragment(fragment<Use, M, N, K, T, Layout> &f, const V &value)
{
#pragma unroll
    for (int i = 0; i < f.num_elements; i++)
        f.x[i] = value;
}

/* ---- register lists: operands by name, for any number of them ---- */

#define WEIR_R1(n) "{%[" #n "0]}"
#define WEIR_R2(n) "{%[" #n "0], %[" #n "1]}"
#define WEIR_R4(n) "{%[" #n "0], %[" #n "1], %[" #n "2], %[" #n "3]}"
#define WEIR_R8(n)                                                                                 \
    "{%[" #n "0], %[" #n "1], %[" #n "2], %[" #n "3], %[" #n "4], %[" #n "5], %[" #n "6], %[" #n   \
    "7]}"
#define WEIR_O1(n, l, v) [n##0] "=" l(v[0])
#define WEIR_O2(n, l, v) WEIR_O1(n, l, v), [n##1] "=" l(v[1])
#define WEIR_O4(n, l, v) WEIR_O2(n, l, v), [n##2] "=" l(v[2]), [n##3] "=" l(v[3])
#define WEIR_O8(n, l, v)                                                                           \
    WEIR_O4(n, l, v), [n##4] "=" l(v[4]), [n##5] "=" l(v[5]), [n##6] "=" l(v[6]), [n##7] "=" l(v[7])
#define WEIR_I1(n, l, v) [n##0] l(v[0])
#define WEIR_I2(n, l, v) WEIR_I1(n, l, v), [n##1] l(v[1])
#define WEIR_I4(n, l, v) WEIR_I2(n, l, v), [n##2] l(v[2]), [n##3] l(v[3])
#define WEIR_I8(n, l, v)                                                                           \
    WEIR_I4(n, l, v), [n##4] l(v[4]), [n##5] l(v[5]), [n##6] l(v[6]), [n##7] l(v[7])

/* ---- loading the factors, loading and storing the accumulator ---- */

#define WEIR_LOAD(letter, use, m, n, k, type, ptx, elements, registers, layout, layout_name, l,    \
                  carrier)                                                                         \
    WEIR_WMMA void load_matrix_sync(fragment<use, m, n, k, type, layout> &f,                       \
                                    const storage<type>::memory *p, unsigned stride)               \
    {                                                                                              \
        carrier r[registers];                                                                      \
        asm volatile("wmma.load." letter ".sync.aligned." layout_name ".m" #m "n" #n "k" #k        \
                     "." ptx " " WEIR_R##registers(r) ", [%[p]], %[s];"                            \
                     : WEIR_O##registers(r, l, r)                                                  \
                     : [p] "l"(p), [s] "r"(stride)                                                 \
                     : "memory");                                                                  \
        __builtin_memcpy(f.x, r, sizeof(f.x));                                                     \
    }
#define WEIR_FACTOR(m, n, k, type, ptx, elements_a, a, elements_b, b, l, carrier)                  \
    WEIR_SHAPE(matrix_a, m, n, k, type, elements_a, a)                                             \
    WEIR_SHAPE(matrix_b, m, n, k, type, elements_b, b)                                             \
    WEIR_LOAD("a", matrix_a, m, n, k, type, ptx, elements_a, a, row_major, "row", l, carrier)      \
    WEIR_LOAD("b", matrix_b, m, n, k, type, ptx, elements_b, b, col_major, "col", l, carrier)
#define WEIR_FACTORS(m, n, k, type, ptx, elements_a, a, elements_b, b, l, carrier)                 \
    WEIR_FACTOR(m, n, k, type, ptx, elements_a, a, elements_b, b, l, carrier)                      \
    WEIR_LOAD("a", matrix_a, m, n, k, type, ptx, elements_a, a, col_major, "col", l, carrier)      \
    WEIR_LOAD("b", matrix_b, m, n, k, type, ptx, elements_b, b, row_major, "row", l, carrier)

#define WEIR_ACCUMULATOR(m, n, k, type, ptx, elements, registers, l, carrier)                      \
    WEIR_SHAPE(accumulator, m, n, k, type, elements, registers)                                    \
    WEIR_WMMA void load_matrix_sync(fragment<accumulator, m, n, k, type> &f, const type *p,        \
                                    unsigned stride, layout_t layout)                              \
    {                                                                                              \
        carrier r[registers];                                                                      \
        if (layout == mem_row_major)                                                               \
            asm volatile("wmma.load.c.sync.aligned.row.m" #m "n" #n "k" #k "." ptx                 \
                         " " WEIR_R##registers(r) ", [%[p]], %[s];"                                \
                         : WEIR_O##registers(r, l, r)                                              \
                         : [p] "l"(p), [s] "r"(stride)                                             \
                         : "memory");                                                              \
        else                                                                                       \
            asm volatile("wmma.load.c.sync.aligned.col.m" #m "n" #n "k" #k "." ptx                 \
                         " " WEIR_R##registers(r) ", [%[p]], %[s];"                                \
                         : WEIR_O##registers(r, l, r)                                              \
                         : [p] "l"(p), [s] "r"(stride)                                             \
                         : "memory");                                                              \
        __builtin_memcpy(f.x, r, sizeof(f.x));                                                     \
    }                                                                                              \
    WEIR_WMMA void store_matrix_sync(type *p, const fragment<accumulator, m, n, k, type> &f,       \
                                     unsigned stride, layout_t layout)                             \
    {                                                                                              \
        carrier r[registers];                                                                      \
        __builtin_memcpy(r, f.x, sizeof(f.x));                                                     \
        if (layout == mem_row_major)                                                               \
            asm volatile("wmma.store.d.sync.aligned.row.m" #m "n" #n "k" #k "." ptx                \
                         " [%[p]], " WEIR_R##registers(r) ", %[s];" ::WEIR_I##registers(r, l, r),  \
                         [p] "l"(p), [s] "r"(stride)                                               \
                         : "memory");                                                              \
        else                                                                                       \
            asm volatile("wmma.store.d.sync.aligned.col.m" #m "n" #n "k" #k "." ptx                \
                         " [%[p]], " WEIR_R##registers(r) ", %[s];" ::WEIR_I##registers(r, l, r),  \
                         [p] "l"(p), [s] "r"(stride)                                               \
                         : "memory");                                                              \
    }

/* ---- D = A * B + C ---- */

/* One instruction over the local register arrays ra, rb, rc, rd: counts, operand letters. */
#define WEIR_EMIT(instruction, a, b, f, d, dl, c, cl)                                              \
    asm volatile(instruction                                                                       \
                 " " WEIR_R##d(rd) ", " WEIR_R##a(ra) ", " WEIR_R##b(rb) ", " WEIR_R##c(rc) ";"    \
                 : WEIR_O##d(rd, dl, rd)                                                           \
                 : WEIR_I##a(ra, f, ra), WEIR_I##b(rb, f, rb), WEIR_I##c(rc, cl, rc));

#define WEIR_MMA(m, n, k, factor, la, lan, lb, lbn, a, b, f, fc, result, d, dl, dc, input, c, cl,  \
                 cc, types)                                                                        \
    WEIR_WMMA void mma_sync(fragment<accumulator, m, n, k, result> &to,                            \
                            const fragment<matrix_a, m, n, k, factor, la> &left,                   \
                            const fragment<matrix_b, m, n, k, factor, lb> &right,                  \
                            const fragment<accumulator, m, n, k, input> &from)                     \
    {                                                                                              \
        fc ra[a], rb[b];                                                                           \
        cc rc[c];                                                                                  \
        dc rd[d];                                                                                  \
        __builtin_memcpy(ra, left.x, sizeof(ra));                                                  \
        __builtin_memcpy(rb, right.x, sizeof(rb));                                                 \
        __builtin_memcpy(rc, from.x, sizeof(rc));                                                  \
        WEIR_EMIT("wmma.mma.sync.aligned." lan "." lbn ".m" #m "n" #n "k" #k "." types, a, b, f,   \
                  d, dl, c, cl)                                                                    \
        __builtin_memcpy(to.x, rd, sizeof(rd));                                                    \
    }
/* Integers may saturate. */
#define WEIR_MMA_INT(m, n, k, factor, la, lan, lb, lbn, a, b, types)                               \
    WEIR_WMMA void mma_sync(fragment<accumulator, m, n, k, int> &to,                               \
                            const fragment<matrix_a, m, n, k, factor, la> &left,                   \
                            const fragment<matrix_b, m, n, k, factor, lb> &right,                  \
                            const fragment<accumulator, m, n, k, int> &from,                       \
                            bool saturate = false)                                                 \
    {                                                                                              \
        constexpr int count = fragment<accumulator, m, n, k, int>::num_elements;                   \
        int ra[a], rb[b], rc[8], rd[8];                                                            \
        __builtin_memcpy(ra, left.x, sizeof(ra));                                                  \
        __builtin_memcpy(rb, right.x, sizeof(rb));                                                 \
        __builtin_memcpy(rc, from.x, sizeof(int) * count);                                         \
        if constexpr (count == 8) {                                                                \
            if (saturate)                                                                          \
                WEIR_EMIT("wmma.mma.sync.aligned." lan "." lbn ".m" #m "n" #n "k" #k "." types     \
                          ".satfinite",                                                            \
                          a, b, "r", 8, "r", 8, "r")                                               \
            else                                                                                   \
                WEIR_EMIT("wmma.mma.sync.aligned." lan "." lbn ".m" #m "n" #n "k" #k "." types, a, \
                          b, "r", 8, "r", 8, "r")                                                  \
        } else {                                                                                   \
            if (saturate)                                                                          \
                WEIR_EMIT("wmma.mma.sync.aligned." lan "." lbn ".m" #m "n" #n "k" #k "." types     \
                          ".satfinite",                                                            \
                          a, b, "r", 2, "r", 2, "r")                                               \
            else                                                                                   \
                WEIR_EMIT("wmma.mma.sync.aligned." lan "." lbn ".m" #m "n" #n "k" #k "." types, a, \
                          b, "r", 2, "r", 2, "r")                                                  \
        }                                                                                          \
        __builtin_memcpy(to.x, rd, sizeof(int) * count);                                           \
    }
/* The four combinations of the factors' layouts. */
#define WEIR_MMA4(m, n, k, factor, ...)                                                            \
    WEIR_MMA(m, n, k, factor, row_major, "row", row_major, "row", __VA_ARGS__)                     \
    WEIR_MMA(m, n, k, factor, row_major, "row", col_major, "col", __VA_ARGS__)                     \
    WEIR_MMA(m, n, k, factor, col_major, "col", row_major, "row", __VA_ARGS__)                     \
    WEIR_MMA(m, n, k, factor, col_major, "col", col_major, "col", __VA_ARGS__)
#define WEIR_MMA4_INT(m, n, k, factor, ...)                                                        \
    WEIR_MMA_INT(m, n, k, factor, row_major, "row", row_major, "row", __VA_ARGS__)                 \
    WEIR_MMA_INT(m, n, k, factor, row_major, "row", col_major, "col", __VA_ARGS__)                 \
    WEIR_MMA_INT(m, n, k, factor, col_major, "col", row_major, "row", __VA_ARGS__)                 \
    WEIR_MMA_INT(m, n, k, factor, col_major, "col", col_major, "col", __VA_ARGS__)

/* half (sm_70): accumulators of float or half, in any combination */
#define WEIR_HALF_SHAPE(m, n, k)                                                                   \
    WEIR_FACTORS(m, n, k, __half, "f16", 16, 8, 16, 8, "r", unsigned)                              \
    WEIR_ACCUMULATOR(m, n, k, float, "f32", 8, 8, "f", float)                                      \
    WEIR_ACCUMULATOR(m, n, k, __half, "f16", 8, 4, "r", unsigned)                                  \
    WEIR_MMA4(m, n, k, __half, 8, 8, "r", unsigned, float, 8, "f", float, float, 8, "f", float,    \
              "f32.f32")                                                                           \
    WEIR_MMA4(m, n, k, __half, 8, 8, "r", unsigned, float, 8, "f", float, __half, 4, "r",          \
              unsigned, "f32.f16")                                                                 \
    WEIR_MMA4(m, n, k, __half, 8, 8, "r", unsigned, __half, 4, "r", unsigned, float, 8, "f",       \
              float, "f16.f32")                                                                    \
    WEIR_MMA4(m, n, k, __half, 8, 8, "r", unsigned, __half, 4, "r", unsigned, __half, 4, "r",      \
              unsigned, "f16.f16")
WEIR_HALF_SHAPE(16, 16, 16)
WEIR_HALF_SHAPE(32, 8, 16)
WEIR_HALF_SHAPE(8, 32, 16)
#undef WEIR_HALF_SHAPE

/* bytes (sm_72) */
#define WEIR_BYTE_SHAPE(m, n, k, elements_a, a, elements_b, b)                                     \
    WEIR_FACTORS(m, n, k, signed char, "s8", elements_a, a, elements_b, b, "r", unsigned)          \
    WEIR_FACTORS(m, n, k, unsigned char, "u8", elements_a, a, elements_b, b, "r", unsigned)        \
    WEIR_ACCUMULATOR(m, n, k, int, "s32", 8, 8, "r", int)                                          \
    WEIR_MMA4_INT(m, n, k, signed char, a, b, "s32.s8.s8.s32")                                     \
    WEIR_MMA4_INT(m, n, k, unsigned char, a, b, "s32.u8.u8.s32")
WEIR_BYTE_SHAPE(16, 16, 16, 8, 2, 8, 2)
WEIR_BYTE_SHAPE(32, 8, 16, 16, 4, 4, 1)
WEIR_BYTE_SHAPE(8, 32, 16, 4, 1, 16, 4)
#undef WEIR_BYTE_SHAPE

/* bfloat16, tf32 and double (sm_80) */
#define WEIR_BF16_SHAPE(m, n, k, elements_a, a, elements_b, b)                                     \
    WEIR_FACTORS(m, n, k, __nv_bfloat16, "bf16", elements_a, a, elements_b, b, "r", unsigned)      \
    WEIR_MMA4(m, n, k, __nv_bfloat16, a, b, "r", unsigned, float, 8, "f", float, float, 8, "f",    \
              float, "f32.bf16.bf16.f32")
WEIR_BF16_SHAPE(16, 16, 16, 8, 4, 8, 4)
WEIR_BF16_SHAPE(32, 8, 16, 16, 8, 4, 2)
WEIR_BF16_SHAPE(8, 32, 16, 4, 2, 16, 8)
#undef WEIR_BF16_SHAPE

WEIR_FACTORS(16, 16, 8, precision::tf32, "tf32", 4, 4, 4, 4, "r", unsigned)
WEIR_ACCUMULATOR(16, 16, 8, float, "f32", 8, 8, "f", float)
WEIR_MMA4(16, 16, 8, precision::tf32, 4, 4, "r", unsigned, float, 8, "f", float, float, 8, "f",
          float, "f32.tf32.tf32.f32")

WEIR_FACTORS(8, 8, 4, double, "f64", 1, 1, 1, 1, "d", double)
WEIR_ACCUMULATOR(8, 8, 4, double, "f64", 2, 2, "d", double)
WEIR_MMA4(8, 8, 4, double, 1, 1, "d", double, double, 2, "d", double, double, 2, "d", double,
          "f64.f64.f64.f64")

/* four bits (sm_75): only row times column; eight elements share a register */
WEIR_FACTOR(8, 8, 32, precision::s4, "s4", 1, 1, 1, 1, "r", unsigned)
WEIR_FACTOR(8, 8, 32, precision::u4, "u4", 1, 1, 1, 1, "r", unsigned)
WEIR_ACCUMULATOR(8, 8, 32, int, "s32", 2, 2, "r", int)
WEIR_MMA_INT(8, 8, 32, precision::s4, row_major, "row", col_major, "col", 1, 1, "s32.s4.s4.s32")
WEIR_MMA_INT(8, 8, 32, precision::u4, row_major, "row", col_major, "col", 1, 1, "s32.u4.u4.s32")

/* single bits (sm_75): a popcount of xor or and */
WEIR_FACTOR(8, 8, 128, precision::b1, "b1", 1, 1, 1, 1, "r", unsigned)
WEIR_ACCUMULATOR(8, 8, 128, int, "s32", 2, 2, "r", int)
WEIR_WMMA void bmma_sync(fragment<accumulator, 8, 8, 128, int> &to,
                         const fragment<matrix_a, 8, 8, 128, precision::b1, row_major> &left,
                         const fragment<matrix_b, 8, 8, 128, precision::b1, col_major> &right,
                         const fragment<accumulator, 8, 8, 128, int> &from,
                         experimental::bmmaBitOp op = experimental::bmmaBitOpXOR,
                         experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC)
{
    const unsigned *ra = left.x, *rb = right.x;
    const int *rc = from.x;
    int rd[2];
    if (op == experimental::bmmaBitOpXOR)
        WEIR_EMIT("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", 1, 1, "r", 2,
                  "r", 2, "r")
    else
        WEIR_EMIT("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", 1, 1, "r", 2,
                  "r", 2, "r")
    to.x[0] = rd[0];
    to.x[1] = rd[1];
}

namespace experimental
{
using wmma::bmma_sync;
}

#undef WEIR_WMMA
#undef WEIR_SHAPE
#undef WEIR_LOAD
#undef WEIR_FACTOR
#undef WEIR_FACTORS
#undef WEIR_ACCUMULATOR
#undef WEIR_EMIT
#undef WEIR_MMA
#undef WEIR_MMA_INT
#undef WEIR_MMA4
#undef WEIR_MMA4_INT
#undef WEIR_R1
#undef WEIR_R2
#undef WEIR_R4
#undef WEIR_R8
#undef WEIR_O1
#undef WEIR_O2
#undef WEIR_O4
#undef WEIR_O8
#undef WEIR_I1
#undef WEIR_I2
#undef WEIR_I4
#undef WEIR_I8

} // namespace wmma
} // namespace nvcuda

#pragma clang diagnostic pop

#endif
#endif
