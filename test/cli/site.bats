#!/usr/bin/env bats
# The manual as a site: scripts/site.sh.
load ../helper

links() { python3 -ES "$PROJECT/scripts/lib/site-links.py" "$T/site"; }

@test "documents and manual pages become pages whose links lead somewhere" {
    for program in cmark-gfm mandoc; do command -v "$program" >/dev/null || skip "there is no $program"; done
    mkdir "$T/site"
    touch "$T/site/mine"
    run ! bash "$PROJECT/scripts/site.sh" "$T/site"
    [ -e "$T/site/mine" ]
    rm -r "$T/site"
    run bash "$PROJECT/scripts/site.sh" "$T/site"
    [ "$status" -eq 0 ] || { echo "$output"; false; }
    [ "${lines[-1]}" = "$T/site/index.html" ]
    for page in "$PROJECT"/man/*.[1-8]; do grep -q 'class="Sh"' "$T/site/man/${page##*/}.html"; done
    grep -qF '<a href="man/mas-agents.7.html">' "$T/site/index.html"
    grep -qF '<a href="../man/mas-fleet.7.html">' "$T/site/docs/fleet.html"
    # a section of another page
    grep -qF '<a class="Sx" href="mas-code.7.html#Landing">' "$T/site/man/mas.1.html"
    links
    [ ! -e "$T/site.new" ]
}

@test "a link that leads nowhere, a script and what is not https are found" {
    mkdir "$T/site"
    local number=0 bad
    for bad in '<a href="gone.html">' '<a href="#gone">' '<a href="../etc">' '<img src="http://example.org/x.png">' \
        '<script></script>' '<p onclick="x()">'; do
        printf '<p id="there"><a href="#there">%s' "$bad" >"$T/site/index.html"
        run links
        [ "$status" -eq 1 ]
        [[ $output == 'site: index.html: '* ]]
        number=$((number + ${#lines[@]}))
    done
    [ "$number" -eq 6 ]
}
