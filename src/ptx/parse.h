/* parse.h: what the files of the parser share. ptx_parse (parse.c) reads module directives and
 * hands over to decl.c (variables and registers), init.c (initial values), func.c (functions and
 * their bodies), instr.c, operand.c, call.c and check.c (instructions), expr.c (constants).
 *
 * Functions return false after setting the diagnostic; the first message wins, so a caller only
 * passes the failure on. Nothing recurses without a limit, and nothing that a few bytes of input
 * can ask for is allocated without one. */
#ifndef WEIR_PTX_PARSE_H
#define WEIR_PTX_PARSE_H

#include "ptx/forms.h"
#include "ptx/lexer.h"
#include "ptx/symtab.h"

enum {
    LIMIT_NESTING = 100,          /* { } blocks, parentheses, initialiser braces */
    LIMIT_FUNC_REGS = 1 << 20,    /* registers of one function */
    LIMIT_MODULE_REGS = 1 << 22,  /* of all functions together */
    LIMIT_VECTOR = 256,           /* items of one { } operand */
    LIMIT_OPERANDS = 16,          /* of one instruction */
    LIMIT_FILES = 1 << 16,        /* .file numbers */
    LIMIT_DIMS = 16,              /* dimensions of an array */
    LIMIT_INIT_BYTES = 512 << 20, /* initial values of a module */
    LIMIT_PARAM_BYTES = 1 << 20,  /* one parameter of a function */
    LIMIT_ENTRY_BYTES = 32764,    /* all parameters of a kernel, as on GPUs */
};
#define LIMIT_VAR_BYTES (UINT64_C(1) << 40) /* one variable */

/* A constant expression's value. */
struct ptx_value {
    bool is_float, is_unsigned;
    uint8_t form; /* of floats: enum ptx_float_form */
    uint64_t u;
    double f;
};

/* A name used before it was declared, or a label; filled in when its scope ends. */
struct ptx_ref {
    enum {
        REF_OPERAND, /* operand: becomes SYM or MEM of a variable or function */
        REF_CALL,    /* call: its function */
        REF_RELOC,   /* reloc: of an initial value */
        REF_FUNC,    /* func: an entry of a list of functions, or an alias' target */
        REF_LABEL,   /* target: instruction index */
        REF_TARGETS, /* instr: its .branchtargets */
        REF_PROTO,   /* call: its prototype or list of callees */
    } kind;
    struct ptx_token at; /* the name */
    union {
        struct ptx_operand *operand;
        struct ptx_call *call;
        struct {
            struct ptx_var *var;
            int32_t index;
        } reloc;
        struct ptx_func **func;
        int32_t *target;
        int32_t instr;
    };
};

struct ptx_refs {
    struct ptx_ref *items;
    size_t count, cap;
};

/* The suffixes of one instruction name, read and matched once per module. */
struct ptx_opinfo {
    const char *text; /* as written, in the input (or the arena) */
    uint32_t length, hash;
    struct ptx_instr shape; /* op, types, spaces, mods, order, vec */
    uint8_t nforms;
    const struct ptx_form *forms[12]; /* those that the suffixes fit */
};

struct ptx_parser {
    struct ptx_lexer lx;
    struct ptx_token t; /* the current token */
    struct ptx_module *m;
    struct arena *a; /* the module's */
    struct diag *diag;
    int nesting; /* of recursive constructs */

    struct ptx_symtab names, labels;
    struct ptx_refs unresolved; /* names of module scope */

    /* the module's lists while they grow; moved to the arena at the end */
    struct {
        struct ptx_var **items;
        size_t count, cap;
    } vars;
    struct {
        struct ptx_func **items;
        size_t count, cap;
    } funcs;
    struct {
        const char **items;
        size_t count, cap;
    } files;
    struct ptx_section debug_info, debug_abbrev;
    struct {
        struct ptx_loc *items;
        size_t count, cap;
    } locs;
    uint64_t init_bytes, module_regs; /* against the limits */

    /* the function that is being read */
    struct ptx_func *f;
    int depth; /* of blocks: 0 module, 1 function */
    struct {
        struct ptx_func **items;
        size_t count, cap;
    } crowded;        /* functions whose names may not be unique */
    bool cdp_names;   /* two things may have one name: declared in an inner block, say */
    bool single_regs; /* registers were declared one by one */
    struct {
        struct ptx_reg *items;
        size_t count, cap;
    } regs;
    struct {
        struct ptx_var **items;
        size_t count, cap;
    } fvars;
    struct {
        struct ptx_instr *items;
        size_t count, cap;
    } instrs;
    struct ptx_refs refs; /* labels that are not resolved yet */
    struct {
        size_t names, labels, refs;
    } blocks[LIMIT_NESTING + 2]; /* sizes at their start */
    struct ptx_loc loc;          /* the last .loc */

