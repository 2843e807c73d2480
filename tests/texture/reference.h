/* What fetches must give, one at a time: the CUDA C++ Programming Guide's rules and, where it
 * leaves bits open, what an H100 answers. Whole numbers and doubles that hold every step exactly.
 */
#ifndef WEIR_TEXTURE_REFERENCE_H
#define WEIR_TEXTURE_REFERENCE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <vector>

/* An image in plain memory and how to sample it. */
struct reference {
    int bits; /* of a channel */
    cudaChannelFormatKind kind;
    int channels;
    int size[3]; /* width, height, depth */
    std::vector<uint8_t> bytes;
    cudaTextureDesc how;
};

static bool reads_float(const reference &r)
{
    return r.kind == cudaChannelFormatKindFloat ||
           (r.how.readMode == cudaReadModeNormalizedFloat && r.bits < 32);
}

static double half_value(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double v = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return h & 0x8000 ? -v : v;
}

static bool is_srgb(const reference &r, int c)
{
    return r.how.sRGB && r.bits == 8 && reads_float(r) && c < 3;
}

/* What lies in memory for a channel of an element. */
static uint32_t channel_bits(const reference &r, const int at[3], int c)
{
    size_t n = (((size_t)at[2] * r.size[1] + at[1]) * r.size[0] + at[0]) * r.channels + c;
    uint32_t u = 0;
    memcpy(&u, &r.bytes[n * (r.bits / 8)], r.bits / 8);
    return u;
}

/* A part of the largest integer: four bits more than it has count, halves round down. */
static uint32_t fraction_bits(double v, bool is_signed, int bits)
{
    int own = is_signed ? bits - 1 : bits;
    v = !(v > (is_signed ? -1 : 0)) ? (is_signed && v <= -1 ? -1 : 0) : v < 1 ? v : 1;
    double size = floor(fabs(v) * (16 << own)) / (16 << own) * ((1 << own) - 1);
    int32_t n = (int32_t)ceil(size - 0.5);
    return (uint32_t)(v < 0 ? -n : n);
}

static uint32_t half_bits(double v)
{
    if (isnan(v))
        return 0x7fff;
    uint32_t sign = signbit(v) ? 0x8000 : 0;
    int e;
    v = fabs(v);
    if (v >= 65504)
        return sign | 0x7bff;
    if (v < 0x1p-14)
        return sign | (uint32_t)floor(v * 0x1p24);
    frexp(v, &e);
    return sign | (uint32_t)((e + 14) << 10) | ((uint32_t)floor(ldexp(v, 11 - e)) & 1023);
}

/* The border's colour as it would lie in memory. */
static uint32_t border_bits(const reference &r, int c)
{
    uint32_t bits;
    float colour = r.how.borderColor[c];
    memcpy(&bits, &colour, 4);
    if (r.kind == cudaChannelFormatKindFloat)
        return r.bits == 16 ? half_bits(colour) : bits;
    return reads_float(r) ? fraction_bits(colour, r.kind == cudaChannelFormatKindSigned, r.bits)
                          : bits;
}

/* The linear values of sRGB's levels are a table of a GPU's. */
static double srgb_value(uint32_t level)
{
    static const uint16_t table[256] = {
#include "../../src/texture/srgb.inc"
    };
    return half_value((uint16_t)(table[level & 255] << 3));
}

static int64_t integer_value(const reference &r, uint32_t u)
{
    int32_t s = (int32_t)(u << (32 - r.bits)) >> (32 - r.bits);
    return r.kind == cudaChannelFormatKindSigned
               ? (int64_t)s
               : (int64_t)(uint32_t)(u << (32 - r.bits) >> (32 - r.bits));
}

