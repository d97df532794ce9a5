/*
 * The scripts are one line each, because csh quotes no line breaks; sh there is any POSIX shell.
 * They print KEY=VALUE lines.
 */
#include "fleet/install.h"

#include "base/number.h"
#include "fleet/reach.h"
#include "os/path.h"
#include "os/proc.h"

#include <glob.h>
#include <sys/utsname.h>

enum {
    LOOK_MS = 60000,
    PACK_MS = 120000,
    SEND_MS = 30 * 60 * 1000, /* over a slow line */
    PACK_MAX = 512 << 20, /* bytes */
    VALUE_MAX = 4096, /* bytes of a value */
    ROOM = 3, /* times the size of the tar file: that, what is in it, and some */
};

#define SYSTEM "system"
#define ARCH "arch"
#define HOME "home"
#define MAS "mas"
#define VERSION "version"
#define MISSING "missing"
#define FREE "free"

static const char look_script[] =
    "say() { printf \"%s=%s\\n\" \"$1\" \"$2\"; }; "
    "say " SYSTEM " \"$(uname -s)\"; say " ARCH " \"$(uname -m)\"; say " HOME " \"$HOME\"; "
    "f=$1; [ -n \"$f\" ] || f=\"$(command -v mas) $HOME/.local/bin/mas\"; "
    /* one path with blanks, or two without */
    "[ -z \"$1\" ] || IFS=; "
    "for m in $f; do [ ! -x \"$m\" ] || { say " MAS " \"$m\"; "
    "say " VERSION " \"$(\"$m\" version 2>/dev/null </dev/null | head -n 1)\"; }; done; unset IFS; "
    "for p in tar sha256sum ldd tmux git; do "
    "command -v $p >/dev/null 2>&1 || say " MISSING " $p; done; "
    "say " FREE
    " \"$(df -Pk \"$HOME\" 2>/dev/null | { read -r x; read -r a b c d e; echo \"$d\"; })\"";

/* $1 is the version, $2 the sum. What comes last is how it has ended: `mas=PATH`, or a row of
 * failures[] below. */
static const char send_script[] =
    "v=$1; b=$HOME/.local/bin; d=$HOME/.local/lib/mas; n=$d/$v.new; "
    "drop() { rm -rf \"$n\"; rmdir \"$d\" 2>/dev/null; }; "
    "end() { drop; printf \"%s=%s\\n\" \"$1\" \"$2\"; exit 1; }; "
    "trap \"drop; exit 1\" HUP INT TERM; "
    "if [ -e \"$b/mas\" ] || [ -L \"$b/mas\" ]; then case $(readlink \"$b/mas\") in "
    "../lib/mas/*/bin/mas) ;; *) end taken \"$b/mas\" ;; esac; fi; "
    "e=$( { rm -rf \"$n\" && mkdir -p \"$n\" && cat >\"$n/tar\"; } 2>&1) || end failed "
    "\"$e\"; "
    "s=$(sha256sum <\"$n/tar\"); s=${s%% *}; [ \"$s\" = \"$2\" ] || end sum \"$s\"; "
    "e=$(tar -xf \"$n/tar\" -C \"$n\" 2>&1) || end failed \"$e\"; rm -f \"$n/tar\"; "
    "e=$(for f in \"$n/bin/mas\" \"$n\"/libexec/mas/*; do LD_PRELOAD=libsqlite3.so.0 ldd \"$f\" "
    "2>&1; "
    "done | sed -n -e \"s/^[[:space:]]*\\([^ ]*\\) => not found.*/\\1/p\" "
    "-e \"s/.*object .\\([^ ]*\\). from LD_PRELOAD cannot.*/\\1/p\" | sort -u | tr \"\\n\" \" \"); "
    "[ -z \"$e\" ] || end library \"${e% }\"; "
    "e=$(\"$n/bin/mas\" version 2>&1 </dev/null) || end failed \"$e\"; "
    "case $e in \"mas $v\" | \"mas $v \"*) ;; *) end failed \"$e\" ;; esac; "
    "sync -f \"$n/bin/mas\" 2>/dev/null; o=$d/$v.old; rm -rf \"$o\"; "
    "[ ! -e \"$d/$v\" ] || mv \"$d/$v\" \"$o\"; "
    "e=$(mv \"$n\" \"$d/$v\" 2>&1) || end failed \"$e\"; rm -rf \"$o\"; "
    "e=$( { mkdir -p \"$b\" && rm -f \"$b/.mas.new\" && ln -s \"../lib/mas/$v/bin/mas\" "
    "\"$b/.mas.new\" && "
    "mv -f \"$b/.mas.new\" \"$b/mas\"; } 2>&1) || end failed \"$e\"; "
    "printf \"" MAS "=%s\\n\" \"$b/mas\"";

