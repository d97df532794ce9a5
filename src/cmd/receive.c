/*
 * What `mas move` does on the other machine, over ssh: see fleet/move.h, and fleet/pull.h for
 * `leave`. Each step of `receive` is a process of its own, and the next one knows only what is on
 * disk; so the id and the epoch are named each time. With `leave` this machine moves the session
 * itself, and asks its questions on its standard files.
 */

#include "base/number.h"
#include "cli/print.h"
#include "cmd.h"
#include "fleet/carry.h"
#include "fleet/move.h"
#include "fleet/pull.h"
#include "fleet/pulled.h"
#include "session/arrive.h"
#include "store/session.h"

/* ---- receive: a session that comes from another machine */

/* What a step is for. */
struct arriving {
    const struct life *life;
    const struct carry *from; /* the host from which it is pulled; NULL: it sends by itself */
    const char *id;
    uint64_t epoch;
    bool links;
};

/* Prints what is here of a session. */
static int look_at(const struct arriving *arriving, struct err *err)
{
    _cleanup_arrival_ struct arrival arrival = {.lacks = NULL};
    _cleanup_str_ struct str line = STR_INIT;

    if (arriving->from != NULL && carry_check_landing(arriving->from, arriving->id, err) == -1)
        return -1;
    if (arrive_look(arriving->life, arriving->id, &arrival, err) == -1)
        return -1;
    arrival_format(&arrival, &line);
    print_line(&line);
    return 0;
}

static int hold(const struct arriving *arriving, struct err *err)
{
    const struct carry *from = arriving->from;
    const struct arrival_pull pull = {.host = from != NULL ? from->remote->name : NULL,
                                      .id = arriving->id,
                                      .links = arriving->links};
    _cleanup_str_ struct str line = STR_INIT;
    char restored[ID_TEXT];
    char digest[SHA256_TEXT] = "";
    uint64_t epoch = 0;

    if (arrive_restore(arriving->life, from != NULL ? &pull : NULL, restored, &epoch, digest,
                       err) == -1 ||
        (from != NULL && carry_come_home(arriving->life, restored, err) == -1))
        return -1;
    arrival_format_restored(restored, epoch, digest, &line);
    print_line(&line);
    return 0;
}

static int release(const struct arriving *arriving, struct err *err)
{
    if (arrive_release(arriving->life, arriving->id, arriving->epoch, err) == -1)
        return -1;
    if (arriving->from != NULL)
        carry_forget(arriving->from, arriving->id);
    return 0;
}

static int drop(const struct arriving *arriving, struct err *err)
{
    return arrive_drop(arriving->life, arriving->id, arriving->epoch, err);
}

static const struct {
    const char *name;
    int words; /* after it: an id, and an epoch */
    int (*run)(const struct arriving *arriving, struct err *err);
} steps[] = {
    {"hold", 0, hold},
    {"look", 1, look_at},
    {"release", 2, release},
    {"drop", 2, drop},
};

/* Where this machine pulls, the session has to be one from there. */
static int check_pulled(const struct call *call, struct arriving *arriving, struct carry *from,
                        struct err *err)
{
    const char *host = call_opt(call, "pulled");
    const struct arrival_pull pull = {.host = host, .id = arriving->id};

    if (host == NULL)
        return 0;
    from->root = call->root.path;
    arriving->from = from;
    arriving->links = call_opt(call, "links") != NULL;
    return config_need_remote(&call->config, host, &from->remote, err) == -1
               ? -1
               : arrive_check(arriving->life, &pull, err);
}

static int run_receive(struct call *call, struct err *err)
{
    const struct life life = {.root = &call->root, .config = &call->config};
    struct carry from = {.remote = NULL};
    struct arriving arriving = {.life = &life,
                                .id = call->operand_count > 1 ? call->operands[1] : ""};
    bool has_id = call->operand_count > 1;

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        int words = steps[i].words;
        if (strcmp(steps[i].name, call->operands[0]) != 0)
            continue;
        if (words == 0 && call_opt(call, "pulled") != NULL)
            words = 1;
        if (call->operand_count != words + 1 || (has_id && !id_is_valid(arriving.id)) ||
            (words > 1 && !number_parse_count(call->operands[2], EPOCH_MAX, &arriving.epoch)))
            break;
        return check_pulled(call, &arriving, &from, err) == -1 ? -1 : steps[i].run(&arriving, err);
    }
    return err_set(err, MAS_USAGE, "'receive' is for 'mas move' on another machine");
}

static const struct opt receive_opts[] = {
    {0, "links", NULL, "take symbolic links that lead out of it, too"},
    {0, "pulled", "NAME", "it is pulled from this host"},
    {.name = NULL},
};

const struct cmd cmd_receive = {
    .name = "receive",
    .group = GROUP_HIDDEN,
    .operands = " STEP [ID [EPOCH]]",
    .summary = "take a session that moves to this machine",
    .opts = receive_opts,
    .operands_min = 1,
    .operands_max = 3,
    .root = ROOT_MADE,
    .who = WHO_PERSONS,
    .does = WAITS_LONG,
    .run = run_receive,
};

/* ---- leave: a session that another machine pulls */

static int run_leave(struct call *call, struct err *err)
{
    struct life life = {.root = &call->root, .config = &call->config};
    _cleanup_pulled_ struct pulled pulled = PULLED_INIT;
    _cleanup_str_ struct str head = STR_INIT;
    struct move_report report = {.lacks = NULL};
    char id[ID_TEXT];

    if (pulled_open(call->operands[1], &pulled, err) == -1 ||
        call_select(call, call->operands[0], id, err) == -1)
        return -1;
    const struct session_label label = session_label(&call->root, id); /* before it goes */
    progress_begin(&life, "moving", true);
    int rc = move_home(&life, id, &pulled, &report, err);
    progress_end();
    if (rc == 0) {
        pull_format(id, label.text, &report, &head);
        rc = pulled_end(&pulled, &head, err);
    }
    move_report_free(&report);
    return rc;
}

const struct cmd cmd_leave = {
    .name = "leave",
    .group = GROUP_HIDDEN,
    .operands = " SESSION DESK",
    .summary = "let another machine take a session",
    .operands_min = 2,
    .operands_max = 2,
    .root = ROOT_NEEDED,
    .who = WHO_PERSONS,
    .does = READS_PRESETS | RUNS_PROGRAMS | WAITS_LONG,
    .run = run_leave,
};
