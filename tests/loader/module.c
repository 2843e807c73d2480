/* See module.h. */
#include "module.h"
#include "loader/loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t var_address(void *self, const struct ptx_var *var)
{
    struct fake *f = self;
    return var->index == 0 ? (uint64_t)(uintptr_t)f->ints : (uint64_t)(uintptr_t)&f->count;
}

static uint64_t func_address(void *self, const struct ptx_func *func)
{
    struct fake *f = self;
    return 0x5000 + (uint64_t)(func - f->funcs);
}

/* Sums lane 0's two arguments. */
static void note(struct jit_block *b, uint32_t mask, const uint64_t *args, uint64_t *rets)
{
    struct fake *f = b->grid;
    f->notes++;
    rets[0] = args[0] + args[1];
}

static void *helper(void *self, const char *name)
{
    return strcmp(name, "note") == 0 ? (void *)note : NULL;
}

/* The fake whose code is run next: the block's grid. */
static struct fake *current;

void fake_init(struct fake *f, uint64_t number)
{
    *f = (struct fake){.ints = {1, 2, 3, 4}};
    f->module.hash = (struct hash128){number, ~number};
    f->module.vars = f->var_list;
    f->module.funcs = f->func_list;
    for (int i = 0; i < 2; i++) {
        f->vars[i] = (struct ptx_var){.name = i ? "count" : "ints", .index = i, .line = 3 + i};
        f->var_list[i] = &f->vars[i];
    }
    f->module.nvars = 2;
    f->resolver = (struct jit_resolver){var_address, func_address, helper, f};
    current = f;
}

const struct ptx_func *fake_kernel(struct fake *f, const char *name)
{
    int i = f->module.nfuncs++;
    f->funcs[i] = (struct ptx_func){
        .name = name, .is_entry = true, .has_body = true, .module = &f->module, .line = 20 + i};
    f->func_list[i] = &f->funcs[i];
    return &f->funcs[i];
}

uint32_t fake_run(const struct jit_code *code, void *out)
{
    void *params[1] = {out};
    struct jit_block b = {.params = (const uint8_t *)params, .nthreads = 7, .grid = current};
    return code->run(&b);
}

char *make_directory(void)
{
    const char *parent = getenv("TMPDIR");
    char *directory = xprintf("%s/weir-test-XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(directory) == NULL) {
        perror(directory);
        exit(2);
    }
    return directory;
}

void remove_directory(char *directory)
{
    char *command = xprintf("rm -rf '%s'", directory);
    if (system(command) != 0)
        perror(command);
    free(command);
    free(directory);
}

void fake_environment(const char *directory)
{
    char *cache = xprintf("%s/cache", directory), *log = xprintf("%s/log", directory);
    setenv("WEIR_CACHE_DIR", cache, 1);
    setenv("FAKE_LOG", log, 1);
    setenv("FAKE_OBJECTS", OBJECTS, 1);
    unsetenv("FAKE_DELAY_MS");
    unsetenv("FAKE_MEET");
    jit_set_plugin_path(PLUGIN);
    free(cache);
    free(log);
}

int log_count(const char *directory, const char *what)
{
    char *path = xprintf("%s/log", directory);
    char *text = file_read(path, NULL, NULL);
    int count = 0;
    for (char *line = text != NULL ? strtok(text, "\n") : NULL; line != NULL;
         line = strtok(NULL, "\n"))
        count += strncmp(line, what, strlen(what)) == 0;
    free(text);
    free(path);
    return count;
}

void collect_notice(void *self, const char *text) { sb_printf(self, "%s\n", text); }
