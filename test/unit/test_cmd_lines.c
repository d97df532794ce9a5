/*
 * What command lines come to in a root with two stopped sessions: those that are refused, with the
 * reason, and what is told of the sessions. Each runs in this process.
 */
#define UNIT_OWN_MAIN
#include "lines.h"

TEST(options_that_exclude_each_other_are_refused)
{
    static const struct refused lines[] = {
        {2, "archive shop --save", "cannot use --save without --live"},
        {2, "archive shop --all", "cannot use --all without --live"},
        {2, "archive shop --live --rm", "cannot use --live with --rm"},
        {2, "archive shop --live --save -o x", "cannot use --output with --save"},
        {2, "archive shop --live --all -o x", "cannot use --output with --all"},
        {2, "archive shop solo -o x", "cannot use --output with more than one SESSION"},
        {2, "archive solo -s shop -o x", "cannot use --output with more than one SESSION"},
        {2, "archive shop -o - --rm", "cannot use '-o -' with --rm or --json"},
        {2, "archive shop -o - --json", "cannot use '-o -' with --rm or --json"},
        {2, "ask shop a --again x", "cannot use --again with a prompt"},
        {2, "ask shop a --again --file x", "cannot use --again with a prompt"},
        {2, "ask shop a x --new --conversation 1234", "cannot use --new with --conversation"},
        {2, "ask shop a x --aside --new", "cannot use --aside with --new"},
        {2, "ask shop a x --aside --conversation 1", "cannot use --aside with --conversation"},
        {2, "ask shop a x --aside --tag t", "cannot use --aside with --tag"},
        {2, "ask shop a x --aside --no-wait", "cannot use --aside with --no-wait"},
        {2, "ask shop a x --no-wait --timeout 5s", "cannot use --timeout with --no-wait"},
        {2, "ask shop a x --file y", "cannot run 'ask': it takes TEXT or --file, not both"},
        {2, "ask shop a", "cannot run 'ask': it needs TEXT or --file"},
        {2, "send shop a x --file y", "cannot run 'send': it takes TEXT or --file, not both"},
        {2, "send shop a", "cannot run 'send': it needs TEXT or --file"},
        {2, "send shop a x --now --no-enter", "cannot use --now with --no-enter"},
        {2, "send shop a x --timeout 5s", "cannot use --timeout without --wait"},
        {2, "diff shop a --base --integration", "cannot use more than one of --base, "},
        {2, "diff shop a --base --since-look", "cannot use more than one of --base, "},
        {2, "diff shop a --integration --since-look", "cannot use more than one of --base, "},
        {2, "history shop a --export md --json", "cannot use --export with --json or --queries"},
        {2, "history shop a --export md --queries", "cannot use --export with --json or --queries"},
        {2, "kept shop a --delete 1 --delete-all", "--delete and --delete-all exclude each other"},
        {2, "land shop --merge --squash", "cannot use --merge with --squash"},
        {2, "land shop --merge --rebase", "cannot use --merge with --rebase"},
        {2, "land shop --squash --rebase", "cannot use --squash with --rebase"},
        {2, "land shop --rebase --message x", "cannot use --rebase with --message"},
        {2, "land shop --pr --merge", "cannot use --pr with --merge"},
        {2, "land shop --pr --push", "cannot use --pr with --push"},
        {2, "logs shop a --raw --json", "cannot use --raw with --json"},
        {2, "logs shop all --raw", "cannot use --raw with more than one agent"},
        {2, "new --attach --no-start", "cannot use --attach with --no-start"},
        {2, "new --cpus 2",
         "cannot use --cpus, --mem, --gpus, --time, --idle or --chain without --host"},
        {2, "new --mem 2G",
         "cannot use --cpus, --mem, --gpus, --time, --idle or --chain without --host"},
        {2, "new --gpus 2",
         "cannot use --cpus, --mem, --gpus, --time, --idle or --chain without --host"},
        {2, "new --time 2h",
         "cannot use --cpus, --mem, --gpus, --time, --idle or --chain without --host"},
        {2, "new --idle 2h",
         "cannot use --cpus, --mem, --gpus, --time, --idle or --chain without --host"},
        {2, "new --host p --attach", "cannot use --attach, --no-start or --mode with --host"},
        {2, "new --host p --no-start", "cannot use --attach, --no-start or --mode with --host"},
        {2, "new --host p --mode legacy", "cannot use --attach, --no-start or --mode with --host"},
        {2, "new --host m --cpus 2", "cannot use --cpus with --host m: Slurm does not place "},
        {2, "new --host m --idle 2h", "cannot use --idle with --host m: Slurm does not place "},
        {2, "run --scratch", "cannot use --scratch without a store"},
        {2, "start shop --fenced", "cannot use --fenced without --takeover"},
        {2, "start shop --takeover --crashed", "cannot use --takeover with --crashed"},
        {2, "stop shop --all", "cannot run 'stop': it takes a SESSION or an option for many "},
        {2, "stop -s shop --all", "cannot run 'stop': it takes a SESSION or an option for many "},
        {2, "serve token add x --read-only --full", "cannot add the token 'x': expected one of "},
        {2, "serve token add x --answer --full", "cannot add the token 'x': expected one of "},
        {2, "serve token add x", "cannot add the token 'x': expected one of "},
        {2, "search x --all-hosts -s shop",
         "cannot run 'search': it takes a SESSION or --all-hosts"},
        {2, "status shop --all-hosts", "cannot run 'status': it takes a SESSION or --all-hosts"},
        {2, "status -s shop --all-hosts", "cannot run 'status': it takes a SESSION or --all-hosts"},
        {2, "search - --all-hosts", "cannot search on all hosts for '-': standard input is only "},
        {2, "list --jobs --all-hosts", "cannot use --jobs with --all-hosts, which has the jobs "},
        {2, "doctor --fix --all-hosts", "cannot run 'doctor' on all hosts with --fix"},
        {2, "status --watch --all-hosts", "cannot run 'status' on all hosts with --watch"},
        {2, "next --client x", "cannot use --client 'x': this is not inside tmux"},
    };

    SESSIONS;
    REQUIRE(place_put(ground.dir, ROOT_SETTINGS,
                      "[host m]\nvia = ssh:u@m\n[host p]\nvia = slurm:p\nstore = /nonexistent\n"));
    check_refused(lines, ARRAY_LEN(lines));
}

