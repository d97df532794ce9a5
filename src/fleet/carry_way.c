/*
 * The ways to the other machine: a question that is answered in JSON, git over its transport ext::,
 * and a command that reads what this machine sends, which a child of this process runs. What a mas
 * there or here has failed with is found in what git prints. Then what is kept here, under a lock
 * for each project, since of two pushes git refuses one.
 */

#include "base/json.h"
#include "base/sha.h"
#include "code/land/carried.h"
#include "code/submodule/submodule.h"
#include "fleet/carry_internal.h"
#include "fleet/reach.h"
#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"

enum {
    ASK_MS = 60 * 1000,
    LOCK_MS = 10 * 60 * 1000, /* for a push of another process */
};

/* ---- ways to the other machine */

int carry_fail_version(const struct carry *carry, struct err *err)
{
    return err_set(err, MAS_DAMAGED, "host '%s' answers as no mas of this version does",
                   carry->remote->name);
}

int carry_ask(const struct carry *carry, char *const *words, struct json **ret, struct err *err)
{
    const struct reach_ask one = {.command = {.remote = carry->remote, .words = words},
                                  .output_max = REACH_ANSWER_MAX,
                                  .timeout_ms = ASK_MS};
    int rc = reach_ask_json(&one, ret, err);

    return rc == REACH_STRANGE ? carry_fail_version(carry, err) : rc;
}

/* Appends a word of the command that git is to run. */
static void add_word(struct str *to, const char *word)
{
    str_addc(to, ' ');
    for (; *word != '\0'; word++) {
        if (*word == ' ' || *word == '%')
            str_addc(to, '%');
        str_addc(to, *word);
    }
}

char *carry_address(const struct carry *carry, const char *step, const char *name, const char *more)
{
    _cleanup_free_ char *mas = path_exe();
    _cleanup_str_ struct str words = STR_INIT;

    add_word(&words, mas != NULL ? mas : "mas");
    if (carry->root != NULL) {
        add_word(&words, "--root");
        add_word(&words, carry->root);
    }
    add_word(&words, "--host");
    add_word(&words, carry->remote->name);
    add_word(&words, "carried");
    add_word(&words, step);
    add_word(&words, name);
    if (more != NULL)
        add_word(&words, more);
    return mem_printf("ext::%s", words.data + 1);
}

int carry_alias(char ret[ID_TEXT + 1], struct err *err)
{
    if (id_make(ret, err) == -1)
        return -1;
    memcpy(ret + strlen(ret), ":", 2);
    return 0;
}

int carry_talk(const struct git *git, const char *const *args, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    size_t len;

    if (git_run(git, args, NULL, &result, err) == -1)
        return -1;
    if (result.status == 0)
        return 0;
    const char *said = str_text(&result.err);
    const char *why = reach_find_error(said, &len); /* of a mas, here or there */
    if (why == said)
        return git_fail(&result, args[0], err);
    return err_set(err, str_starts(why, "cannot reach host ") ? MAS_UNREACHED : MAS_FAILED, "%.*s",
                   (int)len, why);
}

void carry_freight_free(struct carry_freight *freight)
{
    strv_free(freight->specs);
    strv_free(freight->lenders);
}

void carry_add_spec(struct carry_freight *freight, const char *from, const char *to)
{
    _cleanup_free_ char *spec = mem_printf("+%s:%s", from, to);

    strv_push(&freight->specs, spec);
}

int carry_load_submodules(const struct project *project, const char *commit, char ***notes,
                          struct carry_freight *freight, struct err *err)
{
    _cleanup_submodule_commits_ struct submodule_commits commits = {.dirs = NULL};

    if (submodule_list(project, commit, notes, &commits, err) == -1)
        return -1;
    for (size_t i = 0; i < strv_len(commits.oids); i++) {
        _cleanup_free_ char *ref = mem_printf(CARRIED_SUBMODULES "%s", commits.oids[i]);
        _cleanup_free_ char *objects = mem_printf("%s/objects", commits.dirs[i]);
        carry_add_spec(freight, commits.oids[i], ref);
        if (!strv_has(freight->lenders, objects))
            strv_push(&freight->lenders, objects);
    }
    return 0;
}

