#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # every test runs in a shell of its own
# What an agent leaves behind on purpose: processes that should outlive it, and files that others open.
load ../helper
load lib

# Succeeds if what the agent has started outlives its session.
outlives() {
    eventually marked_are 1 || return
    "$MAS" stop -q "$ID"
    [ "$(count_marked)" -gt 0 ]
}

# The agents of both sessions sleep for $MARK seconds, too; here only what `bad` starts counts.
count_marked() { pgrep -fx "(/bin/)?sleep 0$MARK" | wc -l; }

in_tmux() {
    inside "mkdir -p .tmux && env -u TMUX tmux -S .tmux/s -f /dev/null new-session -d 'exec sleep 0$MARK'"
    outlives
}
@test "a tmux server that an agent starts ends with it" { both_ways in_tmux; }

# Without a wall its supervisor finds it; from a wall it must not come so far.
@test "a daemon with nothing to know it by ends with its agent" {
    compromise require
    inside "setsid env -i /bin/sh -c 'setsid /bin/sleep 0$MARK & exit 0'"
    eventually marked_are 1
    "$MAS" stop -q "$ID"
    [ "$(count_marked)" -eq 0 ]
}

@test "an agent whose supervisor is killed ends with all that it has started" {
    compromise require
    inside "setsid env -i /bin/sh -c 'setsid /bin/sleep 0$MARK & exit 0'"
    eventually marked_are 1
    kill -KILL "$(pgrep -P "$(host_of "$ID" bad)" | head -n 1)"
    eventually marked_are 0
}

# Everything that git would run, as the agent can put it into its own repository.
plants() {
    inside "
        R=\$(git rev-parse --absolute-git-dir)
        mkdir -p \$R/hooks
        printf '#!/bin/sh\ntouch $T/ran\n' >\$R/hooks/post-checkout
        chmod +x \$R/hooks/post-checkout
        for hook in pre-commit post-commit post-merge update post-update pre-push fsmonitor-watchman reference-transaction; do
            cp \$R/hooks/post-checkout \$R/hooks/\$hook
        done
        for key in core.fsmonitor core.sshCommand core.pager core.editor diff.external filter.x.clean filter.x.smudge \
            merge.x.driver alias.status uploadpack.packObjectsHook core.alternateRefsCommand; do
            git config \$key 'touch $T/ran; cat'
        done
        echo '* filter=x merge=x diff=x' >.gitattributes
        echo changed >>a
        git -c core.hooksPath=/dev/null -c core.fsmonitor= -c filter.x.clean=cat commit -qam changed"
}
@test "what an agent plants in its repository runs outside of its wall by no verb" {
    compromise require
    plants
    for verb in diff 'diff --stat' merge sync 'status' 'show' 'restart'; do
        # shellcheck disable=SC2086 # words
        "$MAS" ${verb%% *} "$ID" ${verb#"${verb%% *}"} </dev/null >"$T/out" 2>&1 || true
        [ ! -e "$T/ran" ] || { echo "by $verb"; false; }
    done
    git -C "$P" status >/dev/null
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID"
    [ ! -e "$T/ran" ]
}

@test "links that an agent puts in the place of its files lead nobody out" {
    compromise require
    echo the-secret >"$HOME/secret"
    # a loop that swaps what mas reads of the unit, as fast as it can
    cat >"$READABLE/swap" <<SH
cd "$UNIT" || exit
cp AGENTS.md real
while :; do
    ln -s "$HOME/secret" new && mv -T new AGENTS.md && cp real new && mv -T new AGENTS.md
done
SH
    inside "sh $READABLE/swap </dev/null >/dev/null 2>&1 & sleep 0.1"
    for ((i = 0; i < 15; i++)); do
        "$MAS" show "$ID" >>"$T/out" 2>&1 || true
        "$MAS" restart "$ID" good >>"$T/out" 2>&1 || true
        "$MAS" status "$ID" >>"$T/out" 2>&1 || true
    done
    "$MAS" archive -q -o "$T/a.zst" "$ID" >>"$T/out" 2>&1 || true
    "$MAS" restart "$ID" bad >>"$T/out" 2>&1 || true
    run grep -rl the-secret "$T/out" "$DIR"
    [ -z "$output" ]
    [ ! -e "$T/a.zst" ] || { zstd -dc "$T/a.zst" | grep -q the-secret && false || true; }
}

# With `units = team` an agent writes to the directories of all. It swaps that of another for a link
# while that one starts: the other's wall must not be put up around the user's home.
@test "a unit that is swapped for a link while its agent starts gives it nothing else" {
    need_wall
    cat >"$READABLE/mark" <<SH
touch "\$UNIT_DIR/marked"; exec sleep $MARK
SH
    GOOD_PRESET="sh $READABLE/mark" UNITS=team compromise require
    inside "touch '$DIR/unit/good/x'"
    [ "$rc" -eq 0 ]
    cat >"$READABLE/swap" <<SH
cd "$DIR/unit" || exit
while :; do
    mv -T good away && ln -s "$HOME" good && rm good && mv -T away good
done
SH
    inside "sh $READABLE/swap </dev/null >/dev/null 2>&1 & sleep 0.1"
    for ((i = 0; i < 20; i++)); do
        timeout 60 "$MAS" restart "$ID" good >>"$T/out" 2>&1 || true
    done
    [ ! -e "$HOME/marked" ]
    "$MAS" stop -q "$ID"
}
