# What quota.bats runs in a virtual machine: mas on a file system with project quotas, of the type $type. Prints
# facts, a line each.
# shellcheck shell=sh
# shellcheck disable=SC2046,SC2154 # words are meant; the test says the type

# number, used, limit DIR: what the kernel has of its quota.
number() { (set -- $(quota "$1") && echo "$1"); }
used() { (set -- $(quota "$1") && echo "$2"); }
limit() { (set -- $(quota "$1") && echo "$3"); }
limit_is() { [ "$(limit "$1")" = "$2" ]; }
logged() { grep -q "$2" "sessions/$1/logs/session.log"; }
walls() { mas show "$1" | sed -n 's/^walls *//p'; }
walls_say() { walls "$1" | grep -q "$2"; }
state_is() { [ "$(mas status "$1" | awk '/^(lead|reviewer) / { print $3 }' | sort -u)" = "$2" ]; }
# as_agent COMMAND: as an agent behind a wall would: with the owner's id, without privileges.
as_agent() { setpriv --bounding-set=-all --inh-caps=-all sh -c "$1" 2>&1; }

# disk MAKE: mounts a new file system, and makes a root on it.
disk() {
    truncate -s 320M "/tmp/$type"
    $1 "/tmp/$type"
    mkdir "/tmp/on-$type"
    mount -t "$type" -o loop,prjquota "/tmp/$type" "/tmp/on-$type" && cd "/tmp/on-$type" || exit
    mas init root >/dev/null
    cd root || exit
    cat >>mas.ini <<'X'
[workspace]
lazy = yes
[limits]
session = 16M
[preset trial]
command = sh /tmp/agent
idle = 100ms
X
}

cat >/tmp/agent <<'X'
while read -r line; do eval "$line"; done
X
case $type in
ext4) disk 'mke2fs -q -t ext4 -O quota,project -E quotatype=prjquota' ;;
xfs) disk 'mkfs.xfs -q' ;;
esac
first=$(mas new -q -t pair --agent trial)
second=$(mas new -q -t pair --agent trial)
mine=sessions/$first
[ "$(number "$mine")" -ge 1828716544 ] && [ "$(number "$mine")" != "$(number "sessions/$second")" ] &&
    echo "each has a number of its own"
await limit_is "$mine" 22020096 && echo "the limit holds"
await walls_say "$first" 'disk: quota' && echo "walls: $(walls "$first")"
third=$(mas new -q -t pair --agent trial --no-start)
for dir in sessions/.snapshots/*; do echo "snapshot: $(number "$dir") $(number "$dir/unit")"; done
mas rm -q -f "$third"
for file in "$mine" "$mine/unit" "$mine/logs" "$mine/run"; do
    [ "$(number "$file")" = "$(number "$mine")" ] || echo "another number: $file"
done

# what is deleted but open counts
mas wait "$first" --for idle
mas send "$first" lead 'exec 3>gone; rm gone; head -c 14500k /dev/zero >&3' >/dev/null
await logged "$first" 'the session uses .* of 16M' && echo "what is deleted but open counts"
mas send "$first" lead 'exec 3>&-' >/dev/null

# nobody without privileges gets past the limit
as_agent "dd if=/dev/zero of=sessions/$second/unit/big bs=64k count=1000" | sed "s/^/$type: /"
[ "$(used "sessions/$second")" -le "$(limit "sessions/$second")" ] && echo "the kernel holds it"
await state_is "$second" paused && echo "the agents are paused"
rm "sessions/$second/unit/big"
await state_is "$second" idle && echo "the agents go on"

# a session that is restored has a number, too, and one that is removed none
mas stop -q "$first"
mas archive -q -o /tmp/first.tar.zst "$first"
old=$(number "$mine")
mas rm -q -f "$first"
echo "removed: $(quota . "$old" | cut -d ' ' -f 3)"

# what is put into a session that lacks it has its number: from the snapshot, and from a copy of the template
filled=$(mas new -q -t pair --agent trial --no-start)
for lacks in reviewer lead; do
    [ "$lacks" = reviewer ] || rm -r "sessions/$filled/unit/lead" "sessions/$filled/workflows"
    before=$(used "sessions/$filled")
    mas library fill "$PWD/sessions/$filled" || echo "not filled"
    [ "$(used "sessions/$filled")" -gt "$before" ] || echo "never: counted"
    find "sessions/$filled" -type d -o -type f | while read -r file; do
        [ "$(number "$file")" = "$(number "sessions/$filled")" ] || echo "another number: $file"
    done
    [ -f "sessions/$filled/unit/$lacks/AGENTS.md" ] && echo "filled: $lacks"
done
mas rm -q -f "$filled"
mas restore -q /tmp/first.tar.zst
[ "$(number "$mine")" -ge 1828716544 ] && mas start -q "$first" && await limit_is "$mine" 22020096 && echo "restored"
mas set -q "$first" limits.session=none
await limit_is "$mine" 0 && echo "without a limit"
mas rm -q -f "$first" "$second"

# those who have none are watched
cat >>mas.ini <<'X'
[workspace]
hardlink = readonly
X
linked=$(mas new -q -t solo --agent trial)
echo "with links: $(number "sessions/$linked")"
mas rm -q -f "$linked"
sed -i '/^hardlink/d' mas.ini
late=$(mas new -q -t solo --agent trial)
quota sessions set 42
mas rm -q -f "$late" && echo "removed across numbers: $(find sessions -name "*$late*" | wc -l)"
other=$(mas new -q -t solo --agent trial)
await walls_say "$other" 'disk: watch' && echo "an administrator's: $(number "sessions/$other") $(limit "sessions/$other")"
mas rm -q -f "$other"
