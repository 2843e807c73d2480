/* Reading parameters; see parameters.h. */
#include "weircc/ccbin/parameters.h"

#include "weircc/ccbin/declaration.h"

enum { NONE = CUDA_TEXT_NONE };

static bool is(const struct cuda_text *x, int i, const char *text)
{
    return cuda_text_is(x, i, text);
}

/* The first token of a default argument in [from, to), else `to`. */
static int find_default(const struct cuda_text *x, int from, int to)
{
    for (int i = from; i < to; i++) {
        if (x->match[i] > i)
            i = x->match[i];
        else if (cuda_text_one(x, i) == '=')
            return i;
    }
    return to;
}

/* Words that are (part of) a type by themselves. */
static bool is_type_word(const struct cuda_text *x, int i)
{
    static const char *const words[] = {"char",     "bool",     "short",    "int",      "long",
                                        "float",    "double",   "signed",   "unsigned", "void",
                                        "wchar_t",  "char8_t",  "char16_t", "char32_t", "auto",
                                        "__int128", "_Float16", "__bf16"};
    for (size_t k = 0; k < WEIR_COUNT(words); k++)
        if (is(x, i, words[k]))
            return true;
    return false;
}

/* Words that may stand beside a type. */
static bool is_qualifier(const struct cuda_text *x, int i)
{
    static const char *const words[] = {"const",        "volatile", "struct",   "class",
                                        "union",        "enum",     "typename", "__restrict__",
                                        "__restrict",   "restrict", "register", "template",
                                        "__attribute__"};
    for (size_t k = 0; k < WEIR_COUNT(words); k++)
        if (is(x, i, words[k]))
            return true;
    return false;
}

/* Whether something in [from, to) can be a type. */
static bool has_type(const struct cuda_text *x, int from, int to)
{
    for (int i = from; i < to; i++) {
        if (is(x, i, "__attribute__") && x->match[i + 1] != NONE)
            i = x->match[i + 1];
        else if (is_type_word(x, i) || is(x, i, "decltype") ||
                 (cuda_text_is_name(x, i) && !is_qualifier(x, i)))
            return true;
    }
    return false;
}

/* The name in (*name)(...) or (&name)[...], which the parenthesis at token i begins. */
static int name_in_group(const struct cuda_text *x, int i)
{
    int k = i + 1;
    while (cuda_text_one(x, k) == '*' || cuda_text_one(x, k) == '&' || is_qualifier(x, k))
        k++;
    return cuda_text_is_name(x, k) && k + 1 == x->match[i] && k > i + 1 ? k : NONE;
}

/* Reads the parameter in [from, to). */
static void read_one(struct parameters *p, const struct cuda_text *x, int from, int to)
{
    struct parameter one = {.name = NONE};
    int end = find_default(x, from, to);
    while (end > from && cuda_text_one(x, end - 1) == ']' && x->match[end - 1] != NONE)
        end = x->match[end - 1];
    one.end = end;
    int last = end - 1;
    if (last < from || (last == from && is(x, from, "void")))
        return;
    if (cuda_text_one(x, last) == ')' && x->match[last] != NONE) {
        int group = x->match[last];
        if (cuda_text_one(x, group - 1) == ')' && x->match[group - 1] != NONE)
            group = x->match[group - 1]; /* the arguments of a function stand after it */
        one.name = name_in_group(x, group);
        if (one.name == NONE && p->unclear == NONE)
            p->unclear = from;
    } else if (cuda_text_is_name(x, last) && !is_type_word(x, last) && !is_qualifier(x, last) &&
               !is(x, last - 1, "::") && has_type(x, from, last)) {
        one.name = last;
    } else if (end != to && cuda_text_one(x, end) == '[') {
        p->unclear = p->unclear == NONE ? from : p->unclear;
    }
    int before = one.name != NONE ? one.name : end;
    one.pack = before - 3 >= from && cuda_text_is_ellipsis(x, before - 3);
    vec_push(p, one);
}

void parameters_read(struct parameters *p, const struct cuda_text *x, int open)
{
    *p = (struct parameters){.unclear = NONE};
    int close = x->match[open], from = open + 1;
    for (int i = from; i < close; i++) {
        if (cuda_text_one(x, i) == ',') {
            read_one(p, x, from, i);
            from = i + 1;
        } else if (cuda_text_one(x, i) == '<' && cuda_text_is_name(x, i - 1)) {
            int angle = declaration_close_angle(x, i);
            i = angle != NONE && angle < close ? angle : i;
        } else if (x->match[i] > i) {
            i = x->match[i];
        }
    }
    read_one(p, x, from, close);
}
