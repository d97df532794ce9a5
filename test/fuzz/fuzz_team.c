/* team_read_ini() on any bytes. A team that it takes must survive config.json unchanged. */
#include "fuzz.h"
#include "model/team/team.h"

#include <sys/mman.h>

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
    _cleanup_str_ struct str first = STR_INIT;
    _cleanup_str_ struct str second = STR_INIT;
    struct err err = ERR_INIT;

    must(fd != -1 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    if (team_read_ini(fd, "t.ini", &team, &err) == -1) {
        must(err.code == MAS_DAMAGED && strncmp(err.text, "t.ini", 5) == 0);
        return 0;
    }
    write_team(&team, &first);
    must(json_parse(first.data, first.len, first.len, &json, &err) == 0);
    must(team_from_json(json, &back, &err) == 0);
    write_team(&back, &second);
    must(strcmp(first.data, second.data) == 0);
    return 0;
}
