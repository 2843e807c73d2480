/* What fetches must give, one at a time and in double precision, written from the CUDA C++
 * Programming Guide's rules and nothing else. */
#ifndef WEIR_TEXTURE_REFERENCE_H
#define WEIR_TEXTURE_REFERENCE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <vector>

/* An image in plain memory and how to sample it. */
struct reference {
    int bits;                /* of a channel */
    cudaChannelFormatKind kind;
    int channels;
    int size[3];             /* width, height, depth */
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

/* A channel of an element: as an integer's or a real's value. */
static double channel_value(const reference &r, int x, int y, int z, int c)
{
    size_t at = (((size_t)z * r.size[1] + y) * r.size[0] + x) * r.channels + c;
    const uint8_t *p = &r.bytes[at * (r.bits / 8)];
    uint32_t u = 0;
    memcpy(&u, p, r.bits / 8);
    int32_t s = (int32_t)(u << (32 - r.bits)) >> (32 - r.bits);
    if (r.kind == cudaChannelFormatKindFloat) {
        float f;
        memcpy(&f, &u, 4);
        return r.bits == 16 ? half_value((uint16_t)u) : f;
    }
    bool is_signed = r.kind == cudaChannelFormatKindSigned;
    double v = is_signed ? (double)s : (double)u;
    if (!reads_float(r))
        return v;
    v /= is_signed ? (1 << (r.bits - 1)) - 1 : (1 << r.bits) - 1;
    v = v < -1 ? -1 : v;
    if (r.how.sRGB && r.bits == 8 && c < 3)
        v = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
    return v;
}

static double element(const reference &r, const int at[3], bool border, int c)
{
    if (border) {
        uint32_t bits;
        memcpy(&bits, &r.how.borderColor[c], 4);
        if (reads_float(r))
            return r.how.borderColor[c];
        return r.kind == cudaChannelFormatKindSigned ? (double)(int32_t)bits : (double)bits;
    }
    return c < r.channels ? channel_value(r, at[0], at[1], at[2], c) : c == 3;
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
    if (mode == cudaAddressModeMirror) {
        i = (i % (2 * n) + 2 * n) % (2 * n);
        i = i < n ? i : 2 * n - 1 - i;
    }
    bool border = mode == cudaAddressModeBorder && (i < 0 || i >= n);
    *out = (int)(i < 0 ? 0 : i >= n ? n - 1 : i);
    return border;
}

/* tex of one channel; `axes` are filtered, on the others `at` holds an index. */
static double sample(const reference &r, int axes, const float *coordinate, const int *fixed, int c)
{
    long near[3];
    double weight[3] = {0, 0, 0};
    bool linear = r.how.filterMode == cudaFilterModeLinear;
    for (int k = 0; k < axes; k++) {
        double x = coordinate[k], turn = floor(x);
        bool mirror = r.how.normalizedCoords && r.how.addressMode[k] == cudaAddressModeMirror;
        if (mirror) /* folded as a coordinate, so that exact edges go the guide's way */
            x = fmod(turn, 2) != 0 ? 1 - (x - turn) : x - turn;
        if (r.how.normalizedCoords)
            x *= r.size[k];
        if (linear) {
            double fixed8 = floor((x - 0.5) * 256 + 0.5);
            near[k] = (long)floor(fixed8 / 256);
            weight[k] = fixed8 / 256 - near[k];
        } else {
            near[k] = (long)floor(x);
        }
    }
    double sum = 0;
    for (int corner = 0; corner < (linear ? 1 << axes : 1); corner++) {
        int at[3] = {fixed[0], fixed[1], fixed[2]};
        bool border = false;
        double w = 1;
        for (int k = 0; k < axes; k++) {
            int far = corner >> k & 1;
            border |= address(r, k, near[k] + far, &at[k]);
            w *= linear ? (far ? weight[k] : 1 - weight[k]) : 1;
        }
        if (w != 0)
            sum += w * element(r, at, border, c);
    }
    return sum;
}

#endif