    struct ptx_opinfo **opinfo; /* open hash table, OPINFO_SLOTS of instr.c */
    size_t nopinfo;
    struct ptx_loc *inlined; /* .loc records of this function that were inlined, hashed */
    size_t ninlined, inlined_cap;
};

/* ---- parse.c: tokens and messages ---- */

static inline void ptx_next(struct ptx_parser *p) { p->t = ptx_lexer_next(&p->lx); }
bool ptx_fail(struct ptx_parser *p, const struct ptx_token *at, const char *fmt, ...)
    WEIR_PRINTF(3, 4);
/* Fails with "expected `what` before `the current token`". */
bool ptx_expected(struct ptx_parser *p, const char *what);
bool ptx_expect(struct ptx_parser *p, int kind, const char *what); /* and steps over it */
static inline bool ptx_accept(struct ptx_parser *p, int kind)
{
    if (p->t.kind != kind)
        return false;
    ptx_next(p);
    return true;
}
/* How a token is quoted in messages: precision and pointer for "%.*s". */
#define QUOTE(t) ((int)((t)->n < 80 ? (t)->n : 80)), (t)->s

/* A non-negative integer constant without operators, at most `max`. */
bool ptx_number(struct ptx_parser *p, const char *what, uint64_t max, uint64_t *value);
bool ptx_loc_directive(struct ptx_parser *p);
/* What follows .pragma; those known go to *pragmas (enum ptx_pragmas) unless that is NULL. */
bool ptx_pragma(struct ptx_parser *p, uint8_t *pragmas);

/* ---- expr.c ---- */
bool ptx_expr(struct ptx_parser *p, struct ptx_value *v);
/* The same, but an integer is wanted. */
bool ptx_int_expr(struct ptx_parser *p, int64_t *value);

/* ---- decl.c ---- */
struct ptx_decl {
    uint8_t space, type, vec, linkage, ptr_space;
    bool managed, has_type;
    uint32_t align, ptr_align; /* 0: not written */
    struct ptx_token at;
};
bool ptx_decl_start(struct ptx_token *t); /* does this directive begin a variable? */
bool ptx_declaration(struct ptx_parser *p, enum ptx_linkage linkage); /* up to and with the `;` */
/* `.param .align 8 .b8 x[16]` or `.reg .u32 x`: one parameter; the scope is the function's. */
struct ptx_var *ptx_param(struct ptx_parser *p, int32_t *reg);
/* Register of that name (a range's too), innermost scope: *sym its symbol. -1 when there is none.
 */
int32_t ptx_find_reg(struct ptx_parser *p, const char *s, size_t n, const struct ptx_sym **sym);

/* ---- init.c ---- */
/* After `=`: reads the value of v, an array of these dimensions (the first may be 0: to be found).
 */
bool ptx_initializer(struct ptx_parser *p, struct ptx_var *v, uint64_t *dims, int ndims);

/* ---- func.c ---- */
bool ptx_function(struct ptx_parser *p, enum ptx_linkage linkage, bool is_entry);
bool ptx_label_ref(struct ptx_parser *p, int32_t *target); /* at an identifier: steps over it */

/* ---- unique.c ---- */
/* Gives every register and variable of a finished function a name of its own. */
void ptx_make_unique(struct ptx_parser *p, struct ptx_func *f);

/* ---- instr.c, call.c, operand.c, check.c ---- */
bool ptx_section(struct ptx_parser *p); /* after `.section` (section.c) */
bool ptx_instruction(struct ptx_parser *p);
bool ptx_call_operands(struct ptx_parser *p, struct ptx_instr *i);
bool ptx_operand_parse(struct ptx_parser *p, struct ptx_instr *i, struct ptx_operand *o);
/* Finds the form that the operands fit and settles what depends on it. */
bool ptx_check(struct ptx_parser *p, const struct ptx_opinfo *info, struct ptx_instr *i,
               struct ptx_operand *ops, const struct ptx_token *at);
/* May a register of type `reg` stand where `type` is wanted? */
bool ptx_compatible(enum ptx_type type, enum ptx_type reg, bool wider);

#endif
