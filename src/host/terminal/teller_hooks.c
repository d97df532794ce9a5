#include "host/expand.h"
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"
#include "os/file.h"
#include "os/path.h"
#include "session/helper.h"
#include "store/workspace.h"

#define TOLD_DIR "told" /* in run/<agent>.role/, which is made anew at each start */

/* Appends a text for each event, with commas between. */
static void add_each(const struct preset_told *told, const char *program, const char *text,
                     struct str *to)
{
    for (size_t i = 0; i < told->events.count; i++) {
        const char *event = told->events.pairs[i].key;
        _cleanup_str_ struct str command = STR_INIT;
        str_add_shell(&command, program, false);
        str_addf(&command, " %s || :", event); /* programs show a hook that fails, or is gone */
        struct expand_value values[] = {
            {"command", command.data}, {"event", event}, {"hook", NULL}};
        _cleanup_free_ char *hook = expand_text(values, 2, told->hook, NULL);
        values[2].text = hook;
        _cleanup_free_ char *part = expand_text(values, ARRAY_LEN(values), text, NULL);
        str_addf(to, "%s%s", i > 0 ? "," : "", part);
    }
}

/* What the placeholders stand for in the files and the arguments. */
struct told_values {
    struct str texts[1 + PRESET_EACH_MAX]; /* of those for each event */
    struct expand_value values[3 + PRESET_EACH_MAX];
    size_t count;
};

static void told_values_make(const struct preset_told *told, const char *program, const char *dir,
                             struct told_values *ret)
{
    *ret = (struct told_values){.values = {{"dir", dir}, {"told", program}}, .count = 2};
    str_addc(&ret->texts[0], '{');
    add_each(told, program, "{json:event}:[{hook}]", &ret->texts[0]);
    str_addc(&ret->texts[0], '}');
    ret->values[ret->count++] = (struct expand_value){"hooks", ret->texts[0].data};
    for (size_t i = 0; i < told->each.count; i++) {
        struct str *text = &ret->texts[1 + i];
        add_each(told, program, told->each.pairs[i].value, text);
        ret->values[ret->count++] = (struct expand_value){told->each.pairs[i].key, text->data};
    }
}

static void told_values_free(struct told_values *told)
{
    for (size_t i = 0; i < ARRAY_LEN(told->texts); i++)
        str_free(&told->texts[i]);
}
#define _cleanup_told_ __attribute__((cleanup(told_values_free)))

static int write_file(int dir, const char *path, const char *text, struct err *err)
{
    const char *name = NULL;
    _cleanup_close_ int above = path_make_above(dir, path, 0700, &name);

    return above == -1 ? err_errno(err, "cannot create '%s'", path)
                       : file_create(above, name, text, strlen(text), 0600, err);
}

/* Makes a directory of the role. */
static int make_dir(int above, const char *name, struct err *err)
{
    int dir = path_make_dir(above, name, 0700);

    return dir == -1 ? err_errno(err, "cannot create the directory '%s' of its role", name) : dir;
}

/* Writes files with the placeholders replaced. */
static int write_files(int dir, const struct kv *files, const struct expand_value *values,
                       size_t count, struct err *err)
{
    for (size_t i = 0; i < files->count; i++) {
        _cleanup_free_ char *text = expand_text(values, count, files->pairs[i].value, NULL);
        if (write_file(dir, files->pairs[i].key, text, err) == -1)
            return -1;
    }
    return 0;
}

int teller_write_hooks(struct host *host, char ***argv, char ***env, struct err *err)
{
    const struct preset_told *told = &host->preset->told;
    _cleanup_free_ char *above_path = NULL;
    _cleanup_close_ int above = role_open_dir(host, &above_path, err);
    _cleanup_free_ char *program = helper_find(HELPER_TOLD, err);
    _cleanup_told_ struct told_values values = {.count = 0};

    if (above == -1 || program == NULL)
        return -1;
    _cleanup_free_ char *path = mem_printf("%s/" TOLD_DIR, above_path);
    told_values_make(told, program, path, &values);
    struct teller_id_values trusted;
    teller_id_values(host, "", &trusted);
    _cleanup_close_ int own = make_dir(above, TOLD_DIR, err);
    _cleanup_close_ int home = own != -1 ? make_dir(above, WORKSPACE_ROLE_HOME, err) : -1;
    if (home == -1 || write_files(own, &told->files, values.values, values.count, err) == -1 ||
        write_files(home, &told->homes, values.values, values.count, err) == -1 ||
        (teller_is_trusted(host) && write_files(home, &told->trusted_homes, trusted.values,
                                                ARRAY_LEN(trusted.values), err) == -1))
        return -1;
    expand_words(values.values, values.count, told->args, argv);
    role_add_variables(host, &told->env, values.values, values.count,
                       "its program may not tell what it does", env);
    return 0;
}
