/* K3: what cannot be compiled is refused when the module is loaded, with the line and the name. The
 * compiler's own check is asked, as the driver does when it loads a module. */
#include <stdlib.h>

#include "abi/plugin.h"
#include "check.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n" /* three lines */

static const struct {
    const char *body; /* from line 4 on */
    int line;         /* of the refusal; 0: it must be taken */
    const char *words;
} cases[] = {
    {".visible .entry k() {\n ret;\n}\n", 0, NULL},
    {".extern .func nowhere();\n.visible .entry k() {\n call nowhere;\n ret;\n}\n", 6, "nowhere"},
    /* declared and not called: nobody is hurt */
    {".extern .func nowhere();\n.visible .entry k() {\n ret;\n}\n", 0, NULL},
    /* an instruction of a function that nobody calls counts as well */
    {".func f() {\n .reg .b64 a; .reg .u32 b;\n multimem.red.global.add.u32 [a], b;\n ret;\n}\n"
     ".visible .entry k() {\n ret;\n}\n",
     6, "multimem"},
    /* the message names the function and the line, and the source's if it is known */
    {".visible .entry sums() {\n .reg .b64 a; .reg .u32 b; multimem.red.global.add.u32 [a], b;\n "
     "ret;\n}\n",
     5, "multimem.red.add.u32 is not supported (in sums, line 5 of its PTX)"},
    {".file 1 \"a.cu\"\n.visible .entry sums() {\n .loc 1 7 2\n .reg .b64 a; .reg .u32 b; "
     "multimem.red.global.add.u32 [a], b;\n "
     "ret;\n}\n",
     7, "a.cu:7: multimem.red.add.u32 is not supported (in sums, line 7 of its PTX)"},
    /* alloca beside recursion */
    {".func r(.reg .u32 n) {\n .reg .pred p;\n .reg .u32 m;\n setp.eq.u32 p, n, 0;\n @p ret;\n"
     " sub.u32 m, n, 1;\n call r, (m);\n ret;\n}\n"
     ".visible .entry k() {\n .reg .u32 a; .reg .b64 q;\n alloca.u64 q, 8, 8;\n mov.u32 a, 3;\n"
     " call r, (a);\n ret;\n}\n",
     0, NULL},
    /* a function that cannot be inlined may hold a barrier */
    {".func r(.reg .u32 n) {\n .reg .pred p;\n .reg .u32 m;\n bar.sync 0;\n setp.eq.u32 p, n, 0;\n"
     " @p ret;\n sub.u32 m, n, 1;\n call r, (m);\n ret;\n}\n"
     ".visible .entry k() {\n .reg .u32 a;\n mov.u32 a, 3;\n call r, (a);\n ret;\n}\n",
     0, NULL},
    /* the same without */
    {".func r(.reg .u32 n) {\n .reg .pred p;\n .reg .u32 m;\n setp.eq.u32 p, n, 0;\n @p ret;\n"
     " sub.u32 m, n, 1;\n call r, (m);\n ret;\n}\n"
     ".visible .entry k() {\n .reg .u32 a;\n mov.u32 a, 3;\n call r, (a);\n ret;\n}\n",
     0, NULL},
    /* more memory than a multiprocessor has, in one variable or in all that are used together */
    {".visible .entry k() {\n .shared .b8 s[232448]; st.shared.u8 [s], 1;\n ret;\n}\n", 0, NULL},
    {".visible .entry k() {\n .shared .b8 s[232449]; st.shared.u8 [s], 1;\n ret;\n}\n", 5,
     "the kernel k has 232449 bytes of .shared variables, more than the 232448 that there are (s, "
     "line 5 of its PTX)"},
    {".visible .entry k() {\n .shared .b8 s[4294967304]; st.shared.u8 [s], 1;\n ret;\n}\n", 5,
     "4294967304 bytes of .shared"},
    {".shared .b8 a[90000];\n.shared .b8 b[90000];\n.shared .b8 c[180000];\n"
     ".visible .entry k() {\n st.shared.u8 [a], 1; st.shared.u8 [c], 1;\n ret;\n}\n",
     6, "270000 bytes of .shared"},
    {".shared .b8 a[90000];\n.shared .b8 b[90000];\n.visible .entry k() {\n"
     " st.shared.u8 [a], 1;\n ret;\n}\n.visible .entry l() {\n st.shared.u8 [b], 1;\n ret;\n}\n",
     0, NULL},
    {".shared .b8 a[90000];\n.shared .b8 b[180000];\n.func f() {\n st.shared.u8 [b], 1;\n ret;\n}\n"
     ".visible .entry k() {\n st.shared.u8 [a], 1; call f;\n ret;\n}\n",
     5, "270000 bytes of .shared"},
    {".visible .entry k() {\n .local .b8 s[4000000000]; st.local.u8 [s], 1;\n ret;\n}\n", 0, NULL},
    {".visible .entry k() {\n .local .align 16 .b8 s[4294967312]; st.local.u8 [s], 1;\n ret;\n}\n",
     5, "4294967312 bytes of .local"},
    /* of a function that is not inlined */
    {".func r(.reg .u32 n) {\n .reg .pred p;\n .reg .u32 m;\n setp.eq.u32 p, n, 0;\n @p ret;\n"
     " .local .b64 s[1000000000]; st.local.u8 [s], 1; sub.u32 m, n, 1;\n call r, (m);\n ret;\n}\n"
     ".visible .entry k() {\n .reg .u32 a;\n mov.u32 a, 3;\n call r, (a);\n ret;\n}\n",
     9, "8000000000 bytes of .local"},
};

int main(void)
{
    const struct jit_plugin *compiler = weir_jit_plugin();
    for (size_t n = 0; n < WEIR_COUNT(cases); n++) {
        struct diag d = {0};
        char *text = xprintf(HEAD "%s", cases[n].body);
        struct ptx_module *m = ptx_parse(text, strlen(text), &d);
        CHECK(m != NULL);
        if (m != NULL) {
            bool ok = compiler->check(m, &d);
            CHECK_EQ_INT(ok, cases[n].line == 0);
            CHECK_EQ_INT(d.line, cases[n].line);
            CHECK(cases[n].words == NULL || strstr(d.text, cases[n].words) != NULL);
            if (ok != (cases[n].line == 0) || d.line != cases[n].line ||
                (cases[n].words != NULL && strstr(d.text, cases[n].words) == NULL))
                printf("%s\n%s\n", d.text, text);
            ptx_free(m);
        } else {
            printf("%s\n", d.text);
        }
        free(text);
    }
    return check_done();
}
