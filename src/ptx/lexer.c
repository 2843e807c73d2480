/* lexer.c: see lexer.h. Characters are classed by a table: this is the hot loop of parsing. */
#include "ptx/lexer.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

enum { FOLLOW = 1, DIGIT = 2, HEX = 4, BLANK = 8 }; /* classes of characters */

static const uint8_t lexer_class[256] = {
    ['a' ... 'f'] = FOLLOW | HEX,
    ['g' ... 'z'] = FOLLOW,
    ['A' ... 'F'] = FOLLOW | HEX,
    ['G' ... 'Z'] = FOLLOW,
    ['0' ... '9'] = FOLLOW | DIGIT | HEX,
    ['_'] = FOLLOW,
    ['$'] = FOLLOW,
    [' '] = BLANK,
    ['\t'] = BLANK,
    ['\r'] = BLANK,
    ['\v'] = BLANK,
    ['\f'] = BLANK,
};

static bool is(const char *p, const char *end, int what)
{
    return p < end && (lexer_class[(unsigned char)*p] & what) != 0;
}

void ptx_lexer_init(struct ptx_lexer *lx, const char *text, size_t size, struct diag *d)
{
    const char *nul = size > 0 ? memchr(text, '\0', size) : NULL;
    *lx = (struct ptx_lexer){
        .p = text,
        .end = nul != NULL ? nul : text + size,
        .line_start = text,
        .line = 1,
        .diag = d,
    };
    if (lx->end - lx->p >= 3 && memcmp(lx->p, "\xef\xbb\xbf", 3) == 0)
        lx->p = lx->line_start = text + 3; /* an editor's byte order mark */
}

static struct ptx_token lexer_error(struct ptx_lexer *lx, const char *at, const char *what)
{
    int column = (int)(at - lx->line_start) + 1;
    diag_set(lx->diag, lx->line, column, "line %d, column %d: %s", lx->line, column, what);
    lx->p = lx->end;
    return (struct ptx_token){.kind = T_ERROR, .s = lx->end, .line = lx->line, .column = column};
}

static void newline(struct ptx_lexer *lx)
{
    lx->p++;
    lx->line++;
    lx->line_start = lx->p;
}

void ptx_lexer_skip_line(struct ptx_lexer *lx)
{
    const char *nl = memchr(lx->p, '\n', (size_t)(lx->end - lx->p));
    lx->p = nl != NULL ? nl : lx->end;
}

static bool skip_comment(struct ptx_lexer *lx)
{
    for (lx->p += 2; lx->p < lx->end;) {
        if (*lx->p == '\n')
            newline(lx);
        else if (*lx->p == '*' && lx->p + 1 < lx->end && lx->p[1] == '/')
            return lx->p += 2, true;
        else
            lx->p++;
    }
    return false;
}

/* Blanks, comments, and lines that a preprocessor left (`# 12 "file"`). False when a comment does
 * not end. */
static bool skip_blanks(struct ptx_lexer *lx)
{
    while (lx->p < lx->end) {
        unsigned char c = (unsigned char)*lx->p;
        if (lexer_class[c] & BLANK)
            lx->p++;
        else if (c == '\n')
            newline(lx);
        else if (c == '#' || (c == '/' && lx->p + 1 < lx->end && lx->p[1] == '/'))
            ptx_lexer_skip_line(lx);
        else if (c == '/' && lx->p + 1 < lx->end && lx->p[1] == '*') {
            if (!skip_comment(lx))
                return false;
        } else
            break;
    }
    return true;
}

/* ---- numbers ---- */

static locale_t c_locale;
static once_flag lexer_once = ONCE_FLAG_INIT;
static void make_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

/* A decimal float at s, n characters: strtod wants a terminator, and a locale of its own. */
static bool to_double(const char *s, size_t n, double *value)
{
    char text[128];
    if (n >= sizeof text)
        return false;
    memcpy(text, s, n);
    text[n] = '\0';
    call_once(&lexer_once, make_locale);
    char *end;
    *value = c_locale != (locale_t)0 ? strtod_l(text, &end, c_locale) : strtod(text, &end);
    return *end == '\0';
}

