#!/usr/bin/env bats
# Pictures over HTTP: kept in the session first, then named with a prompt or a message.
load ../helper
load lib
# shellcheck source=test/host/lib.bash
. "$BATS_TEST_DIRNAME/../host/lib.bash"
# shellcheck source=test/acp/lib.bash
. "$BATS_TEST_DIRNAME/../acp/lib.bash"

keep() { api POST "/sessions/$ID/pictures${2-}" -H "Content-Type: ${3-image/png}" --data-binary "@$1"; }

@test "a picture is kept, and goes with a prompt and with a message" {
    run_acp --images
    serve
    printf '\211PNG\r\n\032\n\0\0\0\rIHDR' >"$T/red.png"
    keep "$T/red.png" '?name=red.png'
    is 201 ".file == \"$(sha256sum <"$T/red.png" | cut -d' ' -f1).png\" and .name == \"red.png\" and .bytes == 16"
    local picture=$output
    [ "$(ls "$DIR/pictures")" = "$(jq -r .file <<<"$picture")" ]
    post "/sessions/$ID/agents/solo/prompts" "{\"prompt\": \"CW-ONE\", \"pictures\": [$picture]}"
    is 202
    post "/sessions/$ID/messages" "{\"target\": \"solo\", \"message\": \"CW-TWO\", \"pictures\": [$picture]}"
    is 200
    both() { [ "$(prompts '"type":"image"')" -eq 2 ]; }
    eventually both
    api GET "/sessions/$ID/agents/solo/history"
    is 200 '[.messages[] | select(.role == "user") | .data.pictures[0].name] == ["red.png", "red.png"]'
    api GET "/sessions/$ID/agents/solo"
    is 200 .can.pictures
}

@test "what is no picture, too large or not there is refused" {
    run_acp --images
    serve
    echo 'a text' >"$T/text.png"
    printf '\211PNG\r\n\032\n\0\0\0\rIHDR' >"$T/large.png"
    truncate -s $((5 * 1024 * 1024 + 1)) "$T/large.png"
    keep "$T/text.png"
    refused 400 usage 'it is no picture in PNG, JPEG, GIF or WebP'
    keep "$T/large.png"
    is 413
    [ ! -e "$DIR/pictures" ]
    local file
    file=$(printf '0%.0s' {1..64}).png
    for pictures in '"x"' '[1]' '[{"file": "../../x.png"}]' "[{\"file\": \"$file\"}]"; do
        post "/sessions/$ID/agents/solo/prompts" "{\"prompt\": \"x\", \"pictures\": $pictures}"
        [[ $status == 4?? ]] || { echo "$pictures: $status $output" >&2; false; }
        post "/sessions/$ID/messages" "{\"target\": \"solo\", \"message\": \"x\", \"pictures\": $pictures}"
        [[ $status == 4?? ]] || { echo "$pictures: $status $output" >&2; false; }
    done
    [ "$(prompts x)" -eq 0 ]
}

@test "the page offers what pictures may be, as the sources limit them" {
    local page=$PROJECT/src/serve/page/pictures.js source=$PROJECT/src/model/picture
    in_page() { sed -n "s/^const $1 = \([0-9]*\);.*/\1/p" "$page"; }
    in_source() { sed -n "s/^    $1 = \([0-9 <]*\),.*/\1/p" "$source.h"; }
    types() { grep -oE '"image/[a-z]+"' | sort; }
    [ $(($(in_page SIZE) << 20)) -eq $(($(in_source PICTURE_MAX))) ]
    [ "$(in_page COUNT)" = "$(in_source PICTURES_MAX)" ]
    [ $(($(in_page SIZES) << 20)) -eq $(($(in_source PICTURES_SIZE_MAX))) ]
    [ "$(grep '^const KINDS' "$page" | types)" = "$(types <"$source.c")" ]
}
