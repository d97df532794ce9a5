/* prompts_from_json() on any bytes. A team that it leaves must survive config.json unchanged, and
 * hold only messages that may be delivered. */
#include "fuzz.h"
#include "model/message.h"
#include "session/prompts.h"

#include <sys/mman.h>

static const char template[] =
    "[window w]\nagents = 00, 10, 11\n"
    "[agent 00]\nrole = meta manager\nrank = meta\ngroup = meta\n"
    "[agent 10]\nrole = manager\nrank = manager\ngroup = one\ncommand = sh -c 'sleep 1'\n"
    "[agent 11]\nrole = worker\nrank = worker\ngroup = one\n";

static void write_team(const struct team *team, struct str *to)
{
    struct json_out out = {.to = to};
    json_open(&out, NULL, '{');
    team_put_json(team, &out);
    json_close(&out, '}');
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    _cleanup_close_ int fd = memfd_create("ini", MFD_CLOEXEC);
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_team_ struct team back = TEAM_INIT;
    _cleanup_json_ struct json *json = NULL;
    _cleanup_json_ struct json *again = NULL;
    _cleanup_str_ struct str first = STR_INIT;
    _cleanup_str_ struct str second = STR_INIT;
    struct config config = CONFIG_INIT;
    struct err err = ERR_INIT;

    if (json_parse((const char *)data, size, size, &json, &err) == -1)
        return 0;
    must(fd != -1 && write(fd, template, strlen(template)) == (ssize_t)strlen(template) &&
         lseek(fd, 0, SEEK_SET) == 0 && team_read_ini(fd, "t.ini", &team, &err) == 0);
    if (prompts_from_json(json, "c.json", &config, &team, &err) == -1) {
        must(strncmp(err.text, "cannot use 'c.json': ", 21) == 0);
        return 0;
    }
    for (size_t i = 0; i < team.agent_count; i++)
        must(message_check(team.agents[i].prompt, strlen(team.agents[i].prompt)) == NULL);
    write_team(&team, &first);
    must(json_parse(first.data, first.len, first.len, &again, &err) == 0);
    must(team_from_json(again, &back, &err) == 0);
    write_team(&back, &second);
    must(strcmp(first.data, second.data) == 0);
    return 0;
}
