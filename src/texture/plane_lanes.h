/* plane_lanes: plane.h's function for vectors of WIDTH lanes. The file that includes this one has
 * the headers, the types of such vectors, and what CPUs do in an instruction that C has no word
 * for.
 *
 * First each axis by itself: the place of a pair of neighbours, and the weight of the second one.
 * Positions are clamped, not indices, so both of a pair are inside; at an edge all the weight is
 * one's. Then, WIDTH lanes at a time: weights, addresses, elements, sums. */
#define PLANE_INLINE static inline __attribute__((always_inline))

/* Of 32 lanes on an axis, 0 to size - 2, and 0 to 256. */
struct neighbours {
    ints first[LANES / WIDTH], weight[LANES / WIDTH];
};

/* ---- an axis ---- */

/* A position is what axis.h calls so: the element before, in 1/256. */

PLANE_INLINE ints position_of_element(floats x, float least, float most)
{
    x = min_floats(max_floats(x, (floats){0} + least), (floats){0} + most);
    return (__builtin_convertvector(x * 512.0f, ints) - 255) >> 1; /* halves go upwards */
}

PLANE_INLINE ints position_of_part(ints part, unsigned bits, uint32_t n)
{
    const uint64_t half = 1u << (bits - 9);
    longs even = ((longs)part & UINT32_MAX) * n + half;
    longs odd = ((longs)part >> 32) * n + half;
    return (ints)((even >> (bits - 8)) | (odd >> (bits - 8) << 32)) - 128;
}

/* The part of a length that a normalized coordinate is, where lengths follow each other. Marks in
 * `beyond` what is too far out to be counted and, of `mirrored` lengths, each second one. */
PLANE_INLINE ints repeated_part(floats x, unsigned bits, bool mirrored, ints *beyond)
{
    ints counts = (ints)(absolute(x) >= 0x1p-126f);
    floats units = (floats)((ints)x & counts) * power_of_two((int)bits);
    ints whole = __builtin_convertvector(units, ints);
    *beyond |= whole == INT32_MIN;
    whole += (ints)(units < __builtin_convertvector(whole, floats));
    if (mirrored)
        *beyond |= (whole >> bits & 1) != 0;
    return whole & (int32_t)((1u << bits) - 1);
}

/* `mode` and `normalized` are constants where this is inlined. Whether both elements of each pair
 * are inside the texture; else they are not known. */
PLANE_INLINE bool find_neighbours(bool normalized, unsigned mode, uint32_t size, const uint32_t *in,
                                  struct neighbours *to)
{
    const unsigned bits = coordinate_bits(size);
    const int32_t last = (int32_t)size - 1;
    ints beyond = {0};
    for (int n = 0; n < LANES / WIDTH; n++) {
        floats x;
        ints at;
        memcpy(&x, in + n * WIDTH, sizeof x);
        if (!normalized && mode == ADDRESS_CLAMP) {
            at = position_of_element(x, 0.5f, (float)size - 0.5f);
        } else if (!normalized) {
            at = position_of_element(x, 0, (float)size);
        } else if (mode == ADDRESS_CLAMP || mode == ADDRESS_BORDER) {
            x = min_floats(max_floats(x, (floats){0}), (floats){0} + 1.0f);
            x *= power_of_two((int)bits);
            at = position_of_part(__builtin_convertvector(x, ints), bits, size);
            if (mode == ADDRESS_CLAMP)
                at = __builtin_elementwise_min(__builtin_elementwise_max(at, (ints){0}),
                                               (ints){0} + last * 256);
        } else {
            at = position_of_part(repeated_part(x, bits, mode == ADDRESS_MIRROR, &beyond), bits,
                                  size);
        }
        ints first = at >> 8;
        if (mode == ADDRESS_CLAMP)
            first = __builtin_elementwise_min(first, (ints){0} + (last - 1));
        else
            beyond |= first < 0 | first >= last;
        to->first[n] = first;
        to->weight[n] = at - (first << 8);
    }
    return mode == ADDRESS_CLAMP || __builtin_reduce_or(beyond) == 0;
}

