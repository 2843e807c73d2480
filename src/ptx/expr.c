/* expr.c: constant expressions, with C's operators and precedence, on 64-bit integers (signed
 * unless a part is unsigned) and doubles. */
#include "ptx/parse.h"

#include <string.h>

static struct ptx_value expr_int(uint64_t u, bool is_unsigned)
{
    return (struct ptx_value){.u = u, .is_unsigned = is_unsigned};
}

static struct ptx_value expr_float(double f)
{
    return (struct ptx_value){.is_float = true, .f = f, .form = PTX_FLOAT_DECIMAL};
}

static double expr_as_float(const struct ptx_value *v)
{
    if (v->is_float)
        return v->f;
    return v->is_unsigned ? (double)v->u : (double)(int64_t)v->u;
}

static bool truth(const struct ptx_value *v) { return v->is_float ? v->f != 0 : v->u != 0; }

static bool enter(struct ptx_parser *p)
{
    if (++p->nesting > LIMIT_NESTING)
        return ptx_fail(p, &p->t, "constant expression nested too deep");
    return true;
}

static int precedence(int kind)
{
    switch (kind) {
    case '*':
    case '/':
    case '%': return 10;
    case '+':
    case '-': return 9;
    case T_SHL:
    case T_SHR: return 8;
    case '<':
    case '>':
    case T_LE:
    case T_GE: return 7;
    case T_EQ:
    case T_NE: return 6;
    case '&': return 5;
    case '^': return 4;
    case '|': return 3;
    case T_ANDAND: return 2;
    case T_OROR: return 1;
    default: return 0;
    }
}

static bool float_op(struct ptx_parser *p, const struct ptx_token *op, struct ptx_value *l,
                     const struct ptx_value *r)
{
    double a = expr_as_float(l), b = expr_as_float(r);
    switch (op->kind) {
    case '*': *l = expr_float(a * b); return true;
    case '/': *l = expr_float(a / b); return true;
    case '+': *l = expr_float(a + b); return true;
    case '-': *l = expr_float(a - b); return true;
    case '<': *l = expr_int(a < b, false); return true;
    case '>': *l = expr_int(a > b, false); return true;
    case T_LE: *l = expr_int(a <= b, false); return true;
    case T_GE: *l = expr_int(a >= b, false); return true;
    case T_EQ: *l = expr_int(a == b, false); return true;
    case T_NE: *l = expr_int(a != b, false); return true;
    case T_ANDAND: *l = expr_int(a != 0 && b != 0, false); return true;
    case T_OROR: *l = expr_int(a != 0 || b != 0, false); return true;
    default: return ptx_fail(p, op, "operator '%.*s' does not take a float", QUOTE(op));
    }
}

static bool divide(struct ptx_parser *p, const struct ptx_token *op, struct ptx_value *l,
                   const struct ptx_value *r, bool u)
{
    if (r->u == 0)
        return ptx_fail(p, op, "division by zero in a constant expression");
    bool rem = op->kind == '%';
    if (u)
        *l = expr_int(rem ? l->u % r->u : l->u / r->u, true);
    else if (r->u == UINT64_MAX) /* -1: the smallest integer has no positive twin */
        *l = expr_int(rem ? 0 : 0 - l->u, false);
    else
        *l = expr_int(
            (uint64_t)(rem ? (int64_t)l->u % (int64_t)r->u : (int64_t)l->u / (int64_t)r->u), false);
    return true;
}

static uint64_t shift_right(const struct ptx_value *v, uint64_t by)
{
    bool negative = !v->is_unsigned && (int64_t)v->u < 0;
    if (by > 63)
        return negative ? UINT64_MAX : 0;
    uint64_t shifted = v->u >> by;
    return negative && by > 0 ? shifted | UINT64_MAX << (64 - by) : shifted;
}

static bool int_op(struct ptx_parser *p, const struct ptx_token *op, struct ptx_value *l,
                   const struct ptx_value *r)
{
    bool u = l->is_unsigned || r->is_unsigned;
    uint64_t a = l->u, b = r->u;
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    switch (op->kind) {
    case '*': *l = expr_int(a * b, u); return true;
    case '/':
    case '%': return divide(p, op, l, r, u);
    case '+': *l = expr_int(a + b, u); return true;
    case '-': *l = expr_int(a - b, u); return true;
    case T_SHL: *l = expr_int(b > 63 ? 0 : a << b, l->is_unsigned); return true;
    case T_SHR: *l = expr_int(shift_right(l, b), l->is_unsigned); return true;
    case '<': *l = expr_int(u ? a < b : sa < sb, false); return true;
    case '>': *l = expr_int(u ? a > b : sa > sb, false); return true;
    case T_LE: *l = expr_int(u ? a <= b : sa <= sb, false); return true;
    case T_GE: *l = expr_int(u ? a >= b : sa >= sb, false); return true;
    case T_EQ: *l = expr_int(a == b, false); return true;
    case T_NE: *l = expr_int(a != b, false); return true;
    case '&': *l = expr_int(a & b, u); return true;
    case '^': *l = expr_int(a ^ b, u); return true;
    case '|': *l = expr_int(a | b, u); return true;
    case T_ANDAND: *l = expr_int(a != 0 && b != 0, false); return true;
    default: *l = expr_int(a != 0 || b != 0, false); return true;
    }
}