/* How it can end; %s is what it says. */
static const struct failure {
    const char *key, *why, *hint;
} failures[] = {
    {"taken", "'%s' there is another program",
     "move it away, or install mas there by hand and name it with --mas"},
    {"sum", "what has arrived has the SHA-256 %s, which is not that of what was sent",
     "try again; the connection or the disk there is damaged"},
    {"library", "shared libraries are missing there: %s",
     "install them there, or its Debian package, which brings them"},
    {"failed", "%s", "nothing of it was left there"},
};

/* Calls `each` for each line KEY=VALUE of an output. */
static void each_value(const struct str *out,
                       void (*each)(const char *key, const char *value, void *arg), void *arg)
{
    const char *end = str_text(out) + out->len;

    for (const char *line = str_text(out); line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t len = (size_t)((newline != NULL ? newline : end) - line);
        const char *equals = memchr(line, '=', len);
        if (equals != NULL) {
            size_t rest = len - (size_t)(equals + 1 - line);
            _cleanup_free_ char *key = mem_dupn(line, (size_t)(equals - line));
            _cleanup_free_ char *value = mem_dupn(equals + 1, str_cut(equals + 1, rest, VALUE_MAX));
            each(key, value, arg);
        }
        line += len + 1;
    }
}

/* ---- looking */

/* "1.0" of "mas 1.0 (0123456789ab)"; NULL if it is no version of mas. */
static char *version_of(const char *text)
{
    if (!str_starts(text, "mas "))
        return NULL;
    text += strlen("mas ");
    size_t len = strcspn(text, " ");
    return len > 0 && len < 64 ? mem_dupn(text, len) : NULL;
}

/* One of this version counts more than one before it. */
static void take_version(struct install_place *place, char **path, const char *text)
{
    _cleanup_free_ char *version = version_of(text);

    if (version == NULL || *path == NULL ||
        (place->version != NULL && strcmp(version, MAS_VERSION) != 0))
        return;
    free(place->mas);
    free(place->version);
    place->mas = TAKE_PTR(*path);
    place->version = TAKE_PTR(version);
}

struct install_looking {
    struct install_place *place;
    char *mas; /* the one whose version comes next */
};

static void take_look(const char *key, const char *value, void *arg)
{
    struct install_looking *looking = arg;
    struct install_place *place = looking->place;
    const struct {
        const char *key;
        char **to;
    } texts[] = {
        {SYSTEM, &place->system}, {ARCH, &place->arch}, {HOME, &place->home}, {MAS, &looking->mas}};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (strcmp(key, texts[i].key) == 0) {
            free(*texts[i].to);
            *texts[i].to = mem_dup(value);
        }
    if (strcmp(key, VERSION) == 0)
        take_version(place, &looking->mas, value);
    else if (strcmp(key, MISSING) == 0)
        strv_push(&place->missing, value);
    else if (strcmp(key, FREE) == 0 && value[0] >= '0' && value[0] <= '9' && strlen(value) < 16)
        place->free = strtoll(value, NULL, 10) * 1024;
}

int install_look(const struct remote *remote, const char *mas, struct install_place *ret,
                 struct err *err)
{
    _cleanup_strv_ char **args = NULL;
    _cleanup_str_ struct str out = STR_INIT;
    struct install_looking looking = {.place = ret};
    int code = 0;

