/* refuse: what is not PTX is refused, with a message that names the line and the thing. Each case
 * is a line inserted in a kernel, or a whole module, and a part of the message that must come. */
#include "check.h"
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

/* The line under test stands on line 15 of the module. */
static const char before[] =
    ".version 8.8\n.target sm_90a\n.address_size 64\n"
    ".extern .func (.param .b32 r) ext (.param .b32 a);\n"
    ".global .align 16 .b8 gv[64];\n"
    ".shared .b32 sh[4];\n"
    ".visible .entry k(.param .u64 p0)\n{\n"
    ".reg .pred %p<4>; .reg .b8 %c<3>; .reg .b16 %h<5>; .reg .b32 %r<9>;\n"
    ".reg .b64 %rd<5>; .reg .f32 %f<5>; .reg .f64 %fd<3>; .reg .s64 %sl<2>;\n"
    ".reg .f16 %hf<2>; .reg .v4 .f32 %v;\n"
    ".param .b32 pr;\n"
    "L0:\n\n";

static const struct {
    const char *line, *message;
} lines[] = {
    /* opcodes, modifiers, types */
    {"frobnicate.u32 %r1, %r2;", "line 15, column 1: unknown instruction 'frobnicate'"},
    {"  tcgen05.ld %r1;", "line 15, column 3: instruction 'tcgen05' is not supported"},
    /* of other targets */
    {"add.f32x2 %rd1, %rd2, %rd3;",
     "'add.f32x2' needs target sm_100 or newer; this module's is sm_90a"},
    {"min.f32 %f1, %f2, %f3, %f4;", "wrong number of operands (4)"},
    {"redux.sync.min.f32 %f1, %f2, -1;", "needs target sm_100a, sm_103a or sm_100f"},
    {"cvt.rn.satfinite.e2m1x2.f32 %c1, %f1, %f2;", "needs a target of one architecture or family"},
    {"ld.global.v4.b64 {%rd1,%rd2,%rd3,%rd4}, [%rd1];", "needs target sm_100 or newer"},
    {"ld.global.v8.b64 {%rd1,%rd2,%rd3,%rd4,%rd1,%rd2,%rd3,%rd4}, [%rd1];", "a vector of 512 bits"},
    {"ld.shared.v4.b64 {%rd1,%rd2,%rd3,%rd4}, [sh];", "256 bits can be accessed in global memory"},
    {"add.frob.u32 %r1, %r2, %r3;", "unknown modifier or type '.frob'"},
    {"add.wide.u32 %r1, %r2, %r3;", "'add' does not take the modifier '.wide'"},
    {"add.u8 %c1, %c1, %c1;", "'add' does not take the type '.u8'"},
    {"add %r1, %r2, %r3;", "wrong number or combination of types"},
    {"add.b32 %r1, %r2, 4;", "'add' does not take the type '.b32'"},
    {"add.sat.u32 %r1, %r2, %r3;", "do not go together"},
    {"cvta.shared.u32 %r1, %r2;", "'cvta' does not take the type '.u32'"},
    {"add.rn.rz.f32 %f1, %f1, %f1;", "do not go together"},
    {"add.cc.u16 %h1, %h2, %h3;", "do not go together"},
    {"fma.rz.bf16 %h1, %h2, %h3, %h4;", "do not go together"},
    {"madc.hi.u16 %h1, %h2, %h3, %h4;", "do not go together"},
    {"call (%r1), %rd1, (%r2), gv;", "label 'gv' is not defined"},
    {"div.f32 %f1, %f1, %f2;", "a modifier is missing (approx|full|rn|rz|rm|rp)"},
    {"fma.f32 %f1, %f1, %f2, %f3;", "a modifier is missing (rn|rz|rm|rp)"},
    {"mad.f32 %f1, %f1, %f2, %f3;", "a modifier is missing (rn|rz|rm|rp)"},
    {"mul.u32 %r1, %r2, %r3;", "a modifier is missing (lo|hi)"},
    {"sqrt.f32 %f1, %f1;", "a modifier is missing"},
    {"cvt.u32.f32 %r1, %f1;", "a modifier is missing (rni|rzi|rmi|rpi)"},
    {"setp.lt.b32 %p1, %r1, 0;", "do not go together"},
    {"setp.lo.s32 %p1, %r1, %r2;", "do not go together"},
    {"mul.wide.u64 %rd1, %rd2, 4;", "do not go together"},
    {"shl.u32 %r1, %r2, %r1;", "'shl' does not take the type '.u32'"},
    {"ld.f16 %hf1, [%rd1];", "'ld' does not take the type '.f16'"},
    {"mov.f16 %hf1, %hf1;", "'mov' does not take the type '.f16'"},
    {"ld.acquire.global.u32 %r1, [%rd1];", "a modifier is missing (cta|cluster|gpu|sys)"},
    {"st.const.u32 [%rd1], %r1;", "wrong or missing state space"},
    {"isspacep %p1, %rd1;", "wrong or missing state space"},
    {"add.u32.u32.u32.u32.u32.u32 %r1, %r2, %r3;", "too many modifiers"},
    {"atom.global.add.s64 %sl0, [%rd1], %sl1;", "do not go together"},
    /* operands: number and kind */
    {"add.u32 %r1, %r2;", "'add.u32': wrong number of operands (2)"},
    {"add.u32 %r1, %r2, %r3, %r4;", "wrong number of operands (4)"},
    {"add.u32 %r1, , %r3;", "expected a constant before ','"},
    {"add.u32 %r1, %r2, %r3,;", "expected an operand before ';'"},
    {"add.u32 %r1 %r2, %r3;", "expected ',' or ';' before '%r2'"},
    {"add.u32 %r1, %r2, %r3", "expected ',' or ';' before '}'"},
    {"add.u32 5, %r2, %r3;", "operand 1: a register is needed, not a constant"},
    {"add.u32 _, %r2, %r3;", "operand 1: '_' cannot stand here"},
    {"add.u32 %r1, %tid.x, 1;", "operand 2: a special register can be read by mov and cvt only"},
    {"add.u32 %r1, [%rd1], 1;", "operand 2: an address in brackets cannot stand here"},
    {"add.u32 %r1, {%r1, %r2}, 1;", "operand 2: a single register or constant is needed"},
    {"add.u64 %rd1, gv, 4;", "operand 2: a name of a variable or function cannot stand here"},
    {"add.s32 %r1, -%r2, %r3;", "operand 2: this operand cannot be negated"},
    {"add.u32 %r1|%p1, %r2, %r3;", "no second destination after '|'"},
    {"setp.lt.s32 %p1, %p2, %r1, %r2;", "operand 2: register %p2 is .pred, .s32 is needed"},
    {"lop3.and.b32 %r1, %r2, %r3, %r4, 0xea, %p2;", "wrong number of operands"},
    {"ld.shared.u32 %r1, sh;", "operand 2: an address in brackets is needed"},
    {"ld.shared.u32 %r1, [sh[4]];", "expected ']' before '['"},
    {"bar.sync;", "wrong number of operands (0)"},
    {"ret %r1;", "wrong number of operands (1)"},
    {"bfe.u32 %r1.b0, %r2, 1, 2;", "only video instructions select parts"},
    {"cp.async.cg.shared.global [sh], [%rd1], %r1;", "an integer constant is needed"},
    {"tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1];", "[texture or surface, {coordinates}]"},
    {"tex.2d.f32.f32 %f1, [%rd1, {%f1,%f2}];", "a modifier is missing (v4)"},
    /* operands: types */
    {"add.u32 %r1, %rd1, 4;", "operand 2: register %rd1 is .b64, .u32 is needed"},
    {"add.u32 %r1, %f1, 4;", "register %f1 is .f32, .u32 is needed"},
    {"add.u32 %f1, %r1, 4;", "register %f1 is .f32, .u32 is needed"},
    {"add.u32 %p1, %r1, 4;", "register %p1 is .pred, .u32 is needed"},
    {"add.f32 %f1, %f1, 1;", "operand 3: a float constant is needed, not an integer"},
    {"add.s32 %r1, %r2, 1.5;", "operand 3: a float constant does not fit the type"},
    {"add.f16 %hf1, %hf1, 1.0;", "operand 3: a float constant does not fit the type"},
    {"mov.b32 %r1, 1.5;", "a .b32 constant is an integer or 0f"},
    {"mov.b64 %rd1, 0f3f800000;", "a .b64 constant is an integer or 0d"},
    {"mov.u64 %rd1, %tid.x;", "the special register does not fit the type"},
    {"mov.u32 %r1, %is_explicit_cluster;", "this special register is a predicate"},
    {"mov.u32 %r1, gv;", "this address has 64 bits"},
    {"mov.b64 {%r1, %rd1}, %rd2;", "the items of the vector do not add up"},
    {"mov.b64 {%r1, %r2, %r3}, %rd2;", "the vector does not divide the type"},
    {"shl.b64 %rd1, %rd2, %rd1;", "operand 3: register %rd1 is .b64, .u32 is needed"},
    {"ld.global.u64 %r1, [%rd1];", "register %r1 is .b32, .u64 is needed"},
    {"ld.global.u8 %f1, [%rd1];", "register %f1 is .f32, .u8 is needed"},
    {"ld.global.u32 %r1, [%r1];", "the address register must have 64 bits"},
    {"ld.u32 %r1, [%r1];", "the address register must have 64 bits"},
    {"ld.shared.u32 %r1, [%h1];", "the address register must have 32 or 64 bits"},
    {"ld.global.u32 %r1, [%fd1];", "the address register must be an integer"},
    {"ld.global.u32 %r1, [sh];", "'sh' is in .shared, the instruction says .global"},
    {"ld.shared.u32 %r1, [gv];", "'gv' is in .global, the instruction says .shared"},
    {"ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];",
     "the vector has 3 items, the instruction says .v2"},
    {"ld.global.v2.u32 %r1, [%rd1];", "a vector {…} is needed"},
    {"@%r1 bra L0;", "'%r1' is not a predicate"},
    {"@%nosuch bra L0;", "'%nosuch' is not declared"},
    /* names and labels */
    {"mov.u32 %r1, %nosuch;", "line 15, column 14: '%nosuch' is not declared"},
    {"mov.u32 %r99, %r1;", "'%r99' is not declared"},
    {"mov.u64 %rd1, nosuch;", "'nosuch' is not declared"},
    {"bra NOWHERE;", "line 15, column 5: label 'NOWHERE' is not defined"},
    {"bra 4;", "expected a label before '4'"},
    {"{ L6: } bra L6;", "label 'L6' is not defined"},
    {"L0: ret;", "label 'L0' is defined twice"},
    {"brx.idx %r1, L0;", "'L0' does not name .branchtargets"},
    {"brx.idx %rd1, L0;", "the index must be a 32-bit integer register"},
    {"bra tl; tl: .branchtargets L0;", "'tl' is not a label of an instruction"},
    {"call nosuch, (%r1);", "'nosuch' is not declared"},
    {"call gv, (%r1);", "'gv' is not a function"},
    {"call ext, (%r2);", "call of 'ext' gives 0 return values, it has 1"},
    {"call (%r1), ext;", "call of 'ext' gives 0 arguments, it has 1"},
    {"call (%r1), ext, (%rd1);", "argument 1 differs in size"},
    {"call (%r1), ext, (gv);", "'gv' cannot be an argument of a call"},
    {"call (5), ext, (5);", "'5' cannot be a return value of a call"},
    {"call %rd1, (%r1);", "an indirect call needs a .callprototype"},
    {"call %r1, (%r1), L0;", "'%r1' does not hold 64 bits"},
    {"call %rd1, (%r1), L0;", "'L0' names no .callprototype"},
    {"call (%r1), ext, (%r1), L0;", "only an indirect call names a prototype"},
    {".reg .b32 %r5;", "'%r5' is declared twice"},
    {".reg .b32 %q, %q;", "'%q' is declared twice"},
    {".reg .b32 %zz<4>; mov.u32 %zz4, 1;", "'%zz4' is not declared"},
    /* declarations */
    {".reg .b32 %z<2+2>;", "expected '>' before '+'"},
    {".reg %z;", "expected a type before '%z'"},
    {".reg .v4 .pred %z;", "no vectors of predicates"},
    {".reg .v4 .f32 %z<4>;", "vector registers are declared one by one"},
    {".shared .b32 s1 = 4;", "a .shared variable cannot have an initial value"},
    {".shared .v3 .f32 s1;", "unknown directive '.v3' in a declaration"},
    {".shared .pred s1;", "type .pred cannot be declared in .shared"},
    {".shared .align 3 .b32 s1;", "the alignment 3 is not a power of two"},
    {".frob 5;", "unknown directive '.frob'"},
    {".global .u32 g[2] = {1, 2, 3};", "'g' has more values than elements"},
    {".global .u32 g[2] = {{1}, 2};", "fewer dimensions than these braces"},
    {".global .u32 g = 1.5;", "a float cannot be the value of an integer"},
    {".global .u8 g = 0xf0(gv);", "does not select bytes of an address"},
    {".global .u8 g[1099511627777];", "the array is too large"},
    {".global .u32 g[1000000][1000000];", "larger than a device's memory"},
    {".global .u32 g[-1];", "the array is too large"},
    {".global .u32 g[2] = {1,,", "expected a constant before ','"},
    /* constants */
    {"mov.u32 %r1, 5 / 0;", "division by zero"},
    {"mov.u32 %r1, 18446744073709551616;", "does not fit in 64 bits"},
    {"mov.u32 %r1, 5u;", "malformed number"},
    {"mov.u32 %r1, 0xg;", "malformed number"},
    {"mov.u32 %r1, 089;", "malformed number"},
    {"mov.f32 %f1, 0f3f80000;", "0f needs 8 hexadecimal digits"},
    {"mov.f64 %fd1, 0d3f80;", "0d needs 16 hexadecimal digits"},
    {"mov.f32 %f1, 0f3f8000001;", "malformed number"},
    {"mov.f32 %f1, 1.5e;", "malformed number"},
    {"mov.f32 %f1, ~1.5;", "operator '~' does not take a float"},
    {"mov.u32 %r1, 1.5 % 2;", "operator '%' does not take a float"},
    {"mov.u32 %r1, (.s32)5;", "a cast is (.s64) or (.u64), not (.s32)"},
    {"mov.u32 %r1, 'a';", "unexpected character"},
    {".pragma \"nounroll;", "the string does not end on its line"},
    {"/* never closed", "the comment does not end"},
    {"{ { {", "the body of 'k' does not end"},
    {"}", "expected a directive before '}'"},
};

