/*
 * `mas invite`: a token of mas-serve for one session (store/token.h), offered to a browser as `mas
 * serve pair` does it. What a guest may do is in the table of operations; --full needs walls
 * (client/walled.h), here and again at each request. Guests end with their session: life_remove().
 */

#include "base/json.h"
#include "base/time.h"
#include "cli/offer.h"
#include "cli/print.h"
#include "cli/table.h"
#include "cli/targets.h"
#include "client/walled.h"
#include "store/session.h"

enum { EXPIRES_S = 8 * 3600 };

static const struct opt opts[] = {
    {0, "read-only", NULL, "the guest may only read"},
    {0, "answer", NULL, "and answer what agents ask"},
    {0, "full", NULL, "and prompt agents, which all need a required wall"},
    {0, "name", "NAME",
     "what the guest is called in history and logs (default: guest, guest-2, ...)"},
    {0, "expires", "AGE", "the invitation ends after this time (default: 8h)"},
    {0, "url", "URL", "the server's address for the guest, as behind a proxy"},
    {0, "user", "USER", "a user of this machine, by tmux itself; always refused"},
    {0, "list", NULL, "list the guests"},
    {0, "end", "NAME", "end what this guest has, at once"},
    {.name = NULL},
};

/* ---- list */

struct guest_list {
    struct call *call;
    const char *session; /* only its guests; NULL: all */
    struct table table;
    struct json_out out;
};

/* Adds one; `made` 0: it is not taken yet. */
static void add(struct guest_list *listing, const char *name, enum right right,
                const struct guest *guest, time_t made, time_t expires)
{
    _cleanup_strv_ char **agents = str_split_list(guest->agents);
    struct json_out *out = &listing->out;
    char left[24] = "never";

    if (!guest_is(guest) ||
        (listing->session != NULL && strcmp(guest->session, listing->session) != 0))
        return;
    json_put_all(out, JO(NULL), JT("name", name), JT("session", guest->session), JA("agents"));
    for (char **agent = agents; agent != NULL && *agent != NULL; agent++)
        json_put(out, NULL, *agent);
    json_put_all(out, JAE, JT("right", right_name(right)), JB("taken", made != 0));
    json_put_time(out, "expires", (int64_t)expires * 1000);
    json_close(out, '}');
    if (listing->call->quiet)
        printf("%s\n", name);
    if (expires != 0)
        time_age(time(NULL), expires, left);
    table_add(&listing->table, name, NULL);
    table_add(&listing->table, session_label(&listing->call->root, guest->session).text, NULL);
    table_add(&listing->table, guest->agents[0] != '\0' ? guest->agents : "all", NULL);
    table_add(&listing->table, right_name(right), NULL);
    table_add(&listing->table, left, NULL);
    table_add(&listing->table, made != 0 ? "yes" : "not yet", NULL);
}

static int list(struct call *call, struct err *err)
{
    static const char *const heads[] = {"GUEST", "SESSION",    "AGENTS",
                                        "RIGHT", "EXPIRES IN", "TAKEN"};
    const char *text = call->session != NULL ? call->session : call->operands[0];
    struct pairing offers[PAIRING_OFFERS];
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    _cleanup_str_ struct str json = STR_INIT;
    struct guest_list listing = {
        .call = call, .table = {.columns = ARRAY_LEN(heads)}, .out = {.to = &json}};
    char id[ID_TEXT];

    if (call->operand_count > (call->session == NULL))
        return call_unexpected(call, call->operands[call->session == NULL], err);
    if ((text != NULL && call_select(call, text, id, err) == -1) ||
        tokens_read(&call->root, &tokens, err) == -1)
        return -1;
    listing.session = text != NULL ? id : NULL;
    table_heads(&listing.table, heads);
    json_put_all(&listing.out, JO(NULL), JA("guests"));
    for (size_t i = 0; i < tokens.count; i++) {
        const struct token *one = &tokens.at[i];
        if (token_is_valid(one, time(NULL)))
            add(&listing, one->name, one->right, &one->guest, one->made, one->expires);
    }
    size_t count = pairing_guests(&call->root, offers);
    for (size_t i = 0; i < count; i++)
        add(&listing, offers[i].name, offers[i].right, &offers[i].guest, 0, offers[i].expires);
    json_put_all(&listing.out, JAE, JOE);
    if (call->json)
        print_line(&json);
    else if (!call->quiet)
        table_print(&listing.table);
    table_free(&listing.table);
    return 0;
}

