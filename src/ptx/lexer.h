/* lexer.h: PTX text to tokens, one at a time. Instruction names with their suffixes are read as a
 * whole by lexer_opcode, because `.` and `::` mean something else there than in expressions. */
#ifndef WEIR_PTX_LEXER_H
#define WEIR_PTX_LEXER_H

#include "ptx/ptx.h"

/* Single characters stand for themselves. */
enum ptx_token_kind {
    T_END = 0,
    T_ERROR = 256, /* the message is in the diagnostic already */
    T_IDENT,       /* name, %register, $label, _ */
    T_DOT,         /* .word, text without the dot; may hold :: */
    T_INT,         /* integer constant: u */
    T_FLOAT,       /* float constant: f, form */
    T_STRING,      /* "…", text without the quotes */
    T_SHL,         /* << */
    T_SHR,         /* >> */
    T_LE,
    T_GE,
    T_EQ,
    T_NE,
    T_ANDAND,
    T_OROR,
};

enum ptx_float_form { PTX_FLOAT_DECIMAL, PTX_FLOAT_F32, PTX_FLOAT_F64 };

struct ptx_token {
    uint16_t kind;    /* enum ptx_token_kind or a character */
    uint8_t form;     /* T_FLOAT: enum ptx_float_form, how it was written */
    bool is_unsigned; /* T_INT: written with U, or too large for a signed one */
    uint32_t n;       /* length of the text */
    const char *s;    /* the text, in the input */
    int32_t line, column;
    union {
        uint64_t u;
        double f;
    };
};

struct ptx_lexer {
    const char *p, *end;    /* what is not read yet */
    const char *line_start; /* of the line that p is in */
    int32_t line;
    struct diag *diag;
};

void ptx_lexer_init(struct ptx_lexer *lx, const char *text, size_t size, struct diag *d);

/* Reads the next token. On bad input sets the diagnostic and gives T_ERROR (for ever). */
struct ptx_token ptx_lexer_next(struct ptx_lexer *lx);

/* Given an identifier token just read, extends it by the dotted suffixes that follow at once
 * (`ld` becomes `ld.global.v4.f32`). */
void ptx_lexer_opcode(struct ptx_lexer *lx, struct ptx_token *t);

/* Is the next thing, past blanks, a lone colon? Consumes nothing but blanks. */
bool ptx_lexer_at_colon(struct ptx_lexer *lx);

/* Reads a decimal fraction such as .5 whose token was taken for a dotted word. */
bool ptx_lexer_fraction(struct ptx_lexer *lx, struct ptx_token *t);

/* Skips the rest of the line. */
void ptx_lexer_skip_line(struct ptx_lexer *lx);

static inline bool ptx_is(const struct ptx_token *t, const char *word, size_t n)
{
    return t->n == n && __builtin_memcmp(t->s, word, n) == 0;
}
/* Does the token's text equal this string literal? */
#define TOKEN_IS(t, literal) ptx_is(t, literal, sizeof(literal) - 1)

#endif
