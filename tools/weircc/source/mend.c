/* Mending what nvcc lets pass; see mend.h. */
#include "weircc/source/mend.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "weircc/files/files.h"
#include "weircc/source/alignments.h"
#include "weircc/source/declarations.h"
#include "weircc/source/externs.h"
#include "weircc/source/tokens.h"
#include "weircc/source/unrolls.h"

/* Whether clang's messages are of the kind that mending may cure. */
static bool may_help(const char *messages)
{
    return strstr(messages, "invalid % escape in inline assembly string") != NULL ||
           strstr(messages, "invalid operand number in inline asm string") != NULL ||
           strstr(messages, "invalid input constraint 'C' in asm") != NULL ||
           strstr(messages, "error: expected ')'") != NULL ||
           strstr(messages, "error: expected expression") != NULL ||
           strstr(messages, "error: an attribute list cannot appear here") != NULL ||
           strstr(messages, "error: 'alignas' attribute cannot be applied to types") != NULL;
}

/* Adds a name that begins at p. False when it was known. */
static bool add_member(struct strlist *members, const char *p)
{
    char *name = xprintf("%.*s", (int)token_length(p), p);
    bool added = !list_has(members, name);
    if (added)
        list_add(members, "%s", name);
    free(name);
    return added;
}

/* Adds the names in a line of source that are written as members with template arguments. */
static bool add_members_of_line(struct strlist *members, const char *p)
{
    bool added = false;
    for (bool member = false; *p != '\0' && *p != '\n';) {
        size_t n = token_length(p);
        if (member && token_is_word(*p) && p[n + strspn(p + n, " \t")] == '<')
            added |= add_member(members, p);
        if (!isspace((unsigned char)*p))
            member = *p == ':' || *p == '.' || *p == '>';
        p += n;
    }
    return added;
}

/* The word template is missing where clang names what it is missing before, or shows a line in
 * which the name of a function is compared with something. */
static bool learn_members(const char *messages, struct strlist *members)
{
    static const char named[] = "missing 'template' keyword prior to dependent template name '";
    static const char shown[] = "error: reference to overloaded function could not be resolved";
    bool added = false;
    for (const char *p = messages; (p = strstr(p, named)) != NULL;) {
        p += strlen(named);
        added |= add_member(members, p);
    }
    for (const char *p = messages; (p = strstr(p, shown)) != NULL;) {
        p += strcspn(p, "\n");
        const char *line = p + (*p == '\n');
        line += strspn(line, " 0123456789");
        if (*line == '|')
            added |= add_members_of_line(members, line + 1);
    }
    return added;
}

/* Functions that clang takes for its own. */
static bool learn_builtins(const char *messages, struct strlist *builtins)
{
    static const char refused[] = "error: static declaration of '";
    static const char noted[] = "' is a builtin with type '";
    bool added = false;
    for (const char *p = messages; (p = strstr(p, refused)) != NULL;) {
        p += strlen(refused);
        const char *note = strstr(p, noted);
        size_t n = token_length(p);
        if (note != NULL && (size_t)(note - p) > n && strncmp(note - n, p, n) == 0 &&
            note[-(ptrdiff_t)n - 1] == '\'')
            added |= add_member(builtins, p);
    }
    return added;
}

/* A class whose arguments are deduced by guides that are, to clang, the host's. */
static bool needs_guides(const char *messages)
{
    return strstr(messages, "reference to __host__ function '<deduction guide for") != NULL ||
           (strstr(messages, "no viable constructor or deduction guide") != NULL &&
            strstr(messages, "call to __host__ function from") != NULL);
}

/* clang shows the macro whose text begins like a directive. */
static bool needs_pragmas(const char *messages)
{
    for (const char *p = messages; (p = strstr(p, "note: expanded from macro")) != NULL; p++) {
        const char *define = strstr(p, "#define "), *pragma = strstr(p, " #pragma ");
        if (define != NULL && pragma != NULL && define < pragma &&
            memchr(define, '\n', (size_t)(pragma - define)) == NULL)
            return true;
    }
    return false;
}

/* Calls across the sides in code that the pass does not emit, as far as the messages tell. */
static unsigned defers(const char *messages)
{
    bool device = strstr(messages, "call to __device__ function from __host__ function") != NULL;
    bool host = strstr(messages, "call to __host__ function from __global__ function") != NULL ||
                strstr(messages, "call to __host__ function from __device__ function") != NULL;
    return (device ? MEND_DEFERS_DEVICE : 0U) | (host ? MEND_DEFERS_HOST : 0U);
}

