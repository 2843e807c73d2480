/* clusters: __cluster_dims__(x, y, z), an attribute of kernels that clang 19 does not have.
 *
 * Our headers make it an annotation, whose arguments clang checks, evaluates (in every instance of
 * a template) and hands on from a declaration to the definition as it does for any attribute. An
 * annotation ends up in LLVM's text of the file but not in its PTX. So a file that has one is
 * compiled to both, and what the annotations say is written into the PTX, as the directives
 * .explicitcluster and .reqnctapercluster.
 *
 * The annotation's first argument is a name that is defined for such a compilation alone: clang's
 * complaint about it is how weircc learns that a file needs this, and whoever uses the headers
 * without weircc is told so instead of getting a kernel without its clusters. */
#ifndef WEIRCC_CLUSTERS_H
#define WEIRCC_CLUSTERS_H

#include "base/base.h"

/* As include/weir/keywords.h has them: the annotation, and its first argument. */
#define CLUSTERS_ANNOTATION "weir.cluster_dims"
#define CLUSTERS_MARK       "__cluster_dims_needs_weircc__"

/* Whether clang's messages say that a kernel has the attribute. */
bool clusters_are_why(const char *messages);

/* Appends the PTX with the directives that the annotations in LLVM's text of the same file ask for.
 * False and a message when one of them makes no sense. */
bool clusters_finish(const char *ptx, const char *llvm, struct strbuf *out, struct diag *d);

#endif
