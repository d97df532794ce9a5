#include "store/team_file.h"

#include "base/json.h"
#include "os/file.h"
#include "store/workspace.h"

static int read_config(int dir, struct json **ret, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (file_read(dir, WORKSPACE_CONFIG, CONFIG_FILE_MAX, &text, &len, err) == -1) {
        if (file_is_wrong(err))
            err->code = MAS_DAMAGED;
        return -1;
    }
    if (json_parse(text, len, CONFIG_FILE_MAX, ret, err) == -1)
        return err_wrap(err, "its %s is damaged", WORKSPACE_CONFIG);
    return 0;
}

int team_file_load(int dir, struct team *ret, struct err *err)
{
    _cleanup_json_ struct json *json = NULL;

    if (read_config(dir, &json, err) == -1)
        return -1;
    if (team_from_json(json, ret, err) == -1)
        return err_wrap(err, "its %s is damaged", WORKSPACE_CONFIG);
    return 0;
}

char *team_file_template(int dir)
{
    _cleanup_json_ struct json *json = NULL;
    struct err ignored = ERR_INIT;

    if (read_config(dir, &json, &ignored) == -1)
        return NULL;
    return mem_dup(json_get_text(json, "template"));
}

int team_file_format(const struct template *tmpl, struct str *to, struct err *err)
{
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    json_put(&out, "version", "1.0");
    json_put(&out, "template", tmpl->name);
    team_put_json(&tmpl->team, &out);
    json_close(&out, '}');
    str_addc(to, '\n');
    if (to->len > CONFIG_FILE_MAX)
        return err_set(err, MAS_FAILED,
                       "cannot write '%s': the template and the prompts have more than %d bytes",
                       WORKSPACE_CONFIG, CONFIG_FILE_MAX);
    return 0;
}

int team_file_change(int dir, const struct team *team, struct err *err)
{
    _cleanup_free_ char *name = team_file_template(dir);
    struct template tmpl = {.name = name, .team = *team};

    return team_file_save(dir, &tmpl, err);
}

int team_file_save(int dir, const struct template *tmpl, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    if (team_file_format(tmpl, &text, err) == -1)
        return -1;
    return file_replace(dir, WORKSPACE_CONFIG, text.data, text.len, 0600, err);
}
