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

/* A plane, one of layers, or two of a volume that are read. */
struct plane {
    const uint8_t *base;
    uint64_t pitch; /* 0: a row, which is read as two */
    uint64_t slice; /* of volumes */
    struct neighbours axis[3];
    /* Where the near elements lie, in bytes from the base. In memory: to load a lane's again takes
     * less than to take it out of a vector, which is what the compiler would do. */
    _Alignas(64) uint32_t at[LANES];
};

/* Those of the corners, and in pairs of 16 bits: near and far on the first axis. They are what
 * plane_weights of filter.h gives. */
struct weights {
    ints of[4], near, far;
};

PLANE_INLINE ints part_of(ints a, ints b) { return (times_pairs(a, b) + 128) >> 8; }

PLANE_INLINE struct weights with_pairs(struct weights w)
{
    w.near = w.of[0] | w.of[1] << 16;
    w.far = w.of[2] | w.of[3] << 16;
    return w;
}

/* Of a plane that has all the weight. */
PLANE_INLINE struct weights weights_of(ints a, ints b)
{
    struct weights w;
    w.of[3] = part_of(a, b); /* the upper halves are 0 */
    w.of[1] = a - w.of[3];
    w.of[2] = b - w.of[3];
    w.of[0] = 256 - a - w.of[2];
    return with_pairs(w);
}

PLANE_INLINE struct weights weights_of_share(ints share, ints a, ints b)
{
    struct weights w;
    ints far = part_of(share, a), near = share - far;
    /* At the last element all is near's there, and the rounding's other way counts. */
    ints at_end = (ints)(a == 256), turned = far - part_of(far, 256 - b);
    w.of[3] = (at_end & turned) | (~at_end & part_of(far, b));
    w.of[0] = part_of(near, 256 - b);
    w.of[1] = far - w.of[3];
    w.of[2] = near - w.of[0];
    return with_pairs(w);
}

/* What all weights of plane z of so many add up to, and they. */
PLANE_INLINE ints share_at(const struct plane *p, unsigned planes, unsigned z, int n)
{
    return planes == 1 ? (ints){0} + 256
           : z == 0    ? 256 - p->axis[2].weight[n]
                       : p->axis[2].weight[n];
}

PLANE_INLINE struct weights weights_at(const struct plane *p, unsigned planes, unsigned z, int n)
{
    ints a = p->axis[0].weight[n], b = p->axis[1].weight[n];
    return planes == 1 ? weights_of(a, b) : weights_of_share(share_at(p, planes, z, n), a, b);
}

PLANE_INLINE void store_lanes(floats f, int n, uint32_t *row)
{
    memcpy(row + n * WIDTH, &f, sizeof f);
}

/* A row's neighbours of 32 bits a channel, by channel and corner. */
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

PLANE_INLINE ints load_words(const uint8_t *base, const uint32_t *at)
{
    ints all;
    for (int l = 0; l < WIDTH; l++) {
        int32_t word;
        memcpy(&word, base + at[l], sizeof word);
        all[l] = word;
    }
    return all;
}

/* A row's neighbours of 8 bits (for one or two channels) or 16 bits a channel, by channel: pairs of
 * 16 bits. */
PLANE_INLINE void load_pairs(unsigned bytes, unsigned channels, const uint8_t *base,
                             const uint32_t *at, ints *pair)
{
    if (bytes == 1 && channels == 1) {
        pair[0] = load_bytes_in_pairs(base, at);
    } else if (bytes == 1) {
        ints both = load_words(base, at);
        pair[0] = both & 0x00ff00ff;
        pair[1] = both >> 8 & 0x00ff00ff;
    } else if (channels == 1) {
        pair[0] = load_words(base, at);
    } else if (channels == 2) {
        ints near, far;
        load_twos(base, at, &near, &far);
        pair[0] = lower_halves(near, far);
        pair[1] = upper_halves(near, far);
    } else {
        ints v[4];
        load_fours(base, at, v);
        for (int k = 0; k < 2; k++) {
            pair[2 * k] = lower_halves(v[k], v[k + 2]);
            pair[2 * k + 1] = upper_halves(v[k], v[k + 2]);
        }
    }
}

