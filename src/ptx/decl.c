/* decl.c: declarations of variables, parameters and registers. */
#include "ptx/names.h"
#include "ptx/parse.h"

#include <stdio.h>
#include <string.h>

/* ---- names ---- */

/* Declares a name in the current scope; NULL and a message when it is there already. */
static struct ptx_sym *declare(struct ptx_parser *p, const struct ptx_token *name,
                               enum ptx_sym_kind kind)
{
    bool range = kind == SYM_RANGE;
    const struct ptx_sym *old = ptx_symtab_find(&p->names, name->s, name->n, range);
    if (old != NULL && old->depth == p->depth) {
        ptx_fail(p, name, "'%.*s' is declared twice", QUOTE(name));
        return NULL;
    }
    const struct ptx_sym *regs;
    if (kind == SYM_REG && ptx_find_reg(p, name->s, name->n, &regs) >= 0 &&
        regs->depth == p->depth) {
        ptx_fail(p, name, "'%.*s' is declared twice", QUOTE(name));
        return NULL;
    }
    if (p->depth > 1)
        p->cdp_names = true;
    return ptx_symtab_add(&p->names, name->s, name->n, kind, p->depth);
}

/* Splits `%r12` into `%r` and 12; false when the name does not end in a plain number. */
static bool split_number(const char *s, size_t n, size_t *prefix, uint32_t *number)
{
    size_t k = n;
    while (k > 1 && s[k - 1] >= '0' && s[k - 1] <= '9' && n - k < 8)
        k--;
    if (k == n)
        return false;
    /* leading zeros belong to the prefix: %r007 is number 7 of `%r00` */
    while (k + 1 < n && s[k] == '0')
        k++;
    *prefix = k;
    *number = 0;
    for (; k < n; k++)
        *number = *number * 10 + (uint32_t)(s[k] - '0');
    return true;
}

int32_t ptx_find_reg(struct ptx_parser *p, const char *s, size_t n, const struct ptx_sym **sym)
{
    const struct ptx_sym *exact = ptx_symtab_find(&p->names, s, n, false);
    const struct ptx_sym *best = exact != NULL && exact->kind == SYM_REG ? exact : NULL;
    int depth = exact != NULL ? exact->depth : -1;
    int32_t index = best != NULL ? best->index : -1;
    size_t prefix;
    uint32_t number;
    if (split_number(s, n, &prefix, &number)) {
        /* a prefix may itself end in digits: x1<5> holds x10 to x14 */
        for (size_t k = prefix; k < n; k++) {
            const struct ptx_sym *range = ptx_symtab_find(&p->names, s, k, true);
            if (range != NULL && range->depth > depth && number < (uint32_t)range->count &&
                (s[k] != '0' || k + 1 == n)) {
                best = range;
                depth = range->depth;
                index = range->index + (int32_t)number;
            }
            uint32_t power = 1;
            for (size_t j = k + 1; j < n; j++)
                power *= 10;
            number %= power;
        }
    }
    *sym = best;
    return index;
}

/* ---- specifiers ---- */

bool ptx_decl_start(struct ptx_token *t)
{
    static const char *const words[] = {"reg",   "global", "shared", "local",
                                        "const", "param",  "tex"};
    for (size_t i = 0; i < WEIR_COUNT(words); i++)
        if (ptx_is(t, words[i], strlen(words[i])))
            return true;
    return TOKEN_IS(t, "shared::cta");
}

static bool decl_align(struct ptx_parser *p, uint32_t *align)
{
    struct ptx_token at = p->t;
    uint64_t value;
    if (!ptx_number(p, "an alignment", 1 << 16, &value))
        return false;
    if (value == 0 || (value & (value - 1)) != 0)
        return ptx_fail(p, &at, "the alignment %llu is not a power of two",
                        (unsigned long long)value);
    *align = (uint32_t)value;
    return true;
}