TEST(values_that_are_none_are_refused)
{
    static const struct refused lines[] = {
        {2, "ask shop a ' '", "cannot ask: the prompt is empty"},
        {2, "ask shop a x --timeout never", "cannot use --timeout 'never': it is not a time such "},
        {2, "send shop a x --wait --timeout x", "cannot use --timeout 'x': it is not a time such "},
        {2, "send shop a '' --no-enter", "cannot send: the text is empty"},
        {2, "clear shop a --then ' '", "cannot clear: the text of --then is empty"},
        {2, "completion csh", "cannot complete for 'csh': the shells are bash, zsh and fish"},
        {2, "help hlep", "cannot show help for 'hlep': there is no such command"},
        {2, "help list x", "cannot show help for 'list x': there is no such action"},
        {2, "help template list x", "cannot show help for 'template list x': there is no such "},
        {2, "history shop a --export x", "cannot use --export 'x': it is not md or jsonl"},
        {2, "init ''", "cannot create a root: the directory's name is empty"},
        {2, "logs shop a --since x", "cannot use --since 'x': it is not an age such as 10m or "},
        {2, "logs shop a -n x", "cannot use --lines 'x': it is not a number of lines, or all"},
        {2, "logs shop a -n -1", "cannot use --lines '-1': it is not a number of lines, or all"},
        {2, "search x --since y", "cannot use --since 'y': it is not an age such as 10m or a "},
        {2, "new --wall=x", "cannot use --wall=x: it is not off, try, require or default"},
        {2, "new --setup maybe", "cannot use --setup 'maybe': it is not yes or no"},
        {2, "new --limit x", "cannot use --limit 'x': expected KIND=AMOUNT or AGENT.KIND=AMOUNT"},
        {2, "new --limit cpus=2 --limit memory=1M",
         "cannot use --limit 'memory=1M': expected a size from 16M to 1024T"},
        {2, "new --limit a.session=1G", "cannot use --limit 'a.session=1G': expected KIND=AMOUNT"},
        {2, "new --id x", "cannot use id 'x': it is not a version 4 UUID"},
        {2, "new --mode x", "cannot use --mode 'x': it is not isolated or legacy"},
        {2, "new --name ''", "cannot use name '': a name must be one of A-Z a-z and at "},
        {2, "new --name 'a b'", "cannot use name 'a b': a name must be one of A-Z a-z and at "},
        {2, "run --id x", "cannot use id 'x': it is not a version 4 UUID"},
        {2, "run --wall=x", "cannot use --wall=x: it is not off, try, require or default"},
        {2, "run --limit x=1", "cannot use --limit 'x=1': expected KIND=AMOUNT"},
        {2, "run --setup x", "cannot use --setup 'x': it is not yes or no"},
        {2, "wait shop --for x", "cannot use --for 'x': it is not idle, exit or waiting"},
        {2, "wait shop a --for idle,x", "cannot use --for 'idle,x': it is not idle, exit or "},
        {2, "wait shop --timeout x", "cannot use --timeout 'x': it is not a time such as 500ms"},
        {2, "approve shop a 5 --answer x", "cannot answer: 'x' is not KEY=VALUE"},
        {2, "approve shop a 5 --answer =1", "cannot answer: '=1' is not KEY=VALUE"},
        {2, "approve shop a 5 --answer y=0 --answer x=1 --answer x=2",
         "cannot answer: 'x' is given twice"},
        {2, "approve shop a 5 --answer x=1 --answer y=0 --answer x=2",
         "cannot answer: 'x' is given twice"},
        {4, "approve shop a 5 --answer x=1 --answer xx=2", "cannot answer session 'shop': it is "},
        {2, "clean", "cannot clean: no criterion selects the sessions to remove"},
        {2, "clean --dry-run", "cannot clean: no criterion selects the sessions to remove"},
        {2, "clean --older-than x", "cannot use --older-than 'x': it is not an age, such as 90m"},
        {2, "clean --older-than ''", "cannot use --older-than '': it is empty"},
        {2, "clean --keep ''", "cannot use --keep '': it is empty"},
        {2, "clean --keep x", "cannot use --keep 'x': it is not a number up to 1000000"},
        {2, "clean --status active", "cannot use --status 'active': it is not a comma-separated "},
        {2, "usage --by x",
         "cannot use --by 'x': it is not session, agent, query, day, model or account"},
        {2, "serve token add x --full --expires never", "cannot use --expires 'never': it is not "},
        {2, "serve --listen x", "cannot use --listen 'x': it is not ADDRESS:PORT"},
        {2, "serve --listen 127.0.0.1:65536", "cannot use --listen '127.0.0.1:65536': it is not "},
        {2, "serve pair --url x", "cannot use --url 'x': it is not an address such as "},
        {2, "set shop budget.turns=x", "cannot set 'budget.turns=x': 'x' is not a number of turns"},
        {2, "set shop limits.memory=1M", "cannot set 'limits.memory=1M': '1M' is not a size from "},
        {2, "set shop a.limits.session=1G", "cannot set 'a.limits.session=1G': it is not private="},
        {2, "set shop private=maybe", "cannot set 'private=maybe': it is not private=yes, "},
        {2, "set shop label=x", "cannot set 'label=x': it is not private=yes, "},
        {2, "set shop a model=", "cannot set 'model=': it is not KEY=VALUE"},
        {2, "set shop a =x", "cannot set '=x': it is not KEY=VALUE"},
        {2, "set shop a model=x mode", "cannot set 'mode': it is not KEY=VALUE"},
        {2, "lease x y z w", "cannot renew a lease: 'mas lease' is only for mas itself"},
        {2, "carried x y", "'carried' is for 'mas new' and 'mas land' on another machine"},
        {2, "receive x y", "'receive' is for 'mas move' on another machine"},
    };

    SESSIONS;
    check_refused(lines, ARRAY_LEN(lines));
}