/* ---- end */

static int end(const struct call *call, const char *name, struct err *err)
{
    _cleanup_close_ int lock = -1;
    size_t count = 0;

    if (call->operand_count > 0)
        return call_unexpected(call, call->operands[0], err);
    if (root_lock(&call->root, &lock, err) == -1 ||
        pairing_end_guests(&call->root, NULL, name, &count, err) == -1)
        return err_wrap(err, "cannot end the guest '%s'", name);
    if (count > 0)
        return 0;
    (void)err_set(err, MAS_NOT_FOUND, "cannot end the guest '%s': there is none of this name",
                  name);
    return err_hint(err, "see: mas invite --list");
}

/* ---- invite */

/* Names the agents that were given; none: all, also those that join later. */
static int name_agents(const struct roster *roster, struct guest *guest, struct err *err)
{
    _cleanup_str_ struct str agents = STR_INIT;

    for (size_t i = 0; i < roster->count; i++)
        str_addf(&agents, "%s%s", i > 0 ? "," : "", roster->agents[i].agent->id);
    if (agents.len > GUEST_AGENTS_MAX)
        return err_set(err, MAS_USAGE, "cannot invite to so many agents: leave them out for all");
    memcpy(guest->session, roster->teams[0].id, ID_TEXT);
    (void)snprintf(guest->agents, sizeof guest->agents, "%s", str_text(&agents));
    return 0;
}

/* SECURITY.md has the command with which a user whom tmux's server-access lets only read runs
 * others as the owner of the server. */
static int refuse_user(const char *user, struct err *err)
{
    (void)err_set(err, MAS_CONFLICT,
                  "cannot invite user '%s': whom tmux lets read, it lets run commands as you",
                  user);
    return err_hint(err, "leave --user out: the guest gets an address and a code");
}

static int run_invite(struct call *call, struct err *err)
{
    struct pairing pairing = {.expires = time(NULL) + EXPIRES_S};
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    const char *name = call_opt(call, "end");
    const char *user = call_opt(call, "user");

    if (call_opt(call, "list") != NULL)
        return list(call, err);
    if (name != NULL)
        return end(call, name, err);
    if (offer_parse_right(call, "invite", true, &pairing.right, err) == -1 ||
        offer_parse_expires(call, &pairing.expires, err) == -1 ||
        targets_parse(call, TARGETS_NONE, &roster, err) == -1 ||
        name_agents(&roster, &pairing.guest, err) == -1)
        return -1;
    if (user != NULL)
        return refuse_user(user, err);
    if (pairing.right == RIGHT_FULL && walled_check(&call->root, pairing.guest.session, err) == -1)
        return err_hint(err,
                        "give all agents a required wall ([wall] level = require in mas.ini), or "
                        "invite with --answer");
    return offer_make(call, "guest", &pairing, err);
}

const struct cmd cmd_invite = {
    .name = "invite",
    .group = GROUP_PROGRAMS,
    .operands = " [SESSION] [TARGET...]",
    .summary = "let another person see a session, in a browser",
    .examples = "mas invite shop --read-only\n"
                "mas invite shop lead --answer --name ann --expires 2d\n"
                "mas invite --list\n"
                "mas invite --end ann",
    .details =
        "The command shows an address and a code, as 'mas serve pair' does; the first browser "
        "that gives the code to the server within an hour gets a token for this session and "
        "nothing else, or only for the agents that are named. What it does is in the history "
        "and in the logs under the guest's name. It ends at its time, with --end, or with the "
        "session.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_NEEDED,
    .on = ON_TARGET,
    .who = WHO_PERSONS,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = CHANGES_SESSIONS,
    .run = run_invite,
};
