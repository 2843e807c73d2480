/* simd_words: CUDA's SIMD-in-a-word functions (__nv_vaddss4 and ninety others): two halves or four
 * bytes of a word at once. The name says it all: v, the operation, how it saturates or which sign
 * it compares with, and the number of parts. */
#include "compiler/arithmetic/math_table.h"

#include <string.h>

enum simd_op {
    SIMD_ADD,
    SIMD_SUB,
    SIMD_NEG,
    SIMD_ABS,
    SIMD_ABSDIFF,
    SIMD_SAD,
    SIMD_AVG,
    SIMD_HADD,
    SIMD_MAX,
    SIMD_MIN,
    SIMD_CMP,
    SIMD_SET,
};

struct simd {
    enum simd_op op;
    LLVMIntPredicate predicate; /* CMP, SET */
    bool is_signed, saturates;
    unsigned parts;
};

static const struct {
    const char *name;
    uint8_t op;
    bool has_sign;  /* s or u follows */
    bool saturates; /* ss (or, for add and sub, us) may follow */
} ops[] = {
    {"absdiff", SIMD_ABSDIFF, true, false}, {"add", SIMD_ADD, false, true},
    {"sub", SIMD_SUB, false, true},         {"neg", SIMD_NEG, false, true},
    {"abs", SIMD_ABS, false, true},         {"sad", SIMD_SAD, true, false},
    {"avg", SIMD_AVG, true, false},         {"hadd", SIMD_HADD, true, false},
    {"max", SIMD_MAX, true, false},         {"min", SIMD_MIN, true, false},
    {"cmp", SIMD_CMP, false, false},        {"set", SIMD_SET, false, false},
};

static const struct {
    const char *name;
    LLVMIntPredicate is_signed, is_unsigned;
} comparisons[] = {
    {"eq", LLVMIntEQ, LLVMIntEQ},   {"ne", LLVMIntNE, LLVMIntNE},   {"ge", LLVMIntSGE, LLVMIntUGE},
    {"gt", LLVMIntSGT, LLVMIntUGT}, {"le", LLVMIntSLE, LLVMIntULE}, {"lt", LLVMIntSLT, LLVMIntULT},
};

/* The comparison's name, with s or u unless it is eq or ne. */
static const char *read_comparison(const char *p, struct simd *out)
{
    for (size_t k = 0; k < WEIR_COUNT(comparisons); k++) {
        if (strncmp(p, comparisons[k].name, 2) != 0)
            continue;
        out->predicate = comparisons[k].is_signed;
        p += 2;
        if (k < 2)
            return p;
        if (*p == 'u')
            out->predicate = comparisons[k].is_unsigned;
        return *p == 'u' || *p == 's' ? p + 1 : NULL;
    }
    return NULL;
}

static bool read_name(const char *p, struct simd *out)
{
    memset(out, 0, sizeof *out);
    if (*p++ != 'v')
        return false;
    size_t k = 0;
    while (k < WEIR_COUNT(ops) && strncmp(p, ops[k].name, strlen(ops[k].name)) != 0)
        k++;
    if (k == WEIR_COUNT(ops))
        return false;
    p += strlen(ops[k].name);
    out->op = ops[k].op;
    out->is_signed = true;
    if (ops[k].has_sign) {
        if (*p != 's' && *p != 'u')
            return false;
        out->is_signed = *p++ == 's';
    } else if (ops[k].saturates && p[0] && p[1] == 's') {
        out->saturates = true;
        out->is_signed = p[0] == 's';
        p += 2;
    } else if (out->op == SIMD_CMP || out->op == SIMD_SET) {
        p = read_comparison(p, out);
    }
    if (p == NULL || (p[0] != '2' && p[0] != '4') || p[1])
        return false;
    out->parts = (unsigned)(*p - '0');
    return true;
}

static bool unary(const struct simd *s) { return s->op == SIMD_NEG || s->op == SIMD_ABS; }

const char *math_simd_sig(const char *name)
{
    struct simd s;
    return !read_name(name, &s) ? NULL : unary(&s) ? "u:u" : "u:uu";
}

static val differences(struct alu *a, const struct simd *s, val x, val y)
{
    val max = ir_intr2(a, s->is_signed ? "llvm.smax" : "llvm.umax", x, y);
    return ir_sub(a, max, ir_intr2(a, s->is_signed ? "llvm.smin" : "llvm.umin", x, y));
}

/* Half the sum, computed in twice the width. vavg rounds up what is not negative. */
static val averages(struct alu *a, const struct simd *s, val x, val y)
{
    unsigned bits = ir_bits(x);
    val sum =
        ir_add(a, ir_resize(a, x, 2 * bits, s->is_signed), ir_resize(a, y, 2 * bits, s->is_signed));
    val one = ir_k(sum, 1);
    if (s->op == SIMD_AVG) {
        val up = ir_icmp(a, LLVMIntSGE, sum, ir_k(sum, 0));
        sum = ir_add(a, sum, s->is_signed ? ir_zext(a, up, 2 * bits) : one);
    }
    return ir_zext(a, s->is_signed ? ir_ashr(a, sum, one) : ir_lshr(a, sum, one), bits);
}

static val compute(struct alu *a, const struct simd *s, val x, val y)
{
    switch (s->op) {
    case SIMD_ADD:
        return !s->saturates ? ir_add(a, x, y)
                             : ir_intr2(a, s->is_signed ? "llvm.sadd.sat" : "llvm.uadd.sat", x, y);
    case SIMD_NEG: y = x; x = ir_k(x, 0); /* fall through: 0 - x */
    case SIMD_SUB:
        return !s->saturates ? ir_sub(a, x, y)
                             : ir_intr2(a, s->is_signed ? "llvm.ssub.sat" : "llvm.usub.sat", x, y);
    case SIMD_ABS: {
        val zero = ir_k(x, 0);
        val minus = s->saturates ? ir_intr2(a, "llvm.ssub.sat", zero, x) : ir_sub(a, zero, x);
        return ir_select(a, ir_icmp(a, LLVMIntSLT, x, zero), minus, x);
    }
    case SIMD_ABSDIFF:
    case SIMD_SAD: return differences(a, s, x, y);
    case SIMD_AVG:
    case SIMD_HADD: return averages(a, s, x, y);
    case SIMD_MAX: return ir_intr2(a, s->is_signed ? "llvm.smax" : "llvm.umax", x, y);
    case SIMD_MIN: return ir_intr2(a, s->is_signed ? "llvm.smin" : "llvm.umin", x, y);
    default: {
        val t = ir_icmp(a, s->predicate, x, y);
        return ir_resize(a, t, ir_bits(x), s->op == SIMD_CMP);
    }
    }
}

bool math_simd_emit(struct alu *a, const char *name, const val *src, val *dst)
{
    struct simd s;
    if (!read_name(name, &s))
        return false;
    unsigned bits = 32 / s.parts;
    val x = ir_split(a, src[0], bits), y = unary(&s) ? NULL : ir_split(a, src[1], bits);
    val word = ir_join(a, compute(a, &s, x, y), 32);
    if (s.op != SIMD_SAD) {
        dst[0] = word;
        return true;
    }
    val mask = ir_k(word, (1ull << bits) - 1), sum = ir_and(a, word, mask);
    for (unsigned k = 1; k < s.parts; k++)
        sum = ir_add(a, sum, ir_and(a, ir_lshr(a, word, ir_k(word, k * bits)), mask));
    dst[0] = sum;
    return true;
}
