/* Warp and block functions that clang's headers leave out: match, sleep, dot products of
 * packed bytes; and the refusal of shuffles that newer targets lack. */
#ifndef WEIR_WARP_H
#define WEIR_WARP_H

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
#define WEIR_MATCH(type, bits, carrier)                                                            \
    WEIR_DEVICE unsigned __match_any_sync(unsigned mask, type value)                               \
    {                                                                                              \
        return __match##bits##_any_sync(mask, (carrier)value);                                     \
    }                                                                                              \
    WEIR_DEVICE unsigned __match_all_sync(unsigned mask, type value, int *all)                     \
    {                                                                                              \
        return __match##bits##_all_sync(mask, (carrier)value, all);                                \
    }
WEIR_MATCH(unsigned, 32, unsigned)
WEIR_MATCH(int, 32, unsigned)
WEIR_MATCH(unsigned long, 64, unsigned long long)
WEIR_MATCH(long, 64, unsigned long long)
WEIR_MATCH(unsigned long long, 64, unsigned long long)
WEIR_MATCH(long long, 64, unsigned long long)
#undef WEIR_MATCH
/* Floating-point values match by their bits. */
WEIR_DEVICE unsigned __match_any_sync(unsigned mask, float value)
{
    return __match32_any_sync(mask, (unsigned)__float_as_int(value));
}
WEIR_DEVICE unsigned __match_all_sync(unsigned mask, float value, int *all)
{
    return __match32_all_sync(mask, (unsigned)__float_as_int(value), all);
}
WEIR_DEVICE unsigned __match_any_sync(unsigned mask, double value)
{
    return __match64_any_sync(mask, (unsigned long long)__double_as_longlong(value));
}
WEIR_DEVICE unsigned __match_all_sync(unsigned mask, double value, int *all)
{
    return __match64_all_sync(mask, (unsigned long long)__double_as_longlong(value), all);
}

/* At most `ns` nanoseconds (the hardware promises 0 to 2 * ns). */
WEIR_DEVICE void __nanosleep(unsigned ns) { __nvvm_nanosleep(ns); }
#endif

/* Shuffles without a mask: for sm_70 and later there is no such instruction. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700 && !defined(WEIR_LEGACY_API)
#define WEIR_NO_SHUFFLE(name, lane_type)                                                           \
    template <class T>                                                                             \
    __device__ T name(T value, lane_type lane, int width = 32)                                     \
        __attribute__((unavailable("sm_70 and later have no shuffle without a mask: call " #name   \
                                   "_sync, or compile with --legacy-api or for sm_60")));
WEIR_NO_SHUFFLE(__shfl, int)
WEIR_NO_SHUFFLE(__shfl_up, unsigned)
WEIR_NO_SHUFFLE(__shfl_down, unsigned)
WEIR_NO_SHUFFLE(__shfl_xor, int)
#undef WEIR_NO_SHUFFLE
#endif

#define __assume(condition) __builtin_assume(condition)
#define __nv_unreachable()  __builtin_unreachable()

/* Dot products of packed bytes (sm_61). The operands' signs are the overload's. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 610
#define WEIR_DOT(name, type, a_type, b_type, instruction)                                          \
    WEIR_DEVICE type name(a_type a, b_type b, type c)                                              \
    {                                                                                              \
        type d;                                                                                    \
        asm(instruction " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));                    \
        return d;                                                                                  \
    }
WEIR_DOT(__dp4a, int, int, int, "dp4a.s32.s32")
WEIR_DOT(__dp4a, unsigned, unsigned, unsigned, "dp4a.u32.u32")
WEIR_DOT(__dp2a_lo, int, int, int, "dp2a.lo.s32.s32")
WEIR_DOT(__dp2a_lo, unsigned, unsigned, unsigned, "dp2a.lo.u32.u32")
WEIR_DOT(__dp2a_hi, int, int, int, "dp2a.hi.s32.s32")
WEIR_DOT(__dp2a_hi, unsigned, unsigned, unsigned, "dp2a.hi.u32.u32")
#undef WEIR_DOT

WEIR_DEVICE int weir_bits(char4 v)
{
    int r;
    __builtin_memcpy(&r, &v, 4);
    return r;
}
WEIR_DEVICE unsigned weir_bits(uchar4 v)
{
    unsigned r;
    __builtin_memcpy(&r, &v, 4);
    return r;
}
WEIR_DEVICE int weir_bits(short2 v)
{
    int r;
    __builtin_memcpy(&r, &v, 4);
    return r;
}
WEIR_DEVICE unsigned weir_bits(ushort2 v)
{
    unsigned r;
    __builtin_memcpy(&r, &v, 4);
    return r;
}
WEIR_DEVICE int __dp4a(char4 a, char4 b, int c) { return __dp4a(weir_bits(a), weir_bits(b), c); }
WEIR_DEVICE unsigned __dp4a(uchar4 a, uchar4 b, unsigned c)
{
    return __dp4a(weir_bits(a), weir_bits(b), c);
}
WEIR_DEVICE int __dp2a_lo(short2 a, char4 b, int c)
{
    return __dp2a_lo(weir_bits(a), weir_bits(b), c);
}
WEIR_DEVICE unsigned __dp2a_lo(ushort2 a, uchar4 b, unsigned c)
{
    return __dp2a_lo(weir_bits(a), weir_bits(b), c);
}
WEIR_DEVICE int __dp2a_hi(short2 a, char4 b, int c)
{
    return __dp2a_hi(weir_bits(a), weir_bits(b), c);
}
WEIR_DEVICE unsigned __dp2a_hi(ushort2 a, uchar4 b, unsigned c)
{
    return __dp2a_hi(weir_bits(a), weir_bits(b), c);
}
#endif

#endif