/* ---- floats ---- */

/* Elements of a plane that count become whole numbers of 28 bits and a sign, by one exponent; the
 * products with weights are summed up for their upper bits and for their lower 16, less 2^15 each:
 * of the sum that is 2^15 times all weights. */
struct products {
    ints upper, lower, exponent;
};

PLANE_INLINE struct products multiply_floats(const ints *texel, const struct weights *w,
                                             ints *most_of_all)
{
    ints counted[4], most = (ints){0} + (28 << 23);
    for (int k = 0; k < 4; k++) {
        counted[k] = where_counted(w->of[k], texel[k]);
        most = __builtin_elementwise_max(most, counted[k] & INT32_MAX);
    }
    *most_of_all = __builtin_elementwise_max(*most_of_all, most);
    struct products sum = {.exponent = most >> 23};
    floats up = (floats)((253 + 28 - sum.exponent) << 23);
    for (int k = 0; k < 4; k += 2) {
        ints a = __builtin_convertvector((floats)counted[k] * up, ints);
        ints b = __builtin_convertvector((floats)counted[k + 1] * up, ints);
        ints pair = k == 0 ? w->near : w->far;
        sum.upper += times_pairs(upper_halves(a, b), pair);
        sum.lower += times_pairs(lower_halves(a, b) ^ (int32_t)0x80008000, pair);
    }
    return sum;
}

/* Exactly what add_finite of filter.h gives for one plane, without doubles. Two floats hold the two
 * sums; their sum is rounded once, to even, and what was rounded away tells which ties went the
 * wrong way. */
PLANE_INLINE floats round_products(struct products p)
{
    floats high = __builtin_convertvector(p.upper + 128, floats) * 0x1p8f; /* 2^16 / 256 */
    floats low = __builtin_convertvector(p.lower, floats) * 0x1p-8f;
    floats sum = high + low;
    floats rest = high - sum + low; /* exact: high is larger, or there is no rest */
    floats half = (floats)(((ints)sum & (int32_t)0xff800000) - (24 << 23)); /* of the last bit */
    sum = (floats)((ints)sum - (ints)(rest == half));
    return sum * (floats)((p.exponent - 27) << 23);
}

/* One half of the lanes' sums, as doubles. */
PLANE_INLINE doubles doubles_of_products(half_ints upper, half_ints lower, half_ints exponent)
{
    doubles sum =
        __builtin_convertvector(upper, doubles) * 0x1p16 + __builtin_convertvector(lower, doubles);
    return sum * (doubles)(__builtin_convertvector(exponent + (1023 - 126 - 8 - 28), longs) << 52);
}

/* To a float's 24 bits, ties away from zero: as round_floats of filter.h. */
PLANE_INLINE half_floats round_doubles(doubles x)
{
    longs bits = ((longs)x + (1ull << 28)) & ~((1ull << 29) - 1);
    return __builtin_convertvector((doubles)bits, half_floats);
}

PLANE_INLINE floats round_both(const struct products *p, const ints *share)
{
    doubles low = {0}, high = {0};
    for (int z = 0; z < 2; z++) {
        ints lower = p[z].lower + (share[z] << 15);
        low += doubles_of_products(LOW(p[z].upper), LOW(lower), LOW(p[z].exponent));
        high += doubles_of_products(HIGH(p[z].upper), HIGH(lower), HIGH(p[z].exponent));
    }
    return JOIN(round_doubles(low), round_doubles(high));
}