/* .attribute(.managed [, .unified(a, b)]) */
static bool decl_attributes(struct ptx_parser *p, struct ptx_decl *d)
{
    if (!ptx_expect(p, '(', "'('"))
        return false;
    do {
        struct ptx_token t = p->t;
        if (t.kind != T_DOT)
            return ptx_expected(p, "an attribute");
        ptx_next(p);
        if (TOKEN_IS(&t, "managed")) {
            if (d->space != PTX_SPACE_GLOBAL)
                return ptx_fail(p, &t, ".managed belongs to .global variables only");
            d->managed = true;
        } else if (TOKEN_IS(&t, "unified")) {
            uint64_t id;
            if (!ptx_expect(p, '(', "'('") || !ptx_number(p, "a number", UINT64_MAX, &id) ||
                !ptx_expect(p, ',', "','") || !ptx_number(p, "a number", UINT64_MAX, &id) ||
                !ptx_expect(p, ')', "')'"))
                return false;
        } else
            return ptx_fail(p, &t, "unknown attribute '.%.*s'", QUOTE(&t));
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ')', "')'");
}

/* .ptr [.space] [.align n] of a parameter */
static bool decl_pointer(struct ptx_parser *p, struct ptx_decl *d)
{
    if (d->space != PTX_SPACE_PARAM)
        return ptx_fail(p, &p->t, ".ptr belongs to parameters only");
    d->ptr_space = PTX_SPACE_GENERIC;
    while (p->t.kind == T_DOT) {
        struct ptx_suffix x = ptx_suffix_find(p->t.s, p->t.n);
        bool align = TOKEN_IS(&p->t, "align");
        if (!align && x.kind != PTX_SUFFIX_SPACE && !TOKEN_IS(&p->t, "generic"))
            return ptx_fail(p, &p->t, "unknown attribute '.%.*s' of .ptr", QUOTE(&p->t));
        ptx_next(p);
        if (align && !decl_align(p, &d->ptr_align))
            return false;
        if (x.kind == PTX_SUFFIX_SPACE)
            d->ptr_space = (uint8_t)x.value;
    }
    return true;
}

static bool declarable(const struct ptx_decl *d, unsigned type)
{
    switch (type) {
    case PTX_PRED: return d->space == PTX_SPACE_REG;
    case PTX_TEXREF:
    case PTX_SAMPLERREF:
    case PTX_SURFREF: return d->space == PTX_SPACE_GLOBAL || d->space == PTX_SPACE_PARAM;
    case PTX_BF16:
    case PTX_BF16X2:
    case PTX_F16:
    case PTX_F16X2: return true;
    default: return type == PTX_F32 || type == PTX_F64 || (type >= PTX_B8 && type <= PTX_S64);
    }
}

static bool decl_type(struct ptx_parser *p, struct ptx_decl *d, unsigned type)
{
    if (d->has_type)
        return ptx_fail(p, &p->t, "a second type: .%.*s", QUOTE(&p->t));
    if (!declarable(d, type))
        return ptx_fail(p, &p->t, "type .%.*s cannot be declared in .%s", QUOTE(&p->t),
                        ptx_space_name((enum ptx_space)d->space));
    d->type = (uint8_t)type;
    d->has_type = true;
    return true;
}

/* After the state space: alignment, attributes, vector and type, in any order. */
static bool specifiers(struct ptx_parser *p, struct ptx_decl *d)
{
    while (p->t.kind == T_DOT) {
        struct ptx_token t = p->t;
        struct ptx_suffix x = ptx_suffix_find(t.s, t.n);
        if (x.kind == PTX_SUFFIX_TYPE && !decl_type(p, d, x.value))
            return false;
        ptx_next(p);
        bool ok = true;
        if (TOKEN_IS(&t, "align"))
            ok = decl_align(p, &d->align);
        else if (TOKEN_IS(&t, "attribute"))
            ok = decl_attributes(p, d);
        else if (TOKEN_IS(&t, "ptr"))
            ok = decl_pointer(p, d);
        else if (TOKEN_IS(&t, "v2") || TOKEN_IS(&t, "v4") || TOKEN_IS(&t, "v8"))
            d->vec = (uint8_t)(t.s[1] - '0');
        else if (x.kind != PTX_SUFFIX_TYPE)
            ok = ptx_fail(p, &t, "unknown directive '.%.*s' in a declaration", QUOTE(&t));
        if (!ok)
            return false;
    }
    if (!d->has_type)
        return ptx_expected(p, "a type");
    if (d->type == PTX_PRED && d->vec > 1)
        return ptx_fail(p, &d->at, "there are no vectors of predicates");
    return true;
}