int carry_push(const struct carry *carry, const char *dir, const char *name, const char *branch,
               const struct carry_freight *freight, struct err *err)
{
    static const char *const plain[] = {"push.pushOption=", "push.followTags=false",
                                        "push.gpgSign=false", "push.recurseSubmodules=no", NULL};
    static const char *const begin[] = {"push", "--quiet", "--atomic", "--no-verify"};
    _cleanup_free_ char *address = carry_address(
        carry, "receive", name, branch != NULL ? branch + strlen("refs/heads/") : CARRIED_HEAD);
    char alias[ID_TEXT + 1];
    const struct git git = {.dir = dir,
                            .lenders = freight->lenders,
                            .settings = plain,
                            .reaches = address,
                            .alias = alias};
    size_t count = 0;
    _cleanup_free_ const char **args =
        mem_alloc((ARRAY_LEN(begin) + strv_len(freight->specs) + 2) * sizeof *args);

    if (strv_len(freight->specs) > GIT_ARGS_MAX / 2)
        return err_set(err, MAS_USAGE, "it has more than %d submodules", GIT_ARGS_MAX / 2);
    if (carry_alias(alias, err) == -1)
        return -1;
    for (; count < ARRAY_LEN(begin); count++)
        args[count] = begin[count];
    args[count++] = alias;
    for (size_t i = 0; i < strv_len(freight->specs); i++)
        args[count++] = freight->specs[i];
    return carry_talk(&git, args, err);
}

/* ---- what is kept here */

char *carry_state(const struct carry *carry)
{
    _cleanup_free_ char *state = path_user_dir("XDG_STATE_HOME", ".local/state");

    return state != NULL ? mem_printf("%s/mas/home/%s", state, carry->remote->name) : NULL;
}

int carry_open_state(const char *path, struct err *err)
{
    if (path == NULL)
        return err_set(err, MAS_FAILED, "cannot keep a record: HOME is not set");
    if (path_make_dirs(path, err) == -1)
        return -1;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir == -1 || fchmod(dir, 0700) == -1) {
        (void)err_errno(err, "cannot open '%s'", path);
        fd_closep(&dir);
    }
    return dir;
}

char *carry_branch_path(const struct carry *carry, const char *name, const char *branch)
{
    _cleanup_free_ char *state = carry_state(carry);
    char hash[SHA256_TEXT];

    sha256_of(branch, strlen(branch), hash);
    return mem_printf("%s/.%s-%.*s", state != NULL ? state : "", name, CARRY_HASH_CHARS, hash);
}

int carry_record(const struct carry *carry, const char *name, const char *path, const char *branch,
                 int *ret_lock, struct err *err)
{
    _cleanup_free_ char *state = carry_state(carry);
    _cleanup_free_ char *lock = mem_printf(".%s.lock", name);
    _cleanup_close_ int dir = carry_open_state(state, err);

    if (dir == -1)
        return -1;
    if (file_lock(dir, lock, LOCK_MS, "new", ret_lock, err) == -1)
        return err_wrap(err, "cannot lock '%s/%s'", state, lock);
    if (file_replace(dir, name, path, strlen(path), 0600, err) == -1)
        return -1;
    if (branch == NULL)
        return 0;
    _cleanup_free_ char *of_branch = carry_branch_path(carry, name, branch);
    return file_replace(dir, strrchr(of_branch, '/') + 1, branch, strlen(branch), 0600, err);
}

/* ---- what another machine reads */

/* In a child. */
static int run_stream(void *arg)
{
    const struct carry_stream *stream = arg;
    struct err err = ERR_INIT;
    struct reach_end end;

    if (stream->other != -1)
        (void)close(stream->other);
    if (dup2(stream->in, STDIN_FILENO) == -1 ||
        (stream->out != -1 && dup2(stream->out, STDOUT_FILENO) == -1))
        return MAS_FAILED;
    (void)close(stream->in);
    if (stream->out != -1)
        (void)close(stream->out);
    if (reach_run(&stream->command, &end, &err) == 0)
        return end.signal != 0 ? 128 + end.signal : end.code;
    (void)dprintf(STDERR_FILENO, "mas: %s\n", err.text);
    return err.code;
}

struct proc_spec carry_stream_spec(struct carry_stream *stream)
{
    return reach_spec(stream->command.remote->name, run_stream, stream);
}

int carry_fail_stream(const struct proc_result *result, struct err *err)
{
    size_t len;
    const char *why = reach_find_error(str_text(&result->err), &len);
    bool known = result->status >= MAS_FAILED && result->status <= MAS_UNREACHED;

    return err_set(err, known ? result->status : MAS_FAILED, "%.*s", (int)len, why);
}
