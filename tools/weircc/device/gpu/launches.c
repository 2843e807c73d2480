/* Launches in the standard form, in LLVM's text; see form.h.
 *
 * clang's text, before any pass, has a launch as
 *     call void @_ZL13__weir_launch4dim3S_...(configuration)
 *     ... the arguments are evaluated, with launches of their own perhaps ...
 *     call void <kernel>(arguments)
 *     call void @_ZL15__weir_launchedv()
 * in the order of the source. The call of the kernel becomes the call of a function that is written
 * for it, which gets the kernel's address, the configuration and the same arguments, and which LLVM
 * inlines. */
#include "weircc/device/gpu/form.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char configure_call[] = "  call void @_ZL13__weir_launch4dim3S_mP11CUstream_st(";
static const char launched_call[] = "  call void @_ZL15__weir_launchedv(";

/* The functions of the device runtime that libcudadevrt.a has as __cudaCDP2<name>. */
static const char *const runtime_names[] = {
    "DeviceGetAttribute",
    "DeviceGetCacheConfig",
    "DeviceGetLimit",
    "DeviceGetSharedMemConfig",
    "EventDestroy",
    "EventRecord",
    "EventRecordWithFlags",
    "Free",
    "FuncGetAttributes",
    "GetDevice",
    "GetDeviceCount",
    "GetErrorName",
    "GetErrorString",
    "GetLastError",
    "GetParameterBuffer",
    "GetParameterBufferV2",
    "LaunchDevice",
    "LaunchDeviceV2",
    "Malloc",
    "Memcpy2DAsync",
    "Memcpy3DAsync",
    "MemcpyAsync",
    "Memset2DAsync",
    "Memset3DAsync",
    "MemsetAsync",
    "OccupancyMaxActiveBlocksPerMultiprocessor",
    "OccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "PeekAtLastError",
    "RuntimeGetVersion",
    "StreamDestroy",
    "StreamWaitEvent",
};

struct span {
    const char *text;
    size_t size;
};

static struct span span_of(const char *from, const char *to)
{
    return (struct span){from, (size_t)(to - from)};
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '-';
}

/* ---- static variables ---- */

static const char static_mark[] = "__static__";

/* A variable that is declared by its plain name and defined by another. */
struct renamed {
    struct span plain, full;
};

struct renames {
    struct renamed *items;
    size_t count, cap;
};

/* The name at p, after an '@'. */
static struct span name_at(const char *p)
{
    size_t n = 0;
    while (is_name(p[n]))
        n++;
    return (struct span){p, n};
}

static bool same(struct span a, struct span b)
{
    return a.size == b.size && memcmp(a.text, b.text, a.size) == 0;
}

/* Whether the text declares a variable, "@x = external ...", and not only defines it. */
static bool is_declared(const char *llvm, struct span plain)
{
    char *line = xprintf("\n@%.*s = external ", (int)plain.size, plain.text);
    bool found = strstr(llvm, line) != NULL;
    free(line);
    return found;
}

static struct renames find_renames(const char *llvm)
{
    struct renames renames = {0};
    for (const char *line = llvm; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        if (*line == '@') {
            struct span full = name_at(line + 1), plain = full;
            const char *mark = memmem(full.text, full.size, static_mark, sizeof static_mark - 1);
            plain.size = mark != NULL ? (size_t)(mark - full.text) : 0;
            if (mark != NULL && is_declared(llvm, plain)) {
                struct renamed r = {plain, full};
                vec_push(&renames, r);
            }
        }
        line += n + (line[n] == '\n');
    }
    return renames;
}

static const struct renamed *find_renamed(const struct renames *renames, struct span name)
{
    for (size_t i = 0; i < renames->count; i++)
        if (same(renames->items[i].plain, name))
            return &renames->items[i];
    return NULL;
}

/* ---- what a file needs ---- */