/* 0f and 8 hexadecimal digits, 0d and 16: the bits of the value. */
static struct ptx_token lexer_bits(struct ptx_lexer *lx, struct ptx_token t, unsigned digits)
{
    uint64_t bits = 0;
    const char *p = t.s + 2;
    for (unsigned i = 0; i < digits; i++, p++) {
        if (!is(p, lx->end, HEX))
            return lexer_error(lx, t.s,
                               digits == 8 ? "0f needs 8 hexadecimal digits"
                                           : "0d needs 16 hexadecimal digits");
        unsigned char c = (unsigned char)*p;
        bits = bits << 4 | (c <= '9' ? c - '0' : (c | 32) - 'a' + 10u);
    }
    if (is(p, lx->end, FOLLOW))
        return lexer_error(lx, t.s, "malformed number");
    t.kind = T_FLOAT;
    if (digits == 8) {
        uint32_t low = (uint32_t)bits;
        float f;
        memcpy(&f, &low, sizeof f);
        t.f = (double)f;
        /* a signaling NaN would turn quiet on the way to double: keep the payload's bits */
        if (f != f) {
            uint64_t wide = (uint64_t)(low >> 31) << 63 | (uint64_t)0x7ff << 52 |
                            (uint64_t)(low & 0x7fffff) << 29;
            memcpy(&t.f, &wide, sizeof t.f);
        }
        t.form = PTX_FLOAT_F32;
    } else {
        memcpy(&t.f, &bits, sizeof t.f);
        t.form = PTX_FLOAT_F64;
    }
    lx->p = p;
    t.n = (uint32_t)(p - t.s);
    return t;
}

static struct ptx_token lexer_fraction(struct ptx_lexer *lx, struct ptx_token t, const char *p)
{
    while (is(p, lx->end, DIGIT))
        p++;
    if (p < lx->end && *p == '.') {
        p++;
        while (is(p, lx->end, DIGIT))
            p++;
    }
    if (p < lx->end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < lx->end && (*p == '+' || *p == '-'))
            p++;
        if (!is(p, lx->end, DIGIT))
            return lexer_error(lx, t.s, "malformed number");
        while (is(p, lx->end, DIGIT))
            p++;
    }
    t.kind = T_FLOAT;
    t.form = PTX_FLOAT_DECIMAL;
    t.n = (uint32_t)(p - t.s);
    if (is(p, lx->end, FOLLOW) || !to_double(t.s, t.n, &t.f))
        return lexer_error(lx, t.s, "malformed number");
    lx->p = p;
    return t;
}

static struct ptx_token lexer_integer(struct ptx_lexer *lx, struct ptx_token t, const char *p,
                                      unsigned base)
{
    uint64_t value = 0;
    const char *first = p;
    for (; is(p, lx->end, HEX); p++) {
        unsigned char c = (unsigned char)*p;
        unsigned digit = c <= '9' ? c - '0' : (c | 32) - 'a' + 10u;
        if (digit >= base)
            break;
        uint64_t next;
        if (__builtin_mul_overflow(value, (uint64_t)base, &next) ||
            __builtin_add_overflow(next, (uint64_t)digit, &next))
            return lexer_error(lx, t.s, "integer constant does not fit in 64 bits");
        value = next;
    }
    if (p == first && base != 8)
        return lexer_error(lx, t.s, "malformed number");
    t.kind = T_INT;
    t.u = value;
    t.is_unsigned = value > INT64_MAX;
    if (p < lx->end && *p == 'U') {
        t.is_unsigned = true;
        p++;
    }
    if (is(p, lx->end, FOLLOW))
        return lexer_error(lx, t.s, "malformed number");
    lx->p = p;
    t.n = (uint32_t)(p - t.s);
    return t;
}

static struct ptx_token lexer_number(struct ptx_lexer *lx, struct ptx_token t)
{
    const char *p = t.s;
    char second = p + 1 < lx->end ? (char)(p[1] | 32) : '\0';
    if (*p == '0' && second == 'f')
        return lexer_bits(lx, t, 8);
    if (*p == '0' && second == 'd')
        return lexer_bits(lx, t, 16);
    if (*p == '0' && second == 'x')
        return lexer_integer(lx, t, p + 2, 16);
    if (*p == '0' && second == 'b')
        return lexer_integer(lx, t, p + 2, 2);
    while (is(p, lx->end, DIGIT))
        p++;
    if (p < lx->end && (*p == '.' || *p == 'e' || *p == 'E'))
        return lexer_fraction(lx, t, t.s);
    return *t.s == '0' ? lexer_integer(lx, t, t.s + 1, 8) : lexer_integer(lx, t, t.s, 10);
}