bool mend_learn(const char *messages, struct mend_plan *plan)
{
    bool unions =
        !plan->unions &&
        strstr(messages, "initialization is not supported for __shared__ variables") != NULL;
    bool guides = !plan->guides && needs_guides(messages);
    bool pragmas = !plan->pragmas && needs_pragmas(messages);
    bool more = (!plan->any && may_help(messages)) || unions || guides || pragmas;
    bool delayed =
        !plan->delayed && (strstr(messages, "error: use of undeclared identifier '") != NULL ||
                           strstr(messages, "error: expected ") != NULL);
    more |= delayed;
    plan->delayed |= delayed;
    bool declarations = !plan->declarations && declarations_are_why(messages);
    bool shared = !plan->shared && strstr(messages, "error: __shared__ variable '") != NULL &&
                  strstr(messages, "' cannot be 'extern'") != NULL;
    bool unrolls = !plan->unrolls && unrolls_are_why(messages);
    bool alignments = !plan->alignments && alignments_are_why(messages);
    more |= declarations || shared || unrolls || alignments;
    unsigned deferred = defers(messages) & ~plan->deferred;
    more |= deferred != 0;
    plan->deferred |= deferred;
    plan->unrolls |= unrolls;
    plan->alignments |= alignments;
    plan->declarations |= declarations;
    plan->shared |= shared;
    more |= learn_members(messages, &plan->members);
    more |= learn_builtins(messages, &plan->builtins);
    more |= specifiers_learn(messages, &plan->specifiers);
    more |= constexprs_learn(messages, &plan->constexprs);
    more |= uses_learn(messages, &plan->uses);
    more |= host_calls_learn(messages, &plan->host_calls);
    plan->unions |= unions;
    plan->guides |= guides;
    plan->pragmas |= pragmas;
    plan->any |= more;
    return more;
}

/* ---- tokens ---- */

/* The text being read and what becomes of it. */
struct fixer {
    const char *p;
    struct strbuf *out;
    const struct strlist *members; /* templates that are members */
    int changes;
    bool after_operator; /* the last token was that word */
    bool in_class_head;  /* after struct, class, union or enum, and attributes at most */
    int depth;           /* of parentheses */
    struct {
        int *items;
        size_t count, cap;
    } launches; /* for each <<< that is not closed, that depth */
};

static void copy(struct fixer *f, size_t n)
{
    sb_append(f->out, f->p, n);
    f->p += n;
}

static bool is_one_of(const char *p, size_t n, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == n && strncmp(p, words[i], n) == 0)
            return true;
    return false;
}

/* Copies white space and the line markers within it. */
static void copy_blank(struct fixer *f)
{
    while (isspace((unsigned char)*f->p) ||
           (*f->p == '#' && f->out->count > 0 && f->out->items[f->out->count - 1] == '\n'))
        copy(f, *f->p == '#' ? strcspn(f->p, "\n") : 1);
}

/* After white space and line markers; there is text before p. */
static const char *skip_blank(const char *p)
{
    while (isspace((unsigned char)*p) || (*p == '#' && p[-1] == '\n'))
        p += *p == '#' ? strcspn(p, "\n") : 1;
    return p;
}

/* ---- asm statements ---- */

/* What follows the template of an asm statement. */
struct asm_operands {
    bool any;   /* there are colons: % is special in the template */
    long count; /* of numbers that clang knows: one that is written, too ("+r"), has two */
};

/* Reads the operands of the statement whose template begins at p. */
static struct asm_operands read_operands(const char *p)
{
    struct asm_operands operands = {0};
    int depth = 0, colons = 0;
    for (; *p != '\0'; p += token_length(p)) {
        if (*p == '(')
            depth++;
        else if (*p == ')' && depth-- == 0)
            break;
        else if (*p == ':' && depth == 0)
            colons++;
        else if (*p == '"' && depth == 0 && (colons == 1 || colons == 2))
            operands.count += p[1] == '+' ? 2 : 1;
    }
    operands.any = colons > 0;
    return operands;
}

/* The character of a template after the one at p, which may be in the next of its strings. */
static const char *next_of_template(const char *p)
{
    for (p++; *p == '"'; p++) {
        const char *next = skip_blank(p + 1);
        if (*next != '"')
            return p;
        p = next;
    }
    return p;
}

/* Whether a register of PTX is named after the % at p: an operand is a digit, a [name], or one
 * letter before either. */
