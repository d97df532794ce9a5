/*
 * What another machine says is checked here before it becomes a path, a ref or a word: ids, labels,
 * names and branches. What it sends is checked by git.
 */

#include "base/json.h"
#include "base/sha.h"
#include "code/land/carried.h"
#include "code/placed.h"
#include "code/submodule/submodule.h"
#include "fleet/carry_internal.h"
#include "fleet/reach.h"
#include "git/checkout.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/machine.h"
#include "os/path.h"
#include "os/proc.h"

enum {
    STEM_MAX = 64, /* bytes of a project's name */
    NUMBER_TEXT = 24,
};

/* ---- there */

/* Returns NAME of a project. */
static char *make_name(const char *path, const char *machine)
{
    _cleanup_free_ char *whole = mem_printf("%s\n%s", machine, path);
    const char *base = strrchr(path, '/') + 1;
    char hash[SHA256_TEXT];
    char stem[STEM_MAX + 1] = "";
    size_t len = 0;

    for (; len < STEM_MAX && base[len] != '\0'; len++) {
        const char one[] = {base[len], '\0'};
        stem[len] = carried_is_name(one) || (len > 0 && strchr("._-", base[len])) ? base[len] : '_';
    }
    sha256_of(whole, strlen(whole), hash);
    return mem_printf("%s-%.*s", len > 0 ? stem : "_", CARRY_HASH_CHARS, hash);
}

/* Appends a note with names of files, unless there are none. */
static void add_note(char ***notes, const char *what, char *const *names)
{
    _cleanup_str_ struct str text = STR_INIT;

    if (names == NULL)
        return;
    str_add(&text, what);
    git_show_names(names, &text);
    strv_push(notes, text.data);
}

/* Tells what is changed in the work tree and stays. */
static int note_changes(const struct project *project, char ***notes, struct err *err)
{
    _cleanup_checkout_ struct checkout checkout = CHECKOUT_INIT;
    _cleanup_strv_ char **changed = NULL;
    _cleanup_strv_ char **others = NULL;

    if (project->top == NULL)
        return 0;
    if (checkout_open(project->top, &checkout, err) == -1 ||
        git_names(&checkout.git, GIT_ARGS("diff", "--name-only", "-z", "HEAD", "--"), &changed,
                  err) == -1 ||
        git_names(&checkout.git,
                  GIT_ARGS("ls-files", "-z", "--others", "--exclude-standard", "--directory",
                           "--no-empty-directory"),
                  &others, err) == -1)
        return -1;
    add_note(notes, "what is changed and not committed is not taken along: ", changed);
    add_note(notes, "what git does not know is not taken along: ", others);
    return 0;
}

/* Fails for a project that cannot be taken along whole. */
static int check_project(struct project *project, char ***notes, struct err *err)
{
    if (project->shallow) {
        (void)err_set(err, MAS_USAGE,
                      "cannot take project '%s' along: it is a shallow clone, which lacks history",
                      project->path);
        return err_hint(err, "get it with: git fetch --unshallow");
    }
    if (project_check_lfs(project, err) == -1)
        return -1;
    if (project->lfs)
        return err_set(err, MAS_USAGE,
                       "cannot take project '%s' along: it keeps files with git-lfs",
                       project->path);
    return note_changes(project, notes, err);
}

/* Has the other machine make its repository. *ret is its path there, *ret_refs its refs. */
static int make_there(const struct carry *carry, const struct project *project, const char *name,
                      const char *place, char **ret, char **ret_refs, struct err *err)
{
    _cleanup_json_ struct json *json = NULL;
    char *const words[] = {(char[]){"carried"}, (char[]){"--"},  (char[]){"make"},
                           (char *)name,        project->format, project->user_name,
                           project->user_email, (char *)place,   NULL};

    if (carry_ask(carry, words, &json, err) != 0)
        return -1;
    const char *path = json_get_text(json, "path");
    const char *refs = json_get_text(json, "refs");
    if (path == NULL || path[0] != '/' || refs == NULL)
        return carry_fail_version(carry, err);
    *ret = mem_dup(path);
    *ret_refs = mem_dup(refs);
    return 0;
}

static bool has_line(const char *text, const char *line)
{
    size_t len = strlen(line);

    for (; *text != '\0'; text += strcspn(text, "\n"), text += *text == '\n')
        if (strcspn(text, "\n") == len && strncmp(text, line, len) == 0)
            return true;
    return false;
}

/* Takes out what the other machine says that it has. If that is not so, its `mas new` fails. */
static void drop_known(struct carry_freight *freight, const char *refs)
{
    char **left = NULL;

    for (char **spec = freight->specs; spec != NULL && *spec != NULL; spec++) {
        const char *colon = strchr(*spec, ':');
        _cleanup_free_ char *ref =
            mem_printf("%.*s %s", (int)(colon - *spec) - 1, *spec + 1, colon + 1);
        if (!has_line(refs, ref))
            strv_push(&left, *spec);
    }
    strv_free(freight->specs);
    freight->specs = left;
}

