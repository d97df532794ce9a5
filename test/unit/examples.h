/* The examples of CommonMark, which a package has. */
#pragma once

#include "base/json.h"
#include "os/file.h"

#define EXAMPLES "/usr/share/gocode/src/github.com/yuin/goldmark/_test/spec.json"
#define EXAMPLES_MISSING "golang-github-yuin-goldmark-dev is not installed"

/* Returns a list of objects with `markdown`, `html` and `section`, which the caller frees, or NULL.
 */
static struct json *examples_read(void)
{
    _cleanup_free_ char *text = NULL;
    struct json *examples = NULL;
    struct err ignored = ERR_INIT;
    size_t len;

    if (file_read(AT_FDCWD, EXAMPLES, 1 << 20, &text, &len, &ignored) == 0)
        (void)json_parse(text, len, len, &examples, &ignored);
    return examples;
}