static bool names_register(const char *p)
{
    const char *first = next_of_template(p);
    if (!isalpha((unsigned char)*first))
        return false;
    char second = *next_of_template(first);
    return !isdigit((unsigned char)second) && second != '[';
}

/* Whether the % at p stands before the number of an operand that the statement does not have. nvcc
 * sees that only in code that it emits, and so does the check of PTX, for which a name that says so
 * is written instead. */
static bool lacks_operand(const char *p, long count)
{
    return isdigit((unsigned char)p[1]) && strtol(p + 1, NULL, 10) >= count;
}

/* Copies a string of the template. */
static void copy_template(struct fixer *f, long operands)
{
    size_t n = token_length(f->p);
    for (const char *end = f->p + n; f->p < end;) {
        const char *p = f->p;
        if (p[0] == '%' && p[1] == '%') {
            copy(f, 2);
            continue;
        }
        if (p[0] == '%' && names_register(p)) {
            sb_append(f->out, "%", 1);
            f->changes++;
        }
        if (p[0] == '%' && lacks_operand(p, operands)) {
            sb_printf(f->out, "%%%%no_operand_");
            f->p++;
            f->changes++;
        }
        copy(f, 1);
    }
}

/* Copies the operands up to the closing parenthesis; two that follow each other get their comma,
 * and those that are texts the mark by which asm_strings.h knows them. */
static void copy_operands(struct fixer *f)
{
    static const char text[] = "\"C\"";
    int depth = 0;
    bool after_operand = false;
    while (*f->p != '\0') {
        copy_blank(f);
        if (*f->p == ')' && depth == 0)
            return;
        if (after_operand && (*f->p == '"' || *f->p == '[')) {
            sb_append(f->out, ",", 1);
            f->changes++;
        }
        after_operand = false;
        if (depth == 0 && strncmp(f->p, text, sizeof text - 1) == 0) {
            sb_printf(f->out, "\"X\"");
            f->p += sizeof text - 1;
            f->changes++;
            continue;
        }
        if (*f->p == '(' || *f->p == '[')
            depth++;
        if (*f->p == ')' || *f->p == ']') {
            after_operand = *f->p == ')' && depth == 1;
            depth--;
        }
        if (*f->p != '\0')
            copy(f, token_length(f->p));
    }
}

/* From after the word asm. */
static void copy_asm(struct fixer *f)
{
    static const char *const qualifiers[] = {"volatile", "__volatile__", "__volatile", "goto",
                                             "inline"};
    copy_blank(f);
    for (size_t n; token_is_word(*f->p); copy_blank(f)) {
        n = token_length(f->p);
        if (!is_one_of(f->p, n, qualifiers, WEIR_COUNT(qualifiers)))
            return;
        copy(f, n);
    }
    struct asm_operands operands = {0};
    if (*f->p == '(')
        operands = read_operands(f->p + 1);
    if (!operands.any)
        return;
    copy(f, 1);
    for (copy_blank(f); *f->p == '"'; copy_blank(f))
        copy_template(f, operands.count);
    copy_operands(f);
}

/* ---- alignment ---- */

/* After the parentheses, of any depth, that begin at p; p where none do. */
static const char *skip_parentheses(const char *p)
{
    int depth = 0;
    for (; *p != '\0' && (depth > 0 || *p == '('); p += token_length(p)) {
        depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
        if (depth == 0)
            return p + 1;
    }
    return p;
}

/* The alignas that stands at p, or after specifiers there; NULL: none does. */
static const char *find_alignas(const char *p)
{
    static const char *const specifiers[] = {"static",   "extern",    "inline", "const",
                                             "volatile", "constexpr", "mutable"};
    for (size_t n;; p += n) {
        p = skip_blank(p);
        n = token_length(p);
        if (n == 7 && strncmp(p, "alignas", n) == 0)
            return p;
        if (*p == '\0' || !is_one_of(p, n, specifiers, WEIR_COUNT(specifiers)))
            return NULL;
    }
}

/* From after the word __attribute__: each alignas that follows is written with the word that clang
 * takes there. In the head of a class clang takes alignas itself. */
static void copy_attribute(struct fixer *f)
{
    copy(f, (size_t)(skip_parentheses(skip_blank(f->p)) - f->p));
    if (f->in_class_head)
        return;
    for (const char *at = find_alignas(f->p); at != NULL;
         at = find_alignas(skip_parentheses(skip_blank(f->p)))) {
        copy(f, (size_t)(at - f->p));
        sb_append(f->out, "_Alignas", 8);
        f->p += 7;
        f->changes++;
    }
}