/* A channel without a filter. */
static double value_of(const reference &r, uint32_t u, int c)
{
    float f;
    memcpy(&f, &u, 4);
    if (r.kind == cudaChannelFormatKindFloat)
        return r.bits == 16 ? half_value((uint16_t)u) : f;
    if (is_srgb(r, c))
        return srgb_value(u);
    double v = (double)integer_value(r, u);
    if (!reads_float(r))
        return v;
    v /= r.kind == cudaChannelFormatKindSigned ? (1 << (r.bits - 1)) - 1 : (1 << r.bits) - 1;
    return (float)(v < -1 ? -1 : v);
}

/* An index on an axis by its address mode; true: the border is meant. */
static bool address(const reference &r, int axis, long i, int *out)
{
    long n = r.size[axis];
    int mode = r.how.addressMode[axis];
    if (!r.how.normalizedCoords && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror))
        mode = cudaAddressModeClamp;
    if (mode == cudaAddressModeWrap)
        i = (i % n + n) % n;
    bool border = mode == cudaAddressModeBorder && (i < 0 || i >= n);
    *out = (int)(i < 0 ? 0 : i >= n ? n - 1 : i);
    return border;
}

/* Where a coordinate lies: an index, or for a filter the element before, in 1/256; as if
 * nothing were mirrored, but for `turned`. */
static long position(const reference &r, int axis, float coordinate, bool *turned)
{
    bool linear = r.how.filterMode == cudaFilterModeLinear;
    double x = fabsf(coordinate) >= 0x1p-126f ? coordinate : 0, n = r.size[axis], step = 0x1p-21;
    auto locate = [&](double elements) {
        return (long)(linear ? floor(elements * 256 - 127.5) : floor(elements));
    };
    *turned = false;
    if (!r.how.normalizedCoords)
        return locate(fmin(fmax(x, -0x1p22), 0x1p22));
    while (n * step > 1.0 / 64) /* large textures: a 64th of an element */
        step /= 2;
    bool mirror = r.how.addressMode[axis] == cudaAddressModeMirror;
    if (!mirror && r.how.addressMode[axis] != cudaAddressModeWrap)
        return locate(floor(fmin(fmax(x, -1), 2) / step) * step * n);
    x = floor((fabs(x) < 0x1p24 ? x : 0) / step) * step;
    *turned = mirror && fmod(floor(x), 2) != 0;
    return locate((x - floor(x)) * n);
}

/* Weights of the elements of a plane in 1/256: bit k of the number says far on axis k. */
static void plane_weights(long plane, long a, long b, long *out)
{
    long far = (plane * a + 128) / 256, near = plane - far;
    out[3] = (far * b + 128) / 256;
    out[1] = far - out[3];
    out[0] = (near * (256 - b) + 128) / 256;
    out[2] = near - out[0];
}

/* Those of one level, which has a part of all weights: 256 where it is the only one. */
static void weights(long part, const long *w, long *out)
{
    long far = (part * w[2] + 128) / 256;
    plane_weights(part - far, w[0], w[1], out);
    plane_weights(far, w[0], w[1], out + 4);
}

/* |x| with as many bits, rounded; 2^least is the smallest step. */
static double rounded(double x, int bits, int least)
{
    int e;
    frexp(x, &e);
    double step = ldexp(1, e - bits > least ? e - bits : least);
    double size = floor(fabs(x) / step + 0.5) * step;
    return x < 0 ? -size : size;
}

/* Reals are cut off below the largest of their plane. */
static double add_reals(const reference &r, int count, const uint32_t *texel, const long *w, int c)
{
    bool half = r.bits != 32;
    int kept = is_srgb(r, c) ? 8 : half ? 15 : 28;
    double sum = 0;
    for (int z = 0; z < count / 4; z++) {
        int most = -1000, e;
        for (int k = 4 * z; k < 4 * z + 4; k++)
            if (w[k] != 0 && value_of(r, texel[k], c) != 0) {
                frexp(value_of(r, texel[k], c), &e);
                most = e > most ? e : most;
            }
        for (int k = 4 * z; k < 4 * z + 4 && most > -1000; k++)
            if (w[k] != 0)
                sum += ldexp(trunc(ldexp(value_of(r, texel[k], c), kept - most)), most - kept) *
                       (double)w[k] / 256;
    }
    return half ? rounded(sum, 11, -24) : rounded(sum, 24, -149);
}

