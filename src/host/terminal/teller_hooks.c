#include "host/expand.h"
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"
#include "os/file.h"
#include "os/path.h"
#include "session/helper.h"
#include "store/workspace.h"

#define TOLD_DIR "told" /* in run/<agent>.role/, which is made anew at each start */

/* Writes a JSON object with a hook for each event. */
static void put_hooks(const struct preset_told *told, const char *program, struct str *to)
{
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    for (size_t i = 0; i < told->events.count; i++) {
        const char *event = told->events.pairs[i].key;
        _cleanup_str_ struct str command = STR_INIT;
        str_add_shell(&command, program, false);
        str_addf(&command, " %s", event);
        const struct expand_value values[] = {{"command", command.data}, {"event", event}};
        _cleanup_free_ char *hook = expand_text(values, ARRAY_LEN(values), told->hook, NULL);
        json_open(&out, event, '[');
        json_put_raw(&out, NULL, hook);
        json_close(&out, ']');
    }
    json_close(&out, '}');
}

static int write_file(int dir, const char *path, const char *text, struct err *err)
{
    const char *name = NULL;
    _cleanup_close_ int above = path_make_above(dir, path, 0700, &name);

    return above == -1 ? err_errno(err, "cannot create '%s'", path)
                       : file_create(above, name, text, strlen(text), 0600, err);
}

int teller_write_hooks(struct host *host, char ***argv, char ***env, struct err *err)
{
    const struct preset_told *told = &host->preset->told;
    _cleanup_free_ char *above_path = NULL;
    _cleanup_close_ int above = role_open_dir(host, &above_path, err);
    _cleanup_free_ char *program = helper_find(HELPER_TOLD, err);
    _cleanup_str_ struct str hooks = STR_INIT;

    if (above == -1 || program == NULL)
        return -1;
    _cleanup_free_ char *path = mem_printf("%s/" TOLD_DIR, above_path);
    _cleanup_close_ int dir = path_make_dir(above, TOLD_DIR, 0700);
    if (dir == -1)
        return err_errno(err, "cannot create '%s'", path);
    put_hooks(told, program, &hooks);
    const struct expand_value values[] = {{"dir", path}, {"hooks", hooks.data}, {"told", program}};
    for (size_t i = 0; i < told->files.count; i++) {
        _cleanup_free_ char *text =
            expand_text(values, ARRAY_LEN(values), told->files.pairs[i].value, NULL);
        if (write_file(dir, told->files.pairs[i].key, text, err) == -1)
            return -1;
    }
    expand_words(values, ARRAY_LEN(values), told->args, argv);
    role_add_variables(host, &told->env, values, ARRAY_LEN(values),
                       "its program may not tell what it does", env);
    return 0;
}
