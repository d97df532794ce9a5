#!/usr/bin/env bats
# A root on a shared disk without RENAME_NOREPLACE and with locks that end at the machine.

load ../helper
load lib

setup_file() {
    bed_up
    if [ -n "$BED" ]; then fleet_config; fi
}

# here MACHINE VERB...: mas there, with the root on the shared disk.
here() { as "$1" mas --root /srv/shared/root "${@:2}"; }
mas_on() { run --separate-stderr here "$@"; }

# refuses MACHINE VERB...: another machine has the session, and the verb changes nothing.
refuses() {
    local before after
    before=$(as n1 sh -c 'cd /srv/shared/root && find . ! -path "*/logs/*" -printf "%P %m %s\n" | sort')
    mas_on "$@"
    echo "$*: $status $output $stderr"
    [ "$status" -eq 4 ]
    [[ $stderr == *n1* ]]
    after=$(as n1 sh -c 'cd /srv/shared/root && find . ! -path "*/logs/*" -printf "%P %m %s\n" | sort')
    diff <(echo "$before") <(echo "$after")
}

@test "init, new, archive, restore, clean and rm work on the shared disk" {
    local id
    as n1 mas init -q /srv/shared/root
    id=$(here n1 new -q -t solo --agent scripted --name first)
    [[ $(here n1 ask first solo 'SAY:remembered') == *remembered* ]]
    here n1 stop -q first
    here n1 archive -q -o /srv/shared/first.tar.zst first
    as n1 test -s /srv/shared/first.tar.zst
    here n1 rm -q first
    [ -z "$(here n1 list -q)" ]
    here n1 restore -q /srv/shared/first.tar.zst
    here n1 start -q first
    [[ $(here n1 history first solo) == *remembered* ]]
    here n1 new -q -t solo --agent scripted --name second --no-start
    here n1 clean --status stopped --keep 0 --older-than 0s
    [ "$(here n1 list --json | jq -r '.sessions[].name')" = first ]
    here n1 doctor
    here n1 rm -f -q first
}

@test "a second machine sees a team and changes nothing of it: rm, rm -f, start, stop and clean refuse" {
    local id
    id=$(here n1 new -q -t solo --agent scripted --name team)
    as n1 test -d "/srv/shared/root/sessions/$id"
    here n1 ask team solo 'SAY:x' >/dev/null
    [[ $(here n2 list) == *n1* ]]
    refuses n2 rm team
    refuses n2 rm -f team
    refuses n2 start team
    refuses n2 stop team
    refuses n2 ask team solo 'SAY:y'
    refuses n2 history team solo
    mas_on n2 status team
    mas_on n2 search x
    # SQLite's log is still there: the locks of its host are not to be seen here
    as n1 test -s "/srv/shared/root/sessions/$id/memory.db-wal"
    mas_on n2 clean --status crashed,stopped,error,active --older-than 0s
    [ "$(here n1 list -q)" = "$id" ]
    [ "$(state_here n1 team)" = idle ]
    mas_on n2 doctor --fix
    [ "$(state_here n1 team)" = idle ]
    [[ $(here n1 ask team solo 'SAY:"still there"') == *'still there'* ]]
    [[ $(here n1 history team solo) == *'still there'* ]]
    here n1 stop -q team
    # also when it does not run: its machine has it
    refuses n2 start team
    refuses n2 rm team
    mas_on n2 clean --status stopped --older-than 0s
    [ "$(here n1 list -q)" = "$id" ]
    here n1 start -q team
    here n1 rm -f -q team
}

state_here() { here "$1" status "$2" --json | jq -r '.sessions[].agents[0].state'; }

@test "machines that share a machine-id are told apart" {
    local id
    on n3 sh -c 'cp /etc/machine-id /etc/machine-id.own; cat >/etc/machine-id' < <(on n1 cat /etc/machine-id)
    id=$(here n1 new -q -t solo --agent scripted --name clones)
    here n1 wait clones --for idle
    [ -n "$id" ]
    refuses n3 rm -f clones
    refuses n3 start clones
    on n3 mv /etc/machine-id.own /etc/machine-id
    here n1 rm -f -q clones
}