/* As locate_floats does, an instance for each case. */
static bool find_on_axis(const struct texture *t, int axis, uint32_t size, const uint32_t *in,
                         struct neighbours *to)
{
    unsigned mode = effective_mode(t, axis, t->normalized);
    if (!t->normalized && mode == ADDRESS_CLAMP)
        return find_neighbours(false, ADDRESS_CLAMP, size, in, to);
    if (!t->normalized)
        return find_neighbours(false, ADDRESS_BORDER, size, in, to);
    switch (mode) {
    case ADDRESS_CLAMP: return find_neighbours(true, ADDRESS_CLAMP, size, in, to);
    case ADDRESS_WRAP: return find_neighbours(true, ADDRESS_WRAP, size, in, to);
    case ADDRESS_MIRROR: return find_neighbours(true, ADDRESS_MIRROR, size, in, to);
    default: return find_neighbours(true, ADDRESS_BORDER, size, in, to);
    }
}

/* ---- weights and addresses ---- */

/* Those of the corners, and in pairs of 16 bits: near and far on the first axis. They are what
 * plane_weights of filter.h gives for a plane that has all the weight. */
struct weights {
    ints of[4], near, far;
};

PLANE_INLINE struct weights weights_of(ints a, ints b)
{
    struct weights w;
    w.of[3] = (times_pairs(a, b) + 128) >> 8; /* the upper halves are 0 */
    w.of[1] = a - w.of[3];
    w.of[2] = b - w.of[3];
    w.of[0] = 256 - a - w.of[2];
    w.near = w.of[0] | w.of[1] << 16;
    w.far = w.of[2] | w.of[3] << 16;
    return w;
}

/* Bytes from the base, in memory: to load a lane's again takes less than to take it out of a
 * vector, which is what the compiler would do. */
struct offsets {
    _Alignas(64) uint32_t of[WIDTH];
};

PLANE_INLINE void keep_offsets(const struct texture *t, ints x, ints y, struct offsets *o)
{
    ints at = x * (int32_t)t->element + y * (int32_t)t->pitch;
    memcpy(o->of, &at, sizeof at);
    __asm__("" : "+m"(o->of));
}

/* A row's neighbours, by channel and corner. */
PLANE_INLINE void load_texels(unsigned channels, const uint8_t *base, const uint32_t *at, int row,
                              ints (*texel)[4])
{
    ints near[4], far[4];
    if (channels == 1) {
        load_twos(base, at, &near[0], &far[0]);
    } else if (channels == 2) {
        ints both[4];
        load_fours(base, at, both);
        near[0] = both[0], near[1] = both[1];
        far[0] = both[2], far[1] = both[3];
    } else {
        load_fours(base, at, near);
        load_fours(base + 16, at, far);
    }
    for (unsigned c = 0; c < channels; c++) {
        texel[c][2 * row] = near[c];
        texel[c][2 * row + 1] = far[c];
    }
}

/* ---- floats ---- */

/* Exactly what add_finite of filter.h gives for one plane, without doubles. Elements become whole
 * numbers of 28 bits and a sign; products with weights are summed up for their upper bits and for
 * their lower 16, less 2^15 each: as the weights are 256, that is 2^23. Two floats hold the two
 * sums; their sum is rounded once, to even, and what was rounded away tells which ties went the
 * wrong way. */
PLANE_INLINE floats sum_floats(const ints *texel, const struct weights *w, ints *most_of_all)
{
    ints counted[4], most = (ints){0} + (28 << 23);
    for (int k = 0; k < 4; k++) {
        counted[k] = where_counted(w->of[k], texel[k]);
        most = __builtin_elementwise_max(most, counted[k] & INT32_MAX);
    }
    *most_of_all = __builtin_elementwise_max(*most_of_all, most);
    most >>= 23;
    floats up = (floats)((253 + 28 - most) << 23);
    ints upper = (ints){0} + 128, lower = {0};
    for (int k = 0; k < 4; k += 2) {
        ints a = __builtin_convertvector((floats)counted[k] * up, ints);
        ints b = __builtin_convertvector((floats)counted[k + 1] * up, ints);
        ints pair = k == 0 ? w->near : w->far;
        upper += times_pairs(upper_halves(a, b), pair);
        lower += times_pairs(lower_halves(a, b) ^ (int32_t)0x80008000, pair);
    }
    floats high = __builtin_convertvector(upper, floats) * 0x1p8f; /* 2^16 / 256 */
    floats low = __builtin_convertvector(lower, floats) * 0x1p-8f;
    floats sum = high + low;
    floats rest = high - sum + low; /* exact: high is larger, or there is no rest */
    floats half = (floats)(((ints)sum & (int32_t)0xff800000) - (24 << 23)); /* of the last bit */
    sum = (floats)((ints)sum - (ints)(rest == half));
    return sum * (floats)((most - 27) << 23);
}

