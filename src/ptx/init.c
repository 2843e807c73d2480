/* init.c: initial values of variables: constants, nested braces, and addresses of variables and
 * functions, which become relocations. */
#include "ptx/parse.h"

#include <stdlib.h>
#include <string.h>

/* A value while it is read. */
struct init {
    struct ptx_parser *p;
    struct ptx_var *v;
    unsigned bytes;   /* of one element */
    uint64_t limit;   /* elements that fit; UINT64_MAX when the size is to be found */
    uint64_t end;     /* elements reached */
    uint8_t *data;    /* on the heap */
    size_t size, cap; /* bytes of data that exist */
    struct ptx_reloc *relocs;
    size_t nrelocs, relocs_cap;
};

/* Makes data[0 .. bytes) exist. */
static bool reserve(struct init *in, uint64_t bytes, const struct ptx_token *at)
{
    if (bytes <= in->size)
        return true;
    if (in->p->init_bytes + bytes > LIMIT_INIT_BYTES)
        return ptx_fail(in->p, at, "the module's initial values take more than %d MiB",
                        LIMIT_INIT_BYTES >> 20);
    if (bytes > in->cap) {
        in->cap = bytes * 2;
        in->data = xrealloc(in->data, in->cap);
    }
    memset(in->data + in->size, 0, bytes - in->size);
    in->size = bytes;
    return true;
}