TEST(who_is_not_there_is_named)
{
    static const struct refused lines[] = {
        {3, "show nothing", "cannot find session 'nothing': there is no such session in '"},
        {4, "show 550e", "cannot find session '550e': 2 sessions match"},
        {3, "rm nothing", "cannot find session 'nothing': there is no such session in '"},
        {3, "archive nothing", "cannot find session 'nothing': there is no such session in '"},
        {3, "du shop nothing", "cannot find session 'nothing': there is no such session in '"},
        {3, "du nothing shop", "cannot find session 'nothing': there is no such session in '"},
        {3, "ask shop z x", "cannot find agent 'z': the team has no such agent"},
        {3, "send shop z x", "cannot find agent 'z': the team has no such agent"},
        {3, "send shop a,z x", "cannot find agent 'z': the team has no such agent"},
        {3, "send shop z,a x", "cannot find agent 'z': the team has no such agent"},
        {3, "send shop a x --from z", "cannot send from agent 'z': the team has no such agent"},
        {3, "set shop z.budget.turns=5", "session 'shop' has no agent 'z'"},
        {3, "set shop z.limits.memory=1G", "session 'shop' has no agent 'z'"},
        {3, "new --host nowhere", "cannot find host 'nowhere': mas.ini has no [host nowhere]"},
        {3, "move shop nowhere", "cannot find host 'nowhere': mas.ini has no [host nowhere]"},
        {3, "new --template nothere", "cannot use template 'nothere': there is no such template"},
        {3, "template show nothere", "cannot use template 'nothere': there is no such template"},
        {3, "serve token remove x", "cannot remove the token 'x': there is none of this name"},
        {4, "serve pair", "cannot pair a browser: no server of this root runs"},
        {3, "next", "cannot go to the next agent: nobody waits for you"},
        {2, "ask shop all x", "cannot run 'ask' for 2 agents: name one agent"},
        {2, "fork shop all", "cannot run 'fork' for 2 agents: name one agent"},
        {2, "reset shop all", "cannot run 'reset' for 2 agents: name one agent"},
        {2, "history shop all", "cannot run 'history' for 2 agents: name one agent"},
        {2, "remove shop all", "cannot remove all agents of session 'shop'"},
        {2, "add shop z --agent shell", "cannot run 'add': unexpected operand 'z'"},
        {2, "land shop a", "cannot run 'land': unexpected operand 'a'"},
        {2, "fork shop a b", "cannot run 'fork': unexpected operand 'b'"},
        {2, "new 'x y' --check-with 'make && true'",
         "cannot use '&&' in --check-with: no shell runs the command"},
        {2, "new 'x y' --check-with 'sleep 7; true'",
         "cannot use '7;' in --check-with: no shell runs the command"},
        {2, "context shop a b", "cannot run 'context': unexpected operand 'b'"},
        {2, "history shop a b", "cannot run 'history': unexpected operand 'b'"},
        {2, "kept shop a x", "cannot run 'kept': unexpected operand 'x'"},
        {2, "kept shop", "cannot run 'kept': it needs an AGENT"},
        {2, "peek shop", "cannot run 'peek': it needs a TARGET"},
        {2, "restart shop", "cannot run 'restart': it needs a TARGET"},
        {2, "cancel shop", "cannot run 'cancel': it needs an AGENT"},
        {2, "start", "cannot run 'start': it needs a SESSION"},
        {2, "stop", "cannot run 'stop': it needs a SESSION"},
        {2, "env", "cannot run 'env': it needs a SESSION outside of a team's pane"},
        {2, "mcp", "cannot run 'mcp': it needs a SESSION outside of a team's pane"},
        {2, "wait", "cannot run 'wait': it needs a SESSION outside of a team's pane"},
    };

    SESSIONS;
    check_refused(lines, ARRAY_LEN(lines));
}

