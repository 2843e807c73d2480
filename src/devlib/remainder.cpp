/* remainder and remquo: the remainder of the quotient rounded to the nearest (even) integer, and
 * the quotient's last bits. Everything here is exact: fmod is, and each subtraction is of numbers
 * within a factor of two. */
#include "devlib.h"

HELPER double magnitude(double a) { return __builtin_fabs(a); }
HELPER float magnitude(float a) { return __builtin_fabsf(a); }
HELPER double modulo(double a, double b) { return __nv_fmod(a, b); }
HELPER float modulo(float a, float b) { return __nv_fmodf(a, b); }
HELPER bool negative(double a) { return bits(a) >> 63; }
HELPER bool negative(float a) { return bits(a) >> 31; }

template <typename T> struct limits;
template <> struct limits<double> {
    static constexpr double largest = 0x1.fffffffffffffp1023, twice_normal = 0x1p-1021;
};
template <> struct limits<float> {
    static constexpr float largest = 0x1.fffffep127f, twice_normal = 0x1p-125f;
};

/* The remainder; *quotient gets the low three bits of the quotient's magnitude, with its sign. */
template <typename T> HELPER T nearest_remainder(T a, T b, int *quotient)
{
    T x = magnitude(a), y = magnitude(b);
    int q = 0;
    *quotient = 0;
    if (a != a || b != b)
        return a + b;
    if (x > limits<T>::largest || y == 0)
        return from_bits(bits(T(__builtin_nanf(""))));
    if (y > limits<T>::largest)
        return a;

    if (y <= limits<T>::largest / 8)
        x = modulo(x, 8 * y);
    if (y <= limits<T>::largest / 4 && x >= 4 * y) {
        x -= 4 * y;
        q += 4;
    }
    if (y <= limits<T>::largest / 2 && x >= 2 * y) {
        x -= 2 * y;
        q += 2;
    }
    /* Compare with half of y; where y / 2 would lose a bit, twice x is safe. */
    if (y < limits<T>::twice_normal) {
        if (x + x > y) {
            x -= y;
            q++;
            if (x + x >= y) {
                x -= y;
                q++;
            }
        }
    } else {
        T half = y * T(0.5);
        if (x > half) {
            x -= y;
            q++;
            if (x >= half) {
                x -= y;
                q++;
            }
        }
    }
    q &= 7;
    *quotient = negative(a) != negative(b) ? -q : q;
    x = x == 0 ? T(0) : x; /* -0 would flip the sign below */
    return negative(a) ? -x : x;
}

FN double __nv_remquo(double a, double b, int *quotient)
{
    return nearest_remainder(a, b, quotient);
}
FN float __nv_remquof(float a, float b, int *quotient) { return nearest_remainder(a, b, quotient); }
FN double __nv_remainder(double a, double b)
{
    int quotient;
    return nearest_remainder(a, b, &quotient);
}
FN float __nv_remainderf(float a, float b)
{
    int quotient;
    return nearest_remainder(a, b, &quotient);
}