bool ptx_lexer_fraction(struct ptx_lexer *lx, struct ptx_token *t)
{
    t->s--; /* back to the dot */
    *t = lexer_fraction(lx, *t, t->s);
    return t->kind == T_FLOAT;
}

/* ---- words ---- */

static const char *word_end(const char *p, const char *end)
{
    while (is(p, end, FOLLOW))
        p++;
    return p;
}

/* A word after a dot: parts joined by `::`. */
static const char *dotted_end(const char *p, const char *end)
{
    for (;;) {
        p = word_end(p, end);
        if (end - p < 3 || p[0] != ':' || p[1] != ':' || !is(p + 2, end, FOLLOW))
            return p;
        p += 2;
    }
}

void ptx_lexer_opcode(struct ptx_lexer *lx, struct ptx_token *t)
{
    const char *p = t->s + t->n;
    if (p == lx->end || *p != '.')
        return; /* blanks after it may be skipped already */
    while (p + 1 < lx->end && *p == '.' && is(p + 1, lx->end, FOLLOW))
        p = dotted_end(p + 1, lx->end);
    lx->p = p;
    t->n = (uint32_t)(p - t->s);
}

bool ptx_lexer_at_colon(struct ptx_lexer *lx)
{
    if (!skip_blanks(lx) || lx->p >= lx->end || *lx->p != ':')
        return false;
    return lx->p + 1 >= lx->end || lx->p[1] != ':';
}

static struct ptx_token lexer_string(struct ptx_lexer *lx, struct ptx_token t)
{
    const char *p = t.s + 1;
    while (p < lx->end && *p != '"' && *p != '\n')
        p += *p == '\\' && p + 1 < lx->end && p[1] != '\n' ? 2 : 1;
    if (p >= lx->end || *p != '"')
        return lexer_error(lx, t.s, "the string does not end on its line");
    t.kind = T_STRING;
    t.s++;
    t.n = (uint32_t)(p - t.s);
    lx->p = p + 1;
    return t;
}

static struct ptx_token punctuation(struct ptx_lexer *lx, struct ptx_token t)
{
    static const struct {
        char text[3];
        uint16_t kind;
    } pairs[] = {{"<<", T_SHL}, {">>", T_SHR}, {"<=", T_LE},     {">=", T_GE},
                 {"==", T_EQ},  {"!=", T_NE},  {"&&", T_ANDAND}, {"||", T_OROR}};
    t.kind = (unsigned char)*t.s;
    t.n = 1;
    if (t.s + 1 < lx->end && (t.s[1] == '=' || t.s[1] == t.s[0]))
        for (size_t i = 0; i < WEIR_COUNT(pairs); i++)
            if (pairs[i].text[0] == t.s[0] && pairs[i].text[1] == t.s[1]) {
                t.kind = pairs[i].kind;
                t.n = 2;
            }
    if (t.n == 1 && strchr("@!{}[](),;:<>=|+-*/%&^~?", *t.s) == NULL)
        return lexer_error(lx, t.s, "unexpected character");
    lx->p = t.s + t.n;
    return t;
}

struct ptx_token ptx_lexer_next(struct ptx_lexer *lx)
{
    const char *start = lx->p;
    if (!skip_blanks(lx))
        return lexer_error(lx, start < lx->line_start ? lx->line_start : start,
                           "the comment does not end");
    struct ptx_token t = {
        .s = lx->p, .line = lx->line, .column = (int32_t)(lx->p - lx->line_start) + 1};
    if (lx->p >= lx->end) {
        if (lx->diag != NULL && lx->diag->text[0] != '\0')
            t.kind = T_ERROR;
        return t;
    }
    char c = *lx->p;
    if (is(lx->p, lx->end, DIGIT))
        return lexer_number(lx, t);
    if (is(lx->p, lx->end, FOLLOW) ||
        (c == '%' && is(lx->p + 1, lx->end, FOLLOW) && !is(lx->p + 1, lx->end, DIGIT))) {
        t.kind = T_IDENT;
        lx->p = word_end(lx->p + 1, lx->end);
        t.n = (uint32_t)(lx->p - t.s);
        return t;
    }
    if (c == '.' && is(lx->p + 1, lx->end, FOLLOW)) {
        t.kind = T_DOT;
        t.s++;
        lx->p = dotted_end(t.s, lx->end);
        t.n = (uint32_t)(lx->p - t.s);
        return t;
    }
    return c == '"' ? lexer_string(lx, t) : punctuation(lx, t);
}
