#!/usr/bin/env bats
# A .session whose text or file is not what mas writes is damage, and nothing in it is run.
load ../helper
load metadata

@test "shell code in the metadata is damage and is not run" {
    two
    # shellcheck disable=SC2016
    for line in 'touch ran' '$(touch ran)' '`touch ran`' ':; touch ran' '# comment' ' ' 'export NAME=x' 'NAME = x' 'name=x' '1=x' '=x' \
        'if true; then touch ran; fi' '. ./ran' 'A-B=x' ' NAME=x' "'NAME'=x"; do
        line_is ' is not KEY=value' "$line"
    done
    is_damaged 'its .session is damaged: line * is not KEY=value'
}

@test "values that a shell would run or expand are damage" {
    two
    # shellcheck disable=SC2016
    for value in '$(touch ran)' '`touch ran`' 'x;touch ran' 'x touch ran' 'x&touch ran' '|touch ran' '>ran' '<ran' '$HOME' '${x}' '"x"' \
        '"$(touch ran)"' 'a\b' '~' '*' '(x)' '#x' 'x#y' '!' 'é' 'x=y' '{a,b}' '[a]' '?'; do
        line_is ': missing quotes around a value' "X_KEY=$value"
    done
    is_damaged 'its .session is damaged: line *: missing quotes around a value'
}

@test "quotes that are not closed and text behind quotes are damage" {
    two
    line_is ': unterminated quote' "X_KEY='open"
    line_is ': unterminated quote' "X_KEY='"
    line_is ': unterminated quote' "X_KEY='a'\\''b"
    # shellcheck disable=SC2016
    for value in "'a'b" "'a'\$(touch ran)" "'a''b'" "'a' ; touch ran" "'a'\\b" "'a'\\'" "'a' "; do
        line_is ': text follows a quoted value' "X_KEY=$value"
    done
    is_damaged 'its .session is damaged: line *: text follows a quoted value'
}

@test "control characters are damage, quoted or not" {
    two
    for bytes in $'\t' $'\r' $'\033[31m' $'\177' $'\007' $'\001'; do
        line_is ' contains a control character' "X_KEY='a${bytes}b'"
        line_is ' contains a control character' "X_KEY=a${bytes}b"
    done
    cp "$T/metadata" "$(FILE)"
    printf "X_KEY='a\0b'\n" >>"$(FILE)"
    is_damaged 'its .session is damaged: line * contains a control character'
    sed 's/$/\r/' "$T/metadata" >"$(FILE)"
    is_damaged 'its .session is damaged: line 1 contains a control character'
}

@test "a file that does not end in a newline is damage" {
    two
    head -c -1 "$T/metadata" >"$(FILE)"
    is_damaged 'its .session is damaged: line * does not end in a newline'
}

@test "a file that was cut off anywhere is damage" {
    two
    size=$(stat -c %s "$T/metadata")
    for at in 1 $((size / 8)) $((size / 4)) $((size / 2 + 1)); do
        head -c $at "$T/metadata" >"$(FILE)"
        is_damaged 'its .session is damaged: *'
    done
}

@test "an empty file is damage" {
    two
    : >"$(FILE)"
    is_damaged 'its .session is damaged: SESSION_ID is missing'
}

@test "a key that stands there twice is damage" {
    two
    line_is ': duplicate key STATUS' 'STATUS=stopped'
    cp "$T/metadata" "$(FILE)"
    printf 'X_KEY=1\n' >>"$(FILE)"
    cat "$(FILE)" >"$T/metadata"
    line_is ': duplicate key X_KEY' 'X_KEY=1'
}

@test "a file of 1 MB is damage, and so are too many keys" {
    two
    { cat "$T/metadata" && head -c 1000000 /dev/zero | tr '\0' 'x'; } >"$(FILE)"
    is_damaged 'cannot read *.session*: it is larger than * bytes'
    { cat "$T/metadata" && seq -f 'X_KEY%.0f=1' 300; } >"$(FILE)"
    is_damaged 'its .session is damaged: it has more than * keys'
    { cat "$T/metadata" && printf 'X_KEY%0100d=1\n' 0; } >"$(FILE)"
    is_damaged 'its .session is damaged: line * is not KEY=value'
}

@test "binary rubbish is damage" {
    two
    head -c 2000 /dev/urandom >"$(FILE)"
    is_damaged 'its .session is damaged: *'
    head -c 2000 /dev/zero >"$(FILE)"
    is_damaged 'its .session is damaged: *'
}

@test "a link in place of the file is damage and is not followed" {
    two
    mv "$(FILE)" "$T/elsewhere"
    ln -s "$T/elsewhere" "$(FILE)"
    is_damaged 'cannot read *.session*: *'
    cmp "$T/elsewhere" "$T/metadata"
}

@test "a FIFO in place of the file is damage and hangs nothing" {
    two
    rm "$(FILE)"
    mkfifo "$(FILE)"
    is_damaged 'cannot read *.session*: it is not a regular file'
}

@test "a directory in place of the file is damage" {
    two
    rm "$(FILE)"
    mkdir "$(FILE)"
    is_damaged 'cannot read *.session*: it is not a regular file'
}

@test "a missing file is damage" {
    two
    rm "$(FILE)"
    for option in '' --all; do
        # shellcheck disable=SC2086
        [ "$("$MAS" list --error -q $option)" = "$ID" ]
    done
    for verb in start env rm; do
        fails 5 $verb "$ID"
        [[ $stderr == "mas: cannot "*" session '$ID': cannot read '.session': No such file or directory"* ]]
    done
    [ "$("$MAS" list --active -q)" = "$GOOD" ]
}