PLANE_INLINE bool read_floats(const struct plane *p, unsigned planes, unsigned channels,
                              uint32_t (*out)[LANES])
{
    ints most = {0};
    for (int n = 0; n < LANES / WIDTH; n++) {
        struct products sum[4][2];
        ints share[2];
        const uint32_t *at = p->at + n * WIDTH;
        for (unsigned z = 0; z < planes; z++) {
            const uint8_t *base = p->base + (z != 0 ? p->slice : 0);
            struct weights w = weights_at(p, planes, z, n);
            ints texel[4][4]; /* by channel and corner */
            for (int row = 0; row < 2; row++)
                load_texels(channels, base + (row ? p->pitch : 0), at, row, texel);
            for (unsigned c = 0; c < channels; c++)
                sum[c][z] = multiply_floats(texel[c], &w, &most);
            share[z] = share_at(p, planes, z, n);
        }
        for (unsigned c = 0; c < channels; c++)
            store_lanes(planes == 1 ? round_products(sum[c][0]) : round_both(sum[c], share), n,
                        out[c]);
    }
    return __builtin_reduce_max(most) < 255 << 23;
}

/* ---- halves ---- */

/* A half in the upper 16 bits, exactly; infinities and NaN are large numbers. */
PLANE_INLINE floats float_of_half(ints h)
{
    return (floats)(h >> 3 & (int32_t)0x8fffe000) * 0x1p112f;
}

/* Whole numbers times 2^(exponent - 149), as halves: 11 bits, or multiples of 2^-24; ties away from
 * zero. */
PLANE_INLINE floats round_to_halves(ints sum, ints exponent)
{
    floats x = __builtin_convertvector(sum, floats) * (floats)((exponent - 22) << 23);
    ints coarse = ((ints)x + 0x1000) & ~0x1fff;
    ints sign = (ints)x & INT32_MIN, drop = 125 - exponent; /* bits below 2^-24, if any */
    ints is_fine = (ints)(absolute(x) < 0x1p-14f) & (drop > 0);
    drop = __builtin_elementwise_min(__builtin_elementwise_max(drop, (ints){0}), (ints){0} + 30);
    ints steps = (__builtin_elementwise_abs(sum) + ((((ints){0} + 1) << drop) >> 1)) >> drop;
    ints fine = (ints)(__builtin_convertvector(steps, floats) * 0x1p-24f) | sign;
    return (floats)((is_fine & fine) | (~is_fine & coarse));
}

/* What add_finite gives for one plane of halves: like multiply_floats and round_products, with 15
 * bits, so that sums need 24.
 */
PLANE_INLINE floats sum_halves(ints near, ints far, const struct weights *w, ints *most_of_all)
{
    const ints half[4] = {near << 16, near, far << 16, far};
    floats x[4];
    ints most = (ints){0} + (64 << 23), whole[4];
    for (int k = 0; k < 4; k++) {
        x[k] = (floats)where_counted(w->of[k], (ints)float_of_half(half[k]));
        most = __builtin_elementwise_max(most, (ints)absolute(x[k]));
    }
    *most_of_all = __builtin_elementwise_max(*most_of_all, most);
    most >>= 23;
    floats up = (floats)((253 + 15 - most) << 23);
    for (int k = 0; k < 4; k++)
        whole[k] = __builtin_convertvector(x[k] * up, ints);
    ints sum = times_pairs(lower_halves(whole[0], whole[1]), w->near) +
               times_pairs(lower_halves(whole[2], whole[3]), w->far);
    return round_to_halves(sum, most);
}

PLANE_INLINE bool read_halves(const struct plane *p, unsigned channels, uint32_t (*out)[LANES])
{
    ints most = {0};
    for (int n = 0; n < LANES / WIDTH; n++) {
        struct weights w = weights_at(p, 1, 0, n);
        const uint32_t *at = p->at + n * WIDTH;
        ints near[4], far[4];
        load_pairs(2, channels, p->base, at, near);
        load_pairs(2, channels, p->base + p->pitch, at, far);
        for (unsigned c = 0; c < channels; c++)
            store_lanes(sum_halves(near[c], far[c], &w, &most), n, out[c]);
    }
    return __builtin_reduce_max(most) < (127 + 16) << 23;
}

/* ---- integers as fractions ---- */

