#!/usr/bin/env bats
# [memory] embed_command: messages are found that say the same in other words.
load ../helper
load ../memory

# A program that knows three subjects. It notes what it was asked, and its model is in $T/model.
setup_more() {
    cat >"$T/embed" <<'P'
#!/usr/bin/env python3
import json, os, sys
here = os.path.dirname(os.path.abspath(__file__))
model = open(os.path.join(here, "model")).read().strip()
subjects = [("car", "automobile", "vehicle"), ("ship", "boat", "vessel"), ("bread", "loaf", "cake")]
for line in sys.stdin:
    request = json.loads(line)
    with open(os.path.join(here, "asked"), "a") as asked:
        print(request["kind"], request["text"], file=asked)
    words = request["text"].lower().split()
    vector = [sum(word.strip(".?") in subject for word in words) + 0.01 for subject in subjects]
    print(json.dumps({"vector": vector, "model": model}))
P
    chmod +x "$T/embed"
    echo one >"$T/model"
    new_session -n s -t pair --no-start
    {
        user 'my automobile is red' '{agent: "lead", at: 1700000000}'
        agent 'nice' '{at: 1700010000}'
        user 'the vessel sails' '{at: 1700020000}'
        user 'a loaf of it' '{at: 1700030000}'
    } | said "$ID" >/dev/null
    printf '[memory]\nembed_command = %s/embed --fast\n' "$T" >>"$ROOT/mas.ini"
}

@test "what says the same in other words is found, once its vector was made" {
    [ "$(found car -n 1)" = "my automobile is red" ]
    [ "$(found boat -n 1)" = "the vessel sails" ]
    # a message is given to the program once, a question each time
    [ "$(grep -c '^document' "$T/asked")" -eq 4 ]
    [ "$(sort -u "$T/asked")" = "$(printf '%s\n' 'document a loaf of it' 'document my automobile is red' 'document nice' 'document the vessel sails' 'query boat' 'query car' | sort)" ]
    # words still count
    [ "$(found loaf -n 1)" = "a loaf of it" ]
    "$MAS" search car >"$T/out" 2>"$T/err"
    [ ! -s "$T/err" ]
}

@test "filters hold for what vectors find, and contexts use them" {
    [ -z "$(found car --agent reviewer)" ]
    [ -z "$(found car --since 2030-01-01T00:00:00Z)" ]
    [ "$("$MAS" context s reviewer --for car --json | jq -r '.relevant_history[0].content')" = "my automobile is red" ]
    # what vectors found is told from what its words did
    [ "$("$MAS" context s reviewer --for car --json | jq -r '.relevant_history[0].source')" = semantic ]
    sed -i '/embed_command/d' "$ROOT/mas.ini"
    [ "$("$MAS" context s reviewer --for automobile --json | jq -r '.relevant_history[0].source')" = words ]
}

@test "what is looked for can come from standard input" {
    [ "$(found - -n 1 <<<car)" = "my automobile is red" ]
    [ "$("$MAS" context s reviewer --for - --json <<<car | jq -r '.relevant_history[0].content')" = "my automobile is red" ]
    fails 2 search - < <(printf 'a\0b')
    [[ $stderr == 'mas: cannot search for a text with a NUL byte'* ]]
}

@test "another model makes all anew" {
    found car >/dev/null
    : >"$T/asked"
    echo two >"$T/model"
    [ "$(found car -n 1)" = "my automobile is red" ]
    [ "$(grep -c '^document' "$T/asked")" -eq 4 ]
    found car >/dev/null
    [ "$(grep -c '^document' "$T/asked")" -eq 4 ]
}

@test "where the program fails words alone are searched, said once" {
    for program in 'exit 3' 'echo no json' 'cat' 'echo "{\"vector\":[]}"' 'echo "{\"vector\":[1,2]}"' 'kill -9 $$' \
        'echo "{\"vector\":[0,0]}"; cat >/dev/null' 'while read -r l; do echo "{\"vector\":[1e999]}"; done' 'echo oops >&2; exit 1'; do
        printf '#!/bin/sh\n%s\n' "$program" >"$T/embed"
        ok search loaf --json
        [ "$(jq -r '.messages[0].text' <<<"$output")" = "a loaf of it" ]
        [[ $stderr == "mas: warning: the search uses words only, because embed_command failed: "* ]] || { echo "$program: $stderr"; false; }
        [ "$(wc -l <<<"$stderr")" -eq 1 ]
    done
    [[ $stderr == *"it exited with code 1: oops" ]]
    rm "$T/embed"
    ok search loaf
    [[ $stderr == *"there is no program '$T/embed'" ]]
}

@test "no shell is between" {
    sed -i "s|^embed_command.*|embed_command = sh -c \"cat >/dev/null; touch $T/first\" ; touch $T/second|" "$ROOT/mas.ini"
    (cd "$T" && "$MAS" search loaf >/dev/null 2>&1)
    [ -e "$T/first" ]
    [ ! -e "$T/second" ]
}

@test "private sessions have vectors too, and leave none behind" {
    new_session -n secret -t pair --no-start --private
    user 'my car is secret' '{agent: "lead"}' | said "$ID" >/dev/null
    [ "$(found vehicle -s secret -n 1)" = "my car is secret" ]
    found vehicle >/dev/null
    [[ $(found vehicle -n 100) != *secret* ]]
}
