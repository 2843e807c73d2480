/* Kernels without bodies, for the host; see kernel_bodies.h. */
#include "weircc/source/kernel_bodies.h"

#include <string.h>

#include "weircc/source/cuda_text.h"

bool kernel_bodies_may_be_why(const char *messages)
{
    static const char *const constants[] = {
        "must be initialized by a constant expression", "is not a constant expression",
        "is not an integral constant expression", "to be an integer constant"};
    for (size_t i = 0; i < WEIR_COUNT(constants); i++)
        if (strstr(messages, constants[i]) != NULL)
            return true;
    return false;
}

bool kernel_bodies_may_use_more(const char *messages)
{
    static const char *const said[] = {"error: no matching function for call to",
                                       "error: no matching member function for",
                                       "error: use of undeclared identifier '",
                                       "error: unknown type name '",
                                       "error: no member named '",
                                       "error: no type named '",
                                       "error: call to deleted ",
                                       "error: call to undeclared "};
    if (strstr(messages, "call to __global__ function from ") != NULL)
        return false; /* a launch without a configuration, which the device's half takes */
    for (size_t i = 0; i < WEIR_COUNT(said); i++)
        if (strstr(messages, said[i]) != NULL)
            return true;
    return false;
}

enum { NONE = CUDA_TEXT_NONE };

/* Whether the brace at token i is that of an expression `requires (T t) { ... }`. A clause
 * `requires (condition)` has the brace of a body after it; the expression stands where an operand
 * does. */
static bool is_of_requirements(const struct cuda_text *x, int i)
{
    int word = i - 1;
    if (cuda_text_one(x, word) == ')' && x->match[word] != NONE)
        word = x->match[word] - 1;
    if (!cuda_text_is(x, word, "requires"))
        return false;
    char before = cuda_text_one(x, word - 1);
    return word == i - 1 || cuda_text_is(x, word - 1, "requires") ||
           (before != '\0' && strchr("&|!(,", before) != NULL);
}

/* The brace of the body of the kernel among whose specifiers token i is; NONE: it is declared. */
static int find_body(const struct cuda_text *x, int i)
{
    for (; i < cuda_text_count(x); i++) {
        char c = cuda_text_one(x, i);
        if (c == '{' && !is_of_requirements(x, i))
            return x->match[i] != NONE ? i : NONE;
        if (c == ';' || c == '}' || c == ')')
            return NONE;
        if (x->match[i] != NONE)
            i = x->match[i];
    }
    return NONE;
}

struct attribute {
    const struct cuda_text *x;
    struct cuda_sides sides;
};

static void read_word(void *self, int i)
{
    struct attribute *a = self;
    cuda_text_add_side(a->x, i, &a->sides);
}

/* Whether __attribute__((launch_bounds(...))) is at token i. */
static bool is_launch_bounds(const struct cuda_text *x, int i)
{
    return cuda_text_is(x, i, "__attribute__") && cuda_text_is(x, i + 3, "launch_bounds") &&
           cuda_text_one(x, i + 4) == '(' && x->match[i + 4] != NONE && x->match[i + 1] != NONE &&
           x->match[i + 4] + 1 == x->match[i + 2];
}

void kernel_bodies_empty(const char *text, struct strbuf *out)
{
    struct cuda_text x;
    cuda_text_read(&x, text);
    sb_append(out, "", 0);
    int body = NONE; /* of the kernel that is being read */
    for (int i = 0; i < cuda_text_count(&x); i++) {
        const struct token *t = cuda_text_token(&x, i);
        cuda_text_write_blank(&x, i, out);
        if (is_launch_bounds(&x, i)) {
            cuda_text_write_places(&x, i + 1, x.match[i + 1] + 1, out);
            i = x.match[i + 1];
            continue;
        }
        sb_append(out, t->p, t->n);
        if (i == body) {
            cuda_text_write_places(&x, i + 1, x.match[i] + 1, out);
            i = x.match[i];
            sb_append(out, "}", 1);
            body = NONE;
        } else if (cuda_text_is(&x, i, "__attribute__")) {
            struct attribute a = {.x = &x};
            int last = cuda_text_read_attribute(&x, i, read_word, &a);
            if (a.sides.global)
                body = find_body(&x, last + 1);
        }
    }
    cuda_text_write_blank(&x, cuda_text_count(&x), out);
    cuda_text_free(&x);
}

bool kernel_bodies_hold(const struct cuda_text *x, int token)
{
    for (int i = 0; i < token; i++) {
        struct attribute a = {.x = x};
        if (!cuda_text_is(x, i, "__attribute__"))
            continue;
        i = cuda_text_read_attribute(x, i, read_word, &a);
        int body = a.sides.global ? find_body(x, i + 1) : NONE;
        if (body != NONE && body < token && token < x->match[body])
            return true;
    }
    return false;
}