/* round_fractions of filter.h; of bytes 257 times the sum counts, in 1/256. */
PLANE_INLINE floats fractions(enum texel_type type, ints sum)
{
    ints wide = (sum + 128) >> 8;
    if (type == TEXEL_U8)
        wide += sum;
    if (type == TEXEL_S16)
        wide = __builtin_elementwise_max(wide, (ints){0} - 32767);
    floats x = __builtin_convertvector(wide, floats);
    enum texel_type as = type == TEXEL_U8 ? TEXEL_U16 : type;
    return x * texel_inverse[as] + x * texel_inverse_rest[as];
}

/* Products are of signed numbers: 2^15 less of each unsigned one is 2^23 less of the sum. */
PLANE_INLINE void read_integers(const struct plane *p, unsigned planes, enum texel_type type,
                                unsigned channels, uint32_t (*out)[LANES])
{
    const int32_t less = type == TEXEL_U16 ? (int32_t)0x80008000 : 0;
    const int32_t more = type == TEXEL_U16 ? 1 << 23 : 0;
    for (int n = 0; n < LANES / WIDTH; n++) {
        const uint32_t *at = p->at + n * WIDTH;
        ints sum[4];
        for (unsigned c = 0; c < channels; c++)
            sum[c] = (ints){0} + more;
        for (unsigned z = 0; z < planes; z++) {
            const uint8_t *base = p->base + (z != 0 ? p->slice : 0);
            struct weights w = weights_at(p, planes, z, n);
            ints near[4], far[4];
            load_pairs(texel_type_bytes(type), channels, base, at, near);
            load_pairs(texel_type_bytes(type), channels, base + p->pitch, at, far);
            for (unsigned c = 0; c < channels; c++)
                sum[c] += times_pairs(near[c] ^ less, w.near) + times_pairs(far[c] ^ less, w.far);
        }
        for (unsigned c = 0; c < channels; c++)
            store_lanes(fractions(type, sum[c]), n, out[c]);
    }
}

/* Colours of four bytes: two channels at once, as sums of products of bytes and weights fit in 16
 * bits. */
PLANE_INLINE void read_colours(const struct plane *p, unsigned planes, uint32_t (*out)[LANES])
{
    for (int n = 0; n < LANES / WIDTH; n++) {
        const uint32_t *at = p->at + n * WIDTH;
        shorts even = {0}, odd = {0};
        for (unsigned z = 0; z < planes; z++) {
            const uint8_t *base = p->base + (z != 0 ? p->slice : 0);
            struct weights w = weights_at(p, planes, z, n);
            ints texel[1][4];
            for (int row = 0; row < 2; row++)
                load_texels(1, base + (row ? p->pitch : 0), at, row, texel);
            for (int k = 0; k < 4; k++) {
                shorts weight = (shorts)(w.of[k] | w.of[k] << 16);
                even += (shorts)(texel[0][k] & 0x00ff00ff) * weight;
                odd += ((shorts)texel[0][k] >> 8) * weight;
            }
        }
        ints sum[4] = {(ints)even & 0xffff, (ints)odd & 0xffff, (ints)((words)even >> 16),
                       (ints)((words)odd >> 16)};
        for (int c = 0; c < 4; c++)
            store_lanes(fractions(TEXEL_U8, sum[c]), n, out[c]);
    }
}

/* ---- all ---- */

#define BY_CHANNELS(function, ...)                                                                 \
    (t->channels == 1   ? function(p, __VA_ARGS__, 1, out)                                         \
     : t->channels == 2 ? function(p, __VA_ARGS__, 2, out)                                         \
                        : function(p, __VA_ARGS__, 4, out))