/* At the state space. */
static bool decl(struct ptx_parser *p, struct ptx_decl *d, enum ptx_linkage linkage)
{
    *d = (struct ptx_decl){.vec = 1, .linkage = (uint8_t)linkage, .at = p->t};
    struct ptx_suffix x = ptx_suffix_find(p->t.s, p->t.n);
    d->space = (uint8_t)x.value;
    ptx_next(p);
    if (d->space == PTX_SPACE_CONST && ptx_accept(p, '[')) { /* .const[bank] of old PTX */
        uint64_t bank;
        if (!ptx_number(p, "a bank number", 10, &bank) || !ptx_expect(p, ']', "']'"))
            return false;
    }
    return specifiers(p, d);
}

/* ---- registers ---- */

static bool check_reg_count(struct ptx_parser *p, const struct ptx_token *name, uint64_t n)
{
    if (p->regs.count + n > LIMIT_FUNC_REGS)
        return ptx_fail(p, name, "'%.*s': more than %d registers in one function", QUOTE(name),
                        LIMIT_FUNC_REGS);
    p->module_regs += n;
    if (p->module_regs > LIMIT_MODULE_REGS)
        return ptx_fail(p, name, "'%.*s': more than %d registers in one module", QUOTE(name),
                        LIMIT_MODULE_REGS);
    return true;
}

/* Adds a register (vector registers become scalars named a.x a.y …); false past the limits. */
static bool add_reg(struct ptx_parser *p, const struct ptx_token *name, unsigned type, unsigned vec)
{
    static const char *const part[] = {"x", "y", "z", "w"};
    if (!check_reg_count(p, name, vec))
        return false;
    if (vec > 4)
        return ptx_fail(p, name, "'%.*s': a register has at most 4 components", QUOTE(name));
    struct ptx_sym *s = declare(p, name, SYM_REG);
    if (s == NULL)
        return false;
    s->index = (int32_t)p->regs.count;
    s->count = (int32_t)vec;
    p->single_regs = true;
    for (unsigned k = 0; k < vec; k++) {
        const char *text = vec == 1 ? arena_strndup(p->a, name->s, name->n)
                                    : arena_printf(p->a, "%.*s.%s", (int)name->n, name->s, part[k]);
        vec_push(&p->regs, (struct ptx_reg){text, (uint8_t)type, 1});
    }
    return true;
}

/* Writes prefix and number; gives the end. */
static char *numbered(char *to, const struct ptx_token *prefix, uint64_t number)
{
    char digits[24];
    int n = 0;
    memcpy(to, prefix->s, prefix->n);
    to += prefix->n;
    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (n > 0)
        *to++ = digits[--n];
    *to++ = '\0';
    return to;
}

/* %r<100> declares %r0 to %r99. */
static bool reg_range(struct ptx_parser *p, const struct ptx_token *name, const struct ptx_decl *d)
{
    uint64_t n;
    if (!ptx_number(p, "a number of registers", UINT64_MAX, &n) || !ptx_expect(p, '>', "'>'"))
        return false;
    if (d->vec != 1)
        return ptx_fail(p, name, "'%.*s': vector registers are declared one by one", QUOTE(name));
    if (n > LIMIT_FUNC_REGS)
        return ptx_fail(p, name, "'%.*s': more than %d registers in one function", QUOTE(name),
                        LIMIT_FUNC_REGS);
    if (name->n > 1024)
        return ptx_fail(p, name, "the name of these registers is too long");
    if (!check_reg_count(p, name, n))
        return false;
    struct ptx_sym *s = declare(p, name, SYM_RANGE);
    if (s == NULL)
        return false;
    /* x1<5> and x<20> both hold an x10; so may an older single register: distinguish them by name
     */
    char last = name->s[name->n - 1];
    if (p->single_regs || (last >= '0' && last <= '9'))
        p->cdp_names = true;
    s->index = (int32_t)p->regs.count;
    s->count = (int32_t)n;
    enum { DIGITS = 8 }; /* of a number up to the limit, and the terminator */
    char *text = n > 0 ? arena_alloc(p->a, n * (name->n + DIGITS)) : NULL;
    for (uint64_t k = 0; k < n; k++) {
        char *end = numbered(text, name, k);
        vec_push(&p->regs, (struct ptx_reg){text, d->type, 1});
        text = end;
    }
    return true;
}

