/* fault: fault reports, as text and as struct weir_fault; see fault.h. */
#include "driver/error/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/short_name.h"
#include "driver/error/site.h"
#include "driver/error/symbols.h"
#include "findings/findings.h"
#include "weir/fault.h"

enum { HOST_SECONDS = 10 }; /* until a report that cannot be written is given up */

/* All faults of the process, newest first; they stay, so that what programs were handed stays
 * valid. Each is of another life of a context, so there are few. */
struct told {
    struct weir_fault public;
    struct weir_frame frames[1 + GRID_FAULT_LAUNCHES]; /* the fault, and what led to its grid */
    char *text;
    struct told *older;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct told *newest;

/* ---- the parts ---- */

static int code_of(enum grid_fault_kind kind)
{
    switch (kind) {
    case GRID_FAULT_ADDRESS: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case GRID_FAULT_MISALIGNED: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case GRID_FAULT_ILLEGAL: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case GRID_FAULT_PC: return CUDA_ERROR_INVALID_PC;
    case GRID_FAULT_ASSERT: return CUDA_ERROR_ASSERT;
    case GRID_FAULT_STACK: return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case GRID_FAULT_HANDLE: return CUDA_ERROR_INVALID_HANDLE;
    case GRID_FAULT_MEMORY: return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    default: return CUDA_ERROR_LAUNCH_FAILED;
    }
}

static enum weir_fault_kind kind_of(enum grid_fault_kind kind)
{
    switch (kind) {
    case GRID_FAULT_ADDRESS: return WEIR_FAULT_ADDRESS;
    case GRID_FAULT_MISALIGNED: return WEIR_FAULT_MISALIGNED;
    case GRID_FAULT_ILLEGAL:
    case GRID_FAULT_PC: return WEIR_FAULT_ILLEGAL;
    case GRID_FAULT_ASSERT: return WEIR_FAULT_ASSERT;
    case GRID_FAULT_STACK: return WEIR_FAULT_STACK;
    case GRID_FAULT_HANDLE: return WEIR_FAULT_HANDLE;
    case GRID_FAULT_MEMORY: return WEIR_FAULT_MEMORY;
    default: return WEIR_FAULT_TRAP;
    }
}

static const char *memory_words(enum mem_kind kind)
{
    switch (kind) {
    case MEM_ARRAY: return "array";
    case MEM_MODULE: return "variable";
    case MEM_HEAP: return "heap of kernels";
    case MEM_POOL: return "stream-ordered";
    case MEM_PINNED: return "page-locked";
    case MEM_REGISTERED: return "registered";
    case MEM_MANAGED: return "managed";
    default: return "device";
    }
}

static enum weir_place fault_place_of(const struct mem_place *p, uint64_t address)
{
    switch (p->relation) {
    case MEM_INSIDE: return WEIR_PLACE_INSIDE;
    case MEM_PAST: return WEIR_PLACE_PAST;
    case MEM_BEFORE: return WEIR_PLACE_BEFORE;
    case MEM_FREED: return WEIR_PLACE_FREED;
    case MEM_VACANT: return WEIR_PLACE_FREE;
    default: return address < 65536 ? WEIR_PLACE_NULL : WEIR_PLACE_HOST;
    }
}

static void fill_address(struct weir_fault *out, uint64_t address, const struct mem_place *p)
{
    out->has_address = 1;
    out->address = address;
    out->place = fault_place_of(p, address);
    out->distance = p->distance;
    if (p->info.size == 0)
        return;
    out->allocation.base = p->info.base;
    out->allocation.size = p->info.size;
    out->allocation.id = p->info.serial;
    out->allocation.kind = memory_words(p->info.kind);
    call_describe(&p->info.made, &out->allocation.made);
    call_describe(&p->freed, &out->allocation.freed);
}

static void fill_frame(struct weir_frame *out, const struct grid_fault *f)
{
    const char *file = NULL;
    int line = 0;
    struct variant *v = f->kernel_ref != NULL ? f->kernel_ref->user : NULL;
    /* the fault's own copy of the name is cut where that is long */
    out->kernel = symbol_demangle(f->kernel_ref != NULL ? f->kernel_ref->name : f->kernel);
    out->grid = f->gridid;
    memcpy(out->block, f->block, sizeof out->block);
    memcpy(out->thread, f->thread, sizeof out->thread);
    out->thread_known = f->lane >= 0;
    bool found = v != NULL && variant_find_line(v, f->pc_address, &file, &line);
    if (v != NULL && !found && f->caller != NULL) /* that of what follows the call */
        found = variant_find_line(v, (const char *)f->caller - 1, &file, &line);
    if (found) {
        out->file = symbol_demangle(file); /* no C++ name: a copy that stays */
        out->line = line;
    }
}

static unsigned fill_frames(struct weir_frame *out, const struct grid_fault *f)
{
    unsigned n = 0;
    fill_frame(&out[n++], f);
    for (; n <= f->launch_count && n <= GRID_FAULT_LAUNCHES; n++) {
        const struct grid_fault_launch *l = &f->launches[n - 1];
        out[n].kernel = symbol_demangle(l->kernel);
        out[n].grid = l->gridid;
        memcpy(out[n].block, l->block, sizeof out[n].block);
        memcpy(out[n].thread, l->thread, sizeof out[n].thread);
        out[n].thread_known = 1;
    }
    return n;
}

/* Kernels' names in the text, as people write them. */
static void append_demangled(struct strbuf *sb, const char *text)
{
    for (const char *name; (name = strstr(text, "kernel _Z")) != NULL;) {
        name += strlen("kernel ");
        size_t n =
            strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.");
        char *mangled = xprintf("%.*s", (int)n, name);
        sb_append(sb, text, (size_t)(name - text));
        sb_printf(sb, "%s", symbol_short(mangled));
        free(mangled);
        text = name + n;
    }
    sb_printf(sb, "%s", text);
}

/* The report: the exec layer's, with the source line after the thread and the kernel's name as
 * people write it; `whole`, or without what the kernel has printed itself (an assertion's line). */
static char *text_of(const struct grid_fault *f, const struct weir_frame *frame, bool whole)
{
    struct strbuf sb = {0};
    const char *name = f->kernel[0] != '\0' ? strstr(f->text, f->kernel) : NULL;
    const char *rest = f->text;
    if (name != NULL && name < f->text + f->place_end) {
        sb_append(&sb, f->text, (size_t)(name - f->text));
        short_name(&sb, frame->kernel);
        rest = name + strlen(f->kernel);
    }
    sb_append(&sb, rest, (size_t)(f->text + f->place_end - rest));
    if (frame->file != NULL)
        sb_printf(&sb, " at %s:%d", frame->file, frame->line);
    if (whole || f->printed_end <= f->printed) {
        append_demangled(&sb, f->text + f->place_end);
    } else {
        sb_append(&sb, f->text + f->place_end, f->printed - f->place_end);
        append_demangled(&sb, f->text + f->printed_end);
    }
    return sb.items;
}

/* ---- telling ---- */

static void fault_keep(struct told *t)
{
    t->public.text = t->text;
    pthread_mutex_lock(&lock);
    t->public.number = newest != NULL ? newest->public.number + 1 : 1;
    t->older = newest;
    newest = t;
    pthread_mutex_unlock(&lock);
}

static void fault_print(const char *text)
{
    const char *wanted = env_get(ENV_FAULTS);
    if (wanted == NULL || strcmp(wanted, "off") != 0)
        fprintf(stderr, "weir: %s\n", text);
}

/* A check has found it, if one runs. */
static void fault_find(const struct weir_fault *f)
{
    struct strbuf text = {0}, members = {0};
    sb_printf(&text, "weir: %s\n", f->text);
    sb_printf(&members, "\"what\": \"fault\", \"code\": %d", f->code);
    if (f->has_address)
        sb_printf(&members, ", \"address\": \"0x%llx\"", f->address);
    if (f->frame_count > 0) {
        const struct finding_place at = {.file = f->frames[0].file, .line = f->frames[0].line};
        sb_printf(&members, ", \"kernel\": ");
        finding_put_string(&members, f->frames[0].kernel);
        finding_put_json_place(&members, "source", &at);
    }
    findings_keep("memory", text.items, members.items);
    sb_free(&text);
    sb_free(&members);
}

/* Makes the report of the context's fault, prints it and keeps it. NULL: there is none. */
static const char *tell(CUcontext c)
{
    struct device_context *device = c->device; /* NULL: it was destroyed since, the fault told */
    const struct grid_fault *f = device != NULL ? device_context_fault(device) : NULL;
    if (f == NULL)
        return NULL;
    struct told *t = xcalloc(1, sizeof *t);
    t->public = (struct weir_fault){
        .kind = kind_of(f->kind), .code = code_of(f->kind), .device = c->ordinal};
    if (f->has_address)
        fill_address(&t->public, f->address, &f->place);
    if (f->kernel[0] != '\0') {
        t->public.frame_count = fill_frames(t->frames, f);
        t->public.frames = t->frames;
    }
    t->text = text_of(f, t->frames, true);
    char *news = text_of(f, t->frames, false);
    fault_print(news);
    free(news);
    fault_keep(t);
    if (findings_opened())
        fault_find(&t->public);
    return t->text;
}

void fault_tell(CUcontext c)
{
    pthread_mutex_lock(&c->fault_lock);
    if (c->fault_text == NULL)
        c->fault_text = tell(c);
    if (c->fault_text != NULL)
        driver_error(CUDA_ERROR_LAUNCH_FAILED, "%s", c->fault_text);
    pthread_mutex_unlock(&c->fault_lock);
}

void fault_forget(CUcontext c)
{
    pthread_mutex_lock(&c->fault_lock);
    c->fault_text = NULL;
    pthread_mutex_unlock(&c->fault_lock);
}

/* `who` touches device memory, from code at `at`, which is in the program if anything there is. */
static void tell_host(const char *who, uint64_t address, const char *at, bool write)
{
    struct mem_place p;
    struct symbol s;
    struct strbuf sb = {0};
    struct told *t = xcalloc(1, sizeof *t);
    mem_place_of((const void *)(uintptr_t)address, &p);
    t->public = (struct weir_fault){.kind = WEIR_FAULT_HOST, .device = p.device};
    fill_address(&t->public, address, &p);
    t->public.host.address = at;
    sb_printf(&sb, "%s %s device memory", who, write ? "writes" : "reads");
    if (symbol_find(at + 1, &s)) {
        symbol_words(&s, &sb);
        t->public.host.file = s.file;
        t->public.host.line = s.line;
        t->public.host.function = s.function;
    }
    sb_printf(&sb, ": 0x%llx is ", (unsigned long long)address);
    mem_describe((const void *)(uintptr_t)address, &sb);
    t->text = sb.items;
    fault_keep(t);
    fault_print(t->text);
}

/* In a signal handler: what it calls may wait for a lock that this very thread holds (the pointer
 * was given to free(), say). Then the process ends by the alarm instead of the fault. */
void fault_host(uint64_t address, uint64_t pc, bool write)
{
    unsigned before = alarm(HOST_SECONDS);
    tell_host("host code", address, symbol_program_pc((const void *)(uintptr_t)pc), write);
    alarm(before);
}

void fault_host_call(const char *call, uint64_t address, const void *site, bool write)
{
    tell_host(call, address, (const char *)site - 1, write);
}

WEIR_API int weir_last_fault(struct weir_fault *out)
{
    if (out == NULL || out->bytes < offsetof(struct weir_fault, kind))
        return 0;
    pthread_mutex_lock(&lock);
    const struct told *t = newest;
    pthread_mutex_unlock(&lock);
    if (t == NULL)
        return 0;
    size_t bytes = out->bytes < sizeof *out ? out->bytes : sizeof *out;
    struct weir_fault copy = t->public;
    copy.bytes = out->bytes;
    memcpy(out, &copy, bytes);
    return 1;
}
