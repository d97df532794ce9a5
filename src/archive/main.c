/*
 * mas-archive: reads and writes archives of sessions for mas, so that mas itself does not need the
 * libraries. archive/parent.h describes how they communicate. It has no other use.
 */
#include "archive/pack.h"
#include "archive/parent.h"
#include "archive/unpack.h"
#include "filter/filter.h"
#include "os/landlock.h"
#include "os/loop.h"
#include "os/proc.h"

#include <sys/resource.h>
#include <sys/socket.h>

enum { LIVE_NICE = 10 };

/* Makes this process end with mas. Fails if mas has already ended. */
static int follow_mas(void)
{
    int type = 0;
    socklen_t len = sizeof type;

    proc_end_with_parent(SIGKILL);
    proc_gain_nothing();
    if (getsockopt(PARENT_SOCKET, SOL_SOCKET, SO_TYPE, &type, &len) == -1)
        return -1;
    return loop_wait_for(PARENT_SOCKET, POLLRDHUP, 0) == 0 ? 0 : -1;
}

/* Gives up what this program does not need, before it reads a byte of an archive: it keeps system
 * calls on files, the directories that mas has opened for it, and what libraries read. */
static int restrict_self(enum landlock_access access, struct err *err)
{
    enum { ABI_THAT_LINKS = 2 }; /* before, no file could be linked into another directory */
    static const char *const libraries[] = {"/usr",     "/lib",     "/lib64",
                                            "/etc/ssl", "/etc/pki", "/nix/store"};
    struct landlock_path paths[ARRAY_LEN(libraries) + 2] = {{.access = access, .fd = PARENT_DIR},
                                                            {.access = access, .fd = PARENT_PARTS}};
    const struct landlock landlock = {.paths = paths, .path_count = ARRAY_LEN(paths), .tcp = true};

    for (size_t i = 0; i < ARRAY_LEN(libraries); i++)
        paths[2 + i] = (struct landlock_path){.access = ACCESS_READ, .path = libraries[i]};
    if (landlock_abi() >= ABI_THAT_LINKS && landlock_enter(&landlock, err) == -1)
        return -1;
    return filter_program_load(FILTER_ARCHIVE, err);
}

static int run_pack(struct parent *parent, const struct json *order, struct err *err)
{
    _cleanup_manifest_ struct manifest manifest = {.id = ""};
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};
    struct pack pack = {.dir = PARENT_DIR,
                        .parts = PARENT_PARTS,
                        .file = PARENT_FILE,
                        .level = (int)json_int(json_get(order, "level"), 3),
                        .strict = json_bool(json_get(order, "strict"), false),
                        .live = json_bool(json_get(order, "live"), false),
                        .spool = PARENT_SPOOL,
                        .memory = json_int(json_get(order, "memory"), 0),
                        .parent = parent,
                        .manifest = &manifest};

    if (pack.live) /* the team comes first */
        (void)setpriority(PRIO_PROCESS, 0, LIVE_NICE);
    if (restrict_self(ACCESS_READ, err) == -1 ||
        manifest_read(json_get(order, "manifest"), &manifest, err) == -1 ||
        pack_run(&pack, err) == -1)
        return -1;
    json_put_all(&out, JO(NULL), JT("do", "packed"), JI("entries", manifest.entries),
                 JI("size", manifest.bytes), JI("written", pack.written),
                 JI("linksOut", manifest.links), JT("digest", pack.digest), JOE);
    return parent_send(parent, &head, err);
}

/* Sends the manifest to mas and waits for `go`. */
static int on_manifest(const struct manifest *manifest, void *arg, struct err *err)
{
    struct parent *parent = arg;
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct frame answer;

    manifest_format(manifest, &text);
    str_addf(&head, "{\"do\":\"manifest\",\"manifest\":%s}", str_text(&text));
    if (parent_send(parent, &head, err) == -1 || parent_receive(parent, "go", &answer, err) == -1)
        return -1;
    frame_free(&answer);
    return 0;
}

static int run_unpack(struct parent *parent, const struct json *order, struct err *err)
{
    _cleanup_str_ struct str head = STR_INIT;
    char digest[SHA256_TEXT];
    struct unpack unpack = {.file = PARENT_FILE,
                            .dir = PARENT_DIR,
                            .links = json_bool(json_get(order, "links"), false),
                            .parent = parent,
                            .on_manifest = on_manifest,
                            .arg = parent};

    if (restrict_self(ACCESS_WRITE, err) == -1 || unpack_run(&unpack, digest, err) == -1)
        return -1;
    str_addf(&head, "{\"do\":\"unpacked\",\"digest\":\"%s\"}", digest);
    return parent_send(parent, &head, err);
}

int main(void)
{
    struct parent parent = {.fd = PARENT_SOCKET};
    struct frame order = {.head = NULL};
    struct err err = ERR_INIT;

    if (follow_mas() == -1) {
        (void)fputs("mas-archive: this program is part of mas; see: mas help archive\n", stderr);
        return MAS_USAGE;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    proc_raise_files(SIZE_MAX); /* a deep tree needs one per level */
    int rc = parent_receive(&parent, NULL, &order, &err);
    if (rc == 0) {
        const char *verb = json_get_text(order.head, "do");
        rc = strcmp(verb, "pack") == 0     ? run_pack(&parent, order.head, &err)
             : strcmp(verb, "unpack") == 0 ? run_unpack(&parent, order.head, &err)
                                           : err_set(&err, MAS_FAILED, "unknown request");
    }
    if (rc == -1)
        parent_fail(&parent, &err);
    frame_free(&order);
    frames_free(&parent.in);
    return rc == 0 ? MAS_OK : MAS_FAILED;
}