static const struct {
    const char *text, *message;
} modules[] = {
    {"", "expected .version at the start of the module, but the text ends here"},
    {".target sm_80\n", "line 1, column 1: expected .version"},
    {".version 8\n", "expected a version such as 8.8"},
    {".version 12.0\n", "PTX ISA version 12.0 is not supported"},
    {".version 8.0\n", "the module has no .target"},
    {".version 9.0\n.target sm_130\n", "line 2, column 9: target sm_130 is newer than sm_121a"},
    {".version 8.0\n.target sm_90x\n", "unknown target 'sm_90x'"},
    {".version 8.0\n.target gpu\n", "unknown target 'gpu'"},
    {".version 8.0\n.target sm_80\n.address_size 32\n", "only 64-bit addresses are supported"},
    {".version 8.0\n.target sm_80\nfoo", "line 3, column 1: expected a directive before 'foo'"},
    {".version 8.0\n.target sm_80\n.reg .b32 r;", "registers are declared inside functions"},
    {".version 8.0\n.target sm_80\n.local .b32 r;", ".local variables are declared inside"},
    {".version 8.0\n.target sm_80\n.visible .extern .b32 r;", "two linkage directives"},
    {".version 8.0\n.target sm_80\n.global .b32 x; .global .b32 x;", "'x' is declared twice"},
    {".version 8.0\n.target sm_80\n.global .b32 x; .func x;", "'x' is declared twice"},
    {".version 8.0\n.target sm_80\n.func x; .entry x() {}",
     "'x' was declared as a .func on line 3"},
    {".version 8.0\n.target sm_80\n.func x {} .func x {}", "function 'x' is defined twice"},
    {".version 8.0\n.target sm_80\n.func x(.param .b32 a); .func x {}", "with other parameters"},
    {".version 8.0\n.target sm_80\n.extern .func x {}", "extern function 'x' has a body"},
    {".version 8.0\n.target sm_80\n.func x;\n.alias x, y;", "'y' is not a defined function"},
    {".version 8.0\n.target sm_80\n.entry k(.param .b32 a, .param .b32 a) {}", "declared twice"},
    {".version 8.0\n.target sm_80\n.entry k(.reg .b32 a) {}", "parameters are in .param"},
    {".version 8.0\n.target sm_80\n.entry k(.param .b32 a", "expected ')' after the parameters"},
    {".version 8.0\n.target sm_80\n.entry k() .maxntid 1,2,3,4 {}", "at most three numbers"},
    {".version 8.0\n.target sm_80\n.entry k() .maxntid 0 {}", ".maxntid must be positive"},
    {".version 8.0\n.target sm_80\n.entry k() .reqntid 32,0 {}", ".reqntid must be positive"},
    {".version 8.0\n.target sm_80\n.entry k() .maxnreg 0 {}", ".maxnreg must be positive"},
    {".version 8.0\n.target sm_80\n.entry k() .maxntid 9 .minnctapersm 0 {}",
     ".minnctapersm must be positive"},
    {".version 8.0\n.target sm_80\n.entry k() .maxntid 9 .reqntid 9 {}", "not both"},
    {".version 8.0\n.target sm_80\n.entry k() .reqntid 9 .maxntid 9 {}", "not both"},
    {".version 8.0\n.target sm_80\n.entry k() .frob {}", "unknown directive '.frob' of a function"},
    {".version 8.0\n.target sm_80\n.global .u64 a = nosuch;", "'nosuch' is not declared"},
    {".version 8.0\n.target sm_80\n.section .debug_info {",
     "expected '}' at the end of the section"},
    {".version 8.0\n.target sm_80\n.file 99999999 \"x\"", "a file number is too large"},
    {".version 8.0\n.target sm_80\n.global .samplerref s = { };", "are not supported"},
};

