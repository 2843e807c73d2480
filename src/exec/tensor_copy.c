/* tensor_copy: copies between shared memory and a box of a tensor that a tensor map describes
 * (abi/tensor_map.h), reductions likewise, and the instructions that change a map.
 *
 * A box is copied row by row, a row being what lies along the first dimension, or in the im2col
 * modes the channels of a pixel. In shared memory the rows are dense, but not closer than the
 * swizzle is wide, and swizzled by their offset in the block's window. What is outside the tensor
 * is filled on the way in and left out on the way back, where the first dimension's size counts in
 * pieces of 16 bytes: stores write the padding of the tensor's last piece, too.
 *
 * Maps and addresses are the program's: any access may fault, so nothing is held. */
#include "abi/tensor_map.h"
#include "base/round.h"
#include "exec/bulk.h"
#include "exec/cdp.h"
#include "exec/check.h"
#include "exec/threads.h"

enum {
    MAX_ROW = 256 * 8,
    PIECE = 16,
    SHARED_ALIGNMENT = 128,
    MAP_ALIGNMENT = 64,
    WIDE_PIXELS = 128, /* of im2col::w::128, in groups that each have a halo */
    WIDE_GROUP = 32,
    FILL_NAN = 0x7ff7
};

struct copy {
    struct jit_block *j;
    struct tensor_map m;
    uint32_t op, lane;
    const void *pc;   /* of the instruction */
    uint32_t element; /* bytes */
    uint32_t row;     /* elements of a row in shared memory */
    uint32_t pitch;   /* bytes from one row to the next there */
    int32_t at[TENSOR_DIMS];
    int32_t offset[3];                /* im2col; in the wide modes the halo, and the offset */
    uint64_t shared;                  /* offset in the window */
    uint64_t done;                    /* offset of the next row from there */
    uint64_t copied;                  /* bytes so far */
    uint64_t window[JIT_CLUSTER_MAX]; /* addresses of the blocks' windows */
    uint32_t windows;                 /* how many */
    _Alignas(64) uint8_t buffer[MAX_ROW];
};

static _Noreturn void leave(struct jit_block *j, enum grid_fault_kind kind, uint32_t lane,
                            const char *text)
{
    struct grid_block *b = j->grid;
    fault_leave(b->worker, &(struct trouble){.kind = kind, .mask = 1u << lane, .text = text});
}

/* Reads a map; what is none is an illegal instruction, as on a GPU. */
static struct tensor_map read_map(struct jit_block *j, uint64_t address, uint32_t lane)
{
    struct tensor_map m;
    memcpy(&m, (const void *)address, sizeof m);
    if (m.tag != TENSOR_MAP_TAG || m.rank_1 >= TENSOR_DIMS || tensor_element_bytes(m.type) == 0)
        leave(j, GRID_FAULT_ILLEGAL, lane, "the memory holds no tensor map");
    bool atoms = m.atomicity == TENSOR_ATOM_16 ||
                 (m.atomicity < TENSOR_ATOMS && m.swizzle == TENSOR_SWIZZLE_128);
    if (m.interleave > TENSOR_INTERLEAVE_32 || m.swizzle > TENSOR_SWIZZLE_128 || !atoms ||
        (m.interleave != 0 && (m.im2col != TENSOR_TILE || m.rank_1 < 2)))
        leave(j, GRID_FAULT_ILLEGAL, lane,
              "the tensor map has an interleave or a swizzle that is not supported");
    return m;
}

/* ---- the rows in shared memory ---- */

static uint64_t swizzled(const struct tensor_map *m, uint64_t offset)
{
    if (m->atomicity == TENSOR_ATOM_64)
        return offset ^ (offset >> 7 & 1) << 6;
    if (m->atomicity != TENSOR_ATOM_16)
        return offset ^ (offset >> 7 & 3) << 5;
    uint64_t mask = (1u << m->swizzle) - 1;
    return offset ^ (offset >> 7 & mask) << 4;
}

/* Whether the halves of a piece there change places. */
static bool flips(const struct copy *c, uint32_t at)
{
    return c->m.atomicity == TENSOR_ATOM_32_FLIP && ((c->shared + c->done + at) >> 7 & 1) != 0;
}

