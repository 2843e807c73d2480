/* The classes of one small float type and its pair. Included once for half and once for bfloat16,
 * with WEIR_H, WEIR_H2, WEIR_RAW and WEIR_RAW2 (the plain structs of bits), WEIR_OTHER (the other small
 * float type) and WEIR_MANTISSA, WEIR_EXPONENT defined. */

/* The bits, for C and for those who need them. */
typedef struct __attribute__((aligned(2))) {
    unsigned short x;
} WEIR_RAW;
typedef struct __attribute__((aligned(4))) {
    unsigned short x, y;
} WEIR_RAW2;

struct WEIR_OTHER;

struct __attribute__((aligned(2))) WEIR_H {
  protected:
    unsigned short __x;

  public:
    WEIR_H() = default;
    WEIR_SF_MEMBER constexpr WEIR_H(const WEIR_RAW &raw) : __x(raw.x) {}
    WEIR_SF_MEMBER WEIR_H &operator=(const WEIR_RAW &raw)
    {
        __x = raw.x;
        return *this;
    }
    WEIR_SF_MEMBER volatile WEIR_H &operator=(const WEIR_RAW &raw) volatile
    {
        __x = raw.x;
        return *this;
    }
    WEIR_SF_MEMBER volatile WEIR_H &operator=(const volatile WEIR_RAW &raw) volatile
    {
        __x = raw.x;
        return *this;
    }
    WEIR_SF_MEMBER operator WEIR_RAW() const
    {
        WEIR_RAW raw;
        raw.x = __x;
        return raw;
    }
    WEIR_SF_MEMBER operator WEIR_RAW() const volatile
    {
        WEIR_RAW raw;
        raw.x = __x;
        return raw;
    }

    WEIR_SF_MEMBER WEIR_H(float v) { set_float(v); }
    WEIR_SF_MEMBER WEIR_H(double v) { set(v); }
    WEIR_SF_MEMBER WEIR_H(short v) { set((double)v); }
    WEIR_SF_MEMBER WEIR_H(unsigned short v) { set((double)v); }
    WEIR_SF_MEMBER WEIR_H(int v) { set((double)v); }
    WEIR_SF_MEMBER WEIR_H(unsigned v) { set((double)v); }
    WEIR_SF_MEMBER WEIR_H(long v) { set(weir::odd_double((long long)v)); }
    WEIR_SF_MEMBER WEIR_H(unsigned long v) { set(weir::odd_double((unsigned long long)v)); }
    WEIR_SF_MEMBER WEIR_H(long long v) { set(weir::odd_double(v)); }
    WEIR_SF_MEMBER WEIR_H(unsigned long long v) { set(weir::odd_double(v)); }

    /* Through float, which holds all values of both. cuda_bf16.h defines it, where both types are. */
    WEIR_SF_MEMBER explicit WEIR_H(WEIR_OTHER v);

    WEIR_SF_MEMBER operator float() const
    {
#if defined(__CUDA_ARCH__)
        return (float)weir::bits_as<WEIR_NATIVE>(__x);
#else
        return weir::widen_small(__x, WEIR_MANTISSA, WEIR_EXPONENT);
#endif
    }
    /* Toward zero; beyond the type's range its end, as the conversion functions do. */
    WEIR_SF_MEMBER constexpr operator bool() const { return (__x & 0x7fff) != 0; }
#define WEIR_TO(type)                                                                              \
    WEIR_SF_MEMBER operator type() const                                                           \
    {                                                                                              \
        return weir::small_to_integer<type>((float)*this, weir::rounding::zero);                   \
    }
    WEIR_TO(char)
    WEIR_TO(signed char)
    WEIR_TO(unsigned char)
    WEIR_TO(short)
    WEIR_TO(unsigned short)
    WEIR_TO(int)
    WEIR_TO(unsigned)
    WEIR_TO(long)
    WEIR_TO(unsigned long)
    WEIR_TO(long long)
    WEIR_TO(unsigned long long)
#undef WEIR_TO

  private:
    WEIR_SF_MEMBER void set(double v)
    {
        __x = weir::round_to_small(v, WEIR_MANTISSA, WEIR_EXPONENT, weir::rounding::nearest);
    }
    WEIR_SF_MEMBER void set_float(float v)
    {
#if defined(__CUDA_ARCH__)
        __x = weir::bits_as<unsigned short>((WEIR_NATIVE)v);
#else
        set((double)v);
#endif
    }
};

struct __attribute__((aligned(4))) WEIR_H2 {
    WEIR_H x, y;

    WEIR_H2() = default;
    WEIR_SF_MEMBER constexpr WEIR_H2(const WEIR_H &a, const WEIR_H &b) : x(a), y(b) {}
    WEIR_SF_MEMBER WEIR_H2(const WEIR_RAW2 &raw)
    {
        WEIR_RAW a, b;
        a.x = raw.x;
        b.x = raw.y;
        x = a;
        y = b;
    }
    /* A template, for which braces stand for nothing: `pair = {a, b}` means the constructor. */
    template <class R, class = typename weir::same<R, WEIR_RAW2>::type>
    WEIR_SF_MEMBER WEIR_H2 &operator=(const R &raw)
    {
        return *this = WEIR_H2(raw);
    }
    WEIR_SF_MEMBER operator WEIR_RAW2() const
    {
        WEIR_RAW a = x, b = y;
        WEIR_RAW2 raw;
        raw.x = a.x;
        raw.y = b.x;
        return raw;
    }
};