static bool decl_registers(struct ptx_parser *p, const struct ptx_decl *d)
{
    if (p->f == NULL)
        return ptx_fail(p, &d->at, "registers are declared inside functions");
    do {
        struct ptx_token name = p->t;
        if (name.kind != T_IDENT || TOKEN_IS(&name, "_"))
            return ptx_expected(p, "a register name");
        ptx_next(p);
        bool ok = ptx_accept(p, '<') ? reg_range(p, &name, d) : add_reg(p, &name, d->type, d->vec);
        if (!ok)
            return false;
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';', "';'");
}

/* ---- variables ---- */

/* [4][2] after a name. An empty first dimension gives 0. */
static bool decl_dimensions(struct ptx_parser *p, uint64_t *dims, int *ndims)
{
    *ndims = 0;
    while (p->t.kind == '[') {
        struct ptx_token at = p->t;
        int64_t n = 0;
        ptx_next(p);
        if (*ndims == LIMIT_DIMS)
            return ptx_fail(p, &at, "an array has at most %d dimensions", LIMIT_DIMS);
        if (p->t.kind != ']' || *ndims > 0) {
            at = p->t;
            if (!ptx_int_expr(p, &n))
                return false;
            if (n < 0 || (uint64_t)n > LIMIT_VAR_BYTES)
                return ptx_fail(p, &at, "the array is too large");
        }
        if (!ptx_expect(p, ']', "']'"))
            return false;
        dims[(*ndims)++] = (uint64_t)n;
    }
    return true;
}

static bool decl_size(struct ptx_parser *p, const struct ptx_token *name, const uint64_t *dims,
                      int ndims, struct ptx_var *v)
{
    uint64_t size = ptx_type_bits((enum ptx_type)v->type) / 8 * v->vec;
    for (int k = 0; k < ndims; k++)
        if (__builtin_mul_overflow(size, dims[k], &size) || size > LIMIT_VAR_BYTES)
            return ptx_fail(p, name, "'%.*s' is larger than a device's memory", QUOTE(name));
    if (v->space == PTX_SPACE_PARAM && size > LIMIT_PARAM_BYTES)
        return ptx_fail(p, name, "'%.*s': a parameter has at most %d bytes", QUOTE(name),
                        LIMIT_PARAM_BYTES);
    v->size = size;
    return true;
}

static struct ptx_var *new_var(struct ptx_parser *p, const struct ptx_decl *d,
                               const struct ptx_token *name)
{
    struct ptx_var *v = arena_alloc(p->a, sizeof *v);
    uint32_t natural = ptx_type_bits((enum ptx_type)d->type) / 8 * d->vec;
    v->name = arena_strndup(p->a, name->s, name->n);
    v->space = d->space;
    v->type = d->type;
    v->vec = d->vec;
    v->linkage = d->linkage;
    v->managed = d->managed;
    v->align = d->align > natural ? d->align : natural;
    v->ptr_space = d->ptr_space;
    v->ptr_align = d->ptr_align;
    v->line = name->line;
    return v;
}

/* A variable declared again: the definition's facts replace the extern's. */
static bool redeclare(struct ptx_parser *p, struct ptx_var *old, const struct ptx_var *v,
                      const struct ptx_token *name)
{
    if (old->space != v->space || old->type != v->type || old->vec != v->vec)
        return ptx_fail(p, name, "'%.*s' was declared differently on line %d", QUOTE(name),
                        old->line);
    if (old->linkage != PTX_LINK_EXTERN && v->linkage != PTX_LINK_EXTERN)
        return ptx_fail(p, name, "'%.*s' is declared twice", QUOTE(name));
    if (old->linkage == PTX_LINK_EXTERN && v->linkage != PTX_LINK_EXTERN) {
        int32_t index = old->index;
        *old = *v;
        old->index = index;
    }
    return true;
}

/* Puts v into the module's or the function's list and makes its name known. NULL when the name is
 * taken; an older declaration of the same variable replaces it. */
static struct ptx_var *enter(struct ptx_parser *p, struct ptx_var *v, const struct ptx_token *name)
{
    if (p->f == NULL) {
        const struct ptx_sym *old = ptx_symtab_find(&p->names, name->s, name->n, false);
        if (old != NULL && old->kind == SYM_VAR)
            return redeclare(p, old->var, v, name) ? old->var : NULL;
    }
    struct ptx_sym *s = declare(p, name, SYM_VAR);
    if (s == NULL)
        return NULL;
    s->var = v;
    v->scope = p->f;
    v->index = (int32_t)(p->f != NULL ? p->fvars.count : p->vars.count);
    if (p->f != NULL)
        vec_push(&p->fvars, v);
    else
        vec_push(&p->vars, v);
    return v;
}