/* Rows that are shorter than the swizzle is wide begin at its multiples. */
static uint32_t row_pitch(const struct copy *c)
{
    uint32_t bytes = c->row * c->element, width = c->m.swizzle != 0 ? PIECE << c->m.swizzle : 0;
    return bytes < width ? width : bytes;
}

/* Where a piece of the row lies, in the w-th of the blocks. */
static uint64_t piece_at(const struct copy *c, uint32_t w, uint32_t at)
{
    return c->window[w] + swizzled(&c->m, c->shared + c->done + at);
}

static void tell_access(const struct copy *c, uint64_t at, uint64_t bytes, bool writes)
{
    if (threads_will_compare(c->j->grid))
        threads_copy_side(c->j->grid, c->lane, at, bytes, writes, c->pc);
    if (writes)
        grid_wrote(c->j, (const void *)at, bytes);
}

static void row_ends(struct copy *c)
{
    c->done += c->pitch;
    c->copied += c->row * c->element;
}

static void put_row(struct copy *c)
{
    uint32_t bytes = c->row * c->element;
    for (uint32_t w = 0; w < c->windows; w++)
        for (uint32_t at = 0; at < bytes; at += PIECE) {
            uint64_t to = piece_at(c, w, at);
            uint32_t first = flips(c, at) ? PIECE / 2 : 0;
            tell_access(c, to, PIECE, true);
            memcpy((void *)to, c->buffer + at + first, PIECE / 2);
            memcpy((void *)(to + PIECE / 2), c->buffer + at + (PIECE / 2 - first), PIECE / 2);
        }
    row_ends(c);
}

static void get_row(struct copy *c)
{
    uint32_t bytes = c->row * c->element;
    for (uint32_t at = 0; at < bytes; at += PIECE) {
        tell_access(c, piece_at(c, 0, at), PIECE, false);
        memcpy(c->buffer + at, (const void *)piece_at(c, 0, at), PIECE);
    }
    row_ends(c);
}

/* ---- elements ---- */

static void fill(struct copy *c)
{
    uint32_t bytes = c->row * c->element;
    const uint16_t nan = FILL_NAN;
    if (!c->m.fills_nan)
        memset(c->buffer, 0, bytes);
    for (uint32_t at = 0; c->m.fills_nan && at < bytes; at += 2)
        memcpy(c->buffer + at, &nan, 2);
}

/* A float as a TF32: ten bits of fraction, rounded to nearest even; one NaN for all. */
static uint32_t round_tf32(uint32_t v)
{
    if ((v & 0x7fffffff) > 0x7f800000)
        return 0x7fffe000;
    return (v + 0xfff + (v >> 13 & 1)) & 0xffffe000;
}

static void convert(const struct copy *c, uint8_t *p, uint32_t words)
{
    bool rounds = c->m.type == TENSOR_TF32 || c->m.type == TENSOR_TF32_FTZ;
    for (uint32_t n = 0; n < words && rounds; n++) {
        uint32_t v;
        memcpy(&v, p + 4 * n, 4);
        v = round_tf32(v);
        memcpy(p + 4 * n, &v, 4);
    }
}

/* enum jit_reduce + 1, 0: none. */
static uint32_t reduction(const struct copy *c) { return c->op >> JIT_TENSOR_REDUCTION; }

/* How an element is combined; a map's type may have no such operation, which is illegal. */
static uint32_t reduced_as(const struct copy *c)
{
    static const uint8_t types[TENSOR_TYPES] = {
        [TENSOR_U32] = JIT_U32 + 1,      [TENSOR_S32] = JIT_S32 + 1,
        [TENSOR_U64] = JIT_U64 + 1,      [TENSOR_S64] = JIT_S64 + 1,
        [TENSOR_F16] = JIT_F16 + 1,      [TENSOR_BF16] = JIT_BF16 + 1,
        [TENSOR_F32] = JIT_F32 + 1,      [TENSOR_F64] = JIT_F64 + 1,
        [TENSOR_F32_FTZ] = JIT_F32 + 1,  [TENSOR_TF32] = JIT_F32 + 1,
        [TENSOR_TF32_FTZ] = JIT_F32 + 1,
    };
    uint32_t op = reduction(c) - 1, type = types[c->m.type];
    bool wide = type == JIT_F32 + 1 || type == JIT_F64 + 1;
    bool half = type == JIT_F16 + 1 || type == JIT_BF16 + 1;
    bool counts = op == JIT_REDUCE_INC || op == JIT_REDUCE_DEC;
    if (type == 0 || (wide && op != JIT_REDUCE_ADD) || (half && op > JIT_REDUCE_MAX) ||
        (counts && type != JIT_U32 + 1) ||
        (type == JIT_S64 + 1 && op != JIT_REDUCE_MIN && op != JIT_REDUCE_MAX))
        leave(c->j, GRID_FAULT_ILLEGAL, c->lane,
              "the tensor map's type of elements has no such reduction");
    return type - 1;
}

