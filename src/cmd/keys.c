#include "cmd.h"
#include "os/path.h"
#include "tmux/tmux.h"

static const struct {
    const char *key, *what, *args;
    bool popup;
} keys[] = {
    {"T", "what all agents do, on a full screen", "top", true},
    {"N", "the agent that has waited longest for you", "next --client '#{client_name}'", false},
    {"B", "back to where you came from", "next --back --client '#{client_name}'", false},
};

static int run_keys(struct call *call, struct err *err)
{
    _cleanup_free_ char *exe = path_exe();
    _cleanup_str_ struct str text = STR_INIT;

    if (exe == NULL)
        return err_errno(err, "cannot find the program that this is");
    str_add(&text, "# Keys of mas, for ~/.tmux.conf. Each follows tmux's prefix.\n");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        _cleanup_str_ struct str line = STR_INIT;
        str_add_shell(&line, exe, false);
        str_addf(&text, "# %s: %s\n", keys[i].key, keys[i].what);
        if (call->has_root && call->origin != ROOT_DEFAULT) {
            str_add(&line, " --root ");
            str_add_shell(&line, call->root.path, false);
        }
        str_addc(&line, ' ');
        tmux_add_key(keys[i].key, str_text(&line), keys[i].args, keys[i].popup, &text);
    }
    if (fputs(str_text(&text), stdout) == EOF)
        return err_errno(err, "cannot write to standard output");
    return 0;
}

const struct cmd cmd_keys = {
    .name = "keys",
    .group = GROUP_SETUP,
    .operands = "",
    .summary = "print key bindings for ~/.tmux.conf",
    .examples = "mas keys >>~/.tmux.conf",
    .details = "The bindings run this program: prefix T shows mas top on a popup as large as the "
               "terminal, N goes to the agent that has waited longest, B goes back. If the root "
               "that mas would use is not the default one, they name it.",
    .operands_max = 0,
    .root = ROOT_IF_THERE,
    .run = run_keys,
};
