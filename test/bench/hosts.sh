# 100 pretend hosts, which answer with a recorded list of 100 teams: what mas adds to asking them.
# shellcheck shell=bash
# A pretended ssh answers; where connections are already there, only programs listen at their sockets.

ROOT=$FAST/fleet
HOSTS=100
make_root "$ROOT" && mkdir -p "$FAST/bin" "$FAST/run/mas" && chmod 700 "$FAST/run" "$FAST/run/mas" || return 1
"$MAS" --root "$ROOT" new -q -t solo --no-start >/dev/null && "$FAST/populate" "$ROOT" 99 &&
    "$MAS" --root "$ROOT" doctor >/dev/null || return 1
{
    "$MAS" --greet --root "$ROOT" config --json | head -n 1
    "$MAS" --root "$ROOT" list --all --json
} >"$FAST/answer" || return 1
make_root "$FAST/asks" || return 1
for ((i = 0; i < HOSTS; i++)); do
    printf '[host h%d]\nvia = ssh:h%d\n' "$i" "$i"
done >>"$FAST/asks/mas.ini"

# Its last words are: -- HOST COMMAND, or -- HOST for a master.
cat >"$FAST/bin/ssh" <<END
#!/bin/sh
while [ "\$1" != -- ]; do shift; done
[ \$# -gt 2 ] || exit 0
case \$2 in
    \$DEAD) exec sleep 1000 ;;
    \$SLOW_ONES) sleep 0.5 ;;
esac
exec cat '$FAST/answer'
END
chmod +x "$FAST/bin/ssh"
cat >"$FAST/bin/alone" <<END
#!/bin/sh
for i in \$(seq 0 $((HOSTS - 1))); do '$FAST/bin/ssh' -T -- "h\$i" list & done >/dev/null
wait
END
chmod +x "$FAST/bin/alone"

# Listens where the connections of all hosts would be.
python3 - "$FAST/run/mas" "$HOSTS" "$FAST/listens" <<'END' &
import hashlib, os, select, socket, sys
listening = []
os.chdir(sys.argv[1])
for i in range(int(sys.argv[2])):
    s = socket.socket(socket.AF_UNIX)
    s.bind(hashlib.sha256(b"h%d" % i).hexdigest()[:16] + ".0")
    s.listen(64)
    listening.append(s)
open(sys.argv[3], "w").close()
while True:
    for s in select.select(listening, [], [])[0]:
        s.accept()[0].close()
END
listener=$!
until [[ -e $FAST/listens ]]; do read -rt 0.05 <> <(:); done

(
    export PATH=$FAST/bin:$PATH XDG_RUNTIME_DIR=$FAST/run DEAD=none SLOW_ONES=none
    [[ $("$MAS" --root "$FAST/asks" list --all-hosts --json | jq '.sessions | length') == 10000 ]] || exit 1
    measure mas="$MAS --root $FAST/asks list --all-hosts --json" alone="$FAST/bin/alone" || exit 1
    at_most "list of 100 hosts / asking them alone" "$(calc "${T[mas]} / ${T[alone]}")" 2.5 \
        "($(ms mas), $(ms alone); 10,000 sessions, $(stat -c %s "$FAST/answer") bytes each)"
    export DEAD='h[1-5]' SLOW_ONES='h9[0-9]'
    ROUNDS=3
    # the dead ones are its exit code
    printf '#!/bin/sh\n%s --root %s list --all-hosts\n[ $? -eq 12 ]\n' "$MAS" "$FAST/asks" >"$FAST/bin/some"
    chmod +x "$FAST/bin/some"
    measure some="$FAST/bin/some" || exit 1
    at_most "list of 100 hosts, 10 slow, 5 dead, ms" "$(calc "${T[some]} / 1000")" 3000 '(2 s for each)'
    echo "$MET $MISSED" >"$FAST/judged"
)
rc=$?
[[ ! -e $FAST/judged ]] || read -r MET MISSED <"$FAST/judged"
kill "$listener"
wait "$listener" 2>/dev/null
return "$rc"
