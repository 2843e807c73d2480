/* forms.h: the table of instruction forms (forms.def) in a shape that can be matched fast. */
#ifndef WEIR_PTX_FORMS_H
#define WEIR_PTX_FORMS_H

#include "ptx/ptx.h"

enum { FORM_MAX_OPERANDS = 12, FORM_MAX_GROUPS = 14, FORM_MOD_WORDS = PTX_M_COUNT / 64 + 1 };

/* One operand of a form; the letters are explained in forms.def. */
struct ptx_form_operand {
    char kind;
    bool optional;
    bool bar;     /* joined to the one before by `|` */
    bool wide;    /* twice as wide as the type */
    int8_t index; /* type: number of the instruction's type, or -1: `type` */
    uint8_t type; /* enum ptx_type; PTX_NONE: any */
};

/* Modifiers of which at most one (or two) may be written. */
struct ptx_form_group {
    uint64_t set[FORM_MOD_WORDS];
    bool optional, twice;
    const char *text; /* in the table, for messages */
    uint8_t length;
};

/* The targets that have a form. A suffix `f` stands for the family of the number, whose later
 * members have what it has, `a` for that one target. */
enum ptx_target {
    PTX_TARGET_ANY,
    PTX_TARGET_90A,
    PTX_TARGET_90AF,  /* sm_90a and, with a suffix, newer */
    PTX_TARGET_100,   /* sm_100 and newer */
    PTX_TARGET_100AF, /* likewise, with a suffix */
    PTX_TARGET_10XA,  /* sm_100a, sm_101a, sm_103a */
    PTX_TARGET_10XAF, /* the same and their families */
    PTX_TARGET_12XA,  /* sm_120a, sm_121a */
    PTX_TARGET_12XAF, /* sm_120a, sm_121a and their family */
};

/* Is sm_NN with this suffix (or 0) among them? */
bool ptx_target_has(enum ptx_target target, int sm, char suffix);

/* For messages: "target sm_100 or newer". */
const char *ptx_target_words(enum ptx_target target);

struct ptx_form {
    enum ptx_op op;
    enum ptx_target target;
    uint8_t ngroups, nspaces, ntypes, noperands, required; /* required: operands without `?` */
    bool space_optional[2], type_optional[PTX_MAX_TYPES];
    uint16_t spaces[2];            /* bit sets */
    uint64_t types[PTX_MAX_TYPES]; /* bit sets */
    struct ptx_form_group groups[FORM_MAX_GROUPS];
    struct ptx_form_operand operands[FORM_MAX_OPERANDS];
};

/* The forms of an opcode, in the order of the table. */
const struct ptx_form *ptx_forms(enum ptx_op op, int *count);

/* What is wrong in the table, or NULL. */
const char *ptx_forms_mistake(void);

/* Do the suffixes of the instruction fit the form? */
bool ptx_form_fits(const struct ptx_form *form, const struct ptx_instr *i);

/* No form fits: says why. `text` is the instruction's name as written. */
void ptx_form_explain(const struct ptx_instr *i, const char *text, size_t n, char *out,
                      size_t size);

#endif