static void refused(const char *text, const char *message)
{
    struct diag d = {0};
    struct ptx_module *m = ptx_parse(text, strlen(text), &d);
    bool ok = m == NULL && strstr(d.text, message) != NULL && strncmp(d.text, "line ", 5) == 0 &&
              d.line > 0;
    CHECK(ok);
    if (!ok)
        printf("  wanted: %s\n  got:    %s\n", message, m != NULL ? "(accepted)" : d.text);
    ptx_free(m);
}

/* `item` repeated `n` times between two texts, in a module of its own. */
static void repeated(const char *start, const char *item, int n, const char *end,
                     const char *message)
{
    struct strbuf sb = {0};
    sb_printf(&sb, ".version 8.0\n.target sm_80\n%s", start);
    for (int i = 0; i < n; i++)
        sb_printf(&sb, "%s", item);
    sb_printf(&sb, "%s", end);
    refused(sb.items, message);
    sb_free(&sb);
}

/* A few bytes that ask for much get a message, not the machine's memory. */
static void test_limits(void)
{
    repeated(".func f {", "{", 5000, "", "blocks nested deeper than");
    repeated(".global .u32 x = ", "(", 100000, "1", "nested too deep");
    repeated(".global .u32 x = ", "-", 100000, "1", "nested too deep");
    repeated(".global .u32 x = ", "1?", 100000, "1", "nested too deep");
    repeated(".global .u32 x", "[2]", 100, ";", "at most 16 dimensions");
    repeated(".func f { .reg .b32 ", "", 0, "%r<1000000000>; }", "more than 1048576 registers");
    repeated(".func f { .reg .b32 ", "", 0, "%r<18446744073709551615>; }", "more than 1048576");
    repeated(".func f { ", ".reg .b32 %ra<1000000>; { ", 3, "}", "more than 1048576 registers");
    repeated(".entry k(.param .b8 p[99999999999]) { ret; }", "", 0, "",
             "has at most 1048576 bytes");
    repeated(".entry k(.param .b8 p[32765]) { ret; }", "", 0, "", "take more than 32764 bytes");
    repeated(".entry k(.param .b8 p[20000], .param .b8 q[12768]) { ret; }", "", 0, "",
             "take more than 32764 bytes");
    repeated(".func f(.param .b8 p[99999999999]) { ret; }", "", 0, "", "has at most");
    repeated(".func f { .param .b8 p[99999999999]; ret; }", "", 0, "", "has at most");
    repeated(".global .b8 x[1099511627776] = {1};", "", 0, "", "more than 512 MiB");
    repeated(".global .b8 x[][1099511627776] = {{1}};", "", 0, "", "of this size");
    repeated(".global .b8 x[0][4294967296][4294967296][2] = {1};", "", 0, "", "of this size");
    repeated(".func f { .reg .b32 %r<3>; mov.b32 %r0, {", "%r0,", 1000, "%r0}; }",
             "more than 256 items");
    repeated(".func f { .reg .b32 %r<3>; add.u32 ", "%r0,", 1000, "%r0; }", "too many operands");
}

int main(void)
{
    for (size_t i = 0; i < WEIR_COUNT(lines); i++) {
        char *text = xprintf("%s%s\n}\n", before, lines[i].line);
        refused(text, lines[i].message);
        free(text);
    }
    for (size_t i = 0; i < WEIR_COUNT(modules); i++)
        refused(modules[i].text, modules[i].message);
    test_limits();
    return check_done();
}
