/* /pair: a browser gets a token for a code, asks who it is, and gives the token back. */
#include "serve/api.h"
#include "serve/server.h"
#include "store/pairing.h"

enum { COOKIE_S = 400 * 24 * 3600 /* as long as browsers keep one */ };

/* Tells the browser to keep a half of the token where no script can read it, or with "" to forget
 * it. It is sent back only by pages of this server, and over TLS only if the page came that way. */
static void set_cookie(struct request *request, const char *half, time_t seconds)
{
    bool is_secure =
        request->secure || (request->origin != NULL && str_starts(request->origin, "https://"));

    str_addf(&request->answer.cookie, "%s=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict%s",
             request->server->guard.cookie, half, (long long)seconds, is_secure ? "; Secure" : "");
}

/* `page_token` may be NULL: it is told only once. */
static void answer_page(struct request *request, int status, const char *name, enum right right,
                        const struct guest *guest, const char *page_token)
{
    struct str body = STR_INIT;
    struct json_out out = {.to = &body};

    json_open(&out, NULL, '{');
    json_put(&out, "name", name);
    json_put(&out, "right", right_name(right));
    if (guest_is(guest)) {
        _cleanup_strv_ char **agents = str_split_list(guest->agents);
        json_put(&out, "session", guest->session);
        json_open(&out, "agents", '[');
        for (char **agent = agents; agent != NULL && *agent != NULL; agent++)
            json_put(&out, NULL, *agent);
        json_close(&out, ']');
    }
    if (page_token != NULL)
        json_put(&out, "pageToken", page_token);
    json_close(&out, '}');
    answer_json(request, status, &body);
}

static void run_pair(struct job *job)
{
    struct request *request = later_request(job);
    const struct root *root = &request->server->root;
    const char *code = json_get_text(request->json, "code");
    struct err err = ERR_INIT;
    struct pairing pairing;
    struct token wanted;
    char token[TOKEN_TEXT];
    time_t now = time(NULL);

    bool taken = pairing_take(root, code, &pairing, &err) == 0;
    if (taken) {
        wanted = (struct token){
            .right = pairing.right, .expires = pairing.expires, .guest = pairing.guest};
        memcpy(wanted.name, pairing.name, sizeof wanted.name);
    }
    if (!taken || token_give(root, &wanted, token, &err) == -1) {
        if (err.code == MAS_NOT_FOUND)
            answer_refusal(request, 403, NULL,
                           "a code is good once and for a short time; have another one made on the "
                           "machine of the server",
                           "%s", err.text);
        else
            answer_err(request, &err, 409);
        return;
    }
    time_t rest = pairing.expires != 0 ? pairing.expires - now : COOKIE_S;
    _cleanup_free_ char *half = mem_dupn(token, TOKEN_HALF);
    set_cookie(request, half, rest < COOKIE_S ? rest : COOKIE_S);
    memcpy(request->who, pairing.name, sizeof request->who); /* for the log */
    answer_page(request, 201, pairing.name, pairing.right, &pairing.guest, token + TOKEN_HALF);
}

enum handled api_pair(struct request *request)
{
    return answer_later(request, run_pair);
}

enum handled api_paired(struct request *request)
{
    answer_page(request, 200, request->who, request->right, &request->guest, NULL);
    return HANDLED_NOW;
}

static void run_unpair(struct job *job)
{
    struct request *request = later_request(job);
    struct err err = ERR_INIT;
    struct str body = STR_INIT;

    if (token_remove(&request->server->root, request->who, &err) == -1 &&
        err.code != MAS_NOT_FOUND) {
        answer_err(request, &err, 409);
        return;
    }
    set_cookie(request, "", 0);
    str_add(&body, "{\"removed\":true}");
    answer_json(request, 200, &body);
}

enum handled api_unpair(struct request *request)
{
    if (request->paired)
        return answer_later(request, run_unpair);
    answer_refusal(request, 401, NULL, "send the browser's cookie and its Mas-Page-Token",
                   "the request is not that of a paired browser");
    return HANDLED_NOW;
}