/* The end of the name of a device runtime function after "@cuda", NULL when it is none. */
static const char *runtime_name_end(const char *p)
{
    size_t n = 0;
    while (is_name(p[n]))
        n++;
    for (size_t i = 0; i < WEIR_COUNT(runtime_names); i++)
        if (strlen(runtime_names[i]) == n && memcmp(runtime_names[i], p, n) == 0)
            return p + n;
    return NULL;
}

struct gpu_needs gpu_form_needs(const char *llvm)
{
    struct renames renames = find_renames(llvm);
    struct gpu_needs needs = {.statics = renames.count > 0};
    free(renames.items);
    for (const char *line = llvm; *line != '\0';
         line += strcspn(line, "\n"), line += *line == '\n') {
        size_t n = strcspn(line, "\n");
        if (text_starts(line, "declare ")) {
            const char *at = memchr(line, '@', n);
            if (at == NULL)
                continue;
            needs.math = needs.math || text_starts(at, "@__nv_");
            needs.launches = needs.launches || text_starts(at, "@__weir_launch_configure(") ||
                             text_starts(at, "@__cudaCDP2") ||
                             (text_starts(at, "@cuda") && runtime_name_end(at + 5) != NULL);
        } else if (*line == '@') {
            needs.managed =
                needs.managed || memmem(line, n, ", section \"weir_managed\"", 24) != NULL;
        }
    }
    return needs;
}

/* ---- arguments ---- */

/* One argument of a call, "ptr noundef byval(%struct.S) align 8 %10". */
struct argument {
    struct span type;  /* "ptr" */
    struct span byval; /* "%struct.S"; size 0: it is passed as it is */
    unsigned align;    /* of the parameter; 0: not known */
    unsigned bytes;    /* of the parameter; 0: as the type `byval` says */
};

/* Past a type, or anything else up to a space or comma outside of brackets. */
static const char *skip_word(const char *p, const char *end)
{
    int depth = 0;
    bool quoted = false;
    for (; p < end; p++) {
        if (*p == '"')
            quoted = !quoted;
        if (quoted)
            continue;
        if (depth == 0 && (*p == ' ' || *p == ','))
            break;
        depth += strchr("([{<", *p) != NULL;
        depth -= strchr(")]}>", *p) != NULL;
    }
    return p;
}

/* The bytes of a type that is passed as it is, which are its alignment, too. 0: it is no such. */
static unsigned scalar_bytes(struct span t)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } types[] = {{"i1", 1},  {"i8", 1},    {"i16", 2},    {"i32", 4},  {"i64", 8},   {"i128", 16},
                 {"ptr", 8}, {"float", 4}, {"double", 8}, {"half", 2}, {"bfloat", 2}};
    for (size_t i = 0; i < WEIR_COUNT(types); i++)
        if (strlen(types[i].name) == t.size && memcmp(types[i].name, t.text, t.size) == 0)
            return types[i].bytes;
    unsigned count;
    int at = 0;
    if (t.size > 5 && t.text[0] == '<' && sscanf(t.text, "<%u x %n", &count, &at) == 1 && at > 0) {
        unsigned each = scalar_bytes((struct span){t.text + at, t.size - (size_t)at - 1});
        unsigned bytes = 1;
        while (bytes < count * each) /* a vector of three takes the space of four */
            bytes *= 2;
        return each > 0 ? bytes : 0;
    }
    return 0;
}

/* Reads the argument at p; returns where it ends, at a comma or the end. */
static const char *read_argument(const char *p, const char *end, struct argument *a)
{
    *a = (struct argument){0};
    const char *word = p;
    p = skip_word(p, end);
    a->type = span_of(word, p);
    while (p < end && *p == ' ') {
        word = ++p;
        p = skip_word(p, end);
        if (text_starts(word, "byval(")) {
            a->byval = span_of(word + 6, p - 1);
        } else if (text_starts(word, "align ")) {
            a->align = (unsigned)strtoul(word + 6, NULL, 10);
        }
    }
    if (a->byval.size == 0)
        a->bytes = a->align = scalar_bytes(a->type);
    return p;
}

