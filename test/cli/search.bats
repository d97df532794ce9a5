#!/usr/bin/env bats
# mas search: what was said is found in all sessions, by those who may see it.
load ../helper
load ../memory

# Two sessions about different things.
setup_more() {
    new_session -n one -t pair --no-start
    ONE=$ID
    new_session -n two -t pair --no-start
    TWO=$ID
    {
        user 'How do I raise the time-out of the gateway?' '{agent: "lead", at: 1700000000}'
        agent 'Set keepalive to thirty seconds.'
        printf '%s\n' '{"role":"tool","text":"Edit gateway.conf\nsecond line here"}'
        echo '{"role":"thought","text":"gateway thoughts stay inside"}'
        user 'Who wrote the parser?' '{agent: "reviewer", tags: ["topic:parser"], at: 1700010000}'
        agent 'Ann wrote it in spring.' '{tags: ["topic:parser"]}'
    } | said "$ONE" >/dev/null
    {
        user 'Running the migrations takes an hour' '{agent: "lead", at: 1710000000}'
        agent 'Indexes are made last; that halves it.'
    } | said "$TWO" >/dev/null
}

@test "search finds messages by words, their forms and their beginnings, and tells where they are" {
    ok search gateways
    [ -z "$stderr" ]
    [ "${lines[0]}" = "$ONE:1  lead user  2023-11-14T22:13:20Z" ]
    [ "${lines[1]}" = "  How do I raise the time-out of the gateway?" ]
    [ "$(found 'run migration' | head -n 1)" = "Running the migrations takes an hour" ]
    [ "$(found MIGRATIONS | head -n 1)" = "Running the migrations takes an hour" ]
    [ "$(found 'migr*' | head -n 1)" = "Running the migrations takes an hour" ]
    [ "$(found migra | head -n 1)" = "Running the migrations takes an hour" ]
    [ -z "$(found xyzzy)" ]
}

