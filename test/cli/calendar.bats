#!/usr/bin/env bats
# The calendars of `mas every`, compared with those of systemd.
load ../helper

setup_more() {
    command -v systemd-analyze >/dev/null || skip "there is no systemd-analyze"
    export TZ=UTC
}

# same BASE COUNT < CALENDARS: mas finds the times after BASE that systemd finds.
same() {
    local base=$1 count=$2 text
    cat >"$T/texts"
    [ -s "$T/texts" ]
    "$BATS_TEST_DIRNAME/../../build/test/tools/calendar" "$(date -ud "$base" +%s)" "$count" <"$T/texts" >"$T/ours"
    while IFS= read -r text; do
        echo "= $text"
        systemd-analyze calendar --base-time="$base" --iterations="$count" "$text" \
            2>"$T/refused" | sed -n 's/^ *\(Next elapse\|Iter\. *#[0-9]*\|Iteration #[0-9]*\): \(.*UTC\)$/\2/p'
        if [ -s "$T/refused" ]; then echo refused; fi
    done <"$T/texts" >"$T/theirs"
    diff "$T/theirs" "$T/ours"
}

@test "a year of calendars over both changes of time is that of systemd" {
    local zone
    for zone in Europe/Berlin America/New_York Australia/Lord_Howe Pacific/Auckland \
        America/Havana Africa/Casablanca Asia/Kolkata UTC; do
        printf '%s '"$zone"'\n' '*-*-* 02:30' 'Mon..Fri 08:00' 'Sun *-*-* 0..4:0/15' \
            'Sat,Sun *-3,4,9..11-* *:0/30' 'weekly' '*-*-31 23:59:59' '00:00' '0/3:10:5' |
            same '2026-01-01 00:00:00 UTC' 370
    done
}

@test "calendars over years are those of systemd" {
    same '2026-02-28 13:00:07 UTC' 12 <<'E'
2-29
Fri *-*-13 00:00
*-2-29..31
2028..2032/2-1-1 12:00
2027-12-31 23:59:59
2-30
minutely
Hourly
daily
monthly
quarterly
semiannually
yearly
annually America/New_York
Mon,Wed..Fri,Sunday *-*-1..7,20/5 8..18/2:0/15:30 America/New_York
*-*-* *:*:0/20
*:7
Tuesday
E
}

@test "what mas refuses, systemd refuses too, but for what the manual leaves out" {
    same '2026-02-28 13:00:07 UTC' 2 <<'E'
24:00
8:60
*:*/15
*/2:00
20..4:00
13-1
*-*-32
*-*-0
0/24:00
Sat..Mon 8:00
Mond 8:00
8:00 Nowhere/City
8:00 daily
8:00 UTC UTC
-1:00
E
}