static int send_project(const struct carry *carry, struct carried_project *going, char **ret,
                        struct err *err)
{
    const struct project *project = &going->project;
    const char *path = project->top != NULL ? project->top : project->path;
    _cleanup_free_ char *machine = NULL;
    const char *branch = project->onto[0] != '\0' ? project->onto : NULL;
    _cleanup_free_ char *there = NULL;
    _cleanup_free_ char *refs = NULL;
    _cleanup_close_ int lock = -1;

    if (machine_identity(&machine, err) == -1)
        return -1;
    _cleanup_free_ char *name = make_name(path, machine);
    _cleanup_free_ char *place = mem_printf("%s:%s", machine_host(machine), path);
    if (carry_record(carry, name, path, branch, &lock, err) == -1 ||
        make_there(carry, project, name, place, &there, &refs, err) == -1 || refs == NULL)
        return -1;
    carry_add_spec(&going->freight, project->base, CARRIED_HEAD);
    if (branch != NULL)
        carry_add_spec(&going->freight, project->base, branch);
    drop_known(&going->freight, refs);
    if (going->freight.specs != NULL &&
        (carry_big(carry, project, name, refs, err) == -1 ||
         carry_push(carry, project->dir, name, branch, &going->freight, err) == -1))
        return -1;
    *ret = branch != NULL ? mem_printf("%s@%s", there, branch + strlen("refs/heads/"))
                          : TAKE_PTR(there);
    return 0;
}

void carried_project_free(struct carried_project *going)
{
    project_free(&going->project);
    carry_freight_free(&going->freight);
    strv_free(going->notes);
    str_free(&going->text);
    parcel_free(&going->files);
}

int carry_prepare(const char *spec, struct carried_project *ret, struct err *err)
{
    _cleanup_going_ struct carried_project going = CARRIED_PROJECT_INIT;
    struct project *project = &going.project;

    if (project_open(spec, project, err) == -1 || project_find_person(project, err) == -1 ||
        check_project(project, &going.notes, err) == -1 ||
        carry_load_submodules(project, project->base, &going.notes, &going.freight, err) == -1 ||
        placed_pack(project, &going.text, &going.notes, err) == -1 ||
        parcel_parse(str_text(&going.text), going.text.len, &going.files, err) == -1)
        return -1;
    *ret = going;
    going = (struct carried_project)CARRIED_PROJECT_INIT;
    return 0;
}

int carry_send(const struct carry *carry, struct carried_project *going, char **ret,
               struct err *err)
{
    return send_project(carry, going, ret, err) == -1
               ? err_wrap(err, "cannot take project '%s' to host '%s'", going->project.path,
                          carry->remote->name)
               : 0;
}

/* ---- the files that git ignores */

/* Sends the text, and waits until the other machine says that it has it. */
static int put_text(int to, int answers, struct proc *proc, const struct str *text, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* it may end in the middle, and says why */
    char answer;

    (void)file_write_all(to, str_text(text), text->len);
    (void)signal(SIGPIPE, before);
    if (loop_wait_for(answers, POLLIN, -1) > 0 && read(answers, &answer, 1) == 1)
        return 0;
    return proc_finish(proc, &result, err) == -1 ? -1 : carry_fail_stream(&result, err);
}

int carry_put(const struct carry *carry, const struct carried_project *going, const char *id,
              struct err *err)
{
    const struct str *text = &going->text;
    char sum[SHA256_TEXT];
    char len[NUMBER_TEXT];
    char *const words[] = {(char[]){"carried"}, (char[]){"put"}, (char *)id, len, sum, NULL};
    struct carry_stream stream = {.command = {.remote = carry->remote, .words = words}};
    const struct proc_spec spec = carry_stream_spec(&stream);
    struct proc proc;
    int in[2];
    int out[2];

    sha256_of(str_text(text), text->len, sum);
    (void)snprintf(len, sizeof len, "%zu", text->len);
    if (pipe2(in, O_CLOEXEC) == -1)
        return err_errno(err, "cannot create a pipe");
    if (pipe2(out, O_CLOEXEC) == -1) {
        (void)err_errno(err, "cannot create a pipe");
        (void)close(in[0]);
        (void)close(in[1]);
        return -1;
    }
    stream.in = in[0];
    stream.other = in[1];
    stream.out = out[1];
    int rc = proc_start(&spec, &proc, err);
    (void)close(in[0]);
    (void)close(out[1]);
    if (rc == 0)
        rc = put_text(in[1], out[0], &proc, text, err);
    (void)close(out[0]);
    if (rc == 0)
        return 0; /* the end of this process closes in[1], by which the other machine sees it */
    (void)close(in[1]);
    return err_wrap(err, "cannot take the files that git ignores to host '%s'",
                    carry->remote->name);
}