/* ---- shared variables ---- */

/* A declaration after __attribute__((shared)): its parts. */
struct shared_variable {
    const char *align, *type, *name, *extents, *end; /* each to the next; end: the semicolon */
    size_t name_length;
};

static bool is_fundamental(const char *p, size_t n)
{
    static const char *const words[] = {"bool",     "char",     "short",  "int",
                                        "long",     "float",    "double", "signed",
                                        "unsigned", "volatile", "const",  "void"};
    return is_one_of(p, n, words, WEIR_COUNT(words));
}

/* Takes `TYPE NAME;` or `TYPE NAME[N]...;` where TYPE may have a constructor. */
static bool read_shared(const char *p, struct shared_variable *v)
{
    static const char *const others[] = {"static", "extern", "struct", "union", "enum"};
    int angles = 0, parentheses = 0, words = 0;
    *v = (struct shared_variable){.align = p};
    p = skip_parentheses(p);
    p += strspn(p, " \t\n");
    v->type = p;
    if ((!token_is_word(*p) && *p != ':') || is_fundamental(p, token_length(p)))
        return false;
    for (size_t n; *p != ';'; p += n) {
        n = *p == '#' ? strcspn(p, "\n") : token_length(p);
        if (*p == '\0' || (strchr("=(){}", *p) != NULL && angles == 0) ||
            (*p == ',' && angles == 0) || (*p == '[' && p[1] == ']') ||
            is_one_of(p, n, others, WEIR_COUNT(others)))
            return false;
        if (v->extents != NULL)
            continue;
        parentheses += *p == '(' ? 1 : *p == ')' ? -1 : 0;
        angles += parentheses > 0 ? 0 : *p == '<' ? 1 : *p == '>' ? -1 : 0;
        if (*p == '[' && angles == 0)
            v->extents = p;
        if (token_is_word(*p) && angles == 0) {
            v->name = p;
            v->name_length = n;
            words++;
        }
    }
    v->end = p;
    v->extents = v->extents != NULL ? v->extents : p;
    return words > 1;
}

/* What was written ends with the word, and blanks: it is taken back. */
static void take_back(struct strbuf *out, const char *word)
{
    size_t n = out->count, length = strlen(word);
    while (n > 0 && isspace((unsigned char)out->items[n - 1]))
        n--;
    if (n >= length && strncmp(out->items + n - length, word, length) == 0)
        memset(out->items + n - length, ' ', length);
}

/* The variable as a member of a union, which constructs nothing, and a reference of its name.
 * `attribute`: where the words that make it shared are written. */
static void copy_shared(struct fixer *f, size_t attribute)
{
    struct shared_variable v;
    if (!read_shared(f->p, &v))
        return;
    struct strbuf shared = {0};
    int length = (int)v.name_length;
    sb_append(&shared, f->out->items + attribute, f->out->count - attribute);
    f->out->count = attribute;
    take_back(f->out, "static");
    sb_printf(f->out, "typedef %.*s__weir_type_%.*s%.*s;", (int)(v.name - v.type), v.type, length,
              v.name, (int)(v.end - (v.name + length)), v.name + length);
    sb_printf(f->out, " %s%.*s __weir_shared<__weir_type_%.*s> __weir_place_%.*s;", shared.items,
              (int)(v.type - v.align), v.align, length, v.name, length, v.name);
    sb_printf(f->out, " auto &%.*s = __weir_place_%.*s.value;", length, v.name, length, v.name);
    sb_free(&shared);
    f->p = v.end + 1;
    f->changes++;
}

static const char shared_union[] = "template <typename T> union __weir_shared { T value; "
                                   "__attribute__((device)) __weir_shared() {} "
                                   "__attribute__((device)) ~__weir_shared() {} };\n";

/* ---- launches ---- */

/* The length of three such characters with blanks between them; 0 when something else is there. */
static size_t three_length(const char *p, char c)
{
    size_t n = 0;
    for (int i = 0; i < 3; i++) {
        while (i > 0 && isspace((unsigned char)p[n]))
            n++;
        if (p[n++] != c)
            return 0;
    }
    return n;
}

/* Writes <<< or >>> together, and the blanks, which may hold ends of lines, after it. */
static void copy_three(struct fixer *f, size_t n)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n; i++)
            if ((isspace((unsigned char)f->p[i]) != 0) == (pass == 1))
                sb_append(f->out, f->p + i, 1);
    f->changes += n > 3;
    f->p += n;
}