/* Combines elements of the tensor with those of the buffer. */
static void reduce(const struct copy *c, void *there, uint64_t from, uint64_t bytes)
{
    uint32_t type = reduced_as(c); /* or leaves: a map of floats has no reduction but sums */
    if (c->m.type == TENSOR_F32_FTZ || c->m.type == TENSOR_TF32_FTZ)
        bulk_add_flushing((uint64_t)there, (uint64_t)(c->buffer + from), bytes);
    else
        bulk_reduce(reduction(c) - 1, type, (uint64_t)there, (uint64_t)(c->buffer + from), bytes);
}

/* ---- one row ---- */

/* `address`: of the row's element 0 in the tensor; of the row's elements [first, end) are in it,
 * none: the whole row is outside. */
static void copy_row(struct copy *c, uint64_t address, int64_t first, int64_t end)
{
    bool stores = (c->op & JIT_TENSOR_STORES) != 0;
    uint64_t from = first < end ? (uint64_t)first * c->element : 0;
    uint64_t bytes = first < end ? (uint64_t)(end - first) * c->element : 0;
    void *there = (void *)(address + from);
    if (bytes > 0)
        check_others(c->j, 1u << c->lane, (uint64_t)there, __builtin_return_address(0));
    if (bytes > 0)
        tell_access(c, (uint64_t)there, bytes, stores);
    if (stores) {
        get_row(c);
        if (bytes > 0 && reduction(c) != 0)
            reduce(c, there, from, bytes);
        else if (bytes > 0)
            memcpy(there, c->buffer + from, bytes);
        return;
    }
    if (bytes < (uint64_t)c->row * c->element)
        fill(c);
    if (bytes > 0) {
        memcpy(c->buffer + from, there, bytes);
        convert(c, c->buffer + from, (uint32_t)(bytes / 4));
    }
    put_row(c);
}

/* The row's part along dimension 0. */
static void copy_along(struct copy *c, uint64_t address, bool inside)
{
    int64_t size = (int64_t)c->m.size_1[0] + 1, at = c->at[0];
    if ((c->op & JIT_TENSOR_STORES) != 0)
        size = (int64_t)(round_up((uint64_t)size * c->element, PIECE) / c->element);
    int64_t first = at < 0 ? -at : 0, end = size - at < c->row ? size - at : c->row;
    copy_row(c, address + (uint64_t)(at * c->element), inside ? first : 0, inside ? end : 0);
}

/* ---- the modes ---- */

static uint64_t step_of(const struct tensor_map *m, uint32_t dim)
{
    return m->step[dim] != 0 ? m->step[dim] : 1;
}

/* How many places along dimension d a box has. */
static uint32_t places(const struct tensor_map *m, uint32_t d)
{
    if (m->interleave != 0 && d + 1 == m->rank_1)
        return 1; /* of the channels it has one slice */
    return (uint32_t)((m->box[d] + step_of(m, d) - 1) / step_of(m, d));
}

static void copy_tile(struct copy *c)
{
    const struct tensor_map *m = &c->m;
    uint32_t rank = m->rank_1 + 1u, count[TENSOR_DIMS], n[TENSOR_DIMS] = {0};
    const uint32_t begin = m->interleave != 0 ? 0 : 1; /* the dimension above a row */
    for (uint32_t d = begin; d < rank; d++) {
        count[d] = places(m, d);
        if (count[d] == 0)
            leave(c->j, GRID_FAULT_ILLEGAL, c->lane, "the tensor map's box is empty");
    }
    for (;;) {
        uint64_t address = m->address;
        bool inside = true;
        for (uint32_t d = begin; d < rank; d++) {
            int64_t at = (int64_t)c->at[d] + (int64_t)(n[d] * step_of(m, d));
            inside &= at >= 0 && at <= (int64_t)m->size_1[d];
            address += (uint64_t)at * (d > 0 ? m->stride[d - 1] : c->element);
        }
        if (m->interleave != 0)
            copy_row(c, address, 0, inside);
        else
            copy_along(c, address, inside);
        uint32_t d = begin;
        while (d < rank && ++n[d] == count[d])
            n[d++] = 0;
        if (d >= rank)
            return;
    }
}

