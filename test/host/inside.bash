# What runs below an agent; loaded after lib and ../acp/lib.
# shellcheck shell=bash

# inside_preset NAME COMMAND KEY=VALUE...: a preset that runs this, and in the tree of the agent what
# inside() is given.
inside_preset() {
    local name=$1 command=$2
    shift 2
    cat >"$T/inside" <<END
#!/bin/bash
serve() {
    while [ -d '$T' ]; do
        if mv "$T/do.\$1" "$T/doing.\$1" 2>/dev/null; then
            sh "$T/doing.\$1" >'$T/said' 2>&1 </dev/null
            echo \$? >'$T/code'
        fi
        read -rt 0.05 <> <(:)
    done
}
serve "\$MAS_AGENT_ID" &
exec "\$@"
END
    chmod +x "$T/inside"
    preset "$name" "$T/inside $command" "$@"
}

inside_acp() {
    STORE=$T/store TRACE=$T/trace
    inside_preset made "python3 -ES '$PROJECT/test/acp/agent.py' --store '$STORE' --log '$TRACE'" \
        'protocol = acp'
}

# inside AGENT COMMAND: runs it below that agent; $rc is its exit code, its words are in $T/said.
inside() {
    rm -f "$T/said" "$T/code"
    printf '%s\n' "$2" >"$T/do.new"
    mv "$T/do.new" "$T/do.$1"
    eventually test -s "$T/code"
    rc=$(<"$T/code")
}

# inside_late AGENT COMMAND: the same where the command leaves its words and its code in $T/late.
inside_late() {
    rm -f "$T/late"
    inside "$@"
    eventually test -s "$T/late"
    cp "$T/late" "$T/said"
    rc=$(sed -n 's/^code=//p' "$T/late")
}

said() { grep -qF -- "$1" "$T/said" || { cat "$T/said"; return 1; }; }

# An agent that keeps each line that it hears
hearing() {
    script hears <<END
while IFS= read -r line; do printf '%s\n' "\$line" >>"$T/heard.\$MAS_AGENT_ID"; done
END
    echo "bash $T/hears"
}
heard() { grep -qxF -- "$2" "$T/heard.$1"; }
