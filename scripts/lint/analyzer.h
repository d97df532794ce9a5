/* What the analyzer cannot see across files; only tidy.sh reads this, in front of each file. */
#pragma once

#include "model/ini.h"

void *mem_alloc(size_t size) __attribute__((returns_nonnull));
void *mem_grow(void *old, size_t count, size_t size) __attribute__((returns_nonnull));
char *mem_dupn(const char *text, size_t len) __attribute__((returns_nonnull));
char *mem_printf(const char *fmt, ...) __attribute__((returns_nonnull));
char *str_steal(struct str *s) __attribute__((returns_nonnull));
const char *str_text(const struct str *s) __attribute__((returns_nonnull));

/* Not where these are defined. */
#ifndef MAS_LINT_DEFINES
/* NULL has no elements. */
#define strv_len(v) ((v) == NULL ? 0 : strv_len(v))
/* These always return -1. */
#define err_set(...) (err_set(__VA_ARGS__), -1)
#define err_errno(...) (err_errno(__VA_ARGS__), -1)
#define err_wrap(...) (err_wrap(__VA_ARGS__), -1)
#define err_hint(...) (err_hint(__VA_ARGS__), -1)
#define ini_fail(...) (ini_fail(__VA_ARGS__), -1)
#endif