PLANE_INLINE bool floats_of_planes(const struct texture *t, unsigned channels,
                                   const struct neighbours *axis, uint32_t (*out)[LANES])
{
    ints most = {0};
    for (int n = 0; n < LANES / WIDTH; n++) {
        struct weights w = weights_of(axis[0].weight[n], axis[1].weight[n]);
        struct offsets o;
        keep_offsets(t, axis[0].first[n], axis[1].first[n], &o);
        ints texel[4][4]; /* by channel and corner */
        for (int row = 0; row < 2; row++)
            load_texels(channels, t->base + (row ? t->pitch : 0), o.of, row, texel);
        for (unsigned c = 0; c < channels; c++) {
            floats sum = sum_floats(texel[c], &w, &most);
            memcpy(&out[c][n * WIDTH], &sum, sizeof sum);
        }
    }
    return __builtin_reduce_max(most) < 255 << 23;
}

/* ---- bytes ---- */

/* round_fractions of filter.h: 257 times the sum, in 1/256. */
PLANE_INLINE floats fractions_of_bytes(ints sum)
{
    floats x = __builtin_convertvector(sum + ((sum + 128) >> 8), floats);
    return x * texel_inverse[TEXEL_U16] + x * texel_inverse_rest[TEXEL_U16];
}

PLANE_INLINE void bytes_of_planes(const struct texture *t, const struct neighbours *axis,
                                  uint32_t (*out)[LANES])
{
    for (int n = 0; n < LANES / WIDTH; n++) {
        struct weights w = weights_of(axis[0].weight[n], axis[1].weight[n]);
        struct offsets o;
        keep_offsets(t, axis[0].first[n], axis[1].first[n], &o);
        ints near = load_bytes_in_pairs(t->base, o.of);
        ints far = load_bytes_in_pairs(t->base + t->pitch, o.of);
        floats f = fractions_of_bytes(times_pairs(near, w.near) + times_pairs(far, w.far));
        memcpy(&out[0][n * WIDTH], &f, sizeof f);
    }
}

/* Two channels at once: sums of products of bytes and weights fit in 16 bits. */
PLANE_INLINE void colours_of_planes(const struct texture *t, const struct neighbours *axis,
                                    uint32_t (*out)[LANES])
{
    for (int n = 0; n < LANES / WIDTH; n++) {
        struct weights w = weights_of(axis[0].weight[n], axis[1].weight[n]);
        struct offsets o;
        keep_offsets(t, axis[0].first[n], axis[1].first[n], &o);
        ints texel[1][4];
        for (int row = 0; row < 2; row++)
            load_texels(1, t->base + (row ? t->pitch : 0), o.of, row, texel);
        shorts even = {0}, odd = {0};
        for (int k = 0; k < 4; k++) {
            shorts weight = (shorts)(w.of[k] | w.of[k] << 16);
            even += (shorts)(texel[0][k] & 0x00ff00ff) * weight;
            odd += ((shorts)texel[0][k] >> 8) * weight;
        }
        ints sum[4] = {(ints)even & 0xffff, (ints)odd & 0xffff, (ints)((words)even >> 16),
                       (ints)((words)odd >> 16)};
        for (int c = 0; c < 4; c++) {
            floats f = fractions_of_bytes(sum[c]);
            memcpy(&out[c][n * WIDTH], &f, sizeof f);
        }
    }
}

/* ---- all ---- */

/* Offsets have 32 bits, and a pair two elements. */
static bool has_pairs(const struct texture *t)
{
    return t->width > 1 && t->height > 1 && t->pitch * t->height <= INT32_MAX;
}

bool PLANE_FETCH(const struct texture *t, const uint32_t (*in)[LANES], uint32_t (*out)[LANES])
{
    struct neighbours axis[2];
    bool of_bytes = t->type == TEXEL_U8 && t->as_float && !t->srgb && t->channels != 2;
    if (!(of_bytes || t->type == TEXEL_F32) || !has_pairs(t))
        return false;
    if (!find_on_axis(t, 0, t->width, in[0], &axis[0]) ||
        !find_on_axis(t, 1, t->height, in[1], &axis[1]))
        return false;
    memset(out[t->channels], 0, sizeof out[0] * (4 - t->channels));
    if (of_bytes && t->channels == 1)
        bytes_of_planes(t, axis, out);
    else if (of_bytes)
        colours_of_planes(t, axis, out);
    else if (t->channels == 1)
        return floats_of_planes(t, 1, axis, out);
    else if (t->channels == 2)
        return floats_of_planes(t, 2, axis, out);
    else
        return floats_of_planes(t, 4, axis, out);
    return true;
}