    strv_push(&args, mas != NULL ? mas : "");
    const struct reach_script script = {
        .remote = remote, .text = look_script, .args = args, .timeout_ms = LOOK_MS};
    if (reach_run_script(&script, &out, &code, err) == -1)
        return -1;
    each_value(&out, take_look, &looking);
    free(looking.mas);
    if (ret->system != NULL && ret->arch != NULL && ret->home != NULL && ret->home[0] == '/')
        return 0;
    return err_set(err, MAS_UNREACHED, "cannot reach host '%s': its shell does not say what it is",
                   remote->name);
}

void install_place_free(struct install_place *place)
{
    free(place->system);
    free(place->arch);
    free(place->home);
    free(place->mas);
    free(place->version);
    strv_free(place->missing);
    *place = (struct install_place)INSTALL_PLACE_INIT;
}

bool install_lacks(const struct install_place *place, const char *program)
{
    for (char **name = place->missing; name != NULL && *name != NULL; name++)
        if (strcmp(*name, program) == 0)
            return true;
    return false;
}

/* ---- packing */

static int refuse(const struct remote *remote, struct err *err, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
static int refuse(const struct remote *remote, struct err *err, const char *fmt, ...)
{
    _cleanup_str_ struct str why = STR_INIT;
    va_list args;

    va_start(args, fmt);
    str_vaddf(&why, fmt, args);
    va_end(args);
    return err_set(err, MAS_CONFLICT, "cannot install mas on host '%s': %s", remote->name,
                   str_text(&why));
}

/* Fails if the programs of this machine do not run there. */
static int check_place(const struct remote *remote, const struct install_place *place,
                       struct err *err)
{
    static const char *const needed[] = {"tar", "sha256sum", "ldd"};
    struct utsname here;

    if (uname(&here) == -1)
        return err_errno(err, "cannot see what this machine is");
    if (strcmp(place->system, here.sysname) != 0 || strcmp(place->arch, here.machine) != 0) {
        (void)refuse(remote, err, "it is %s %s, and this mas is for %s %s", place->system,
                     place->arch, here.sysname, here.machine);
        return err_hint(err, "build and install mas there; then name it with --mas");
    }
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        if (install_lacks(place, needed[i])) {
            (void)refuse(remote, err, "it has no %s", needed[i]);
            return err_hint(err, "install that there, or mas by hand, and name it with --mas");
        }
    return 0;
}

/* Appends what belongs to an installation below `prefix`, without it. */
static void add_parts(const char *prefix, char ***to)
{
    /* not all of share/mas: there may be a root */
    static const char *const parts[] = {
        "bin/mas",
        "libexec/mas",
        "share/mas/templates",
        "share/mas/lib",
        "share/mas/slurm",
        "share/mas/examples",
        "share/man/man[1578]/mas[.-]*",
        "share/bash-completion/completions/mas",
        "share/zsh/*/_mas",
        "share/fish/*/mas.fish",
    };

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        _cleanup_free_ char *pattern = mem_printf("%s/%s", prefix, parts[i]);
        glob_t found = {.gl_pathc = 0};
        if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
            for (size_t at = 0; at < found.gl_pathc; at++)
                strv_push(to, found.gl_pathv[at] + strlen(prefix) + 1);
        globfree(&found);
    }
}

/* Returns the directory of this installation, or NULL with *err set. The caller frees it. */
static char *find_prefix(const struct remote *remote, struct err *err)
{
    static const char *const needed[] = {"bin/mas", "libexec/mas/mas-archive",
                                         "share/mas/templates"};
    _cleanup_free_ char *dir = path_exe_dir();
    _cleanup_free_ char *prefix =
        dir != NULL && str_ends(dir, "/bin") ? mem_dupn(dir, strlen(dir) - strlen("/bin")) : NULL;
    bool whole = prefix != NULL && strpbrk(prefix, "*?[\\") == NULL;

    for (size_t i = 0; whole && i < ARRAY_LEN(needed); i++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", prefix, needed[i]);
        whole = access(path, F_OK) == 0;
    }
    if (whole)
        return TAKE_PTR(prefix);
    (void)refuse(remote, err, "this mas is no whole installation, it runs from '%s'",
                 dir != NULL ? dir : "?");
    (void)err_hint(err, "install it here first, with 'make install', and run that one");
    return NULL;
}

