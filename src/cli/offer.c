/*
 * A code is only of use to a server that runs, so that is looked for first, then (without --url)
 * the address of it that others can most likely reach. The code stands in the fragment of the URL,
 * which browsers do not send, and goes to qrencode on standard input, where no list of processes
 * shows it. Without --name, names are tried until one is free: the offer itself is the test.
 */

#include "cli/offer.h"

#include "base/address.h"
#include "base/json.h"
#include "base/time.h"
#include "cli/print.h"
#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"

#include <ifaddrs.h>
#include <netdb.h>

enum {
    ADDRESSES_MAX = 4096, /* bytes of the file */
    URL_MAX = 200,
    QR_MAX = 64 * 1024, /* bytes of a QR code on a terminal */
    QR_MS = 5000,
    NAMES = 100 /* that are tried if none is given */
};

int offer_parse_right(const struct call *call, const char *what, bool needed, enum right *ret,
                      struct err *err)
{
    static const struct {
        const char *option;
        enum right right;
    } rights[] = {{"read-only", RIGHT_READ}, {"answer", RIGHT_ANSWER}, {"full", RIGHT_FULL}};
    size_t given = 0;

    for (size_t i = 0; i < ARRAY_LEN(rights); i++)
        if (call_opt(call, rights[i].option) != NULL) {
            *ret = rights[i].right;
            given++;
        }
    if (given == 1 || (given == 0 && !needed))
        return 0;
    return err_set(err, MAS_USAGE, "cannot %s: expected one of --read-only, --answer and --full",
                   what);
}

int offer_parse_expires(const struct call *call, time_t *ret, struct err *err)
{
    const char *text = call_opt(call, "expires");
    time_t age = 0;

    if (text == NULL)
        return 0;
    if (!time_parse_age(text, &age) || age == 0)
        return call_bad_value(call, "expires", "a time such as 12h, 30d or 4w", err);
    *ret = time(NULL) + age;
    return 0;
}

/* Returns the number of this machine that others can most likely reach, or NULL. */
static char *own_number(void)
{
    struct ifaddrs *all = NULL;
    char *found = NULL;
    char host[NI_MAXHOST];

    if (getifaddrs(&all) == -1)
        return NULL;
    for (const struct ifaddrs *at = all; at != NULL && found == NULL; at = at->ifa_next)
        if (at->ifa_addr != NULL && at->ifa_addr->sa_family == AF_INET &&
            getnameinfo(at->ifa_addr, sizeof(struct sockaddr_in), host, sizeof host, NULL, 0,
                        NI_NUMERICHOST) == 0 &&
            !str_starts(host, "127."))
            found = mem_dup(host);
    freeifaddrs(all);
    return found;
}

/* Returns the address with a host that a browser can use instead of one that stands for all. */
static char *reachable(const struct call *call, const char *address)
{
    static const char *const all[] = {"://0.0.0.0:", "://[::]:"};
    _cleanup_strv_ char **hosts = str_split_list(config_text(&call->config, SETTING_SERVE_HOSTS));
    _cleanup_free_ char *number = own_number();
    const char *host = hosts != NULL && hosts[0] != NULL ? hosts[0] : number;

    for (size_t i = 0; host != NULL && i < ARRAY_LEN(all); i++) {
        const char *at = strstr(address, all[i]);
        if (at != NULL)
            return mem_printf("%.*s://%s:%s", (int)(at - address), address, host,
                              at + strlen(all[i]));
    }
    return mem_dup(address);
}

static bool is_local(const char *address)
{
    return strstr(address, "://127.") != NULL || strstr(address, "://[::1]") != NULL ||
           strstr(address, "://localhost") != NULL;
}

static int check_url(struct call *call, const char *url, struct err *err)
{
    bool good = (str_starts(url, "http://") || str_starts(url, "https://")) &&
                strlen(url) <= URL_MAX && strpbrk(url, " #?\"'<>\\") == NULL &&
                !str_has_control(url);

    return good ? 0 : call_bad_value(call, "url", "an address such as https://team.example", err);
}