/* Of the one agent of a team, nobody need say the name. */
TEST(what_takes_a_team_that_runs_is_refused_for_another)
{
    static const struct refused lines[] = {
        {4, "ask solo x", "cannot ask session 'solo': it is not running"},
        {4, "ask solo c x", "cannot ask session 'solo': it is not running"},
        {4, "ask -s solo x", "cannot ask session 'solo': it is not running"},
        {4, "send shop a x", "cannot send to session 'shop': it is not running"},
        {4, "kept solo", "cannot ask for the sessions of session 'solo': it is not running"},
        {4, "peek solo", "cannot peek at session 'solo': it is not running"},
        {4, "peek shop a b", "cannot peek at session 'shop': it is not running"},
        {4, "restart shop a", "cannot restart session 'shop': it is not running"},
        {4, "cancel shop a", "cannot cancel the turn of session 'shop': it is not running"},
        {4, "sleep shop", "cannot put to sleep session 'shop': it is not running"},
        {4, "approve solo", "cannot answer session 'solo': it is not running"},
        {4, "wait shop a", "cannot wait for session 'shop': it is not running"},
        {4, "set shop a", "cannot show the settings of session 'shop': it is not running"},
        {4, "set shop a model=x", "cannot set session 'shop': it is not running"},
        {4, "attach shop", "cannot attach to session 'shop': it is stopped"},
        {4, "sync shop a", "session 'shop' has no project"},
        {4, "merge shop a", "session 'shop' has no project"},
        {4, "diff shop a", "session 'shop' has no project"},
        {4, "land shop", "session 'shop' has no project"},
        {4, "review shop", "session 'shop' has no project"},
        {4, "set shop setup=yes", "session 'shop' has no project"},
    };

    SESSIONS;
    check_refused(lines, ARRAY_LEN(lines));
}

/* In the pane of solo's agent: what only a person may do, and words that mean the own team. */
TEST(an_agent_is_told_what_it_may_not_do)
{
    static const struct refused lines[] = {
        {1, "new --wall", "cannot use --wall: an agent may not decide this"},
        {1, "new --setup yes", "cannot use --setup=yes: an agent may not decide this"},
        {1, "new --limit memory=1G", "cannot use --limit: an agent may not decide this"},
        {1, "set solo budget.turns=5", "cannot set a budget: an agent may not decide this"},
        {1, "set solo limits.memory=1G", "cannot set a limit: an agent may not decide this"},
        {1, "set solo name=own", "cannot set 'name': an agent may not decide this"},
        {1, "set solo project=/", "cannot set 'project': an agent may not decide this"},
        {1, "set solo setup=yes", "cannot set 'setup': an agent may not decide this"},
        {1, "land solo", "cannot land: only a person may land, and this is agent 'c'"},
        {1, "open solo", "cannot open: only a person may open, and this is agent 'c'"},
        {1, "try solo c", "cannot try: only a person may try, and this is agent 'c'"},
        {1, "start --takeover --fenced solo",
         "cannot use --fenced: only a person may use --fenced, and this is agent 'c'"},
        {4, "send c x", "cannot send to session 'solo': it is not running"},
        {4, "peek c", "cannot peek at session 'solo': it is not running"},
        {4, "restart c", "cannot restart session 'solo': it is not running"},
        {4, "ask c x", "cannot ask session 'solo': it is not running"},
        {4, "wait", "cannot wait for session 'solo': it is not running"},
        {3, "send z x", "cannot find agent 'z': the team has no such agent"},
    };

    SESSIONS;
    (void)setenv("MAS_AGENT_ID", "c", 1);
    (void)setenv("MAS_SESSION_ID", ID(2), 1);
    check_refused(lines, ARRAY_LEN(lines));
    _cleanup_outcome_ struct outcome status = run("status");
    CHECK(strstr(status.output, "\nc      does c  stopped") != NULL);
    _cleanup_outcome_ struct outcome env = run("env");
    CHECK(strstr(env.output, "MAS_SESSION_ID='" ID(2) "'\n") != NULL);
    (void)unsetenv("MAS_AGENT_ID");
    (void)unsetenv("MAS_SESSION_ID");
}