/* ---- functions that launch ---- */

/* The text being made. */
struct rewriting {
    struct strbuf *out;
    struct renames renames;
    struct strbuf functions; /* written for launches, for the end of the text */
    int count;               /* of them */
    struct {
        struct span *items;
        size_t count, cap;
    } launched; /* names of functions, each of a launch */
    struct diag *d;
};

static const char parameters[] = "ptr %kernel, ptr byval(%struct.dim3) align 4 %grid, ptr "
                                 "byval(%struct.dim3) align 4 %block, i64 %shared, ptr %stream";

static void write_parameters(struct strbuf *sb, const struct argument *args, size_t n)
{
    sb_printf(sb, "%s", parameters);
    for (size_t i = 0; i < n; i++) {
        const struct argument *a = &args[i];
        sb_printf(sb, ", %.*s", (int)a->type.size, a->type.text);
        if (a->byval.size > 0)
            sb_printf(sb, " byval(%.*s) align %u", (int)a->byval.size, a->byval.text, a->align);
        sb_printf(sb, " %%a%zu", i);
    }
}

/* What NVIDIA's assembler aligns a kernel's parameter to at most, whatever PTX says. */
enum { MOST_ALIGN = 16 };

/* Stores argument i where the parameter lies: after the one before it, aligned. The sizes of
 * structs are LLVM's to say: all of this is folded. */
static void write_store(struct strbuf *sb, const struct argument *a, size_t i)
{
    unsigned align = a->align < MOST_ALIGN ? a->align : MOST_ALIGN;
    if (i == 0)
        sb_printf(sb, "  %%o0 = add i64 0, 0\n");
    else
        sb_printf(sb, "  %%n%zu = add i64 %%e%zu, %u\n  %%o%zu = and i64 %%n%zu, -%u\n", i, i - 1,
                  align - 1, i, i, align);
    sb_printf(sb, "  %%p%zu = getelementptr i8, ptr %%buffer, i64 %%o%zu\n", i, i);
    if (a->byval.size == 0) {
        sb_printf(sb, "  store %.*s %%a%zu, ptr %%p%zu, align %u\n", (int)a->type.size,
                  a->type.text, i, i, align);
        sb_printf(sb, "  %%e%zu = add i64 %%o%zu, %u\n", i, i, a->bytes);
        return;
    }
    struct strbuf size = {0};
    sb_printf(&size, "ptrtoint (ptr getelementptr (%.*s, ptr null, i32 1) to i64)",
              (int)a->byval.size, a->byval.text);
    sb_printf(sb,
              "  call void @llvm.memcpy.p0.p0.i64(ptr align %u %%p%zu, ptr align %u %%a%zu, i64 "
              "%s, i1 false)\n  %%e%zu = add i64 %%o%zu, %s\n",
              align, i, align, i, size.items, i, i, size.items);
    sb_free(&size);
}

static void write_function(struct rewriting *r, const struct argument *args, size_t n)
{
    struct strbuf *sb = &r->functions;
    sb_printf(sb, "\ndefine internal void @__weir_gpu_launch.%d(", r->count);
    write_parameters(sb, args, n);
    sb_printf(sb,
              ") alwaysinline convergent nounwind {\n"
              "  %%bytes = trunc i64 %%shared to i32\n"
              "  %%buffer = call ptr @__cudaCDP2GetParameterBufferV2(ptr %%kernel, "
              "ptr byval(%%struct.dim3) align 4 %%grid, ptr byval(%%struct.dim3) align 4 %%block, "
              "i32 %%bytes) convergent nounwind\n"
              "  %%none = icmp eq ptr %%buffer, null\n"
              "  br i1 %%none, label %%end, label %%fill\nfill:\n");
    for (size_t i = 0; i < n; i++)
        write_store(sb, &args[i], i);
    sb_printf(sb, "  %%code = call i32 @__cudaCDP2LaunchDeviceV2(ptr %%buffer, ptr %%stream) "
                  "convergent nounwind\n  br label %%end\nend:\n  ret void\n}\n");
}

