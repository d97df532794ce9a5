#!/usr/bin/env bats
# mas spends most of its time on starting processes: how many of tmux each command may start.
load ../helper

# With a running server. Besides these, `send` and `wait` with an id need none, and `clean` one, and
# one for each crashed session that it removes.
wanted='
0 version
0 config
0 env ID
1 env NAME
1 list
1 list --all
1 new
0 status
1 peek ID all
2 add ID --agent shell --as rev
2 remove -f ID rev
3 add NAME --agent shell --as rev
2 stop ID
2 start ID
1 rm ID
2 doctor
1 du
'

@test "each command starts as many processes of tmux as it needs" {
    local line number id tmux count=0
    tmux=$(command -v tmux)
    mkdir -p "$T/bin"
    # hosts tell tmux their state by these two, whenever that changes
    printf '#!/bin/sh\n%s\n' "case \$4 in set-option | display-message) ;; *) echo x >>'$T/calls' ;; esac; exec '$tmux' \"\$@\"" >"$T/bin/tmux"
    chmod +x "$T/bin/tmux"
    PATH=$T/bin:$PATH
    ok new -q -t solo -n other
    ok new -q -t solo -n named
    id=$("$MAS" show named --json | jq -r .sessionId)
    agent_pid "$id" # a host that does not answer yet makes peek ask tmux more
    while read -r number line; do
        line=${line/ ID/ $id}
        case $line in rm\ *) ok stop -q "$id" ;; esac
        : >"$T/calls"
        # shellcheck disable=SC2086 # words of a command
        ok ${line/ NAME/ named}
        [ "$(wc -l <"$T/calls")" -eq "$number" ] || { echo "$line: $(wc -l <"$T/calls")" >&2; false; }
        count=$((count + 1))
    done < <(grep . <<<"$wanted")
    [ "$count" -ge 10 ]
}