static int run_tar(const struct remote *remote, const char *prefix, struct str *ret,
                   struct err *err)
{
    _cleanup_free_ char *tar = path_find_program("tar", getenv("PATH"), -1);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    _cleanup_strv_ char **argv = NULL;
    static const char *const options[] = {
        "tar", "--owner=0", "--group=0", "--mode=u+rwX,go=rX", "--format=ustar", "-cf", "-", "-C"};

    if (tar == NULL)
        return refuse(remote, err, "there is no program 'tar' here");
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        strv_push(&argv, options[i]);
    strv_push(&argv, prefix);
    strv_push(&argv, "--");
    add_parts(prefix, &argv);
    const struct proc_spec spec = {.file = tar,
                                   .argv = argv,
                                   .cwd = -1,
                                   .output_max = PACK_MAX,
                                   .timeout_ms = PACK_MS,
                                   .bound = true};
    if (proc_capture(&spec, &result, err) == -1)
        return -1;
    if (result.status != 0)
        return refuse(remote, err, "it cannot be packed: %s", str_text(&result.err));
    *ret = result.out;
    result.out = (struct str)STR_INIT;
    return 0;
}

int install_pack(const struct remote *remote, const struct install_place *place,
                 struct install_pack *ret, struct err *err)
{
    _cleanup_free_ char *prefix = NULL;
    char need[NUMBER_SIZE_TEXT], has[NUMBER_SIZE_TEXT];

    if (check_place(remote, place, err) == -1 || (prefix = find_prefix(remote, err)) == NULL ||
        run_tar(remote, prefix, &ret->tar, err) == -1)
        return -1;
    sha256_of(ret->tar.data, ret->tar.len, ret->sum);
    if (place->free < 0 || (uint64_t)place->free >= ROOM * ret->tar.len)
        return 0;
    number_format_size(ROOM * ret->tar.len, need);
    number_format_size((uint64_t)place->free, has);
    (void)refuse(remote, err, "it needs %s, and '%s' has %s free", need, place->home, has);
    return err_hint(err, "make room there");
}

void install_pack_free(struct install_pack *pack)
{
    str_free(&pack->tar);
}

/* ---- sending */

struct install_sending {
    char *mas, *text;
    const struct failure *failure;
};

static void take_end(const char *key, const char *value, void *arg)
{
    struct install_sending *sending = arg;

    if (strcmp(key, MAS) == 0 && sending->mas == NULL)
        sending->mas = mem_dup(value);
    for (size_t i = 0; i < ARRAY_LEN(failures) && sending->failure == NULL; i++)
        if (strcmp(key, failures[i].key) == 0) {
            sending->failure = &failures[i];
            sending->text = mem_dup(value);
        }
}

int install_send(const struct remote *remote, const struct install_pack *pack, char **ret,
                 struct err *err)
{
    _cleanup_strv_ char **args = NULL;
    _cleanup_str_ struct str out = STR_INIT;
    struct install_sending sending = {.mas = NULL};
    int code = 0;

    strv_push(&args, MAS_VERSION);
    strv_push(&args, pack->sum);
    const struct reach_script script = {.remote = remote,
                                        .text = send_script,
                                        .args = args,
                                        .input = pack->tar.data,
                                        .input_len = pack->tar.len,
                                        .timeout_ms = SEND_MS};
    if (reach_run_script(&script, &out, &code, err) == -1)
        return -1;
    each_value(&out, take_end, &sending);
    if (code == 0 && sending.failure == NULL && sending.mas != NULL) {
        *ret = sending.mas;
        return 0;
    }
    const struct failure *failure = sending.failure;
    const char *mark = failure != NULL ? strstr(failure->why, "%s") : NULL;
    if (mark == NULL)
        (void)refuse(remote, err, "the script there has ended with code %d", code);
    else
        (void)refuse(remote, err, "%.*s%s%s", (int)(mark - failure->why), failure->why,
                     sending.text, mark + strlen("%s"));
    if (failure != NULL)
        (void)err_hint(err, "%s", failure->hint);
    free(sending.mas);
    free(sending.text);
    return -1;
}
