/* image: an ELF object in memory, ready to run.
 *
 * Sections are laid out in three runs of pages: code (with stubs), constants (with the table of
 * addresses that code reads, the GOT) and writable data. They are filled while all are writable and
 * nobody runs them, then protected: no page is ever writable and executable at once. */
#ifndef WEIR_LOADER_IMAGE_H
#define WEIR_LOADER_IMAGE_H

#include "loader/elf.h"

struct image {
    uint8_t *base; /* page-aligned, from code_alloc */
    size_t bytes;
    const uint8_t *text; /* the code run, without stubs */
    size_t text_bytes;
    uint32_t nsections;
    uint64_t *sections; /* address of each section, 0 when it is not loaded */
};

/* Loads the object. `undefined[i]` is the address of symbol i for those that the object leaves
 * undefined; others are not looked at. False and a message when it cannot; then nothing is left. */
bool image_load(struct image *im, const struct elf_object *o, const uint64_t *undefined,
                struct diag *d);
void image_unload(struct image *im);

/* The address of a function or variable that the object defines; 0 when there is none. */
uint64_t image_find(const struct image *im, const struct elf_object *o, const char *name);

/* ---- memory for code (code_pages.c) ---- */

/* Pages out of large reserved ranges, so that all kernels lie close together: their calls stay
 * near and the CPU's branch and translation caches work better. code_alloc's pages are
 * readable, writable and zero. Thread-safe. `bytes` is a multiple of the page size. */
uint8_t *code_alloc(size_t bytes, struct diag *d);
void code_free(uint8_t *pages, size_t bytes);
size_t code_page(void);

#endif
