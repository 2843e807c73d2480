/* K2, K3.1: tested: the instructions that tests run against a reference, a line each as
 * tools/coverage/key.h writes them: those of the case table (tests/arithmetic/cases.def) and of the
 * kernels of forms (tests/fuzz/gen_forms.c). */
#include "../arithmetic/text.h"
#include "../fuzz/gen.h"
#include "key.h"

#include <stdio.h>

static const char *const table[] = {
#define CASE(text)                   text,
#define NEWER(text)                  text,
#define APPROX(text, measure, bound) text,
#include "../arithmetic/cases.def"
};

static void say(const struct ptx_instr *i)
{
    struct strbuf s = {0};
    key_write(i, &s);
    printf("%s\n", s.items);
    sb_free(&s);
}

int main(void)
{
    for (size_t k = 0; k < WEIR_COUNT(table); k++) {
        struct text_instr t;
        if (!text_read(table[k], &t))
            return 1;
        say(&t.instr);
    }
    for (unsigned n = 0;; n++) {
        struct strbuf text = {0};
        struct gen_shape shape;
        struct diag d = {0};
        if (!gen_forms(n, &text, &shape)) {
            sb_free(&text);
            break;
        }
        struct ptx_module *m = ptx_parse(text.items, text.count, &d);
        struct ptx_func *f = m != NULL ? ptx_find_func(m, "kernel") : NULL;
        if (f == NULL)
            return 1;
        for (int k = 0; k < f->ninstrs; k++)
            say(&f->instrs[k]);
        ptx_free(m);
        sb_free(&text);
    }
    return 0;
}
