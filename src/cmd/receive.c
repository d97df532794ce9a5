#include "base/number.h"
#include "cmd.h"
#include "cmd/print.h"
#include "session/arrive.h"

/* Prints what is here of a session. */
static int look(const struct life *life, const char *id, uint64_t epoch, struct err *err)
{
    _cleanup_arrival_ struct arrival arrival = {.lacks = NULL};
    _cleanup_str_ struct str line = STR_INIT;

    (void)epoch;
    if (arrive_look(life, id, &arrival, err) == -1)
        return -1;
    arrival_format(&arrival, &line);
    print_line(&line);
    return 0;
}

static int hold(const struct life *life, const char *id, uint64_t epoch, struct err *err)
{
    _cleanup_str_ struct str line = STR_INIT;
    char restored[ID_TEXT];
    char digest[SHA256_TEXT] = "";

    (void)id;
    if (arrive_restore(life, restored, &epoch, digest, err) == -1)
        return -1;
    arrival_format_restored(restored, epoch, digest, &line);
    print_line(&line);
    return 0;
}

static const struct {
    const char *name;
    int words; /* after it: an id, and an epoch */
    int (*run)(const struct life *life, const char *id, uint64_t epoch, struct err *err);
} steps[] = {
    {"hold", 0, hold},
    {"look", 1, look},
    {"release", 2, arrive_release},
    {"drop", 2, arrive_drop},
};

static int run_receive(struct call *call, struct err *err)
{
    static const struct unit units[] = {{"", 1}};
    const struct life life = {.root = &call->root, .config = &call->config};
    const char *id = call->operand_count > 1 ? call->operands[1] : "";
    uint64_t epoch = 0;

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (strcmp(steps[i].name, call->operands[0]) != 0)
            continue;
        if (call->operand_count != steps[i].words + 1 || (steps[i].words > 0 && !id_is_valid(id)) ||
            (steps[i].words > 1 && !number_parse(call->operands[2], units, 1, EPOCH_MAX, &epoch)))
            break;
        return steps[i].run(&life, id, epoch, err);
    }
    return err_set(err, MAS_USAGE, "'receive' is for 'mas move' on another machine");
}

const struct cmd cmd_receive = {
    .name = "receive",
    .operands = " STEP [ID [EPOCH]]",
    .summary = "take a session that moves to this machine",
    .operands_min = 1,
    .operands_max = 3,
    .flags = CMD_ROOT | CMD_MAKES_ROOT | CMD_HIDDEN | CMD_PERSON | CMD_WAITS,
    .run = run_receive,
};