/* ---- rewriting ---- */

/* The parenthesis that closes the one at p. */
static const char *closing(const char *p, const char *end)
{
    int depth = 0;
    for (bool quoted = false; p < end; p++) {
        if (*p == '"')
            quoted = !quoted;
        depth += !quoted && *p == '(';
        depth -= !quoted && *p == ')';
        if (depth == 0 && !quoted)
            return p;
    }
    return NULL;
}

/* Copies a line with the device runtime's functions under libcudadevrt.a's names, and variables
 * under the names that they are defined by. The declaration by another name is left out. */
static void copy_line(const struct renames *renames, struct strbuf *out, const char *line,
                      const char *end)
{
    bool first = true;
    for (const char *at; (at = memchr(line, '@', (size_t)(end - line))) != NULL; first = false) {
        struct span name = name_at(at + 1);
        const struct renamed *renamed = find_renamed(renames, name);
        bool runtime = text_starts(name.text, "cuda") && name.size > 4 &&
                       runtime_name_end(name.text + 4) != NULL;
        if (renamed != NULL && first && at == line)
            return;
        sb_append(out, line, (size_t)(at + 1 - line));
        if (renamed != NULL)
            sb_append(out, renamed->full.text, renamed->full.size);
        else if (runtime)
            sb_printf(out, "__cudaCDP2%.*s", (int)name.size - 4, name.text + 4);
        else
            sb_append(out, name.text, name.size);
        line = name.text + name.size;
    }
    sb_append(out, line, (size_t)(end - line));
}

/* Writes the call of a kernel, line [p, end), as a launch with the configuration given. */
static bool write_launch(struct rewriting *r, const char *p, const char *end, struct span config)
{
    const char *callee = p + strlen("  call void ");
    const char *open = memchr(callee, '(', (size_t)(end - callee));
    if (open == NULL)
        open = end;
    const char *close = closing(open, end);
    if (close == NULL)
        return diag_set(r->d, 0, 0, "internal error: a launch in LLVM's text is not understood");
    struct {
        struct argument *items;
        size_t count, cap;
    } args = {0};
    bool ok = true;
    for (const char *at = open + 1; at < close && ok; at++) {
        while (*at == ' ')
            at++;
        struct argument a;
        at = read_argument(at, close, &a);
        vec_push(&args, a);
        if (a.align == 0)
            ok = diag_set(r->d, 0, 0,
                          "a launch in device code has an argument of LLVM's type '%.*s', which "
                          "cannot be laid out for GPUs",
                          (int)a.type.size, a.type.text);
    }
    if (ok) {
        struct strbuf call = {0};
        if (*callee == '@')
            vec_push(&r->launched, name_at(callee + 1));
        write_function(r, args.items, args.count);
        sb_printf(&call, "  call void @__weir_gpu_launch.%d(ptr %.*s, %.*s%s%.*s", r->count++,
                  (int)(open - callee), callee, (int)config.size, config.text,
                  args.count > 0 ? ", " : "", (int)(end - open - 1), open + 1);
        copy_line(&r->renames, r->out, call.items, call.items + call.count);
        sb_free(&call);
    }
    free(args.items);
    return ok;
}

/* A launch that is configured and not made yet. */
struct pending {
    struct span config;
    const char *call; /* the last call so far that may be the kernel's */
};

struct launches {
    struct {
        struct pending *items;
        size_t count, cap;
    } open, found;
};

