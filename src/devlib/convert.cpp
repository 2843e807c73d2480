/* Conversions between number types, with each rounding, and reinterpretation of bits. Floating
 * point to integer saturates, and takes NaN to 0, or (from double, or to 64 bits) to the integer
 * whose highest bit alone is set, as the instructions do. */
#include "devlib.h"

/* The four roundings: CUDA's letters, PTX's letters. */
#define ROUNDINGS(make, ...)                                                                       \
    make(rn, rn, __VA_ARGS__) make(rz, rz, __VA_ARGS__) make(rd, rm, __VA_ARGS__)                  \
        make(ru, rp, __VA_ARGS__)

#define FROM_FLOAT(r, p, to, name, letters)                                                        \
    FN to __nv_float2##name##_##r(float a)                                                         \
    {                                                                                              \
        return FTZ(__nvvm_f2##letters##_##p##_ftz(a), __nvvm_f2##letters##_##p(a));                \
    }                                                                                              \
    FN to __nv_double2##name##_##r(double a) { return __nvvm_d2##letters##_##p(a); }
ROUNDINGS(FROM_FLOAT, int, int, i)
ROUNDINGS(FROM_FLOAT, u32, uint, ui)
ROUNDINGS(FROM_FLOAT, long long, ll, ll)
ROUNDINGS(FROM_FLOAT, u64, ull, ull)

/* By instruction: LLVM 19 takes the intrinsics of these conversions towards zero for the ones to
 * nearest. */
#define TO_FLOAT(r, p, from, name, type, letter)                                                   \
    FN float __nv_##name##2float_##r(from a)                                                       \
    {                                                                                              \
        float f;                                                                                   \
        __asm__("cvt." #p ".f32." #type " %0, %1;" : "=f"(f) : letter(a));                         \
        return f;                                                                                  \
    }
#define TO_DOUBLE(r, p, from, name, type, letter)                                                  \
    FN double __nv_##name##2double_##r(from a)                                                     \
    {                                                                                              \
        double d;                                                                                  \
        __asm__("cvt." #p ".f64." #type " %0, %1;" : "=d"(d) : letter(a));                         \
        return d;                                                                                  \
    }
#define DIRECTED(make, ...)                                                                        \
    make(rz, rz, __VA_ARGS__) make(rd, rm, __VA_ARGS__) make(ru, rp, __VA_ARGS__)
DIRECTED(TO_FLOAT, int, int, s32, "r")
DIRECTED(TO_FLOAT, u32, uint, u32, "r")
DIRECTED(TO_FLOAT, long long, ll, s64, "l")
DIRECTED(TO_FLOAT, u64, ull, u64, "l")
DIRECTED(TO_DOUBLE, long long, ll, s64, "l")
DIRECTED(TO_DOUBLE, u64, ull, u64, "l")
FN float __nv_int2float_rn(int a) { return (float)a; }
FN float __nv_uint2float_rn(u32 a) { return (float)a; }
FN float __nv_ll2float_rn(long long a) { return (float)a; }
FN float __nv_ull2float_rn(u64 a) { return (float)a; }
FN double __nv_ll2double_rn(long long a) { return (double)a; }
FN double __nv_ull2double_rn(u64 a) { return (double)a; }
FN double __nv_int2double_rn(int a) { return a; }
FN double __nv_uint2double_rn(u32 a) { return a; }

#define NARROW(r, p, unused)                                                                       \
    FN float __nv_double2float_##r(double a)                                                       \
    {                                                                                              \
        return FTZ(__nvvm_d2f_##p##_ftz(a), __nvvm_d2f_##p(a));                                    \
    }
ROUNDINGS(NARROW, 0)

FN int __nv_double2hiint(double a) { return (int)(bits(a) >> 32); }
FN int __nv_double2loint(double a) { return (int)bits(a); }
FN double __nv_hiloint2double(int hi, int lo) { return from_bits((u64)(u32)hi << 32 | (u32)lo); }
FN u64 __nv_double_as_longlong(double a) { return bits(a); }
FN double __nv_longlong_as_double(long long a) { return from_bits((u64)a); }
FN int __nv_float_as_int(float a) { return (int)bits(a); }
FN u32 __nv_float_as_uint(float a) { return bits(a); }
FN float __nv_int_as_float(int a) { return from_bits((u32)a); }
FN float __nv_uint_as_float(u32 a) { return from_bits(a); }

FN unsigned short __nv_float2half_rn(float a)
{
    return __builtin_bit_cast(unsigned short, (_Float16)a);
}
FN float __nv_half2float(unsigned short a) { return (float)__builtin_bit_cast(_Float16, a); }
