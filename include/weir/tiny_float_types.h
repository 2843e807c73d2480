/* The classes of one tiny format: one value, two and four. Included once for each format, with
 *   WEIR_T, WEIR_T2, WEIR_T4      the types
 *   WEIR_S, WEIR_S2, WEIR_S4      what holds their bits
 *   WEIR_BITS                     from one value to the next in a vector's bits
 *   WEIR_ENCODE(x), WEIR_DECODE(c)  a float's or double's code; a code's value as float
 * defined. Constructors round to nearest and saturate (e8m0: up), as the Math API says; conversions
 * to integers round toward zero and saturate. All are explicit. */

struct WEIR_T {
    WEIR_S __x; /* the bits */

    WEIR_T() = default;
    explicit WEIR_SF_MEMBER WEIR_T(const __half v) : __x(WEIR_ENCODE(__half2float(v))) {}
    explicit WEIR_SF_MEMBER WEIR_T(const __nv_bfloat16 v) : __x(WEIR_ENCODE(__bfloat162float(v))) {}
    explicit WEIR_SF_MEMBER WEIR_T(const float v) : __x(WEIR_ENCODE(v)) {}
    explicit WEIR_SF_MEMBER WEIR_T(const double v) : __x(WEIR_ENCODE(v)) {}
    explicit WEIR_SF_MEMBER WEIR_T(const short v) : __x(WEIR_ENCODE((double)v)) {}
    explicit WEIR_SF_MEMBER WEIR_T(const unsigned short v) : __x(WEIR_ENCODE((double)v)) {}
    explicit WEIR_SF_MEMBER WEIR_T(const int v) : __x(WEIR_ENCODE((double)v)) {}
    explicit WEIR_SF_MEMBER WEIR_T(const unsigned v) : __x(WEIR_ENCODE((double)v)) {}
    explicit WEIR_SF_MEMBER WEIR_T(const long v) : __x(WEIR_ENCODE(weir::odd_double((long long)v)))
    {
    }
    explicit WEIR_SF_MEMBER WEIR_T(const unsigned long v)
        : __x(WEIR_ENCODE(weir::odd_double((unsigned long long)v)))
    {
    }
    explicit WEIR_SF_MEMBER WEIR_T(const long long v) : __x(WEIR_ENCODE(weir::odd_double(v))) {}
    explicit WEIR_SF_MEMBER WEIR_T(const unsigned long long v)
        : __x(WEIR_ENCODE(weir::odd_double(v)))
    {
    }

    explicit WEIR_SF_MEMBER operator float() const { return WEIR_DECODE(__x); }
    explicit WEIR_SF_MEMBER operator double() const { return (double)WEIR_DECODE(__x); }
    explicit WEIR_SF_MEMBER operator __half() const { return __float2half(WEIR_DECODE(__x)); }
    explicit WEIR_SF_MEMBER operator __nv_bfloat16() const
    {
        return __float2bfloat16(WEIR_DECODE(__x));
    }
    explicit WEIR_SF_MEMBER operator bool() const { return WEIR_DECODE(__x) != 0.0f; }
#define WEIR_TO(type)                                                                              \
    explicit WEIR_SF_MEMBER operator type() const                                                  \
    {                                                                                              \
        return weir::small_to_integer<type>(WEIR_DECODE(__x), weir::rounding::zero);               \
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
};

struct __attribute__((aligned(sizeof(WEIR_S2)))) WEIR_T2 {
    WEIR_S2 __x; /* the first value in the lowest bits */

    WEIR_T2() = default;
    explicit WEIR_SF_MEMBER WEIR_T2(const double2 v) : __x(pack(v.x, v.y)) {}
    explicit WEIR_SF_MEMBER WEIR_T2(const float2 v) : __x(pack(v.x, v.y)) {}
    explicit WEIR_SF_MEMBER WEIR_T2(const __half2 v)
        : __x(pack(__half2float(v.x), __half2float(v.y)))
    {
    }
    explicit WEIR_SF_MEMBER WEIR_T2(const __nv_bfloat162 v)
        : __x(pack(__bfloat162float(v.x), __bfloat162float(v.y)))
    {
    }
    explicit WEIR_SF_MEMBER operator float2() const
    {
        return make_float2(WEIR_DECODE((WEIR_S)(__x & mask)),
                           WEIR_DECODE((WEIR_S)(__x >> WEIR_BITS & mask)));
    }
    explicit WEIR_SF_MEMBER operator __half2() const
    {
        float2 v = (float2) * this;
        return __half2(__float2half(v.x), __float2half(v.y));
    }
    explicit WEIR_SF_MEMBER operator __nv_bfloat162() const
    {
        float2 v = (float2) * this;
        return __nv_bfloat162(__float2bfloat16(v.x), __float2bfloat16(v.y));
    }

  private:
    static constexpr unsigned mask = (1u << WEIR_BITS) - 1;
    template <typename Real> WEIR_SF_MEMBER static WEIR_S2 pack(Real x, Real y)
    {
        return (WEIR_S2)(WEIR_ENCODE(x) | WEIR_ENCODE(y) << WEIR_BITS);
    }
};

struct __attribute__((aligned(sizeof(WEIR_S4)))) WEIR_T4 {
    WEIR_S4 __x; /* the first value in the lowest bits */

    WEIR_T4() = default;
    WEIR_SF_MEMBER WEIR_T4(const __half2 low, const __half2 high)
    {
        set(WEIR_T2(low), WEIR_T2(high));
    }
    WEIR_SF_MEMBER WEIR_T4(const __nv_bfloat162 low, const __nv_bfloat162 high)
    {
        set(WEIR_T2(low), WEIR_T2(high));
    }
    explicit WEIR_SF_MEMBER WEIR_T4(const float4 v)
    {
        set(WEIR_T2(make_float2(v.x, v.y)), WEIR_T2(make_float2(v.z, v.w)));
    }
    explicit WEIR_SF_MEMBER WEIR_T4(const double4 v)
    {
        set(WEIR_T2(make_double2(v.x, v.y)), WEIR_T2(make_double2(v.z, v.w)));
    }
    explicit WEIR_SF_MEMBER WEIR_T4(const double4_16a v)
    {
        set(WEIR_T2(make_double2(v.x, v.y)), WEIR_T2(make_double2(v.z, v.w)));
    }
    explicit WEIR_SF_MEMBER WEIR_T4(const double4_32a v)
    {
        set(WEIR_T2(make_double2(v.x, v.y)), WEIR_T2(make_double2(v.z, v.w)));
    }
    explicit WEIR_SF_MEMBER operator float4() const
    {
        WEIR_T2 a, b;
        a.__x = (WEIR_S2)__x;
        b.__x = (WEIR_S2)(__x >> 2 * WEIR_BITS);
        float2 low = (float2)a, high = (float2)b;
        return make_float4(low.x, low.y, high.x, high.y);
    }

  private:
    WEIR_SF_MEMBER void set(WEIR_T2 low, WEIR_T2 high)
    {
        __x = (WEIR_S4)((WEIR_S4)low.__x | (WEIR_S4)high.__x << 2 * WEIR_BITS);
    }
};

#undef WEIR_T
#undef WEIR_T2
#undef WEIR_T4
#undef WEIR_ENCODE
#undef WEIR_DECODE