/* The brackets of a launch, which nvcc takes with blanks in them: `k << < g, b >> > (x)`. Nothing
 * else but the name `operator<< <T>` is written with three <. Three > may end lists of template
 * arguments, so they must be in the parentheses in which a launch began, and arguments must follow.
 */
static bool copy_launch(struct fixer *f)
{
    size_t n = three_length(f->p, '<');
    if (n > 0 && !f->after_operator) {
        vec_push(&f->launches, f->depth);
        copy_three(f, n);
        return true;
    }
    n = three_length(f->p, '>');
    if (n == 0 || f->launches.count == 0 || f->launches.items[f->launches.count - 1] != f->depth)
        return false;
    if (f->p[n + strspn(f->p + n, " \t\n")] != '(')
        return false;
    f->launches.count--;
    copy_three(f, n);
    return true;
}

/* After the braces, of any depth, that begin at p. */
static const char *skip_braces(const char *p)
{
    int depth = 0;
    for (; *p != '\0'; p += token_length(p)) {
        depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
        if (depth == 0)
            return p + 1;
    }
    return p;
}

/* A list in braces among the arguments of a launch, `k<<<n, {32, 8}>>>(x)`: what nvcc makes a dim3
 * of. */
static bool copy_braces(struct fixer *f)
{
    if (*f->p != '{' || f->launches.count == 0 ||
        f->launches.items[f->launches.count - 1] != f->depth)
        return false;
    size_t n = f->out->count;
    while (n > 0 && isspace((unsigned char)f->out->items[n - 1]))
        n--;
    if (n == 0 || (f->out->items[n - 1] != ',' && f->out->items[n - 1] != '<'))
        return false;
    sb_append(f->out, "dim3", 4);
    copy(f, (size_t)(skip_braces(f->p) - f->p));
    f->changes++;
    return true;
}

/* A launch ends with its statement at the latest. */
static void follow(struct fixer *f, char c)
{
    f->depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ';' || c == '{' || c == '}')
        f->launches.count = 0;
}

/* ---- templates that are members ---- */

/* After the template arguments whose < is at p; NULL: they do not end as such. */
static const char *skip_angles(const char *p)
{
    for (int depth = 0; *p != '\0' && strchr(";{}", *p) == NULL;) {
        if (*p == '(') {
            p = skip_parentheses(p);
            continue;
        }
        depth += *p == '<' ? 1 : *p == '>' ? -1 : 0;
        if (depth == 0)
            return p + 1;
        p += token_length(p);
    }
    return NULL;
}

/* Whether what was written ends with one of the signs before a member. */
static bool ends_as_scope(const struct strbuf *out)
{
    size_t n = out->count;
    while (n > 0 && isspace((unsigned char)out->items[n - 1]))
        n--;
    char last = n > 0 ? out->items[n - 1] : ' ', before = n > 1 ? out->items[n - 2] : ' ';
    return last == '.' || (last == ':' && before == ':') || (last == '>' && before == '-');
}

/* Before the name of a member template that is called with its arguments goes the word template. A
 * function that is defined has a body after its parameters. */
static void write_template(struct fixer *f, size_t n)
{
    if (f->members->count == 0 ||
        !is_one_of(f->p, n, (const char *const *)f->members->items, f->members->count))
        return;
    const char *p = skip_blank(f->p + n);
    if (*p != '<' || !ends_as_scope(f->out) || (p = skip_angles(p)) == NULL)
        return;
    p = skip_blank(p);
    if (*p != '(')
        return;
    p = skip_blank(skip_parentheses(p));
    if (*p == '{' || token_is_word(*p))
        return;
    sb_append(f->out, "template ", 9);
    f->changes++;
}

/* ---- names that are clang's ---- */

static void write_own_name(struct fixer *f, size_t n, const struct strlist *builtins)
{
    if (builtins->count == 0 ||
        !is_one_of(f->p, n, (const char *const *)builtins->items, builtins->count))
        return;
    sb_append(f->out, "weir_own_", 9);
    f->changes++;
}

/* ---- deduction guides ---- */

