#include "unit.h"

#include "base/landlock.h"

#include <string.h>

/* The numbers are those of the kernel's landlock(7). */
static void an_older_kernel_holds_less(void)
{
    CHECK_STR(landlock_gaps(7), "");
    CHECK_STR(landlock_gaps(6), "");
    CHECK_STR(landlock_gaps(5), "signals");
    CHECK_STR(landlock_gaps(4), "signals and devices");
    CHECK_STR(landlock_gaps(3), "signals, devices and TCP ports");
    CHECK_STR(landlock_gaps(2), "signals, devices, TCP ports and truncation of files");
    CHECK_STR(landlock_gaps(1), landlock_gaps(2));
    for (int abi = 2; abi <= LANDLOCK_SCOPES; abi++)
        CHECK(strlen(landlock_gaps(abi)) <= strlen(landlock_gaps(abi - 1)));
}

static const struct unit_test tests[] = {
    TEST(an_older_kernel_holds_less),
};

int main(void)
{
    return UNIT_RUN(tests);
}
