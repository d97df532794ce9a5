/*
 * mas-network: see network.h.
 */
#include "network/network.h"

static int run(char **argv, struct err *err)
{
    _cleanup_network_ struct network network = NETWORK_INIT;
    bool outside = strcmp(argv[1], "outside") == 0;

    if (network_parse(argv[outside ? 3 : 2], &network, err) == -1)
        return err_wrap(err, "cannot read the list of hosts");
    if (network.kind != NETWORK_LIST)
        return err_set(err, MAS_USAGE, "cannot let through '%s': expected hosts",
                       argv[outside ? 3 : 2]);
    return outside ? network_outside(argv[2], &network, argv + 5, err)
                   : network_inside(&network, argv[3], argv + 5, err);
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;

    if (argc < 6 || strcmp(argv[4], "--") != 0 ||
        (strcmp(argv[1], "outside") != 0 && strcmp(argv[1], "inside") != 0)) {
        (void)fputs("usage: mas-network outside LOG LIST -- PROGRAM [ARG]...\n"
                    "       mas-network inside LIST TINYPROXY -- PROGRAM [ARG]...\n"
                    "(mas starts it around an agent)\n",
                    stderr);
        return MAS_USAGE;
    }
    (void)run(argv, &err);
    err_print(&err);
    return err.code;
}
