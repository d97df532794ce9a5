#!/usr/bin/env bats
# POST /markdown: what agents write as trees, for those who draw it.
load ../helper
load lib

setup_more() { serve; }

# tree TEXT: the tree of a text, in $output
tree() { api POST /markdown -d "$(jq -n --arg text "$1" '{texts: [$text]}')"; }

@test "a text becomes a tree, in which markup is text, and no link leads elsewhere" {
    tree $'# A *b*\n\n1. <script>x</script>\n\n[a](https://b.example/) [c](javascript:d) ![e](data:f)'
    is 200 '.trees == [[
        {"kind": "heading", "level": 1, "parts": ["A ", {"kind": "emphasis", "parts": ["b"]}]},
        {"kind": "list", "start": 1, "loose": false, "parts": [{"kind": "item", "parts": ["<script>x</script>"]}]},
        {"kind": "paragraph", "parts": [{"kind": "link", "address": "https://b.example/", "parts": ["a"]},
            " c (javascript:d) e (data:f)"]}]]'
    tree $'|a|b|\n|:-:|---|\n|c|d|\n\n```sh\necho \e[31m\n```'
    is 200 '.trees[0][0].parts[0].parts[0] == {"kind": "cell", "align": "center", "parts": ["a"]}
        and .trees[0][1] == {"kind": "code", "language": "sh", "parts": ["echo \\x1b[31m\n"]}'
}

@test "several texts have a tree each, in their order; too many, and what is no text, are refused" {
    api POST /markdown -d '{"texts":["a","","- b"]}'
    is 200 '.trees | map(length) == [1, 0, 1]'
    api POST /markdown -d '{"texts":[]}'
    is 200 '.trees == []'
    jq -n '{texts: [range(200) | "a"]}' >"$T/most"
    api POST /markdown -d "@$T/most"
    is 200 '.trees | length == 200'
    jq -n '{texts: [range(201) | "a"]}' >"$T/more"
    api POST /markdown -d "@$T/more"
    refused 400 bad_request 'at most 200 texts'
    for body in '{"texts":[1]}' '{"texts":"a"}' '{}'; do
        api POST /markdown -d "$body"
        [ "$status" = 400 ]
    done
    TOKEN=wrong api POST /markdown -d '{"texts":["a"]}'
    refused 401 unauthorized ''
}
