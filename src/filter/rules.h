/*
 * The rules of a filter, for the files of this directory. Errors are kept and reported at the end:
 *
 *     struct rules rules;
 *     rules_begin(&rules, SCMP_ACT_ALLOW);
 *     rules_add(&rules, SCMP_ACT_ERRNO(EPERM), "bpf", NULL, 0);
 *     return rules_load(&rules, err);
 */
#pragma once

#include <seccomp.h>

struct rules {
    scmp_filter_ctx context;
    int error; /* the first one, as a negative errno */
    const char *name; /* the call whose rule failed */
    unsigned known; /* see rules_know(); 0: calls are not held against it */
};

/* A filter with this action for calls without a rule. Calls of other architectures kill. */
void rules_begin(struct rules *rules, uint32_t otherwise);
/* Adds a rule. A call that this architecture does not have needs none. All conditions on the
 * arguments must hold. */
void rules_add(struct rules *rules, uint32_t action, const char *call,
               const struct scmp_arg_cmp *conditions, unsigned count);
/* The same, with one condition. */
void rules_add_one(struct rules *rules, uint32_t action, const char *call,
                   struct scmp_arg_cmp condition);
/* The same, without conditions, for each call of a list. */
void rules_add_all(struct rules *rules, uint32_t action, const char *const *calls, size_t count);
/* Says up to which call the filter was written, by its number in the kernel's table for all
 * machines: calls that came later fail with ENOSYS, as in a kernel that does not have them. */
void rules_know(struct rules *rules, unsigned last);
/* Loads the filter and releases it. */
int rules_load(struct rules *rules, struct err *err);

/* Conditions on arguments that are 32 bits wide in the kernel, whatever the other half of the
 * register holds. */
#define RULE_IS(argument, value) SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, 0xffffffffU, value)
#define RULE_BITS(argument, mask, value) SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, mask, value)