/* Four rows that are named one by one; those outside are filled, or left out. */
static void copy_four(struct copy *c, const uint64_t (*rows)[JIT_WARP])
{
    if (c->m.im2col != TENSOR_TILE || c->m.interleave != 0 || c->m.rank_1 != 1 ||
        places(&c->m, 1) != 1)
        leave(c->j, GRID_FAULT_ILLEGAL, c->lane,
              "four rows are copied by a tensor map of two dimensions with a box of one row");
    for (uint32_t n = 1; n <= 4; n++) {
        uint64_t pair = rows[JIT_TENSOR_COORDINATES + n / 2][c->lane];
        c->at[1] = (int32_t)(pair >> (n % 2 != 0 ? 32 : 0));
        copy_tile(c);
    }
}

static void copy_pixels(struct copy *c)
{
    const struct tensor_map *m = &c->m;
    uint32_t last = m->rank_1, axes = last - 1;
    for (uint32_t pixel = 0; pixel < m->columns; pixel++) {
        uint64_t address = m->address + (uint64_t)(int64_t)c->at[last] * m->stride[last - 1];
        bool inside = c->at[last] >= 0 && (uint32_t)c->at[last] <= m->size_1[last];
        for (uint32_t a = 0; a < axes; a++) {
            int64_t at = (int64_t)c->at[a + 1] + c->offset[a];
            inside &= at >= 0 && at <= (int64_t)m->size_1[a + 1];
            address += (uint64_t)at * m->stride[a];
        }
        copy_along(c, address, inside);
        uint32_t a = 0;
        for (; a < axes; a++) { /* the next one in the bounding box */
            c->at[a + 1] += (int32_t)step_of(m, a + 1);
            if (c->at[a + 1] <= (int64_t)m->size_1[a + 1] + m->upper[a])
                break;
            c->at[a + 1] = m->lower[a];
        }
        if (a == axes)
            c->at[last]++;
    }
}

/* ---- the wide modes: along a row of the image, then the same row of the next image ---- */

/* The n-th pixel from where the copy begins. */
static void copy_wide_pixel(struct copy *c, uint32_t n)
{
    const struct tensor_map *m = &c->m;
    uint32_t last = m->rank_1;
    int64_t step = (int64_t)step_of(m, 1), begin = (int64_t)c->at[1] + c->offset[1];
    int64_t low = (int64_t)m->lower[0] + c->offset[1];
    int64_t high = (int64_t)m->size_1[1] + m->upper[0] + c->offset[1];
    int64_t of_first = begin <= high ? (high - begin) / step + 1 : 1;
    int64_t of_next = low <= high ? (high - low) / step + 1 : 1;
    int64_t w = begin + n * step, image = c->at[last];
    if (n >= of_first) {
        w = low + (n - of_first) % of_next * step;
        image += 1 + (n - of_first) / of_next;
    }
    bool inside =
        w >= 0 && w <= (int64_t)m->size_1[1] && image >= 0 && image <= (int64_t)m->size_1[last];
    uint64_t address =
        m->address + (uint64_t)w * m->stride[0] + (uint64_t)image * m->stride[last - 1];
    for (uint32_t d = 2; d < last; d++) {
        inside &= c->at[d] >= 0 && (uint32_t)c->at[d] <= m->size_1[d];
        address += (uint64_t)(int64_t)c->at[d] * m->stride[d - 1];
    }
    copy_along(c, address, inside);
}

/* The halo is what follows: after all pixels, or of each group of 32, the groups' first pixels
 * of it before their second ones. */