static bool place_allowed(struct ptx_parser *p, const struct ptx_decl *d)
{
    bool module = p->f == NULL;
    if (module && (d->space == PTX_SPACE_PARAM || d->space == PTX_SPACE_LOCAL))
        return ptx_fail(p, &d->at, ".%s variables are declared inside functions",
                        ptx_space_name((enum ptx_space)d->space));
    if (!module && d->space == PTX_SPACE_TEX)
        return ptx_fail(p, &d->at, ".tex variables are declared at module scope");
    if (!module && d->linkage != PTX_LINK_LOCAL)
        return ptx_fail(p, &d->at, "a function's own variable has no linkage");
    if (d->linkage == PTX_LINK_COMMON && d->space != PTX_SPACE_GLOBAL)
        return ptx_fail(p, &d->at, ".common belongs to .global variables only");
    return true;
}

static bool decl_variable(struct ptx_parser *p, const struct ptx_decl *d)
{
    struct ptx_token name = p->t;
    uint64_t dims[LIMIT_DIMS];
    int ndims;
    if (name.kind != T_IDENT || TOKEN_IS(&name, "_"))
        return ptx_expected(p, "a variable name");
    ptx_next(p);
    struct ptx_var *v = new_var(p, d, &name);
    if (!decl_dimensions(p, dims, &ndims) || !decl_size(p, &name, dims, ndims, v))
        return false;
    bool open = ndims > 0 && dims[0] == 0;
    if (p->t.kind == '=') {
        /* the name must be known inside its own value, which may change its size: enter it first */
        struct ptx_token at = p->t;
        ptx_next(p);
        if (d->space != PTX_SPACE_GLOBAL && d->space != PTX_SPACE_CONST)
            return ptx_fail(p, &at, "a .%s variable cannot have an initial value",
                            ptx_space_name((enum ptx_space)d->space));
        if (d->linkage == PTX_LINK_EXTERN || d->linkage == PTX_LINK_COMMON)
            return ptx_fail(p, &at, "an extern or common variable cannot have an initial value");
        v = enter(p, v, &name);
        return v != NULL && ptx_initializer(p, v, dims, ndims);
    }
    v->unsized = open && d->linkage == PTX_LINK_EXTERN;
    return enter(p, v, &name) != NULL;
}

bool ptx_declaration(struct ptx_parser *p, enum ptx_linkage linkage)
{
    struct ptx_decl d;
    if (!decl(p, &d, linkage))
        return false;
    if (d.space == PTX_SPACE_REG)
        return decl_registers(p, &d);
    if (!place_allowed(p, &d))
        return false;
    do {
        if (!decl_variable(p, &d))
            return false;
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';', "';'");
}

struct ptx_var *ptx_param(struct ptx_parser *p, int32_t *reg)
{
    struct ptx_decl d;
    uint64_t dims[LIMIT_DIMS];
    int ndims;
    *reg = -1;
    if (p->t.kind != T_DOT || !(TOKEN_IS(&p->t, "param") || TOKEN_IS(&p->t, "reg"))) {
        ptx_expected(p, "a parameter");
        return NULL;
    }
    if (!decl(p, &d, PTX_LINK_LOCAL))
        return NULL;
    struct ptx_token name = p->t;
    if (name.kind != T_IDENT) {
        ptx_expected(p, "a parameter name");
        return NULL;
    }
    ptx_next(p);
    struct ptx_var *v = new_var(p, &d, &name);
    if (!decl_dimensions(p, dims, &ndims) || !decl_size(p, &name, dims, ndims, v))
        return NULL;
    v->unsized = ndims > 0 && dims[0] == 0;
    v->scope = p->f;
    if (d.type == PTX_PRED)
        v->size = v->align = 1;
    if (TOKEN_IS(&name, "_"))
        return v;
    if (d.space == PTX_SPACE_REG) {
        *reg = (int32_t)p->regs.count;
        return d.vec == 1 && ndims == 0 && add_reg(p, &name, d.type, 1) ? v : NULL;
    }
    struct ptx_sym *s = declare(p, &name, SYM_VAR);
    if (s == NULL)
        return NULL;
    s->var = v;
    return v;
}
