#!/usr/bin/env bats
# scripts/run-tests.sh, which runs these files, and test/mutants/sweep.py, which finds what they do not notice.
load ../helper

teardown_more() { kill ${run:+"$run"} 2>/dev/null || :; }

@test "a run that is ended by a signal leaves no process, file or mount behind" {
    mkdir -p "$T/own/test/cli"
    ln -s "$PROJECT/test/helper.bash" "$PROJECT/test/place.bash" "$PROJECT/test/disk.bash" "$T/own/test/"
    sed "s/^TEST/@test/" >"$T/own/test/cli/hangs.bats" <<'BATS'
load ../helper
load ../disk
TEST "hangs" {
    if [ "$EUID" -eq 0 ]; then small_root; fi
    "$MAS" new -q
    env -i sh -c 'sleep 1000; :' "$T" 3>&- &
    echo "$TMPDIR $T" >"$TOLD"
    mv "$TOLD" "$TOLD.whole"
    sleep 1000
}
BATS
    TOLD=$T/told TEST_ROOT=$T/own "$PROJECT/scripts/run-tests.sh" "$T/own/test/cli/hangs.bats" >"$T/out" 2>&1 3>&- &
    run=$!
    eventually test -e "$T/told.whole"
    read -r job place <"$T/told.whole"
    [ -d "$job" ]
    [ -d "$place" ]
    kill -TERM "$run"
    wait "$run" || [ $? -eq 130 ]
    [ ! -e "$job" ]
    [ ! -e "$place" ]
    run ! grep -lsF -e "$place" -e "$job" /proc/[0-9]*/cmdline /proc/[0-9]*/environ
    run ! grep -F "$place" /proc/self/mountinfo
}

@test "a sweep names the mistakes that a test does not notice, and no others" {
    unshare -mpf true 2>/dev/null || skip 'needs namespaces'
    mkdir -p "$T/own/src" "$T/own/test/unit" "$T/own/build"
    cp -r "$PROJECT/test/mutants" "$T/own/test/mutants"
    cat >"$T/own/Makefile" <<'MAKE'
CFLAGS = -D_GNU_SOURCE -include stdbool.h -include errno.h -include fcntl.h -include unistd.h
print-flags:
	@echo '$(CFLAGS)'
all tools:
build/%.o: %.c
	mkdir -p $(@D) && cc $(CFLAGS) -c -o $@ $<
build/test/unit/test_sum: build/src/sum.o build/test/unit/test_sum.o
	cc -o $@ $^
MAKE
    cat >"$T/own/src/sum.c" <<'C'
#define IS_ODD(n) ((n) % 2 == 1)
int sum(const int *all, int count, bool odd, int most)
{
    int ret = 0;

    for (int i = 0; i < count; i++)
        if (!odd || IS_ODD(all[i]))
            ret += all[i];
    if (ret > most)
        return -1;
    return ret;
}
C
    cat >"$T/own/test/unit/test_sum.c" <<'C'
int sum(const int *all, int count, bool odd, int most);
int main(void)
{
    return sum((int[]){1, 2, 3, 9}, 3, false, 6) != 6 || sum((int[]){1, 2, 3, 9}, 3, true, 3) != -1;
}
C
    git -C "$T/own" init -q
    run -0 "$T/own/test/mutants/sweep.py" src/sum.c
    # of odd numbers only a sum that is too large is asked, which that of all is, too
    [[ $output == "src/sum.c: sum() "*" of "*"
    7 always: !odd
    7 always: IS_ODD(all[i])
== src/sum.c: noticed "*" not noticed 2, not met by a test 0
== all: "* ]]
}