/* Finds where a browser reaches the server, without a slash at the end. */
static int find_address(struct call *call, char **ret, struct err *err)
{
    const char *url = call_opt(call, "url");
    struct err ignored = ERR_INIT;
    _cleanup_free_ char *text = NULL;
    const char *found = NULL;
    size_t len = 0;

    if (url != NULL && check_url(call, url, err) == -1)
        return -1;
    if (!file_is_locked(call->root.sessions, SERVE_LOCK_FILE)) {
        (void)err_set(err, MAS_CONFLICT, "cannot pair a browser: no server of this root runs");
        return err_hint(err, "start one with: mas serve");
    }
    if (url != NULL) {
        *ret = mem_dupn(url, strlen(url) - (url[strlen(url) - 1] == '/'));
        return 0;
    }
    if (file_read(call->root.sessions, ADDRESSES_FILE, ADDRESSES_MAX, &text, &len, &ignored) == -1)
        text = mem_dup("");
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (str_starts(line, "http") && (found == NULL || is_local(found)))
            found = line;
    if (found == NULL) {
        (void)err_set(err, MAS_CONFLICT, "cannot pair a browser: the server listens at no address");
        return err_hint(err, "start it with --listen, or say where a browser reaches it: --url");
    }
    *ret = reachable(call, found);
    return 0;
}

/* ---- the code */

/* Prints a QR code with Debian's qrencode, if that is installed. */
static void print_qr(const char *url)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    _cleanup_free_ char *file = path_find_program("qrencode", getenv("PATH"), -1);
    _cleanup_strv_ char **argv = NULL;
    struct err ignored = ERR_INIT;

    strv_push(&argv, "qrencode");
    strv_push(&argv, "--type=UTF8");
    strv_push(&argv, "--margin=2");
    const struct proc_spec spec = {.file = file,
                                   .argv = argv,
                                   .cwd = -1,
                                   .input = url,
                                   .input_len = strlen(url),
                                   .output_max = QR_MAX,
                                   .timeout_ms = QR_MS};

    if (file != NULL && proc_capture(&spec, &result, &ignored) == 0 && result.status == 0)
        printf("%s", str_text(&result.out));
}

static void print_offer(const struct call *call, const char *address, const char *code,
                        const struct pairing *pairing)
{
    _cleanup_free_ char *url = mem_printf("%s/#pair=%s", address, code);

    print_qr(url);
    printf("address: %s/\ncode: %s\n", address, code);
    if (call->quiet)
        return;
    printf("valid for %d minutes, once; the browser gets the token '%s' with the right '%s'\n",
           pairing_seconds(pairing) / 60, pairing->name, right_name(pairing->right));
    if (is_local(address))
        printf("only this machine reaches this address; see THE PAGE in mas-serve(8)\n");
}

static void print_json(const char *address, const char *code, const struct pairing *pairing)
{
    _cleanup_free_ char *url = mem_printf("%s/#pair=%s", address, code);
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_put_all(&out, JO(NULL), JT("address", address), JT("code", code), JT("url", url),
                 JI("seconds", pairing_seconds(pairing)), JT("name", pairing->name),
                 JT("right", right_name(pairing->right)));
    if (guest_is(&pairing->guest))
        json_put_all(&out, JT("session", pairing->guest.session),
                     JT("agents", pairing->guest.agents));
    json_put_time(&out, "expires", (int64_t)pairing->expires * 1000);
    json_close(&out, '}');
    print_line(&text);
}

/* Offers under the name that was given, or under the first of page, page-2, ... that is free. */
static int offer(const struct call *call, const char *name, int most, struct pairing *pairing,
                 char ret[PAIRING_TEXT], struct err *err)
{
    const char *given = call_opt(call, "name");
    int rc = -1;

    if (given != NULL && strlen(given) > (size_t)most) {
        _cleanup_free_ char *want = mem_printf("1 to %d " STR_WORD_CHARS, most);
        return call_bad_value(call, "name", want, err);
    }
    for (int i = 1; rc == -1 && i <= (given != NULL ? 1 : NAMES); i++) {
        (void)snprintf(pairing->name, sizeof pairing->name, i == 1 ? "%s" : "%s-%d",
                       given != NULL ? given : name, i);
        *err = (struct err)ERR_INIT;
        rc = pairing_offer(&call->root, pairing, ret, err);
        if (rc == -1 && err->code != MAS_CONFLICT)
            return -1;
    }
    return rc;
}

int offer_make(struct call *call, const char *name, struct pairing *pairing, struct err *err)
{
    int most = guest_is(&pairing->guest) ? GUEST_NAME_MAX : TOKEN_NAME_MAX;
    _cleanup_free_ char *address = NULL;
    char code[PAIRING_TEXT];

    if (find_address(call, &address, err) == -1 ||
        offer(call, name, most, pairing, code, err) == -1)
        return -1;
    if (call->json)
        print_json(address, code, pairing);
    else
        print_offer(call, address, code, pairing);
    return 0;
}
