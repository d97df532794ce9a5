# What the tests of the page share; loaded after ../acp/lib and lib.
# shellcheck shell=bash
#
#   browse SCENARIO [ARGUMENT...]    lets a Chromium do what page/page.py has under this name

needs_browser() {
    command -v chromium >/dev/null || skip 'there is no chromium'
}

browse() {
    URL=$URL TOKEN=$TOKEN MAS=$MAS ID=${ID-} T=$T timeout "${BROWSE_S:-280}" python3 -ESB "$PROJECT/test/serve/page/page.py" "$@"
}
