/* names.c: the spellings of types, spaces, opcodes, modifiers and special registers, in both
 * directions. One open-addressed hash table per kind of word is filled on first use; the sets are
 * fixed, so the tables are static and never grow. */
#include "ptx/names.h"

#include <stdio.h>
#include <string.h>
#include <threads.h>

/* ---- types ---- */

enum { INT_SIGNED = 1, FLOAT = 2 };

static const struct {
    const char *name;
    uint8_t bits, flags;
} names_types[PTX_TYPE_COUNT] = {
    [PTX_NONE] = {"", 0, 0},
    [PTX_PRED] = {"pred", 1, 0},
    [PTX_B8] = {"b8", 8, 0},
    [PTX_B16] = {"b16", 16, 0},
    [PTX_B32] = {"b32", 32, 0},
    [PTX_B64] = {"b64", 64, 0},
    [PTX_B128] = {"b128", 128, 0},
    [PTX_U8] = {"u8", 8, 0},
    [PTX_U16] = {"u16", 16, 0},
    [PTX_U32] = {"u32", 32, 0},
    [PTX_U64] = {"u64", 64, 0},
    [PTX_S8] = {"s8", 8, INT_SIGNED},
    [PTX_S16] = {"s16", 16, INT_SIGNED},
    [PTX_S32] = {"s32", 32, INT_SIGNED},
    [PTX_S64] = {"s64", 64, INT_SIGNED},
    [PTX_F16] = {"f16", 16, FLOAT},
    [PTX_F16X2] = {"f16x2", 32, FLOAT},
    [PTX_BF16] = {"bf16", 16, FLOAT},
    [PTX_BF16X2] = {"bf16x2", 32, FLOAT},
    [PTX_TF32] = {"tf32", 32, FLOAT},
    [PTX_F32] = {"f32", 32, FLOAT},
    [PTX_F64] = {"f64", 64, FLOAT},
    [PTX_F32X2] = {"f32x2", 64, FLOAT},
    [PTX_U16X2] = {"u16x2", 32, 0},
    [PTX_S16X2] = {"s16x2", 32, INT_SIGNED},
    [PTX_U8X4] = {"u8x4", 32, 0},
    [PTX_S8X4] = {"s8x4", 32, INT_SIGNED},
    [PTX_U2] = {"u2", 2, 0},
    [PTX_S2] = {"s2", 2, INT_SIGNED},
    [PTX_U4] = {"u4", 4, 0},
    [PTX_S4] = {"s4", 4, INT_SIGNED},
    [PTX_B1] = {"b1", 1, 0},
    [PTX_U4X8] = {"u4x8", 32, 0},
    [PTX_S4X8] = {"s4x8", 32, INT_SIGNED},
    [PTX_B4X16] = {"b4x16", 64, 0},
    [PTX_E4M3] = {"e4m3", 8, 0},
    [PTX_E5M2] = {"e5m2", 8, 0},
    [PTX_E4M3X2] = {"e4m3x2", 16, 0},
    [PTX_E5M2X2] = {"e5m2x2", 16, 0},
    [PTX_E2M3X2] = {"e2m3x2", 16, 0},
    [PTX_E3M2X2] = {"e3m2x2", 16, 0},
    [PTX_E2M1X2] = {"e2m1x2", 8, 0},
    [PTX_UE8M0X2] = {"ue8m0x2", 16, 0},
    [PTX_E2M1] = {"e2m1", 4, 0},
    [PTX_E2M3] = {"e2m3", 6, 0},
    [PTX_E3M2] = {"e3m2", 6, 0},
    [PTX_UE8M0] = {"ue8m0", 8, 0},
    [PTX_UE4M3] = {"ue4m3", 8, 0},
    [PTX_E4M3X4] = {"e4m3x4", 32, 0},
    [PTX_E5M2X4] = {"e5m2x4", 32, 0},
    [PTX_E2M3X4] = {"e2m3x4", 32, 0},
    [PTX_E3M2X4] = {"e3m2x4", 32, 0},
    [PTX_E2M1X4] = {"e2m1x4", 16, 0},
    [PTX_TEXREF] = {"texref", 64, 0},
    [PTX_SAMPLERREF] = {"samplerref", 64, 0},
    [PTX_SURFREF] = {"surfref", 64, 0},
};

