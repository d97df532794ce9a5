# `mas new` of the default team with shells, against one raw tmux invocation that makes the same 13
# panes, and against tmuxinator and tmuxp making the same layout. No side has more sessions on the
# server than another: each is ended after its run.
# shellcheck shell=bash

# layout TEMPLATE: "<window> <number of agents> <layout>" a line.
layout() {
    awk -F ' *= *' '
        /^\[/ { if (name) print name, count, layout; name = "" }
        /^\[window / { name = substr($0, 9, length($0) - 9); layout = "tiled" }
        $1 == "agents" { count = split($2, list, ",") }
        $1 == "layout" { layout = $2 }
        END { if (name) print name, count, layout }
    ' "$1"
}

# The script for tmux: windows, layouts, size and options as mas sets them, and the shell started as
# mas starts it: without another shell before it.
raw_script() {
    local window count kind option i first=1 shell="$SHELL -i"
    local options=("remain-on-exit on" "allow-rename off" "automatic-rename off"
        "pane-border-status top" "pane-border-format ' #{pane_title} '")

    while read -r window count kind; do
        if ((first)); then
            printf 'new-session -d -s raw -n %s -x 200 -y 50 %s' "$window" "$shell"
            printf ' ; set-option -t =raw: destroy-unattached off'
        else
            printf ' ; new-window -d -t =raw: -n %s %s' "$window" "$shell"
        fi
        first=0
        for option in "${options[@]}"; do
            printf ' ; set-option -w -t =raw:=%s %s' "$window" "$option"
        done
        for ((i = 1; i < count; i++)); do
            printf ' ; split-window -t =raw:=%s %s ; select-layout -t =raw:=%s %s' \
                "$window" "$shell" "$window" "$kind"
        done
    done
    echo
}

# Both read YAML and start the default shell in each pane.
tmuxinator_project() {
    local window count kind i
    printf 'name: inator\nroot: %s\nsocket_path: %s\nwindows:\n' "$HOME" "$SOCK"
    while read -r window count kind; do
        printf '  - %s:\n      layout: %s\n      panes:\n' "$window" "$kind"
        for ((i = 0; i < count; i++)); do echo '        - '; done
    done
}
tmuxp_workspace() {
    local window count kind i
    printf 'session_name: tmuxp\nstart_directory: %s\nwindows:\n' "$HOME"
    while read -r window count kind; do
        printf '  - window_name: %s\n    layout: %s\n    panes:\n' "$window" "$kind"
        for ((i = 0; i < count; i++)); do echo '      - blank'; done
    done
}

make_script end-team <<'END'
case $SIDE in
    mas*) "$MAS" --root "$ROOT" stop --all >/dev/null ;;
    raw) tmux -S "$SOCK" kill-session -t =raw: ;;
    tmuxinator) tmux -S "$SOCK" kill-session -t =inator: ;;
    tmuxp) tmux -S "$SOCK" kill-session -t =tmuxp: ;;
esac
sleep 0.2
END

export ROOT=$FAST/new
make_root "$ROOT" && make_root "$SLOW/new" || return 1
layout "$ROOT/templates/default/template.ini" >"$FAST/layout"
raw_script <"$FAST/layout" >"$FAST/raw.tmux"

# The raw side has to make what mas makes, else the ratio says nothing.
tmux -S "$SOCK" source-file "$FAST/raw.tmux" && ID=$("$MAS" --root "$ROOT" new -q) || return 1
made=$("$MAS" --root "$ROOT" env "$ID" | sed -n "s/^SESSION_NAME='\{0,1\}\([^']*\).*/\1/p")
shape='#{window_name} #{pane_left},#{pane_top} #{pane_width}x#{pane_height} #{remain-on-exit}'
diff <(tmux -S "$SOCK" list-panes -s -t =raw: -F "$shape") \
    <(tmux -S "$SOCK" list-panes -s -t "=$made:" -F "$shape") || return 1
SIDE=raw "$FAST/end-team" && SIDE=mas "$FAST/end-team" || return 1

sides=(raw="tmux -S $SOCK source-file $FAST/raw.tmux" mas="$MAS --root $ROOT new -q")
if command -v tmuxinator >/dev/null; then
    tmuxinator_project <"$FAST/layout" >"$FAST/inator.yml"
    sides+=(tmuxinator="tmuxinator start -p $FAST/inator.yml --no-attach --suppress-tmux-version-warning=SUPPRESS-TMUX-VERSION-WARNING")
fi
if command -v tmuxp >/dev/null; then
    tmuxp_workspace <"$FAST/layout" >"$FAST/tmuxp.yaml"
    sides+=(tmuxp="tmuxp load -y -d -S $SOCK $FAST/tmuxp.yaml")
fi
measure -a "$FAST/end-team" "${sides[@]}" || return 1
# The limit is 1.5 times what it took without a host in each pane.
at_most 'mas new / raw tmux, 13 shells' "$(calc "${T[mas]} / ${T[raw]}")" 1.46 \
    "(mas $(ms mas), raw $(ms raw))"
for tool in tmuxinator tmuxp; do
    if [[ ${T[$tool]-} ]]; then
        at_least "$tool / mas new, same layout" "$(calc "${T[$tool]} / ${T[mas]}")" 4 \
            "($tool $(ms "$tool"))"
    else
        skip "$tool / mas new, same layout" "$tool is not installed"
    fi
done

# On a disk the workspace has to get there as well, before mas says that it is done.
ROOT=$SLOW/new
measure -a "$FAST/end-team" raw="${sides[0]#raw=}" mas="$MAS --root $ROOT new -q" || return 1
note 'the same on a disk' \
    "$(calc "${T[mas]} / ${T[raw]}") (mas $(ms mas), raw $(ms raw); $(stat -f -c %T "$SLOW"))"

# One more agent for a team that runs, against a raw split of a window and a copy of its files.
ROOT=$FAST/new
make_script raw-add <<'END'
cp -r "$ROOT/templates/solo/unit/solo" "$ROOT/copy" && exec tmux -S "$SOCK" split-window -d -t =add: "$SHELL" -i
END
make_script end-add <<'END'
case $SIDE in
    mas*) "$MAS" --root "$ROOT" remove -qf add rev ;;
    raw) rm -r "$ROOT/copy" && tmux -S "$SOCK" kill-pane -t =add:.1 ;;
esac
sleep 0.2
END
tmux -S "$SOCK" new-session -d -s add -x 200 -y 50 "$SHELL -i" &&
    ID=$("$MAS" --root "$ROOT" new -q -t solo -n add) || return 1
measure -a "$FAST/end-add" raw="$FAST/raw-add" mas="$MAS --root $ROOT add -q $ID --agent shell --as rev" \
    mas-name="$MAS --root $ROOT add -q add --agent shell --as rev" || return 1
at_most 'mas add / raw tmux split-window and cp' "$(calc "${T[mas]} / ${T[raw]}")" 1.3 \
    "(mas $(ms mas), with a name $(ms mas-name), raw $(ms raw))"
tmux -S "$SOCK" kill-session -t =add: && "$MAS" --root "$ROOT" stop -q add