static bool constant(struct init *in, uint64_t at)
{
    struct ptx_token t = in->p->t;
    struct ptx_value v = {0};
    enum ptx_type type = (enum ptx_type)in->v->type;
    if (!ptx_expr(in->p, &v))
        return false;
    uint64_t bits = v.u;
    if (v.is_float) {
        if (in->bytes != 4 && in->bytes != 8)
            return ptx_fail(in->p, &t, "a float cannot be the value of a .%s", ptx_type_name(type));
        if (ptx_type_is_signed(type) || (type >= PTX_U8 && type <= PTX_U64))
            return ptx_fail(in->p, &t, "a float cannot be the value of an integer");
        memcpy(&bits, &v.f, sizeof bits);
        if (in->bytes == 4)
            bits = ptx_f32_bits(v.f);
    } else if (type == PTX_F32 || type == PTX_F64) {
        double d = v.is_unsigned ? (double)v.u : (double)(int64_t)v.u;
        memcpy(&bits, &d, sizeof bits);
        if (in->bytes == 4)
            bits = ptx_f32_bits(d);
    }
    uint64_t high = v.is_float || v.is_unsigned || (int64_t)v.u >= 0 ? 0 : UINT64_MAX;
    /* init_element allocated them: NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
    memcpy(in->data + at, &bits, in->bytes < 8 ? in->bytes : 8);
    if (in->bytes == 16)
        memcpy(in->data + at + 8, &high, 8);
    return true;
}

/* name [+ n] [- n], or generic(name) [+ n] */
static bool init_symbol(struct init *in, uint64_t at, struct ptx_reloc *r)
{
    struct ptx_parser *p = in->p;
    if (TOKEN_IS(&p->t, "generic")) {
        ptx_next(p);
        if (!ptx_expect(p, '(', "'('"))
            return false;
        r->generic = true;
    }
    struct ptx_token name = p->t;
    if (name.kind != T_IDENT)
        return ptx_expected(p, "the name of a variable or function");
    ptx_next(p);
    int64_t add = 0, first = 0;
    /* generic(x+4) and generic(x)+4 mean the same */
    if ((p->t.kind == '+' || p->t.kind == '-') && !ptx_int_expr(p, &first))
        return false;
    if (r->generic && !ptx_expect(p, ')', "')'"))
        return false;
    if (r->generic && (p->t.kind == '+' || p->t.kind == '-') && !ptx_int_expr(p, &add))
        return false;
    r->addend = (int64_t)((uint64_t)first + (uint64_t)add);
    r->at = at;
    if (in->nrelocs == in->relocs_cap) {
        in->relocs_cap = in->relocs_cap ? in->relocs_cap * 2 : 8;
        in->relocs = xrealloc(in->relocs, in->relocs_cap * sizeof *in->relocs);
    }
    const struct ptx_sym *s = ptx_symtab_find(&p->names, name.s, name.n, false);
    if (s != NULL && s->kind == SYM_VAR)
        r->var = s->var;
    else if (s != NULL && s->kind == SYM_FUNC)
        r->func = s->func;
    else if (s != NULL)
        return ptx_fail(p, &name, "'%.*s' is not a variable or function", QUOTE(&name));
    else
        vec_push(&p->unresolved, (struct ptx_ref){.kind = REF_RELOC,
                                                  .at = name,
                                                  .reloc = {in->v, (int32_t)in->nrelocs}});
    in->relocs[in->nrelocs++] = *r;
    return true;
}

/* 0xFF00(symbol): one byte of an address */
static bool init_masked(struct init *in, uint64_t at)
{
    struct ptx_parser *p = in->p;
    struct ptx_token mask = p->t;
    unsigned shift = mask.u == 0 ? 64 : (unsigned)__builtin_ctzll(mask.u);
    unsigned bytes = mask.u == 0 ? 0 : (unsigned)__builtin_popcountll(mask.u) / 8;
    uint64_t ones = bytes == 8 ? UINT64_MAX : (UINT64_C(1) << bytes * 8) - 1;
    if (shift % 8 != 0 || bytes == 0 || bytes > in->bytes || mask.u != ones << shift)
        return ptx_fail(p, &mask, "'%.*s' does not select bytes of an address", QUOTE(&mask));
    struct ptx_reloc r = {.bytes = (uint8_t)bytes, .shift = (uint8_t)(shift / 8)};
    ptx_next(p); /* the mask, then the parenthesis */
    ptx_next(p);
    return init_symbol(in, at, &r) && ptx_expect(p, ')', "')'");
}

static bool init_element(struct init *in, uint64_t index)
{
    struct ptx_parser *p = in->p;
    struct ptx_token at = p->t;
    uint64_t offset = index * in->bytes;
    if (index >= in->limit)
        return ptx_fail(p, &at, "'%s' has more values than elements", in->v->name);
    if (!reserve(in, offset + in->bytes, &at))
        return false;
    if (in->end < index + 1)
        in->end = index + 1;
    if (p->t.kind == T_INT) {
        struct ptx_lexer ahead = p->lx;
        if (ptx_lexer_next(&ahead).kind == '(')
            return init_masked(in, offset);
    }
    if (p->t.kind == T_IDENT && !TOKEN_IS(&p->t, "WARP_SZ")) {
        struct ptx_reloc r = {.bytes = (uint8_t)(in->bytes < 8 ? in->bytes : 8)};
        return init_symbol(in, offset, &r);
    }
    return constant(in, offset);
}

/* { … } over elements [first, first + count of this level); dims[0] is this level's. */
static bool braces(struct init *in, const uint64_t *dims, int ndims, uint64_t first)
{
    struct ptx_parser *p = in->p;
    struct ptx_token open = p->t;
    uint64_t stride = 1; /* elements of one item of this level */
    for (int k = 1; k < ndims; k++)
        stride *= dims[k];
    uint64_t end = in->limit;
    if (ndims > 0 && dims[0] != 0)
        end = first + dims[0] * stride;
    if (++p->nesting > LIMIT_NESTING)
        return ptx_fail(p, &open, "initial value nested too deep");
    ptx_next(p);
    uint64_t at = first;
    while (p->t.kind != '}') {
        if (at >= end)
            return ptx_fail(p, &p->t, "'%s' has more values than elements", in->v->name);
        if (p->t.kind == '{') {
            if (ndims <= 1)
                return ptx_fail(p, &p->t, "'%s' has fewer dimensions than these braces",
                                in->v->name);
            at += (stride - (at - first) % stride) % stride;
            if (at >= end || !braces(in, dims + 1, ndims - 1, at))
                return ptx_fail(p, &p->t, "'%s' has more values than elements", in->v->name);
            at += stride;
            if (in->end < at)
                in->end = at;
        } else if (!init_element(in, at++))
            return false;
        if (!ptx_accept(p, ','))
            break;
    }
    p->nesting--;
    return ptx_expect(p, '}', "'}'");
}

/* Moves what was read into the variable. */
static bool finish(struct init *in, bool open, uint64_t row, const struct ptx_token *at)
{
    struct ptx_var *v = in->v;
    if (open) /* as many rows as were begun */
        v->size = (in->end + row - 1) / row * row * in->bytes;
    if (in->p->init_bytes + v->size > LIMIT_INIT_BYTES)
        return ptx_fail(in->p, at, "the module's initial values take more than %d MiB",
                        LIMIT_INIT_BYTES >> 20);
    in->p->init_bytes += v->size;
    if (v->size > 0) {
        uint8_t *bytes = arena_alloc(in->p->a, v->size);
        if (in->size > 0)
            memcpy(bytes, in->data, in->size < v->size ? in->size : v->size);
        v->init = bytes;
    }
    if (in->nrelocs > 0) {
        v->relocs = arena_alloc(in->p->a, in->nrelocs * sizeof *v->relocs);
        memcpy(v->relocs, in->relocs, in->nrelocs * sizeof *v->relocs);
        v->nrelocs = (int32_t)in->nrelocs;
    }
    return true;
}

bool ptx_initializer(struct ptx_parser *p, struct ptx_var *v, uint64_t *dims, int ndims)
{
    struct ptx_token at = p->t;
    bool open = ndims > 0 && dims[0] == 0;
    uint64_t all[LIMIT_DIMS + 1], row = 1;
    struct init in = {.p = p, .v = v, .bytes = ptx_type_bits((enum ptx_type)v->type) / 8};
    if (v->type == PTX_TEXREF || v->type == PTX_SAMPLERREF || v->type == PTX_SURFREF)
        return ptx_fail(p, &at, "initial values of .%s variables are not supported",
                        ptx_type_name((enum ptx_type)v->type));
    memcpy(all, dims, (size_t)ndims * sizeof *dims);
    if (v->vec > 1) /* a vector is a dimension more */
        all[ndims++] = v->vec;
    bool huge = false;
    for (int k = 1; k < ndims; k++)
        huge |= __builtin_mul_overflow(row, all[k], &row);
    if (huge || row == 0 || row > LIMIT_INIT_BYTES)
        return ptx_fail(p, &at, "'%s' cannot have an initial value of this size", v->name);
    in.limit = open ? UINT64_MAX / 32 : v->size / in.bytes;
    bool ok = p->t.kind == '{' ? braces(&in, all, ndims, 0) : init_element(&in, 0);
    if (ok)
        ok = finish(&in, open, row, &at);
    free(in.data);
    free(in.relocs);
    return ok;
}