TEST(sessions_are_listed_and_shown)
{
    static const struct told lines[] = {
        {"list -q", ID(1) "\n" ID(2) "\n"},
        {"list --all -q", ID(1) "\n" ID(2) "\n"},
        {"list --stopped -q", ID(1) "\n" ID(2) "\n"},
        {"list --active -q", ""},
        {"list --error -q", ""},
        {"list --active --stopped -q", ID(1) "\n" ID(2) "\n"},
        {"list --active --json", "{\"sessions\":[],\"total\":0}\n"},
        {"status --json", "{\"sessions\":[]}\n"},
        {"status shop", "AGENT  ROLE    STATE    SINCE  PID  RESTARTS  NOTE\n"
                        "a      does a  stopped  -      -    -\n"
                        "b      does b  stopped  -      -    -\n"},
        {"status solo shop", "SESSION  AGENT  ROLE    STATE    SINCE  PID  RESTARTS  NOTE\n"
                             "solo     c      does c  stopped  -      -    -\n"
                             "shop     a      does a  stopped  -      -    -\n"
                             "shop     b      does b  stopped  -      -    -\n"},
        {"env solo", "MAS_ROOT='ROOT'\nMAS_TMUX_SOCKET='/t'\nMAS_SESSION_MODE='isolated'\n"
                     "MAS_SESSION_ID='" ID(2) "'\nMAS_SESSION_DIR='ROOT/sessions/" ID(
                         2) "'\n"
                            "SESSION_NAME='mas-solo'\nUNIT_DIR='ROOT/sessions/" ID(
                                2) "/unit'\n"
                                   "WORKFLOWS_DIR='ROOT/sessions/" ID(2) "/workflows'\n"},
        {"wait solo --for exit", ""},
        {"stop shop", "shop is already stopped\n"},
        {"stop shop solo -q", ""},
        {"stop --all", ""},
        {"list --jobs --json", "{\"jobs\":[]}\n"},
        {"migrate", "nothing to migrate\n"},
        {"presets --json", "{\"presets\":[],\"total\":0}\n"},
        {"template list --json", "{\"templates\":[]}\n"},
        {"search x --json", "{\"messages\":[],\"total\":0}\n"},
        {"context solo", "current conversation\nrelevant history\n"},
        {"context solo --json",
         "{\"current_conversation\":[],\"relevant_history\":[],\"chat_history\":[]}\n"},
        {"serve token list", "TOKEN  RIGHT  AGE  EXPIRES IN\n"},
    };

    SESSIONS;
    check_told(lines, ARRAY_LEN(lines));
    _cleanup_outcome_ struct outcome list = run("list");
    CHECK(str_starts(list.output,
                     "SESSION   NAME  TEMPLATE  MODE      AGE   ACTIVE  AGENTS  STATUS\n"
                     "mas-shop  shop  tp        isolated  "));
    CHECK(strstr(list.output, "  -       stopped\nmas-solo  solo") != NULL);
    _cleanup_outcome_ struct outcome json = run("list --json");
    CHECK(str_starts(json.output,
                     "{\"sessions\":[{\"sessionId\":\"" ID(
                         1) "\",\"tmuxSession\":"
                            "\"mas-shop\",\"status\":\"stopped\",\"createdAt\":"
                            "\"2025-12-18T08:00:00Z\",\"lastActivity\":"
                            "\"2025-12-18T09:30:00Z\",\"workingDir\":\"ROOT/sessions/" ID(1)));
    _cleanup_outcome_ struct outcome show = run("show shop");
    CHECK(strstr(show.output, "\ncreated        2025-12-18T08:00:00Z\n"
                              "last activity  2025-12-18T09:30:00Z\n") != NULL);
    CHECK(strstr(show.output, "\nAGENT  ROLE    UNIT  STATE    SINCE  PID  RESTARTS  PANE\n"
                              "a      does a  g     stopped  -      -    -         -\n"
                              "b      does b  g     stopped  -      -    -         -\n") != NULL);
    _cleanup_outcome_ struct outcome du = run("du solo shop");
    CHECK(strstr(du.output, "\nmas-solo  solo  stopped") != NULL);
    CHECK(strstr(du.output, "\nmas-shop  shop  stopped") != NULL);
    CHECK(strstr(du.output, "\ntotal ") != NULL);
    _cleanup_outcome_ struct outcome doctor = run("doctor");
    CHECK(doctor.rc == -1 && doctor.err.code == MAS_FAILED);
    CHECK(strstr(doctor.output, ID(2) "  its directory 'logs' is missing\n") != NULL);
}

