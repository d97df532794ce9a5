#include "base/build.h"
#include "base/json.h"
#include "cli/print.h"
#include "cmd.h"

static int run_version(struct call *call, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    (void)err;
    if (!call->json) {
        bool known = build_commit[0] != '\0';
        printf("mas %s%s%s%s\n", MAS_VERSION, known ? " (" : "", build_commit, known ? ")" : "");
        return 0;
    }
    json_put_all(&out, JO(NULL), JT("version", MAS_VERSION), JT("commit", build_commit), JOE);
    print_line(&text);
    return 0;
}

const struct cmd cmd_version = {
    .name = "version",
    .group = GROUP_SETUP,
    .operands = "",
    .summary = "print the version",
    .examples = "mas version\n"
                "mas version --json",
    .who = WHO_AGENTS,
    .takes = TAKES_JSON,
    .run = run_version,
};
