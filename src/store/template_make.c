/* What is hostile in the directory is refused before anything is written. template.ini is text of
 * words that were checked, and it is read back before the template counts. */

#include "store/template_make.h"

#include "model/team/team.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree_walk.h"

enum { PANES_MAX = 6 }; /* in a window of agents that have no numbers */

/* ---- putting a template into its place */

/* Removes what was left by those that were killed. */
static int sweep(int templates, struct err *err)
{
    _cleanup_strv_ char **names = NULL;

    if (path_list(templates, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++)
        if (str_starts(*name, STAGING_PREFIX) && tree_remove(templates, *name, err) == -1)
            return -1;
    return 0;
}

static int refuse_taken(const char *name, const char *what, struct err *err)
{
    return err_set(err, MAS_CONFLICT, "cannot %s template '%s': it exists", what, name);
}

int template_put(int templates, const char *name, const char *what, template_fill *fill, void *arg,
                 struct err *err)
{
    _cleanup_free_ char *stage = mem_printf(STAGING_PREFIX "%s", name);
    struct err ignored = ERR_INIT;

    if (faccessat(templates, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return refuse_taken(name, what, err);
    if (sweep(templates, err) == -1)
        return -1;
    if (mkdirat(templates, stage, 0700) == -1)
        return err_errno(err, "cannot create template '%s'", name);
    _cleanup_close_ int dir = path_open_dir(templates, stage);
    int rc = dir == -1 || fchmod(dir, 0755 & ~file_umask()) == -1
                 ? err_errno(err, "cannot create template '%s'", name)
                 : fill(dir, arg, err);
    if (rc == 0 && file_sync_all(dir) == -1)
        rc = err_errno(err, "cannot sync template '%s'", name);
    if (rc == 0 && path_rename_new(templates, stage, templates, name) == -1)
        rc = errno == EEXIST ? refuse_taken(name, what, err)
                             : err_errno(err, "cannot put template '%s' in place", name);
    if (rc == 0)
        return file_sync_dir(templates, err);
    (void)tree_remove(templates, stage, &ignored);
    return -1;
}

/* ---- what is there */

struct making {
    int from;
    const char *path;
    char **ids; /* of the agents, sorted */
    char **workflows; /* names in workflows/; NULL: none */
    bool numbered; /* the ids are two digits each */
    tree_tick *tick;
    void *tick_arg;
};

static void making_free(struct making *making)
{
    strv_free(making->ids);
    strv_free(making->workflows);
}
#define _cleanup_making_ __attribute__((cleanup(making_free)))

static int refuse(const struct making *making, const char *name, const char *why, struct err *err)
{
    return err_set(err, MAS_FAILED, "cannot make a template of '%s/%s': %s", making->path, name,
                   why);
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A walk through a part. */
struct part_walk {
    const struct making *making;
    const char *part;
    uint64_t *files;
    int64_t *bytes;
    struct err *err;
};

static int see(int dir, const char *path, mode_t type, void *arg)
{
    const struct part_walk *walk = arg;
    const char *base = strrchr(path, '/');
    const char *name = base != NULL ? base + 1 : path;
    const char *why = NULL;
    char target[PATH_MAX];
    struct stat st;
    size_t level = 1; /* unit/ may have links to workflows/ */

    for (const char *c = path; *c != '\0'; c++)
        level += *c == '/';
    if (type == S_IFLNK) {
        ssize_t len = readlinkat(dir, name, target, sizeof target - 1);
        target[len > 0 ? len : 0] = '\0';
        why = len == -1                            ? strerror(errno)
              : path_link_leads_out(target, level) ? "it is a link that leads out"
                                                   : NULL;
    } else if (type == 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1) {
        why = strerror(errno);
    } else if (type == S_IFREG) {
        *walk->bytes += st.st_size > TEMPLATE_MAKE_BYTES ? TEMPLATE_MAKE_BYTES + 1 : st.st_size;
    }
    if (++*walk->files > TEMPLATE_MAKE_FILES || *walk->bytes > TEMPLATE_MAKE_BYTES)
        why = "there are more than 200000 files or 4 GiB up to here";
    if (why == NULL)
        return type == S_IFDIR;
    _cleanup_free_ char *below = mem_printf("%s/%s", walk->part, path);
    return refuse(walk->making, below, why, walk->err);
}

/* Opens a part; -1 without an error if it is missing. */
static int open_part(const struct making *making, const char *part, struct err *err)
{
    int fd = path_open_beneath(making->from, part, O_RDONLY | O_DIRECTORY);

    if (fd == -1 && errno == ELOOP)
        (void)refuse(making, part, "it is a symbolic link", err);
    else if (fd == -1 && errno != ENOENT)
        (void)refuse(making, part, strerror(errno), err);
    return fd;
}

static int check_part(const struct making *making, const char *part, uint64_t *files,
                      int64_t *bytes, struct err *err)
{
    _cleanup_close_ int fd = open_part(making, part, err);
    struct part_walk walk = {
        .making = making, .part = part, .files = files, .bytes = bytes, .err = err};

    if (fd != -1)
        walk_tree(fd, see, &walk);
    return err->code == MAS_OK ? 0 : -1;
}

static int add_agent(struct making *making, int unit, const char *name, struct err *err)
{
    _cleanup_free_ char *below = mem_printf(TEMPLATE_UNIT "/%s", name);
    struct stat st;

    if (name[0] == '.' || fstatat(unit, name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
        S_ISREG(st.st_mode))
        return 0;
    if (!S_ISDIR(st.st_mode))
        return refuse(making, below, "it is not a directory", err);
    if (!team_is_agent_id(name))
        return refuse(making, below, "an agent's id must be " TEAM_AGENT_ID, err);
    making->numbered = making->numbered && strlen(name) == 2 && isdigit((unsigned char)name[0]) &&
                       isdigit((unsigned char)name[1]);
    strv_push(&making->ids, name);
    return 0;
}

static int find_agents(struct making *making, struct err *err)
{
    _cleanup_close_ int unit = open_part(making, TEMPLATE_UNIT, err);
    _cleanup_close_ int workflows = -1;
    _cleanup_strv_ char **names = NULL;

    if (unit == -1)
        return err->code != MAS_OK ? -1 : refuse(making, TEMPLATE_UNIT, "it is missing", err);
    if (path_list(unit, &names, err) == -1)
        return -1;
    making->numbered = true;
    for (char **name = names; *name != NULL; name++)
        if (add_agent(making, unit, *name, err) == -1)
            return -1;
    if (making->ids == NULL)
        return refuse(making, TEMPLATE_UNIT, "it has no directories of agents", err);
    if (strv_len(making->ids) > TEAM_AGENTS_MAX)
        return refuse(making, TEMPLATE_UNIT, "it has more than 256 agents", err);
    qsort(making->ids, strv_len(making->ids), sizeof *making->ids, compare_text);
    workflows = open_part(making, TEMPLATE_WORKFLOWS, err);
    return workflows != -1 ? path_list(workflows, &making->workflows, err)
                           : (err->code == MAS_OK ? 0 : -1);
}

/* ---- template.ini */

static enum rank rank_of(const struct making *making, const char *id)
{
    if (!making->numbered || id[1] != '0')
        return RANK_WORKER;
    return id[0] == '0' ? RANK_META : RANK_MANAGER;
}

/* Appends what workflows/ID_ROLE.md calls the role, else the rank and the id. */
static void add_role(const struct making *making, const char *id, struct str *to)
{
    size_t len = strlen(id);

    for (char **name = making->workflows; name != NULL && *name != NULL; name++) {
        const char *role = *name + len + 1;
        size_t rest = strlen(*name) > len + 1 ? strlen(role) : 0;
        if (!str_starts(*name, id) || (*name)[len] != '_' || rest <= 3 ||
            strcmp(role + rest - 3, ".md") != 0)
            continue;
        _cleanup_free_ char *word = mem_dupn(role, rest - 3);
        if (!str_is_word(word, TEAM_ROLE_MAX))
            continue;
        for (char *c = word; *c != '\0'; c++)
            *c = *c == '_' ? ' ' : *c;
        str_add(to, word);
        return;
    }
    str_addf(to, "%s %s", rank_name(rank_of(making, id)), id);
}

/* Appends the window of the agents from `i` on, and themselves. Returns where the next one
 * begins. */
static size_t add_window(const struct making *making, size_t i, struct str *to)
{
    _cleanup_str_ struct str agents = STR_INIT;
    const char *const *ids = (const char *const *)making->ids;
    size_t first = i;
    char group[TEAM_WORD_MAX] = "team";

    if (making->numbered)
        (void)snprintf(group, sizeof group, ids[i][0] == '0' ? "meta" : "unit-%c", ids[i][0]);
    str_addf(to, "\n[window %s", group);
    if (!making->numbered && i > 0)
        str_addf(to, "-%zu", i / PANES_MAX + 1);
    str_add(to, "]\nagents = ");
    for (;
         ids[i] != NULL && (making->numbered ? ids[i][0] == ids[first][0] : i - first < PANES_MAX);
         i++) {
        enum rank rank = rank_of(making, ids[i]);
        str_addf(to, "%s%s", i > first ? ", " : "", ids[i]);
        str_addf(&agents, "\n[agent %s]\nrole = ", ids[i]);
        add_role(making, ids[i], &agents);
        str_addf(&agents, "\nrank = %s\ngroup = %s\npreset =\ncode = %s\nmodel =\n",
                 rank_name(rank), group, rank == RANK_WORKER ? "worktree" : "view");
    }
    str_addf(to, "\nlayout = tiled\n%s", str_text(&agents));
    return i;
}

static void add_rules(const struct making *making, struct str *to)
{
    size_t has[RANK_COUNT] = {0};

    for (char **id = making->ids; *id != NULL; id++)
        has[rank_of(making, *id)]++;
    /* the others of a rank are named only where there are some */
    const char *const company[RANK_COUNT] = {
        [RANK_META] = "managers",
        [RANK_MANAGER] = has[RANK_MANAGER] > 1 ? "workers, managers, meta" : "workers, meta",
        [RANK_WORKER] = "manager, unit"};
    bool is_company = has[RANK_META] > 0 && has[RANK_MANAGER] > 0 && has[RANK_WORKER] > 0;
    str_add(to,
            "\n; Who may write to whom with `mas send`. A person may write to anyone.\n[rules]\n");
    for (enum rank rank = 0; rank < RANK_COUNT; rank++)
        if (has[rank] > 0 && making->ids[1] != NULL)
            str_addf(to, "%s = %s\n", rank_name(rank), is_company ? company[rank] : "all");
}

static int write_ini(const struct making *making, int dir, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_team_ struct team team = TEAM_INIT;
    size_t count = strv_len(making->ids);

    str_addf(&text,
             "; Made by mas of the directories in unit/. See mas-template(5).\n\n[template]\n"
             "description = %zu agent%s of your own\npreset =\n",
             count, count == 1 ? "" : "s");
    for (size_t i = 0; i < count;)
        i = add_window(making, i, &text);
    add_rules(making, &text);
    if (file_create(dir, TEMPLATE_INI, text.data, text.len, 0644 & ~file_umask(), err) == -1)
        return -1;
    _cleanup_close_ int ini = path_open_beneath(dir, TEMPLATE_INI, O_RDONLY);
    return ini == -1 ? err_errno(err, "cannot read the new " TEMPLATE_INI)
                     : team_read_ini(ini, TEMPLATE_INI, &team, err);
}

/* ---- making it */

static int copy_part(const struct making *making, int dir, const char *part, struct err *err)
{
    _cleanup_free_ char *name = mem_printf("%s/%s", making->path, part);
    _cleanup_close_ int from = open_part(making, part, err);

    if (from == -1)
        return err->code != MAS_OK ? -1 : 0;
    _cleanup_close_ int to = path_make_dir(dir, part, 0755 & ~file_umask());
    return to == -1 ? err_errno(err, "cannot create '%s'", part)
                    : tree_copy(from, to, name, making->tick, making->tick_arg, err);
}

static int fill(int dir, void *arg, struct err *err)
{
    const struct making *making = arg;

    return copy_part(making, dir, TEMPLATE_UNIT, err) == -1 ||
                   copy_part(making, dir, TEMPLATE_WORKFLOWS, err) == -1 ||
                   write_ini(making, dir, err) == -1
               ? -1
               : 0;
}

bool template_can_be_made(int dir)
{
    _cleanup_close_ int unit = path_open_beneath(dir, TEMPLATE_UNIT, PATH_PLACE);

    return unit != -1 && faccessat(dir, TEMPLATE_INI, F_OK, AT_SYMLINK_NOFOLLOW) == -1;
}

int template_make(int from, const char *path, int templates, const char *name, tree_tick *tick,
                  void *arg, struct err *err)
{
    _cleanup_making_ struct making making = {
        .from = from, .path = path, .tick = tick, .tick_arg = arg};
    struct err wrong = ERR_INIT; /* by which a walk tells that it was ended */
    uint64_t files = 0;
    int64_t bytes = 0;

    if (find_agents(&making, &wrong) == -1 ||
        check_part(&making, TEMPLATE_UNIT, &files, &bytes, &wrong) == -1 ||
        check_part(&making, TEMPLATE_WORKFLOWS, &files, &bytes, &wrong) == -1 ||
        template_put(templates, name, "make", fill, &making, &wrong) == -1) {
        *err = wrong;
        return -1;
    }
    return 0;
}