/* What is set for one kind, agent or session is not set for another, and is given back. */
TEST(settings_of_a_session_are_set_and_shown)
{
#define HEAD(private, turns, from)                                                                 \
    "SETTING                FROM\nprivate=" private "\nbudget.cost=none\nbudget.tokens="           \
                                                    "none\nbudget.turns=" turns from               \
                                                    "\nbudget.time=none\n"
#define LIMITS(session)                                                                            \
    "limits.session=" session "\nlimits.agent=none      built in\n"                                \
    "limits.memory=none     built in\nlimits.cpus=none       built in\n"                           \
    "limits.processes=none  built in\n"
    static const struct told lines[] = {
        {"set shop", HEAD("no", "none", "") LIMITS("none    built in")},
        {"set shop limits.session=1G", "shop: the limit of the session is 1G\n"},
        {"set shop private=yes", "shop is private\n"},
        {"set shop a.limits.memory=2G", "shop a: the limit of memory is 2G\n"},
        {"set shop b.budget.cost='5 USD'", "shop b: the budget of cost is 5 USD\n"},
        {"set shop budget.turns=7", "shop: the budget of turns is 7\n"},
        {"set shop", HEAD("yes", "7", "         mas set")
                         LIMITS("1.0G    mas set") "a.limits.memory=2.0G   mas set, for agent a\n"
                                                   "b.budget.cost=5 USD    mas set, for agent b\n"},
        {"set solo", HEAD("no", "none", "") LIMITS("none    built in")},
        {"set shop private=no", "shop is not private\n"},
        {"set shop b.budget.cost=default", "shop b: the budget of cost is the default\n"},
        {"set shop a.limits.memory=default", "shop a: the limit of memory is the default\n"},
        {"set shop budget.turns=default", "shop: the budget of turns is the default\n"},
        {"set shop limits.session=default", "shop: the limit of the session is the default\n"},
        {"set shop", HEAD("no", "none", "") LIMITS("none    built in")},
        {"set shop limits.session=none -q", ""},
        {"set shop", HEAD("no", "none", "") LIMITS("none    mas set")},
    };

    SESSIONS;
    check_told(lines, ARRAY_LEN(lines));
}

TEST(sessions_are_cleaned_and_removed)
{
    static const struct told lines[] = {
        {"clean --keep 2 --dry-run", "0 sessions would be removed, 0B freed\n"},
        {"clean --older-than 5000w --dry-run", "0 sessions would be removed, 0B freed\n"},
        {"clean --older-than 1d --dry-run -q", ""},
        {"clean --older-than 1d --status error --dry-run -q", ""},
        {"clean --keep 1 --dry-run -q", ""},
        {"clean --keep 1 -q", ""},
        {"list -q", ID(2) "\n"},
        {"rm 550e8400", "solo removed\n"},
        {"list -q", ""},
        {"clean --keep 0", "0 sessions removed, 0B freed\n"},
    };

    SESSIONS;
    check_told(lines, ARRAY_LEN(lines));
}

/* Each token has one right and may end; only the first of a name is made. */
TEST(tokens_are_made_listed_and_removed)
{
    SESSIONS;
    _cleanup_outcome_ struct outcome made = run("serve token add a --read-only --expires 2h");
    CHECK(made.rc == 0 && strspn(made.output, "0123456789abcdef") == 64 && made.output[65] == '\0');
    _cleanup_outcome_ struct outcome again = run("serve token add a --full");
    CHECK(again.rc == -1 && again.err.code == MAS_CONFLICT);
    _cleanup_outcome_ struct outcome other = run("serve token add b --answer");
    CHECK(other.rc == 0 && strcmp(other.output, made.output) != 0);
    _cleanup_outcome_ struct outcome list = run("serve token list");
    CHECK(strstr(list.output, "\na      read    ") != NULL &&
          strstr(list.output, "  2h\n") != NULL);
    CHECK(strstr(list.output, "\nb      answer  ") != NULL);
    _cleanup_outcome_ struct outcome removed = run("serve token remove a");
    CHECK_INT(removed.rc, 0);
    _cleanup_outcome_ struct outcome left = run("serve token list");
    CHECK(strstr(left.output, "\na ") == NULL && strstr(left.output, "\nb ") != NULL);
}

/* Of very many errors of mas.ini the first ones are shown, and how many more there are. */
TEST(many_wrong_lines_are_counted)
{
    static const struct {
        int wrong;
        const char *hint;
    } cases[] = {{1, ""},
                 {20, ""},
                 {21, "1 more errors are not shown"},
                 {35, "15 more errors are not shown"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        SESSIONS;
        str_add(&text, "[session]\n");
        for (int j = 0; j < cases[i].wrong; j++)
            str_addf(&text, "wrong%d = 1\n", j);
        CHECK(place_put(ground.dir, ROOT_SETTINGS, text.data));
        _cleanup_close_ int shown = dup(STDERR_FILENO);
        _cleanup_close_ int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)dup2(null, STDERR_FILENO);
        _cleanup_outcome_ struct outcome got = run("config");
        (void)dup2(shown, STDERR_FILENO);
        CHECK_INT(got.rc, -1);
        CHECK_STR(got.err.hint, cases[i].hint);
    }
}