static void copy_wide(struct copy *c)
{
    bool grouped = c->m.im2col == TENSOR_WIDE_128;
    uint32_t pixels = grouped ? WIDE_PIXELS : c->m.columns, halo = (uint32_t)c->offset[0];
    for (uint32_t n = 0; n < pixels + (grouped ? 0 : halo); n++)
        copy_wide_pixel(c, n);
    for (uint32_t h = 0; grouped && h < halo; h++)
        for (uint32_t group = WIDE_GROUP; group <= WIDE_PIXELS; group += WIDE_GROUP)
            copy_wide_pixel(c, group + h);
}

/* The window of the block that a generic address in shared memory belongs to. */
static uint64_t window_of(const struct jit_block *j, uint64_t address)
{
    for (uint32_t r = 1; r <= j->cluster_size && r <= JIT_CLUSTER_MAX; r++)
        if (j->windows[r] != 0 && address - j->windows[r] < j->total_shared)
            return j->windows[r];
    return (uint64_t)j->shared;
}

/* Where the box lies in shared memory, of which blocks. */
static void place(struct copy *c, uint64_t address, uint64_t ctas)
{
    struct jit_block *j = c->j;
    uint64_t own = window_of(j, address);
    c->shared = address - own;
    bulk_check_aligned(j, c->shared, SHARED_ALIGNMENT, c->lane);
    if ((c->op & JIT_TENSOR_MANY) == 0) {
        c->window[c->windows++] = own;
        return;
    }
    for (uint32_t r = 0; r < j->cluster_size; r++)
        if ((ctas >> r & 1) != 0)
            c->window[c->windows++] = cluster_map(j, address, r) - c->shared;
}

/* Whose barrier object is told of what block `rank` got: its own, or that of the pair's. */
static uint32_t teller(const struct copy *c, uint64_t barrier, uint32_t rank)
{
    if ((c->op & JIT_TENSOR_PAIRS) == 0)
        return rank;
    uint32_t named = c->j->cluster_rank;
    for (uint32_t r = 0; r < c->j->cluster_size; r++)
        if (c->j->windows[1 + r] == window_of(c->j, barrier))
            named = r;
    return (rank & ~1u) | (named & 1);
}

static void tell(struct copy *c, uint64_t barrier, uint64_t ctas)
{
    struct jit_block *j = c->j;
    if ((c->op & JIT_TENSOR_STORES) != 0)
        return;
    if ((c->op & JIT_TENSOR_MANY) == 0)
        bulk_complete(j, barrier, c->copied, c->lane);
    for (uint32_t r = 0; r < j->cluster_size && (c->op & JIT_TENSOR_MANY) != 0; r++)
        if ((ctas >> r & 1) != 0)
            bulk_complete(j, cluster_map(j, barrier, teller(c, barrier, r)), c->copied, c->lane);
}

static enum tensor_mode mode_of(uint32_t op)
{
    return (op & JIT_TENSOR_WIDE_128) != 0 ? TENSOR_WIDE_128
           : (op & JIT_TENSOR_WIDE) != 0   ? TENSOR_WIDE
           : (op & JIT_TENSOR_IM2COL) != 0 ? TENSOR_IM2COL
                                           : TENSOR_TILE;
}

