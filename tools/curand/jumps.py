#!/usr/bin/env python3
"""Writes include/weir/curand/jumps.h: the tables by which curand_kernel.h moves a generator ahead.

Both generators are linear, so that the state n steps ahead is a polynomial of the step, namely x^n
modulo the step's characteristic polynomial (Haramoto, Matsumoto, Nishimura, Panneton, L'Ecuyer:
"Efficient Jump Ahead for F2-Linear Random Number Generators", 2008). The tables hold such
polynomials: for XORWOW (160 bits) those of d * 32^i steps and d * 32^i sequences of 2^67 steps, for
MRG32k3a (two of degree 3) those of 2^k steps.

  python3 tools/curand/jumps.py > include/weir/curand/jumps.h
"""

MASK = 0xffffffff


def xorwow_step(v):
    t = v[0] ^ (v[0] >> 2)
    return v[1:] + [(v[4] ^ (v[4] << 4) ^ t ^ (t << 1)) & MASK]


def shortest_recurrence(bits):
    """Berlekamp and Massey: the recurrence of a sequence of bits, as a polynomial and its length."""
    c, b, length, m = 1, 1, 0, 1
    for n in range(len(bits)):
        d = 0
        for i in range(length + 1):
            if c >> i & 1:
                d ^= bits[n - i]
        if d == 0:
            m += 1
        elif 2 * length <= n:
            c, b, length, m = c ^ b << m, c, n + 1 - length, 1
        else:
            c ^= b << m
            m += 1
    return c, length


def xorwow_polynomial():
    v, bits = [1, 2, 3, 4, 5], []
    for _ in range(400):
        bits.append(v[4] & 1)
        v = xorwow_step(v)
    c, degree = shortest_recurrence(bits)
    assert degree == 160
    return sum(1 << (degree - i) for i in range(degree + 1) if c >> i & 1)


P = xorwow_polynomial()


def times(a, b):
    r = 0
    while b:
        if b & 1:
            r ^= a
        b >>= 1
        a <<= 1
        if a >> 160 & 1:
            a ^= P
    return r


def xorwow_power(n):
    r, a = 1, 2
    while n:
        if n & 1:
            r = times(r, a)
        a = times(a, a)
        n >>= 1
    return r


def mrg_powers(modulus, coefficients, count):
    """x^(2^k) modulo x^3 - c[2]x^2 - c[1]x - c[0], for k < count."""
    def reduce(p):
        for i in (4, 3):
            for j in range(3):
                p[i - 3 + j] = (p[i - 3 + j] + p[i] * coefficients[j]) % modulus
        return p[:3]

    a, powers = [0, 1, 0], []
    for _ in range(count):
        powers.append(a)
        square = [0] * 5
        for i in range(3):
            for j in range(3):
                square[i + j] = (square[i + j] + a[i] * a[j]) % modulus
        a = reduce(square)
    return powers


def rows(words):
    lines, line = [], "   "
    for w in words:
        item = " 0x%08xu," % w
        if len(line) + len(item) + 2 > 100:
            lines.append(line)
            line = "   "
        line += item
    lines.append(line)
    return " \\\n".join(lines)


def xorwow_table(step):
    powers = [xorwow_power(step * d << 5 * i) for i in range(13) for d in range(32)]
    return rows([p >> 32 * k & MASK for p in powers for k in range(5)])


def main():
    print("""/* The polynomials by which generators jump ahead (curand/xorwow.h and curand/mrg32k3a.h say how).
 * Written by tools/curand/jumps.py; do not edit. */
#ifndef WEIR_CURAND_JUMPS_H
#define WEIR_CURAND_JUMPS_H

/* clang-format off */

/* XORWOW, d * 32^i steps: [i][d][word], the lowest power in the lowest bit. */""")
    print("#define WEIR_XORWOW_STEPS \\\n" + xorwow_table(1) + "\n")
    print("/* XORWOW, d * 32^i sequences of 2^67 steps. */")
    print("#define WEIR_XORWOW_SEQUENCES \\\n" + xorwow_table(1 << 67) + "\n")
    print("/* MRG32k3a, 2^k steps: [k][component][power]. */")
    m1, m2 = 4294967087, 4294944443
    first = mrg_powers(m1, [-810728 % m1, 1403580, 0], 191)
    second = mrg_powers(m2, [-1370589 % m2, 0, 527612], 191)
    words = []
    for a, b in zip(first, second):
        words += a + b
    print("#define WEIR_MRG32K3A_STEPS \\\n" + rows(words) + "\n")
    print("/* clang-format on */\n\n#endif")


main()
