#include "git/checkout.h"

#include "git/drivers.h"
#include "os/file.h"

void checkout_free(struct checkout *checkout)
{
    fd_closep(&checkout->cwd);
    free(checkout->dir);
    free(checkout->common);
    strv_free(checkout->settings);
    strv_free(checkout->off);
}

/* Adds a file of the person's that git reads although no setting names it. */
static void add_default(const char *key, const char *name, char ***ret)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    bool is_set = config != NULL && config[0] != '\0';
    _cleanup_free_ char *setting =
        mem_printf("%s=%s%s/git/%s", key, is_set ? config : (home != NULL ? home : ""),
                   is_set ? "" : "/.config", name);

    strv_push(ret, setting);
}

#define HOOKS "core.hookspath"

static void replace_hooks(char **hooks, const char *value)
{
    const char *home = getenv("HOME");

    free(*hooks);
    *hooks = str_starts(value, "~/") && home != NULL ? mem_printf("%s%s", home, value + 1)
                                                     : mem_dup(value);
}

int checkout_settings(int cwd, char ***ret, char **ret_hooks, struct err *err)
{
    static const char keys[] = "^core\\.(autocrlf|eol|attributesfile|excludesfile|filemode|"
                               "symlinks|ignorecase|checkstat|trustctime|hookspath)$";
    const struct git git = {.cwd = cwd, .person = true};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (git_run(&git, GIT_ARGS("config", "-z", "--show-scope", "--get-regexp", keys), NULL, &result,
                err) == -1)
        return -1;
    add_default("core.attributesFile", "attributes", ret);
    add_default("core.excludesFile", "ignore", ret);
    /* "<scope>", a NUL, "<key>", a newline, "<value>", a NUL; a key alone means true */
    const char *end = str_text(&result.out) + result.out.len;
    for (const char *scope = str_text(&result.out); scope < end;) {
        const char *key = scope + strlen(scope) + 1;
        if (key >= end)
            break;
        size_t len = strcspn(key, "\n");
        const char *value = key[len] == '\n' ? key + len + 1 : "true";
        _cleanup_free_ char *setting = mem_printf("%.*s=%s", (int)len, key, value);
        bool is_own = strcmp(scope, "command") == 0; /* mas's own */
        if (!is_own && !str_starts(key, HOOKS "\n"))
            strv_push(ret, setting);
        else if (!is_own && ret_hooks != NULL)
            replace_hooks(ret_hooks, value);
        scope = key + strlen(key) + 1;
    }
    return 0;
}

int checkout_open(const char *tree, struct checkout *ret, struct err *err)
{
    ret->cwd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->cwd == -1)
        return err_errno(err, "cannot open '%s'", tree);
    const struct git there = {.cwd = ret->cwd, .person = true};
    if (git_text(&there, GIT_ARGS("rev-parse", "--absolute-git-dir"), &ret->dir, err) == -1 ||
        git_text(&there, GIT_ARGS("rev-parse", "--path-format=absolute", "--git-common-dir"),
                 &ret->common, err) == -1)
        return -1;
    ret->git = (struct git){.dir = ret->dir, .common = ret->common, .tree = tree, .cwd = ret->cwd};
    if (drivers_turn_off(&there, &ret->off, err) == -1 ||
        checkout_settings(ret->cwd, &ret->settings, NULL, err) == -1)
        return err_wrap(err, "cannot use the work tree '%s'", tree);
    for (char **off = ret->off; off != NULL && *off != NULL; off++)
        strv_push(&ret->settings, *off);
    ret->git.settings = (const char *const *)ret->settings;
    return 0;
}