@test "what was said beside a hit stands under it, marked" {
    ok search gateway
    local i hit=0
    for ((i = 0; i < ${#lines[@]}; i += 2)); do
        if [[ ${lines[i]} == "$ONE:"* ]]; then
            [[ ${lines[i + 1]} == *[Gg]ateway* ]]
            hit=1
        else
            [ "$hit" = 1 ]
            [[ ${lines[i]} == "    beside it: $ONE:"* ]]
            [[ ${lines[i + 1]} != *[Gg]ateway* ]]
        fi
    done
    grep -q "^    beside it: $ONE:2  lead agent  " <<<"$output"
    grep -qx '      Set keepalive to thirty seconds.' <<<"$output"
    # where the hit itself is not wanted, it stands by itself
    mas search gateway --role agent
    [[ ${lines[0]} == "$ONE:2  lead agent  "* ]]
    [ "${lines[1]}" = '  Set keepalive to thirty seconds.' ]
    # scripts get them as before
    [ "$("$MAS" search gateway -q | wc -l)" -eq "$("$MAS" search gateway --json | jq .total)" ]
}

@test "search finds an answer by its question" {
    run found gateway --role agent
    [ "$output" = "Set keepalive to thirty seconds." ]
}

@test "words in quotes stand together, stop words are left out unless there are no others" {
    [ "$(found '"the parser"')" = "$(found '"the parser"' -n 2)" ]
    [ "$(found '"wrote the parser"' -n 1)" = "Who wrote the parser?" ]
    [ -z "$(found '"parser wrote"')" ]
    [ "$(found 'what is the hour of it' -n 1)" = "Running the migrations takes an hour" ]
    [ "$(found the | wc -l)" -ge 2 ]
}

@test "thoughts are not found, tool calls by their first line" {
    [ -z "$(found thoughts)" ]
    [ "$(found gateway.conf --role tool)" = "Edit gateway.conf" ]
    [ -z "$(found second --role tool)" ]
}

@test "search --json has the keys of the manual" {
    mas search keepalive --json -n 1
    [ "$(jq -r '.total' <<<"$output")" = 1 ]
    [ "$(jq -r '.messages[0] | keys_unsorted | join(" ")' <<<"$output")" = \
        "id sessionId agent conversation role time triggerId tags score compacted snippet text" ]
    [ "$(jq -r '.messages[0] | .id + " " + .triggerId + " " + .role + " " + .time' <<<"$output")" = \
        "$ONE:2 $ONE:1 agent 2023-11-14T22:13:21Z" ]
    [ "$(jq -c '.messages[0].tags' <<<"$output")" = "[\"session:$ONE\",\"agent:lead\"]" ]
    [ "$("$MAS" search -q keepalive -n 1)" = "$ONE:2" ]
    [ "$("$MAS" search xyzzy --json)" = '{"messages":[],"total":0}' ]
}

@test "filters by session, agent, role, time and tag" {
    both='gateway parser migrations'
    [ "$(found "$both" -s two | sort)" = "$(printf '%s\n' 'Indexes are made last; that halves it.' 'Running the migrations takes an hour')" ]
    [ "$(found "$both" --agent reviewer | wc -l)" -eq 2 ]
    [ "$(found "$both" --agent lead --role user | wc -l)" -eq 2 ]
    [ "$(found "$both" --since 2024-01-01T00:00:00Z | wc -l)" -eq 2 ]
    [ "$(found "$both" --until 2023-11-14T22:13:21Z)" = 'How do I raise the time-out of the gateway?' ]
    [ "$(found "$both" --since 2023-11-14T22:13:21Z --until 2024-01-01T00:00:00Z --role user)" = 'Who wrote the parser?' ]
    [ "$(found "$both" --tag topic:parser | wc -l)" -eq 2 ]
    [ "$(found "$both" --tag "session:$TWO" | wc -l)" -eq 2 ]
    [ "$(found "$both" --tag agent:reviewer | wc -l)" -eq 2 ]
    [ -z "$(found "$both" --tag topic:none)" ]
    [ -z "$(found "$both" --tag agent:reviewer --agent lead)" ]
    [ "$(found "$both" -n 1 | wc -l)" -eq 1 ]
}

@test "what is no filter is a usage error" {
    for wrong in '--role thought' '--role x' '--since yesterday' '--until 1' '-n 0' '-n 1001' '-n x' '--tag x' '--agent a/b'; do
        # shellcheck disable=SC2086 # an option and its value
        fails 2 search word $wrong
        [[ $stderr == "mas: cannot use --"*" '"*"': it is not "* ]]
    done
    fails 2 search
    fails 2 search '?!' ''
    [ "${stderr%%$'\n'*}" = "mas: cannot search for '?! ': it contains no word" ]
    fails 3 search word -s nosuch
}

@test "hostile words are words" {
    for text in '" OR "' 'a" NEAR("b' 'text:x' '*' 'a*b*' '^a' '-a' '(((' "it's" $'new\nline' 'AND OR NOT' $'\xff\xfe gateway'; do
        mas search -- "$text"
        [ "$status" -eq 0 ] || [ "$status" -eq 2 ] || { echo "$text: $stderr"; false; }
        [[ $stderr != *SQL* && $stderr != *fts5* ]]
    done
    [ "$(found $'\xff\xfe gateway' -n 1)" = 'How do I raise the time-out of the gateway?' ]
}

@test "what was said moves no terminal" {
    user $'look \e[31mred\e[0m \x07 zebra' | said "$ONE" >/dev/null
    mas search zebra
    [[ $output == *'look \x1b[31mred\x1b[0m \x07 zebra'* ]]
}

@test "messages that come later, grow or are finished are found by the next search" {
    [ -z "$(found walrus)" ]
    user 'a walrus came' '{agent: "lead"}' | said "$ONE" >/dev/null
    [ "$(found walrus)" = "a walrus came" ]
    open=$(agent 'it is gr' '{agent: "lead", state: "open"}' | said "$ONE")
    found 'walrus' >/dev/null
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE message SET text = ?, state = 1 WHERE id = ?", ("it is grey and heavy", sys.argv[2]))
db.commit()' "$ROOT/sessions/$ONE/memory.db" "$open"
    [ "$(found heavy -n 1)" = "it is grey and heavy" ]
    [ "$(found walrus --role agent -n 1)" = "it is grey and heavy" ]
}

@test "a clear leaves what was said searchable for people" {
    { echo '{"clear":"lead"}' && user 'a fresh start' '{agent: "lead"}'; } | said "$ONE" >/dev/null
    [ "$(found keepalive -n 1)" = "Set keepalive to thirty seconds." ]
}

@test "sessions that are removed are forgotten: by rm, by clean, by hand" {
    found gateway >/dev/null
    rows() { python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(db.execute("SELECT count(*) FROM message").fetchone()[0], db.execute("SELECT count(*) FROM session").fetchone()[0])' "$ROOT/sessions/.memory.index" && "${MAS%/*}/test/tools/words" "$ROOT"; }
    [ "$(rows)" = "7 2" ]
    "$MAS" rm -q two
    [ "$(rows)" = "5 1" ]
    new_session -t pair --no-start
    user 'short lived' | said "$ID" >/dev/null
    [ "$(found lived)" = "short lived" ]
    rm -rf "${ROOT:?}/sessions/$ID"
    [ -z "$(found lived)" ]
    [ "$(rows)" = "5 1" ]
    "$MAS" clean -q --keep 0
    [ "$(rows)" = "0 0" ]
}

@test "an index that is damaged, older or not ours is made anew with a word" {
    index=$ROOT/sessions/.memory.index
    want='How do I raise the time-out of the gateway?'
    [ "$(found gateway -n 1)" = "$want" ]
    [ "$(stat -c %a "$index")" = 600 ]
    for damage in 'head -c 4096 /dev/urandom' 'echo no database' 'head -c 8192 /dev/zero'; do
        $damage >"$T/damage"
        dd if="$T/damage" of="$index" conv=notrunc status=none
        ok search gateway -n 1 --json
        [[ $stderr == "mas: warning: the search index was rebuilt: "* ]]
        [ "$(jq -r '.messages[0].text' <<<"$output")" = "$want" ]
        mas search gateway
        [ -z "$stderr" ]
    done
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA user_version = 99")' "$index"
    mas search gateway -n 1
    [[ $stderr == *"it has another version"* ]]
    # in the middle, where it is found out late
    pages=$(($(stat -c %s "$index") / 4096))
    for ((page = 1; page < pages; page++)); do
        dd if=/dev/urandom of="$index" bs=4096 seek="$page" count=1 conv=notrunc status=none
    done
    ok search gateway -n 1 --json
    [ "$(jq -r '.messages[0].text' <<<"$output")" = "$want" ]
    rm "$index"
    [ "$(found gateway -n 1)" = "$want" ]
}

@test "a memory that is damaged costs only its own session, with a word" {
    echo 'no database at all, whatever it is' >"$ROOT/sessions/$TWO/memory.db"
    rm -f "$ROOT/sessions/$TWO/memory.db-wal"
    ok search gateway migrations --json
    [[ $stderr == "mas: warning: session '$TWO' is not searched: "* ]]
    [ "$(jq -r '[.messages[].sessionId] | unique | join(" ")' <<<"$output")" = "$ONE" ]
}

@test "a memory that is another one now is read anew" {
    found gateway >/dev/null
    rm -f "$ROOT/sessions/$ONE"/memory.db*
    user 'quite another talk' | said "$ONE" >/dev/null
    [ -z "$(found gateway)" ]
    [ "$(found talk)" = "quite another talk" ]
}

@test "private sessions are in no index, and searched only by name" {
    new_session -n secret -t pair --no-start --private
    user 'the gateway of the secret' | said "$ID" >/dev/null
    [[ $(found gateway) != *secret* ]]
    run grep -c secret "$ROOT/sessions/.memory.index"
    [ "$output" = 0 ]
    [ "$(found gateway -s secret)" = "the gateway of the secret" ]
    # and one that becomes private goes
    sed -i '/^PRIVATE=/d' "$ROOT/sessions/$ONE/.session"
    echo PRIVATE=yes >>"$ROOT/sessions/$ONE/.session"
    [ -z "$(found keepalive)" ]
}

@test "an agent finds what its own session said, and all with share = yes" {
    export MAS_AGENT_ID=lead MAS_SESSION_ID=$TWO
    [ "$(found 'gateway migrations' -n 1)" = "Running the migrations takes an hour" ]
    [ -z "$(found gateway)" ]
    fails 1 search gateway -s one
    [ "${stderr%%$'\n'*}" = "mas: cannot read the history of session '$ONE': an agent may see only its own session" ]
    MAS_SESSION_ID='' mas search gateway
    [ "$status" -eq 1 ]
    echo $'[memory]\nshare = yes' >>"$ROOT/mas.ini"
    [ "$(found gateway -n 1)" = "How do I raise the time-out of the gateway?" ]
    [ "$(found gateway -s one -n 1)" = "How do I raise the time-out of the gateway?" ]
    # but a private session neither gives nor takes
    MAS_AGENT_ID='' MAS_SESSION_ID='' new_session -n secret -t pair --no-start --private
    fails 1 search gateway -s secret
    [[ $stderr == *"a private session shares no memory"* ]]
    export MAS_SESSION_ID=$ID
    [ -z "$(found gateway)" ]
    fails 1 search gateway -s one
}

@test "many searches at once, while messages come" {
    for i in {1..12}; do
        (for k in {1..5}; do user "message $i $k about otters" '{agent: "lead"}' | said "$ONE" >/dev/null; done) 3>&- &
        "$MAS" search otters gateway >"$T/out.$i" 2>"$T/err.$i" 3>&- &
    done
    wait
    [ -z "$(cat "$T"/err.*)" ]
    [ "$(grep -l 'gateway' "$T"/out.* | wc -l)" -eq 12 ]
    [ "$(found otters -n 100 --role user | grep -c otters)" -eq 60 ]
}

@test "without a root or a memory there is nothing to be found" {
    unset MAS_ROOT
    cd "$T"
    [ "$("$MAS" search word --json)" = '{"messages":[],"total":0}' ]
}

@test "what was said around a message helps to find it: twenty points of a hundred at least" {
    for _ in {1..8}; do "$MAS" new -q -t solo --no-start >/dev/null; done
    read -r ours alone < <(python3 "$PROJECT/test/relevance.py" "$MAS" "$ROOT")
    echo "found: $ours, by the message alone: $alone"
    ((ours >= alone + 20))
    ((ours >= 55))
}

# unwritable COMMAND: with a root that cannot be written to.
unwritable() {
    # shellcheck disable=SC2016 # for that shell
    run --separate-stderr with_mounts sh -c \
        'mount --bind "$MAS_ROOT" "$MAS_ROOT" && mount -o remount,ro,bind "$MAS_ROOT" && "$@"' sh "$@"
}

@test "where the index cannot be written what is in it is searched, and that something may be missing is said" {
    need_mounts
    [ "$(found gateway | wc -l)" -gt 0 ]
    user 'The gateway was replaced' '{agent: "lead"}' | said "$TWO" >/dev/null
    unwritable "$MAS" search gateway
    [ "$status" -eq 0 ]
    [[ $output == *"raise the time-out of the gateway"* ]]
    [[ $output != *replaced* ]]
    [ "$stderr" = "mas: warning: the newest messages may be missing: cannot write to '.memory.index': Read-only file system" ]
    unwritable "$MAS" context "$ONE" lead --for gateway
    [ "$status" -eq 0 ]
    [[ $stderr == *"may be missing"* ]]
    unwritable "$MAS" history "$TWO" lead
    [ "$status" -eq 0 ]
    [[ $output == *"The gateway was replaced"* ]]
}

@test "where there is no index and none can be made, one in memory does" {
    need_mounts
    rm -f "$ROOT/sessions/.memory.index"*
    unwritable "$MAS" search gateway
    [ "$status" -eq 0 ]
    [[ $output == *"raise the time-out of the gateway"* ]]
    [[ $stderr == "mas: warning: the search index is in memory, for this search only: "*"Read-only file system" ]]
    [ ! -e "$ROOT/sessions/.memory.index" ]
}

@test "a full disk is no reason not to search" {
    need_mounts
    # shellcheck disable=SC2016 # for that shell
    run --separate-stderr with_mounts sh -c '
        cp -a "$MAS_ROOT" "$1/copy" && mount -t tmpfs -o size=4m none "$MAS_ROOT" &&
        cp -a "$1/copy/." "$MAS_ROOT" && "$MAS" search gateway >/dev/null || exit
        head -c 8M /dev/zero >"$MAS_ROOT/fill" 2>/dev/null
        "$MAS" search gateway && "$MAS" history "$2" lead' sh "$T" "$ONE"
    [ "$status" -eq 0 ]
    [ "$(grep -c 'raise the time-out of the gateway' <<<"$output")" -eq 2 ]
}

@test "what is written without spaces is found by a part of it, and German as it is written" {
    new_session -n many -t pair --no-start
    {
        user '网关的超时设置为三十秒，重启之后才生效。' '{agent: "lead"}'
        user '数据库的备份每天凌晨两点开始，保存七天。' '{at: 1800000000}'
        user '登录页面的按钮颜色应该改成蓝色' '{at: 1800010000}'
        user 'ゲートウェイのタイムアウトを三十秒にしました。' '{at: 1800020000}'
        user '猫の写真をトップページに載せてください' '{at: 1800030000}'
        user '게이트웨이를 다시 시작했습니다' '{at: 1800040000}'
        user 'Die Häuser am Fluss wurden gestern neu gestrichen' '{at: 1800050000}'
        user 'Was will der Kunde an der Rechnung geändert haben' '{at: 1800060000}'
        user 'use kubectl 重启 the pods' '{at: 1800070000}'
    } | said "$ID" >/dev/null
    while IFS='|' read -r words want; do
        [[ $(found "$words" -n 1) == *"$want"* ]] || { echo "$words: $(found "$words" -n 1)"; false; }
    done <<'W'
超时|网关的超时
超时设置|网关的超时
备份什么时候开始|数据库的备份
按钮|登录页面
蓝色|登录页面
色|登录页面
タイムアウト|ゲートウェイ
三十秒に|ゲートウェイ
猫|猫の写真
写真|猫の写真
게이트웨이|게이트웨이를
häuser fluss|Häuser am Fluss
haeuser gestrichen|Häuser am Fluss
kunde rechnung|Was will der Kunde
rechnung geandert|Was will der Kunde
kubectl pods|use kubectl
W
    [[ $("$MAS" search 超时 --json | jq -r '.messages[0].text') == *超时* ]]
    [ "$(found '"超时设置"' | wc -l)" = 1 ]
    [ -z "$(found '"设置超时"')" ]
}