static bool unary(struct ptx_parser *p, struct ptx_value *v);

static bool cast(struct ptx_parser *p, struct ptx_value *v)
{
    struct ptx_token type = p->t;
    bool is_unsigned = TOKEN_IS(&type, "u64");
    if (!is_unsigned && !TOKEN_IS(&type, "s64"))
        return ptx_fail(p, &type, "a cast is (.s64) or (.u64), not (.%.*s)", QUOTE(&type));
    ptx_next(p);
    if (!ptx_expect(p, ')', "')'") || !unary(p, v))
        return false;
    if (v->is_float && !(v->f > -9.3e18 && v->f < 1.85e19))
        return ptx_fail(p, &type, "the float does not fit in 64 bits");
    if (v->is_float)
        *v = expr_int(v->f < 0 ? (uint64_t)(int64_t)(v->f < -9.2e18 ? -9.2e18 : v->f)
                               : (uint64_t)(v->f > 1.84e19 ? 1.84e19 : v->f),
                      is_unsigned);
    v->is_unsigned = is_unsigned;
    return true;
}

static bool negate(struct ptx_value *v)
{
    if (v->is_float) {
        uint64_t bits; /* the sign alone changes, also of a NaN */
        memcpy(&bits, &v->f, sizeof bits);
        bits ^= UINT64_C(1) << 63;
        memcpy(&v->f, &bits, sizeof bits);
    } else
        *v = expr_int(0 - v->u, v->is_unsigned && v->u != UINT64_C(1) << 63);
    return true;
}

static bool expr_primary(struct ptx_parser *p, struct ptx_value *v)
{
    struct ptx_token t = p->t;
    switch (t.kind) {
    case T_INT: *v = expr_int(t.u, t.is_unsigned); break;
    case T_FLOAT: *v = (struct ptx_value){.is_float = true, .f = t.f, .form = t.form}; break;
    case T_DOT:
        if (t.n > 0 && t.s[0] >= '0' && t.s[0] <= '9') {
            if (!ptx_lexer_fraction(&p->lx, &t))
                return p->t = t, false;
            *v = expr_float(t.f);
            break;
        }
        return ptx_expected(p, "a constant");
    case T_IDENT:
        if (TOKEN_IS(&t, "WARP_SZ")) {
            *v = expr_int(32, false);
            break;
        }
        return ptx_expected(p, "a constant");
    case '(':
        ptx_next(p);
        if (p->t.kind == T_DOT)
            return cast(p, v);
        return ptx_expr(p, v) && ptx_expect(p, ')', "')'");
    default: return ptx_expected(p, "a constant");
    }
    ptx_next(p);
    return true;
}

static bool unary(struct ptx_parser *p, struct ptx_value *v)
{
    struct ptx_token op = p->t;
    if (op.kind != '-' && op.kind != '+' && op.kind != '!' && op.kind != '~')
        return expr_primary(p, v);
    if (!enter(p))
        return false;
    ptx_next(p);
    bool ok = unary(p, v);
    p->nesting--;
    if (!ok)
        return false;
    if (op.kind == '-')
        return negate(v);
    if (op.kind == '!')
        *v = expr_int(!truth(v), false);
    else if (op.kind == '~') {
        if (v->is_float)
            return ptx_fail(p, &op, "operator '~' does not take a float");
        *v = expr_int(~v->u, v->is_unsigned);
    }
    return true;
}

static bool expr_binary(struct ptx_parser *p, struct ptx_value *v, int least)
{
    if (!unary(p, v))
        return false;
    for (int level; (level = precedence(p->t.kind)) >= least && level > 0;) {
        struct ptx_token op = p->t;
        struct ptx_value right = {0};
        ptx_next(p);
        if (!expr_binary(p, &right, level + 1))
            return false;
        if (!(v->is_float || right.is_float ? float_op(p, &op, v, &right)
                                            : int_op(p, &op, v, &right)))
            return false;
    }
    return true;
}

bool ptx_expr(struct ptx_parser *p, struct ptx_value *v)
{
    if (!enter(p) || !expr_binary(p, v, 1))
        return false;
    if (ptx_accept(p, '?')) {
        struct ptx_value yes = {0}, no = {0};
        if (!ptx_expr(p, &yes) || !ptx_expect(p, ':', "':'") || !ptx_expr(p, &no))
            return false;
        *v = truth(v) ? yes : no;
    }
    p->nesting--;
    return true;
}

bool ptx_int_expr(struct ptx_parser *p, int64_t *value)
{
    struct ptx_token at = p->t;
    struct ptx_value v = {0};
    if (!ptx_expr(p, &v))
        return false;
    if (v.is_float)
        return ptx_fail(p, &at, "an integer constant is needed here, not a float");
    *value = (int64_t)v.u;
    return true;
}