/* `planes` is a constant where this is inlined. */
PLANE_INLINE bool read_planes(const struct texture *t, const struct plane *p, unsigned planes,
                              uint32_t (*out)[LANES])
{
    switch (t->type) {
    case TEXEL_U8:
        if (t->channels == 4)
            read_colours(p, planes, out);
        else if (t->channels == 2)
            read_integers(p, planes, TEXEL_U8, 2, out);
        else
            read_integers(p, planes, TEXEL_U8, 1, out);
        return true;
    case TEXEL_U16: BY_CHANNELS(read_integers, planes, TEXEL_U16); return true;
    case TEXEL_S16: BY_CHANNELS(read_integers, planes, TEXEL_S16); return true;
    case TEXEL_F16:
        return t->channels == 1   ? read_halves(p, 1, out)
               : t->channels == 2 ? read_halves(p, 2, out)
                                  : read_halves(p, 4, out);
    default: return BY_CHANNELS(read_floats, planes);
    }
}

#undef BY_CHANNELS

/* Sums of two planes of halves are left to others. */
static bool has_format(const struct texture *t, bool is_volume)
{
    switch (t->type) {
    case TEXEL_U8: return t->as_float && !t->srgb;
    case TEXEL_U16:
    case TEXEL_S16: return t->as_float;
    case TEXEL_F16: return !is_volume;
    case TEXEL_F32: return true;
    default: return false;
    }
}

/* Offsets have 32 bits, and a pair two elements. A row is read as a plane, between itself and the
 * border if there is one. */
static bool has_pairs(const struct texture *t, enum texture_geometry g)
{
    bool is_row = geometry_axes(g) == 1, is_volume = g == GEOMETRY_3D;
    uint64_t bytes = geometry_layered(g) || is_volume ? t->slice * t->depth
                     : is_row                         ? 0
                                                      : t->pitch * t->height;
    return t->width > 1 && bytes <= INT32_MAX && (!is_volume || t->depth > 1) &&
           (is_row ? t->address[1] != ADDRESS_BORDER : t->height > 1);
}

PLANE_INLINE void find_elements(const struct texture *t, bool is_volume, struct plane *p)
{
    for (int n = 0; n < LANES / WIDTH; n++) {
        ints at = p->axis[0].first[n] * t->element + p->axis[1].first[n] * (int32_t)p->pitch;
        if (is_volume)
            at += p->axis[2].first[n] * (int32_t)p->slice;
        memcpy(&p->at[n * WIDTH], &at, sizeof at);
    }
    __asm__("" : "+m"(p->at));
}

/* What is beyond the last layer is the last. */
PLANE_INLINE void add_layers_of(const struct texture *t, const uint32_t *in, struct plane *p)
{
    const words last = (words){0} + (t->depth > 0 ? t->depth - 1 : 0);
    for (int n = 0; n < LANES / WIDTH; n++) {
        words layer, at;
        memcpy(&layer, in + n * WIDTH, sizeof layer);
        memcpy(&at, &p->at[n * WIDTH], sizeof at);
        at += __builtin_elementwise_min(layer, last) * (uint32_t)t->slice;
        memcpy(&p->at[n * WIDTH], &at, sizeof at);
    }
}

bool PLANE_FETCH(const struct texture *t, enum texture_geometry g, const uint32_t (*in)[LANES],
                 uint32_t (*out)[LANES])
{
    bool is_row = geometry_axes(g) == 1, is_volume = g == GEOMETRY_3D;
    bool layered = geometry_layered(g);
    if (!has_format(t, is_volume) || !has_pairs(t, g))
        return false;
    struct plane p; /* large: only what is used gets a value */
    p.base = t->base;
    p.pitch = is_row ? 0 : t->pitch;
    p.slice = t->slice;
    if (!find_on_axis(t, 0, t->width, in[layered], &p.axis[0]))
        return false;
    if (is_row)
        memset(&p.axis[1], 0, sizeof p.axis[1]);
    else if (!find_on_axis(t, 1, t->height, in[layered + 1], &p.axis[1]))
        return false;
    if (is_volume && !find_on_axis(t, 2, t->depth, in[2], &p.axis[2]))
        return false;
    find_elements(t, is_volume, &p);
    if (layered)
        add_layers_of(t, in[0], &p);
    memset(out[t->channels], 0, sizeof out[0] * (4 - t->channels));
    return is_volume ? read_planes(t, &p, 2, out) : read_planes(t, &p, 1, out);
}
