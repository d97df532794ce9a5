# What the tests of .session share: a session to damage, and what damage leads to.
# shellcheck shell=bash

setup_more() { quick_idle; }

FILE() { printf %s "$ROOT/sessions/$ID/.session"; }

# $ID: a running session `broken`, whose metadata a test breaks; $GOOD: another one.
two() {
    cd "$T" || return
    new_session -t solo -n good
    GOOD=$ID
    new_session -t solo -n broken
    cp "$(FILE)" "$T/metadata"
    for id in "$ID" "$GOOD"; do
        "$MAS" wait "$id" --for idle
    done
}

# Whatever .session of $ID has become: `list` tells it as an error with this reason (a pattern), the
# commands that need it exit with 5, nothing of it is run, printed raw or changed, and the other
# session works.
is_damaged() {
    local why=$1 option verb kept told
    kept=$(stat -c '%F %s %Y' "$(FILE)")
    for option in '' --all; do
        # shellcheck disable=SC2086
        mas list --json $option
        [ "$status" -eq 0 ] || return
        mapfile -t told < <(jq -r --arg bad "$ID" --arg good "$GOOD" '
            def of($id): .sessions[] | select(.sessionId == $id);
            (of($bad) | .status, .reason), (of($good) | .status), .total' <<<"$output")
        # shellcheck disable=SC2053
        if [ "${told[0]}" != error ] || [[ ${told[1]} != $why ]] || [ "${told[*]:2}" != 'active 2' ]; then
            echo "list $option says: $output"
            return 1
        fi
    done
    mas list
    [ "$status" -eq 0 ] || return
    [[ $output == *"mas-${ID:0:8} "*" error: "* && $output == *"mas-${GOOD:0:8} "*" active"* ]] || return
    if LC_ALL=C grep -q $'[\001-\010\013-\037\177]' <<<"$output"; then
        printf 'a control character came through: %q\n' "$output"
        return 1
    fi
    for verb in start env rm; do
        mas $verb "$ID"
        # shellcheck disable=SC2053
        if [ "$status" -ne 5 ] || [ -n "$output" ] || [[ ${stderr_lines[0]} != "mas: cannot "*" session '$ID': "$why ]]; then
            echo "$verb says ($status): $output $stderr"
            return 1
        fi
        if LC_ALL=C grep -q $'[\001-\010\013-\037\177]' <<<"$stderr"; then
            printf 'a control character came through: %q\n' "$stderr"
            return 1
        fi
    done
    [ "$(stat -c '%F %s %Y' "$(FILE)")" = "$kept" ] || return
    [ -z "$(find "$T" -name 'ran*')" ] || return
    "$MAS" show good >/dev/null
}

# What a line appended to the metadata leads to. The short form of is_damaged, for many lines.
line_is() {
    local why rc=0
    why="its .session is damaged: line $(($(wc -l <"$T/metadata") + 1))$1"
    { cat "$T/metadata" && printf '%s\n' "$2"; } >"$(FILE)"
    "$MAS" list --json >"$T/out"
    jq -e --arg id "$ID" --arg why "$why" \
        '[.sessions[] | select(.status == "error") | [.sessionId, .reason]] == [[$id, $why]] and .total == 2' "$T/out" >/dev/null || {
        printf 'with the line %q list says: %s\n' "$2" "$(cat "$T/out")"
        return 1
    }
    "$MAS" env "$ID" >"$T/out" 2>"$T/err" || rc=$?
    if [ "$rc" -ne 5 ] || [ -s "$T/out" ] || [ "$(head -n 1 "$T/err")" != "mas: cannot read session '$ID': $why" ]; then
        printf 'with the line %q env says (%s): %s\n' "$2" "$rc" "$(cat "$T/err")"
        return 1
    fi
}
