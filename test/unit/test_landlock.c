#include "unit.h"

#include "os/landlock.h"

/* The numbers are those of the kernel's landlock(7). */
TEST(an_older_kernel_holds_less)
{
    CHECK_STR(landlock_gaps(7, false), "");
    CHECK_STR(landlock_gaps(6, false), "");
    CHECK_STR(landlock_gaps(5, false), "signals");
    CHECK_STR(landlock_gaps(4, false), "signals and devices");
    CHECK_STR(landlock_gaps(3, false), "signals, devices and TCP ports");
    CHECK_STR(landlock_gaps(2, false), "signals, devices, TCP ports and truncation of files");
    CHECK_STR(landlock_gaps(1, false), landlock_gaps(2, false));
    CHECK_STR(landlock_gaps(2, true), landlock_gaps(3, true));
    CHECK_STR(landlock_gaps(3, true), landlock_gaps(3, false));
    for (int abi = 2; abi <= LANDLOCK_SCOPES; abi++)
        CHECK(strlen(landlock_gaps(abi, false)) <= strlen(landlock_gaps(abi - 1, false)));
}