void weir_rt_tensor_copy(struct jit_block *j, uint32_t op, uint32_t mask,
                         const uint64_t (*rows)[JIT_WARP])
{
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        struct copy c; /* the row's buffer need not be cleared */
        c.j = j;
        c.pc = __builtin_return_address(0);
        c.op = op;
        c.lane = lane;
        c.windows = 0;
        c.done = c.copied = 0;
        c.m = read_map(j, rows[JIT_TENSOR_MAP][lane], lane);
        c.element = tensor_element_bytes(c.m.type);
        c.row = c.m.im2col != TENSOR_TILE ? c.m.channels : c.m.box[0];
        if (c.m.interleave != 0) {
            c.element = tensor_slice_bytes(c.m.interleave);
            c.row = 1;
        }
        if ((op & JIT_TENSOR_DIMS) != c.m.rank_1 + 1u || mode_of(op) != c.m.im2col ||
            c.row * c.element % PIECE != 0 || c.row * c.element > MAX_ROW)
            leave(j, GRID_FAULT_ILLEGAL, lane,
                  "the tensor map is for other dimensions or another mode, or its box is wrong");
        if (c.m.atomicity == TENSOR_ATOM_32_FLIP && (op & JIT_TENSOR_STORES) != 0)
            leave(j, GRID_FAULT_ILLEGAL, lane, "a swizzle that flips is for copies from a tensor");
        c.pitch = row_pitch(&c);
        for (uint32_t d = 0; d < TENSOR_DIMS; d++)
            c.at[d] =
                (int32_t)(rows[JIT_TENSOR_COORDINATES + d / 2][lane] >> (d % 2 != 0 ? 32 : 0));
        if (c.m.interleave == 0 && c.at[0] * (int32_t)c.element % PIECE != 0)
            leave(j, GRID_FAULT_ILLEGAL, lane,
                  "a box begins at a multiple of 16 bytes along the first dimension");
        uint32_t fixed = (op & JIT_TENSOR_FOUR) != 0 ? 0 : c.m.rank_1; /* the last to be checked */
        for (uint32_t d = 0; d <= fixed && (op & JIT_TENSOR_STORES) != 0; d++)
            if (c.at[d] < 0)
                leave(j, GRID_FAULT_ILLEGAL, lane, "a store begins at no coordinate below 0");
        for (uint32_t a = 0; a < 3; a++)
            c.offset[a] = (int32_t)(rows[JIT_TENSOR_OFFSETS][lane] >> 16 * a & 0xffff);
        uint64_t ctas = (op & JIT_TENSOR_MANY) != 0 ? rows[JIT_TENSOR_CTAS][lane] : 0;
        place(&c, rows[JIT_TENSOR_SHARED][lane], ctas);
        if ((op & JIT_TENSOR_FOUR) != 0)
            copy_four(&c, rows);
        else if (c.m.im2col >= TENSOR_WIDE)
            copy_wide(&c);
        else if (c.m.im2col == TENSOR_IM2COL)
            copy_pixels(&c);
        else
            copy_tile(&c);
        tell(&c, rows[JIT_TENSOR_BARRIER][lane], ctas);
    }
}

/* ---- changing a map ---- */

static void replace(struct tensor_map *m, uint32_t field, uint32_t which, uint64_t v)
{
    switch (field) {
    case JIT_TENSOR_ADDRESS: m->address = v; break;
    case JIT_TENSOR_RANK: m->rank_1 = (uint8_t)v; break;
    case JIT_TENSOR_BOX: m->box[which % TENSOR_DIMS] = (uint16_t)v; break;
    case JIT_TENSOR_SIZE: m->size_1[which % TENSOR_DIMS] = (uint32_t)v - 1; break;
    case JIT_TENSOR_STRIDE: m->stride[which % (TENSOR_DIMS - 1)] = v; break;
    case JIT_TENSOR_STEP: m->step[which % TENSOR_DIMS] = (uint8_t)v; break;
    case JIT_TENSOR_TYPE: m->type = (uint8_t)v; break;
    case JIT_TENSOR_INTERLEAVE: m->interleave = (uint8_t)v; break;
    case JIT_TENSOR_SWIZZLE: m->swizzle = (uint8_t)v; break;
    case JIT_TENSOR_FILL: m->fills_nan = v != 0; break;
    case JIT_TENSOR_ATOMICITY: m->atomicity = (uint8_t)v; break;
    default: break;
    }
}

void weir_rt_tensor_replace(struct jit_block *j, uint32_t op, uint32_t mask,
                            const uint64_t address[JIT_WARP], const uint64_t value[JIT_WARP])
{
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        uint64_t at = address[lane];
        struct tensor_map m;
        bulk_check_aligned(j, at, MAP_ALIGNMENT, lane);
        check_others(j, 1u << lane, at, __builtin_return_address(0));
        memcpy(&m, (const void *)((op & 0xff) == JIT_TENSOR_COPY ? value[lane] : at), sizeof m);
        if (m.tag != TENSOR_MAP_TAG) /* from zeros on, all of it may be set by replacing */
            m.tag = TENSOR_MAP_TAG;
        if ((op & 0xff) != JIT_TENSOR_COPY)
            replace(&m, op & 0xff, op >> 8, value[lane]);
        memcpy((void *)at, &m, sizeof m);
        grid_wrote(j, (const void *)at, sizeof m);
    }
}