/* Finds the lines that are calls of kernels, each with its configuration. */
static void find_launches(const char *llvm, struct launches *l)
{
    for (const char *line = llvm; *line != '\0';) {
        const char *end = line + strcspn(line, "\n");
        if (text_starts(line, configure_call)) {
            const char *open = line + sizeof configure_call - 2, *close = closing(open, end);
            struct pending p = {span_of(open + 1, close != NULL ? close : end), NULL};
            vec_push(&l->open, p);
        } else if (text_starts(line, launched_call)) {
            if (l->open.count > 0 && l->open.items[--l->open.count].call != NULL) {
                struct pending p = l->open.items[l->open.count];
                vec_push(&l->found, p);
            }
        } else if (text_starts(line, "  call void ") && !text_starts(line, "  call void @llvm.") &&
                   l->open.count > 0) {
            l->open.items[l->open.count - 1].call = line;
        } else if (*line == '}') {
            l->open.count = 0;
        }
        line = end + (*end == '\n');
    }
}

static const struct pending *launch_at(const struct launches *l, const char *line)
{
    for (size_t i = 0; i < l->found.count; i++)
        if (l->found.items[i].call == line)
            return &l->found.items[i];
    return NULL;
}

static bool is_declared_function(const char *llvm, struct span name)
{
    char *called = xprintf(" @%.*s(", (int)name.size, name.text);
    bool found = false;
    for (const char *at = llvm; !found && (at = strstr(at, called)) != NULL; at++) {
        const char *line = at;
        while (line > llvm && line[-1] != '\n')
            line--;
        found = text_starts(line, "declare ");
    }
    free(called);
    return found;
}

static void declare(struct strbuf *out, const char *name, const char *declaration)
{
    if (!is_declared_function(out->items, (struct span){name, strlen(name)}))
        sb_printf(out, "\ndeclare %s\n", declaration);
}

/* Says of kernels of other files that they are kernels: clang says it of definitions alone, and the
 * assembler's linker takes no function for one. */
static void annotate_kernels(const struct rewriting *r, const char *llvm)
{
    const unsigned first = 4000000000u; /* a number of metadata that clang does not reach */
    for (size_t i = 0; i < r->launched.count; i++) {
        struct span name = r->launched.items[i];
        bool again = false;
        for (size_t k = 0; k < i && !again; k++)
            again = same(r->launched.items[k], name);
        if (!again && is_declared_function(llvm, name))
            sb_printf(r->out,
                      "\n!nvvm.annotations = !{!%u}\n!%u = !{ptr @%.*s, !\"kernel\", i32 1}\n",
                      first + (unsigned)i, first + (unsigned)i, (int)name.size, name.text);
    }
}

bool gpu_form_llvm(const char *llvm, struct strbuf *out, struct diag *d)
{
    struct launches l = {0};
    struct rewriting r = {.out = out, .renames = find_renames(llvm), .d = d};
    bool ok = true;
    find_launches(llvm, &l);
    sb_append(out, "", 0);
    for (const char *line = llvm; *line != '\0' && ok;) {
        const char *end = line + strcspn(line, "\n");
        end += *end == '\n';
        const struct pending *launch =
            text_starts(line, "  call void ") ? launch_at(&l, line) : NULL;
        if (launch != NULL)
            ok = write_launch(&r, line, end, launch->config);
        else if (!text_starts(line, configure_call) && !text_starts(line, launched_call))
            copy_line(&r.renames, out, line, end);
        line = end;
    }
    if (ok && r.count > 0) {
        declare(out, "__cudaCDP2GetParameterBufferV2",
                "ptr @__cudaCDP2GetParameterBufferV2(ptr, ptr byval(%struct.dim3) align 4, ptr "
                "byval(%struct.dim3) align 4, i32)");
        declare(out, "__cudaCDP2LaunchDeviceV2", "i32 @__cudaCDP2LaunchDeviceV2(ptr, ptr)");
        declare(out, "llvm.memcpy.p0.p0.i64",
                "void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)");
        sb_append(out, r.functions.items, r.functions.count);
        annotate_kernels(&r, llvm);
    }
    free(r.launched.items);
    sb_free(&r.functions);
    free(r.renames.items);
    free(l.open.items);
    free(l.found.items);
    return ok;
}
