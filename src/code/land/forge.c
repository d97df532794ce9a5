#include "code/land/forge.h"

/* What follows the repository in the address of the page. */
static const struct {
    const char *word; /* in the name of the host */
    const char *page[5]; /* in turn text, and what stands for a branch: base or head */
} forges[] = {
    {"github", {"/compare/", "b", "...", "h", "?expand=1"}},
    {"gitlab",
     {"/-/merge_requests/new?merge_request%5Bsource_branch%5D=", "h",
      "&merge_request%5Btarget_branch%5D=", "b", ""}},
    {"gitea", {"/compare/", "b", "...", "h", ""}},
    {"forgejo", {"/compare/", "b", "...", "h", ""}},
    {"codeberg", {"/compare/", "b", "...", "h", ""}},
    {"bitbucket", {"/pull-requests/new?source=", "h", "&dest=", "b", ""}},
};

/* Appends text of which a URL's path may consist, the rest as %XX. */
static void add_escaped(struct str *to, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x80 && (isalnum(c) || strchr("/._~-", c) != NULL) && c != '\0')
            str_addc(to, (char)c);
        else
            str_addf(to, "%%%02X", c);
    }
}

/* Cuts a remote into host and path, without what may stand around that. */
static bool split(const char *remote, const char **ret_scheme, char **ret_host, char **ret_path)
{
    static const char *const schemes[] = {"https://", "http://", "ssh://", "git+ssh://", "git://"};
    const char *at = remote;
    size_t i = 0;

    while (i < ARRAY_LEN(schemes) && !str_starts(remote, schemes[i]))
        i++;
    bool is_url = i < ARRAY_LEN(schemes);
    if (is_url)
        at += strlen(schemes[i]);
    size_t len = strcspn(at, is_url ? "/" : ":/");
    if (at[len] != (is_url ? '/' : ':'))
        return false; /* a path of this machine */
    const char *path = at + len + 1 + strspn(at + len + 1, "/");
    size_t end = strlen(path);
    for (size_t j = 0; j < len; j++)
        if (at[j] == '@') {
            at += j + 1;
            len -= j + 1;
            j = (size_t)-1;
        }
    bool is_web = is_url && i < 2;
    size_t name = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-");
    size_t port = name < len && at[name] == ':' ? 1 + strspn(at + name + 1, "0123456789") : 0;
    if (name == 0 || name + port < len)
        return false;
    while (end > 0 && path[end - 1] == '/')
        end--;
    if (end > 4 && memcmp(path + end - 4, ".git", 4) == 0)
        end -= 4;
    *ret_path = mem_dupn(path, end);
    *ret_scheme = is_url && i == 1 ? "http://" : "https://";
    *ret_host = mem_dupn(at, is_web ? len : name < len ? name : len);
    return true;
}

bool forge_place(const char *remote, char **ret_host, char **ret_path)
{
    const char *scheme = NULL;

    if (!split(remote, &scheme, ret_host, ret_path))
        return false;
    (*ret_host)[strcspn(*ret_host, ":")] = '\0';
    return true;
}

char *forge_owner(const char *remote)
{
    _cleanup_free_ char *host = NULL;
    _cleanup_free_ char *path = NULL;
    const char *slash = forge_place(remote, &host, &path) ? strchr(path, '/') : NULL;

    return slash != NULL ? mem_dupn(path, (size_t)(slash - path)) : NULL;
}

char *forge_request_url(const char *remote, const char *base, const char *head)
{
    _cleanup_str_ struct str url = STR_INIT;
    _cleanup_free_ char *host = NULL;
    _cleanup_free_ char *path = NULL;
    const char *scheme = NULL;
    size_t i = 0;

    if (!split(remote, &scheme, &host, &path))
        return NULL;
    while (i < ARRAY_LEN(forges) && strcasestr(host, forges[i].word) == NULL)
        i++;
    if (i == ARRAY_LEN(forges) || path[0] == '\0')
        return NULL;
    str_addf(&url, "%s%s/", scheme, host);
    add_escaped(&url, path, strlen(path));
    for (size_t j = 0; j < ARRAY_LEN(forges[i].page); j++) {
        const char *part = forges[i].page[j];
        if (j % 2 == 0)
            str_add(&url, part);
        else
            add_escaped(&url, part[0] == 'b' ? base : head, strlen(part[0] == 'b' ? base : head));
    }
    return str_steal(&url);
}