unsigned ptx_type_bits(enum ptx_type t) { return t < PTX_TYPE_COUNT ? names_types[t].bits : 0; }

enum ptx_type ptx_type_widened(enum ptx_type t)
{
    switch (t) {
    case PTX_U16: return PTX_U32;
    case PTX_S16: return PTX_S32;
    case PTX_U32: return PTX_U64;
    case PTX_S32: return PTX_S64;
    default: return t;
    }
}

bool ptx_type_is_float(enum ptx_type t)
{
    return t < PTX_TYPE_COUNT && (names_types[t].flags & FLOAT) != 0;
}

bool ptx_type_is_signed(enum ptx_type t)
{
    return t < PTX_TYPE_COUNT && (names_types[t].flags & INT_SIGNED) != 0;
}

const char *ptx_type_name(enum ptx_type t)
{
    return t < PTX_TYPE_COUNT ? names_types[t].name : "?";
}

uint32_t ptx_f32_bits(double f)
{
    float narrow = (float)f;
    uint32_t bits;
    if (f != f) { /* the conversion would turn a signaling NaN quiet */
        uint64_t wide;
        memcpy(&wide, &f, sizeof wide);
        bits = (uint32_t)(wide >> 63) << 31 | 0x7f800000u | (uint32_t)(wide >> 29 & 0x7fffff);
        return (bits & 0x7fffff) != 0 ? bits : bits | 0x400000;
    }
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

/* ---- spaces ---- */

static const char *const names_spaces[] = {
    [PTX_SPACE_NONE] = "",
    [PTX_SPACE_GENERIC] = "generic",
    [PTX_SPACE_GLOBAL] = "global",
    [PTX_SPACE_SHARED] = "shared",
    [PTX_SPACE_SHARED_CLUSTER] = "shared::cluster",
    [PTX_SPACE_LOCAL] = "local",
    [PTX_SPACE_CONST] = "const",
    [PTX_SPACE_PARAM] = "param",
    [PTX_SPACE_REG] = "reg",
    [PTX_SPACE_TEX] = "tex",
};

const char *ptx_space_name(enum ptx_space s)
{
    return s < WEIR_COUNT(names_spaces) ? names_spaces[s] : "?";
}

/* ---- opcodes and modifiers ---- */

static const char *const names_ops[PTX_OP_COUNT] = {
#define PTX_OPCODE(name, ...) [PTX_OP_##name] = #name,
#include "ptx/ops.def"
#undef PTX_OPCODE
};

static const char *const names_mods[PTX_M_COUNT] = {
    [PTX_M_NONE] = "",
#define PTX_MODIFIER(id, text) [PTX_M_##id] = (text),
#include "ptx/mods.def"
#undef PTX_MODIFIER
};

const char *ptx_op_name(enum ptx_op op) { return op < PTX_OP_COUNT ? names_ops[op] : "?"; }
const char *ptx_mod_name(enum ptx_mod m) { return m < PTX_M_COUNT ? names_mods[m] : "?"; }

bool ptx_op_refused(const char *s, size_t n)
{
    static const char *const refused[] = {"tcgen05"};
    for (size_t i = 0; i < WEIR_COUNT(refused); i++)
        if (strlen(refused[i]) == n && memcmp(refused[i], s, n) == 0)
            return true;
    return false;
}

/* ---- special registers ---- */

enum { VECTOR = 1, NUMBERED = 2 };

static const struct {
    const char *name;
    uint8_t bits, flags;
} sregs[PTX_SR_COUNT] = {
    [PTX_SR_tid] = {"tid", 32, VECTOR},
    [PTX_SR_ntid] = {"ntid", 32, VECTOR},
    [PTX_SR_laneid] = {"laneid", 32, 0},
    [PTX_SR_warpid] = {"warpid", 32, 0},
    [PTX_SR_nwarpid] = {"nwarpid", 32, 0},
    [PTX_SR_ctaid] = {"ctaid", 32, VECTOR},
    [PTX_SR_nctaid] = {"nctaid", 32, VECTOR},
    [PTX_SR_smid] = {"smid", 32, 0},
    [PTX_SR_nsmid] = {"nsmid", 32, 0},
    [PTX_SR_gridid] = {"gridid", 64, 0},
    [PTX_SR_is_explicit_cluster] = {"is_explicit_cluster", 1, 0},
    [PTX_SR_clusterid] = {"clusterid", 32, VECTOR},
    [PTX_SR_nclusterid] = {"nclusterid", 32, VECTOR},
    [PTX_SR_cluster_ctaid] = {"cluster_ctaid", 32, VECTOR},
    [PTX_SR_cluster_nctaid] = {"cluster_nctaid", 32, VECTOR},
    [PTX_SR_cluster_ctarank] = {"cluster_ctarank", 32, 0},
    [PTX_SR_cluster_nctarank] = {"cluster_nctarank", 32, 0},
    [PTX_SR_lanemask_eq] = {"lanemask_eq", 32, 0},
    [PTX_SR_lanemask_le] = {"lanemask_le", 32, 0},
    [PTX_SR_lanemask_lt] = {"lanemask_lt", 32, 0},
    [PTX_SR_lanemask_ge] = {"lanemask_ge", 32, 0},
    [PTX_SR_lanemask_gt] = {"lanemask_gt", 32, 0},
    [PTX_SR_clock] = {"clock", 32, 0},
    [PTX_SR_clock_hi] = {"clock_hi", 32, 0},
    [PTX_SR_clock64] = {"clock64", 64, 0},
    [PTX_SR_globaltimer] = {"globaltimer", 64, 0},
    [PTX_SR_globaltimer_lo] = {"globaltimer_lo", 32, 0},
    [PTX_SR_globaltimer_hi] = {"globaltimer_hi", 32, 0},
    [PTX_SR_envreg] = {"envreg", 32, NUMBERED},
    [PTX_SR_pm] = {"pm", 32, NUMBERED},
    [PTX_SR_pm64] = {"pm", 64, NUMBERED}, /* %pm0_64: the number stands in the middle */
    [PTX_SR_total_smem_size] = {"total_smem_size", 32, 0},
    [PTX_SR_aggr_smem_size] = {"aggr_smem_size", 32, 0},
    [PTX_SR_dynamic_smem_size] = {"dynamic_smem_size", 32, 0},
    [PTX_SR_reserved_smem_offset_begin] = {"reserved_smem_offset_begin", 32, 0},
    [PTX_SR_reserved_smem_offset_end] = {"reserved_smem_offset_end", 32, 0},
    [PTX_SR_reserved_smem_offset_cap] = {"reserved_smem_offset_cap", 32, 0},
    [PTX_SR_reserved_smem_offset_0] = {"reserved_smem_offset_0", 32, 0},
    [PTX_SR_reserved_smem_offset_1] = {"reserved_smem_offset_1", 32, 0},
    [PTX_SR_current_graph_exec] = {"current_graph_exec", 64, 0},
    [PTX_SR_WARP_SZ] = {"WARP_SZ", 32, 0},
};

const char *ptx_pragma_name(int n)
{
    static const char *const names[PTX_NPRAGMAS] = {
        "weir_serialize", "weir_divergent", "weir_strips", "weir_interleave",
        "weir_large",     "weir_jam",       "weir_rows"};
    return names[n];
}

const char *ptx_sreg_name(enum ptx_sreg s) { return s < PTX_SR_COUNT ? sregs[s].name : "?"; }
unsigned ptx_sreg_bits(enum ptx_sreg s) { return s < PTX_SR_COUNT ? sregs[s].bits : 0; }
bool ptx_sreg_is_vector(enum ptx_sreg s)
{
    return s < PTX_SR_COUNT && (sregs[s].flags & VECTOR) != 0;
}

/* ---- spellings to enumerators ---- */

enum { TABLE_SIZE = 2048 }; /* a power of two, well above the number of words */

struct word {
    const char *text;
    uint8_t length;
    uint8_t kind; /* suffixes: enum ptx_suffix_kind */
    uint16_t value;
};

static struct word op_table[TABLE_SIZE], suffix_table[TABLE_SIZE], sreg_table[TABLE_SIZE];
static once_flag names_once = ONCE_FLAG_INIT;

static size_t names_slot(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return (h ^ h >> 15) & (TABLE_SIZE - 1);
}

static struct word *names_find(struct word *table, const char *s, size_t n)
{
    size_t i = names_slot(s, n);
    while (table[i].text != NULL && !(table[i].length == n && memcmp(table[i].text, s, n) == 0))
        i = (i + 1) & (TABLE_SIZE - 1);
    return &table[i];
}

static void put(struct word *table, const char *text, unsigned kind, unsigned value)
{
    size_t n = strlen(text);
    *names_find(table, text, n) = (struct word){text, (uint8_t)n, (uint8_t)kind, (uint16_t)value};
}

static void fill(void)
{
    for (unsigned i = 0; i < PTX_OP_COUNT; i++)
        put(op_table, names_ops[i], 0, i);
    for (unsigned i = 1; i < PTX_M_COUNT; i++)
        put(suffix_table, names_mods[i], PTX_SUFFIX_MOD, i);
    for (unsigned i = 1; i < PTX_TYPE_COUNT; i++)
        put(suffix_table, names_types[i].name, PTX_SUFFIX_TYPE, i);
    for (unsigned i = PTX_SPACE_GLOBAL; i < WEIR_COUNT(names_spaces); i++)
        put(suffix_table, names_spaces[i], PTX_SUFFIX_SPACE, i);
    put(suffix_table, "shared::cta", PTX_SUFFIX_SPACE, PTX_SPACE_SHARED);
    put(suffix_table, "param::entry", PTX_SUFFIX_SPACE, PTX_SPACE_PARAM);
    put(suffix_table, "param::func", PTX_SUFFIX_SPACE, PTX_SPACE_PARAM);
    for (unsigned i = 0; i < PTX_SR_COUNT; i++)
        if ((sregs[i].flags & NUMBERED) == 0)
            put(sreg_table, sregs[i].name, 0, i);
}

enum ptx_op ptx_op_find(const char *s, size_t n)
{
    call_once(&names_once, fill);
    const struct word *w = names_find(op_table, s, n);
    return w->text != NULL ? (enum ptx_op)w->value : PTX_OP_COUNT;
}

struct ptx_suffix ptx_suffix_find(const char *s, size_t n)
{
    call_once(&names_once, fill);
    const struct word *w = names_find(suffix_table, s, n);
    if (w->text == NULL)
        return (struct ptx_suffix){PTX_SUFFIX_NONE, 0};
    return (struct ptx_suffix){w->kind, w->value};
}

/* Reads the digits of s[from..n); gives how many there were, at most 3. */
static size_t digits(const char *s, size_t from, size_t n, unsigned *value)
{
    size_t i = from;
    *value = 0;
    while (i < n && i < from + 3 && s[i] >= '0' && s[i] <= '9')
        *value = *value * 10 + (unsigned)(s[i++] - '0');
    return i - from;
}

/* %envreg0..31, %pm0..7 and %pm0_64..7_64. */
static enum ptx_sreg numbered(const char *s, size_t n, unsigned *index)
{
    if (n > 6 && memcmp(s, "envreg", 6) == 0) {
        size_t k = digits(s, 6, n, index);
        return k > 0 && 6 + k == n && *index < 32 ? PTX_SR_envreg : PTX_SR_COUNT;
    }
    if (n > 2 && memcmp(s, "pm", 2) == 0) {
        size_t k = digits(s, 2, n, index);
        if (k == 0 || *index > 7)
            return PTX_SR_COUNT;
        if (2 + k == n)
            return PTX_SR_pm;
        if (2 + k + 3 == n && memcmp(s + 2 + k, "_64", 3) == 0)
            return PTX_SR_pm64;
    }
    return PTX_SR_COUNT;
}

enum ptx_sreg ptx_sreg_find(const char *s, size_t n, unsigned *index)
{
    call_once(&names_once, fill);
    *index = 0;
    const struct word *w = names_find(sreg_table, s, n);
    if (w->text != NULL)
        return (enum ptx_sreg)w->value;
    return numbered(s, n, index);
}