/* Integers come out with 16 bits. */
static double add_integers(const reference &r, int count, const uint32_t *texel, const long *w)
{
    int64_t sum = 0;
    for (int k = 0; k < count; k++)
        sum += w[k] * integer_value(r, texel[k]);
    bool is_signed = r.kind == cudaChannelFormatKindSigned;
    if (r.bits == 8)
        sum = is_signed ? 2 * (129 * sum + 16 * (sum >> 12)) : 257 * sum;
    sum = (sum + 128) >> 8;
    int64_t full = is_signed ? 32767 : 65535;
    return (float)((double)(sum < -full ? -full : sum) / (double)full);
}

/* The elements that a fetch meets, of one channel, and their weights; `axes` are filtered, on the
 * others `fixed` holds an index. Without a filter there is one. */
static void corners(const reference &r, long part, int axes, const float *coordinate,
                    const int *fixed, int c, uint32_t *texel, long *w)
{
    bool linear = r.how.filterMode == cudaFilterModeLinear;
    long near[3] = {0, 0, 0}, far[3] = {0, 0, 0};
    bool turned[3] = {false, false, false};
    for (int k = 0; k < axes; k++) {
        long p = position(r, k, coordinate[k], &turned[k]);
        near[k] = linear ? p >> 8 : p;
        far[k] = linear ? p & 255 : 0;
    }
    if (axes == 1 && linear) { /* a row is a plane of height 1, read at 0 */
        near[1] = -1;
        far[1] = r.how.addressMode[1] == cudaAddressModeBorder ? 128 : 256;
    }
    for (int k = 0; k < axes && linear; k++) {
        int below, above;
        bool repeated = r.how.normalizedCoords && r.how.addressMode[k] != cudaAddressModeClamp;
        if (!repeated && !address(r, k, near[k], &below) && !address(r, k, near[k] + 1, &above) &&
            below == above)
            far[k] = 0; /* there is nothing to weigh */
    }
    weights(part, far, w);
    for (int corner = 0; corner < 8; corner++) {
        int at[3] = {fixed[0], fixed[1], fixed[2]};
        bool border = false;
        for (int k = 0; k < axes; k++) {
            long i = near[k] + (corner >> k & 1);
            border |= address(r, k, turned[k] ? r.size[k] - 1 - i : i, &at[k]);
        }
        border |= axes == 1 && linear && (corner & 2) == 0;
        texel[corner] = w[corner] == 0 ? 0 : border ? border_bits(r, c) : channel_bits(r, at, c);
    }
}

static double add(const reference &r, int count, const uint32_t *texel, const long *w, int c)
{
    return r.kind == cudaChannelFormatKindFloat || is_srgb(r, c) ? add_reals(r, count, texel, w, c)
                                                                 : add_integers(r, count, texel, w);
}

/* tex of one channel. */
static double sample(const reference &r, int axes, const float *coordinate, const int *fixed, int c)
{
    uint32_t texel[8];
    long w[8];
    if (c >= r.channels)
        return 0;
    corners(r, 256, axes, coordinate, fixed, c, texel, w);
    return r.how.filterMode == cudaFilterModeLinear ? add(r, 8, texel, w, c)
                                                    : value_of(r, texel[0], c);
}

/* tex of one channel between two levels of a mipmapped texture; `far`: the second one's part, in
 * 1/256, not 0. */
static double sample_between(const reference &near, const reference &next, long far, int axes,
                             const float *coordinate, const int *fixed, int c)
{
    uint32_t texel[16];
    long w[16];
    if (c >= near.channels)
        return 0;
    corners(near, 256 - far, axes, coordinate, fixed, c, texel, w);
    corners(next, far, axes, coordinate, fixed, c, texel + 8, w + 8);
    return add(near, 16, texel, w, c);
}

#endif
