#include "unit.h"

#include "base/env.h"

static void check(char *const *env, const char *want)
{
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; env[i] != NULL; i++)
        str_addf(&text, "%s%s", i > 0 ? " " : "", env[i]);
    CHECK_STR(str_text(&text), want);
}

TEST(the_loader_finds_nothing_where_a_program_starts)
{
    const char *const env[] = {"A=1",
                               "LD_LIBRARY_PATH=:/a/b::lib:.:/c;d;/e:",
                               "LD_PRELOAD=./x.so /y.so z.so",
                               "LD_AUDIT=",
                               "LD_BIND_NOW",
                               "LD_DEBUG=libs",
                               "OLD_PATH=.:x",
                               NULL};
    const char *const bad[] = {"LD_LIBRARY_PATH=:", NULL};
    _cleanup_strv_ char **left = env_load_nothing_here((char *const *)(uintptr_t)env);
    _cleanup_strv_ char **none = env_load_nothing_here((char *const *)(uintptr_t)bad);
    _cleanup_strv_ char **empty = env_load_nothing_here(NULL);

    check(left, "A=1 LD_LIBRARY_PATH=/a/b:/c:/e LD_PRELOAD=/y.so OLD_PATH=.:x");
    CHECK(none != NULL && none[0] == NULL && empty != NULL && empty[0] == NULL);
}

/* The first, one in the middle, the last, and names that only begin or end like another. */
TEST(variables_are_found_by_their_whole_name)
{
    _cleanup_strv_ char **env = NULL;

    CHECK(env_get(NULL, "A") == NULL);
    env_drop(NULL, "A");
    env_put(&env, "AB", "1");
    env_put(&env, "A", "2");
    env_put(&env, "ABC", "a=b");
    env_put(&env, "B", "");
    check(env, "AB=1 A=2 ABC=a=b B=");
    CHECK_STR(env_get(env, "AB"), "1");
    CHECK_STR(env_get(env, "A"), "2");
    CHECK_STR(env_get(env, "ABC"), "a=b");
    CHECK_STR(env_get(env, "B"), "");
    CHECK(env_get(env, "C") == NULL && env_get(env, "ABCD") == NULL && env_get(env, "") == NULL);
    env_put(&env, "A", "x=y");
    env_put(&env, "B", "new");
    env_put(&env, "AB", "");
    check(env, "AB= A=x=y ABC=a=b B=new");
    env_drop(env, "A");
    check(env, "AB= ABC=a=b B=new");
    env_drop(env, "C");
    env_drop(env, "B");
    check(env, "AB= ABC=a=b");
    env_drop(env, "AB");
    check(env, "ABC=a=b");
    env_drop(env, "ABC");
    check(env, "");
}

TEST(all_of_several_with_one_name_go)
{
    _cleanup_strv_ char **env = NULL;

    strv_push(&env, "A=1");
    strv_push(&env, "B=1");
    strv_push(&env, "A=2");
    CHECK_STR(env_get(env, "A"), "1");
    env_drop(env, "A");
    check(env, "B=1");
}