/* What can be done is said with the reason. */
TEST(an_error_says_what_to_do)
{
    static const struct {
        const char *line, *hint;
    } lines[] = {
        {"send x", "outside of a team's pane, name the session first: mas send "},
        {"send a x", "outside of a team's pane, name the session first: mas send [SESSION] TARGET"},
        {"restart a", "outside of a team's pane, name the session first: mas restart "},
        {"restart mas-team", "outside of a team's pane, name the session first: mas restart "},
        {"ask nobody c x", "list the sessions with: mas list"},
        {"status nobody", "list the sessions with: mas list"},
        {"status shpo", "did you mean: shop  (all sessions: mas list)"},
        {"restart slo", "did you mean: solo  (all sessions: mas list)"},
        {"send shop z x", "the team has: a, b, g, managers, workers, all"},
        {"send shop wrkers x", "did you mean: workers  (the team has: a, b, g, managers, "},
        {"send shop a x --from wrkers", "the team has: a, b"},
        {"set shop z.budget.turns=5", "the team has: a, b"},
        {"set shop z.limits.memory=1G", "the team has: a, b"},
        {"show 550e", "candidates: " ID(1) " shop, " ID(2) " solo"},
        {"ask solo x", "start it with: mas start solo"},
        {"attach shop", "start it with: mas start shop"},
        {"help lits", "did you mean: mas help list"},
        {"new --id x", "create one with: uuidgen -r"},
        {"send shop a '' --no-enter", "to send Enter alone: mas send SESSION TARGET ''"},
        {"approve shop a 5 --answer x=1 --answer x=2", "several values of a field are one answer"},
        {"clean", "give --older-than, --keep or --status, or set them under [retention]"},
        {"serve pair", "start one with: mas serve"},
        {"serve token remove x", "see: mas serve token list"},
        {"land shop", "give a new session one with: mas new --project DIR"},
        {"move shop nowhere", "add it with: mas remote add nowhere DESTINATION"},
    };

    SESSIONS;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        _cleanup_outcome_ struct outcome got = run(lines[i].line);
        if (!CHECK_INT(got.rc, -1) || !CHECK(str_starts(got.err.hint, lines[i].hint)))
            printf("# mas %s: %s | %s\n", lines[i].line, got.err.text, got.err.hint);
    }
}

/* Of several sessions each is done, whichever fails; the first reason is the error, the others are
 * told at once. */
TEST(one_of_several_that_fails_does_not_stop_the_others)
{
    static const char *const orders[] = {"rm -q none shop solo", "rm -q shop none solo",
                                         "rm -q shop solo none", "rm -q -s none shop solo",
                                         "rm -q -s shop solo none"};

    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        SESSIONS;
        _cleanup_outcome_ struct outcome got = run(orders[i]);
        CHECK(got.rc == -1 && str_starts(got.err.text, "cannot find session 'none'"));
        _cleanup_outcome_ struct outcome list = run("list -q");
        CHECK_STR(list.output, "");
    }
    SESSIONS;
    _cleanup_close_ int shown = dup(STDERR_FILENO);
    _cleanup_close_ int said = memfd_create("stderr", MFD_CLOEXEC);
    char text[512] = "";
    (void)dup2(said, STDERR_FILENO);
    _cleanup_outcome_ struct outcome got = run("rm none shop nobody");
    (void)dup2(shown, STDERR_FILENO);
    CHECK(pread(said, text, sizeof text - 1, 0) > 0);
    CHECK(str_starts(text, "mas: cannot find session 'none': ") !=
          str_starts(got.err.text, "cannot find session 'none': "));
    CHECK(strstr(text, "'nobody'") != NULL || strstr(got.err.text, "'nobody'") != NULL);
}

TEST(an_editor_is_found_or_missed)
{
    static const struct {
        const char *visual, *editor, *why;
    } cases[] = {
        {NULL, NULL, "cannot edit a template: stdin or stderr is not a terminal"},
        {"", "", "cannot edit a template: stdin or stderr is not a terminal"},
        {"no-such-editor -x", "true",
         "cannot use the editor 'no-such-editor -x': there is no such"},
        {"", "no-such-editor", "cannot use the editor 'no-such-editor': there is no such program"},
        {NULL, "no-such-editor",
         "cannot use the editor 'no-such-editor': there is no such program"},
        {"'open", NULL, "cannot use the editor ''open': unterminated single quote"},
        {" ", NULL, "cannot use the editor ' ': there is no such program in PATH"},
        {"true", NULL, "cannot use template 'x': there is no such template"},
        {"", "true", "cannot use template 'x': there is no such template"},
    };

    SESSIONS;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        (void)unsetenv("VISUAL");
        (void)unsetenv("EDITOR");
        if (cases[i].visual != NULL)
            (void)setenv("VISUAL", cases[i].visual, 1);
        if (cases[i].editor != NULL)
            (void)setenv("EDITOR", cases[i].editor, 1);
        _cleanup_outcome_ struct outcome got = run("template edit x");
        CHECK_INT(got.rc, -1);
        if (!str_starts(got.err.text, cases[i].why))
            CHECK_STR(got.err.text, cases[i].why);
    }
}