/* Before a guide, `name(parameters) -> name<arguments>;`, go the words for both sides. */
static void write_guide(struct fixer *f, size_t n)
{
    const char *p = f->p;
    if (!token_is_word(*p) || *(p = skip_blank(p + n)) != '(')
        return;
    p = skip_blank(skip_parentheses(p));
    if (strncmp(p, "->", 2) != 0)
        return;
    p = skip_blank(p + 2);
    if (token_length(p) != n || strncmp(p, f->p, n) != 0 || *skip_blank(p + n) != '<')
        return;
    sb_printf(f->out, "__attribute__((host)) __attribute__((device)) ");
    f->changes++;
}

/* ---- the text ---- */

int mend_text(const char *text, const struct mend_plan *plan, struct strbuf *out)
{
    static const char *const words[] = {"asm", "__asm__", "__asm"};
    static const char *const class_keys[] = {"struct", "class", "union", "enum"};
    struct fixer f = {.p = text, .out = out, .members = &plan->members};
    sb_append(out, "", 0);
    if (plan->unions)
        sb_printf(out, "%s", shared_union);
    size_t begin = out->count;
    while (*f.p != '\0') {
        copy_blank(&f);
        if (*f.p == '\0')
            break;
        if (copy_launch(&f) || copy_braces(&f))
            continue;
        follow(&f, *f.p);
        size_t n = token_length(f.p);
        f.after_operator = n == 8 && strncmp(f.p, "operator", n) == 0;
        bool is_asm = is_one_of(f.p, n, words, WEIR_COUNT(words));
        bool is_attribute = n == 13 && strncmp(f.p, "__attribute__", n) == 0;
        f.in_class_head = is_one_of(f.p, n, class_keys, WEIR_COUNT(class_keys)) ||
                          (f.in_class_head && is_attribute);
        bool is_shared = is_attribute && strncmp(f.p + n, "((shared))", 10) == 0;
        size_t from = out->count;
        if (*f.p == '#' && out->count == begin) /* the first line marker */
            n = strcspn(f.p, "\n");
        write_template(&f, n);
        write_own_name(&f, n, &plan->builtins);
        if (plan->guides)
            write_guide(&f, n);
        copy(&f, n);
        if (is_asm)
            copy_asm(&f);
        if (is_attribute)
            copy_attribute(&f);
        if (is_shared && plan->unions)
            copy_shared(&f, from);
    }
    free(f.launches.items);
    return f.changes + (plan->pragmas || plan->delayed || plan->deferred != 0 ||
                                plan->host_calls.all || plan->host_calls.left.count > 0
                            ? 1
                            : 0);
}

/* The text becomes what one kind of mending has written. */
static void exchange(struct strbuf *text, struct strbuf *written)
{
    sb_free(text);
    *text = *written;
    *written = (struct strbuf){0};
}

/* Makes another text of it by one kind of mending. */
static int mend_by(int (*write)(const char *text, struct strbuf *out), struct strbuf *text)
{
    struct strbuf written = {0};
    int changes = write(text->items, &written);
    exchange(text, &written);
    return changes;
}

bool mend_file(const char *path, const struct mend_plan *plan, struct diag *d)
{
    char *text = file_read(path, NULL, d);
    if (text == NULL)
        return false;
    struct strbuf out = {0}, written = {0};
    int changes = mend_text(text, plan, &out);
    free(text);
    if (plan->specifiers.count > 0) {
        changes += specifiers_write(out.items, &plan->specifiers, &written);
        exchange(&out, &written);
    }
    if (plan->constexprs.variables.count + plan->constexprs.conditions.count +
            plan->constexprs.types.count + plan->constexprs.operators >
        0) {
        changes += constexprs_write(out.items, &plan->constexprs, &written);
        exchange(&out, &written);
    }
    if (plan->uses.values.count + plan->uses.members.count + plan->uses.types.count > 0) {
        changes += uses_write(out.items, &plan->uses, &written);
        exchange(&out, &written);
    }
    if (plan->host_calls.places.count + plan->host_calls.library.count > 0) {
        changes += host_calls_write(out.items, &plan->host_calls, &written);
        exchange(&out, &written);
    }
    if (plan->declarations)
        changes += mend_by(declarations_write, &out);
    if (plan->variables.count > 0) {
        changes += externs_write_variables(out.items, &plan->variables, &written);
        exchange(&out, &written);
    }
    if (plan->unrolls)
        changes += mend_by(unrolls_write, &out);
    changes += mend_by(plan->alignments ? alignments_write : alignments_write_calls, &out);
    if (plan->shared)
        changes += mend_by(externs_write_shared, &out);
    bool ok = changes > 0 && file_write(path, out.items, out.count, d);
    sb_free(&out);
    return ok;
}
