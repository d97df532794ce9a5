# What old-kernel.bats runs in a virtual machine: an agent of a plain user behind a wall that Landlock alone holds.
# Prints facts, a line each.
# shellcheck shell=sh
# shellcheck disable=SC2016 # the agent expands it

if [ "$(id -u)" = 0 ]; then
    mas-wall --probe
    echo 'u:x:1000:1000:u:/home/u:/bin/sh' >>/etc/passwd
    mkdir -p /home/u
    chown 1000:1000 /home/u
    chmod 666 /dev/null /dev/ptmx /dev/tty
    exec setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/u sh /script
fi

cd /home/u || exit
mkdir shared shared/a shared/b readable .tool
echo text >secret
echo text >readable/file
ways='truncate open open-ioctl openat openat-ioctl openat-made openat-high openat-again openat2 openat2-ioctl'
for way in $ways; do
    echo text >cut-off
    said=$(escape cut-off "$way" cut-off 2>&1)
    echo "without a wall: $way: $? $said"
done
mas init root >/dev/null
cd root || exit
cat >>mas.ini <<X
[preset walled]
command = sh /home/u/agent
wall.level = try
wall.home = .tool:own
wall.read = /home/u/readable
wall.write = /home/u/shared
wall.network = none
[preset must]
command = sh /home/u/agent
wall.level = require
X
cat >../agent <<X
exec >/home/u/shared/out 2>&1
for way in $ways ftruncate fallocate; do
    for file in /home/u/secret /home/u/readable/file; do
        said=\$(escape cut-off \$way \$file 2>&1)
        echo "inside: \$way \$file: \$? \$said"
    done
done
X
cat >>../agent <<'X'
works() { echo "program: $1"; }
own=/home/u/shared
[ "$(cat /home/u/readable/file)" = text ] && works 'reads what it may'
cat /home/u/secret || ls /home/u || (: >>/home/u/secret) || (: >/home/u/readable/file) || works 'no file outside'
echo longer >$own/a/file && echo short >$own/a/file && [ "$(cat $own/a/file)" = short ] && works 'cuts off its own by >'
truncate -s 2 $own/a/file && [ "$(cat $own/a/file)" = sh ] && works 'opens to write and cuts off'
echo new >~/.tool/from && cp ~/.tool/from $own/a/file && [ "$(cat $own/a/file)" = new ] && works copies
mv $own/a/file $own/b/moved && [ -s $own/b/moved ] && works 'moves between directories'
mkdir $own/repository && cd $own/repository && echo one >file && git init -q && git add file &&
    git -c user.name=u -c user.email=u@x commit -qm one && echo two >file && git checkout -q file &&
    [ "$(cat file)" = one ] && works 'git commits'
nc -w 1 127.0.0.1 1 || works 'no network'
mount -t tmpfs x $own/a || unshare -Ur true || works 'no mount'
echo end
X
id=$(mas new -q -t solo --agent walled)
mas show "$id" | sed -n '/^walls/p'
await grep -qx end ../shared/out
cat ../shared/out
mas rm -q -f "$id"
mas new -q -t solo --agent must
echo "required: $?"