/* Of each word, where it stands. */
TEST(words_are_completed)
{
    static const struct told lines[] = {
        {"complete -- send ''", "mas-shop\nshop\nmas-solo\nsolo\n"},
        {"complete -- send shop ''", "a\nb\ng\nmanagers\nworkers\nall\n"},
        {"complete -- send shop a", "a\nall\n"},
        {"complete -- ask shop ''", "a\nb\n"},
        {"complete -- stop s", "shop\nsolo\n"},
        {"complete -- stop shop ''", "mas-shop\nshop\nmas-solo\nsolo\n"},
        {"complete -- rm --", "--force\n--session\n--quiet\n--root\n--help\n"},
        {"complete -- stop --a", "--all\n"},
        {"complete -- wait shop --for ''", "idle\nexit\nwaiting\n"},
        {"complete -- wait shop --for=i", "--for=idle\n"},
        {"complete -- clean --status stopped,",
         "stopped,stopped\nstopped,error\nstopped,crashed\n"},
        {"complete -- help template ''", "list\nshow\ncheck\ncopy\nmake\ndiff\nedit\n"},
        {"complete -- template ''", "list\nshow\ncheck\ncopy\nmake\ndiff\nedit\n"},
        {"complete -- serve token ''", "add\nlist\nremove\n"},
        {"complete -- appr", "approve\n"},
        {"complete -- approve shop ''", "a\nb\n"},
        {"complete -- new --mode ''", "isolated\nlegacy\n"},
        {"complete -- history shop ''", "a\nb\n"},
        {"complete -- logs shop a ''", "a\nb\ng\nmanagers\nworkers\nall\n"},
        {"complete -- peek shop a b", "b\n"},
        {"complete -- move shop ''", "gpu\nnear\n"},
        {"complete -- --host n", "near\n"},
        {"complete -- nothing ''", ""},
        {"complete -- completion ''", "bash\nzsh\nfish\n"},
        {"complete -- show shop ''", ""},
        {"complete -- land shop ''", ""},
        {"complete -- s", "send\nstop\nshow\nstart\nset\nstatus\nsleep\nsync\nsearch\nserve\n"},
        {"complete --describe -- send shop ''",
         "a\tdoes a\nb\tdoes b\ng\nmanagers\nworkers\nall\n"},
    };

    SESSIONS;
    REQUIRE(place_put(ground.dir, ROOT_SETTINGS,
                      "[host gpu]\nvia = slurm:p\n[host near]\nvia = ssh:u@m\n"));
    check_told(lines, ARRAY_LEN(lines));
}

/* Only the workspace itself is one: not what is above it, beside it or below it. */
TEST(a_directory_that_is_no_workspace_has_no_session)
{
    static const char *const dirs[] = {"",       "/sessions",       "/sessions/" ID(1) "/unit",
                                       "/other", "/sessions/other", "/missing"};

    SESSIONS;
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        _cleanup_free_ char *line = mem_printf("library fill '%s%s'", ground.path, dirs[i]);
        _cleanup_free_ char *dir = mem_printf("%s%s", ground.path, dirs[i]);
        if (strcmp(dirs[i], "/missing") != 0)
            (void)mkdir(dir, 0700);
        _cleanup_outcome_ struct outcome got = run(line);
        if (!CHECK_INT(got.rc, -1) || !CHECK_INT(got.err.code, MAS_NOT_FOUND))
            printf("# %s: %s\n", line, got.err.text);
    }
    static const struct told lines[] = {
        {"library load shop",
         "MAS_ROOT='ROOT'\nMAS_TMUX_SOCKET='/t'\nMAS_SESSION_MODE='isolated'\n"
         "MAS_SESSION_ID='" ID(1) "'\nMAS_SESSION_DIR='ROOT/sessions/" ID(
             1) "'\n"
                "SESSION_NAME='mas-shop'\nUNIT_DIR='ROOT/sessions/" ID(
                    1) "/unit'\n"
                       "WORKFLOWS_DIR='ROOT/sessions/" ID(1) "/workflows'\nSESSION_ID='" ID(
                           1) "'\n"
                              "TMUX_SESSION='mas-shop'\nSTATUS='stopped'\nCREATED_AT='2025-12-"
                              "18T08:00:00Z'\n"},
    };
    check_told(lines, ARRAY_LEN(lines));
    _cleanup_outcome_ struct outcome mark = run("library mark solo 'no disk'");
    CHECK_INT(mark.rc, 0);
    _cleanup_outcome_ struct outcome list = run("list --error -q");
    CHECK_STR(list.output, ID(2) "\n");
    _cleanup_outcome_ struct outcome uuid = run("library uuid");
    CHECK_STR(uuid.output, "CONVERSATION\n");
}

int main(void)
{
    _cleanup_close_ int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)dup2(null, STDIN_FILENO); /* nobody is asked anything */
    (void)unsetenv("MAS_AGENT_ID");
    return unit_run();
}
