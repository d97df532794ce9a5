/* What the provider takes, and how many turns may be on at the same time. */
#include "talk.h"

#include "base/time.h"
#include "host/talk/limit.h"
#include "host/talk/turn.h"
#include "host/talk/turns.h"
#include "store/limits/turn_slots.h"

enum { NOTE = 1U << ROLE_NOTE, HOUR = 3600000 };

/* What is known of the agent's login. */
static struct login_limit known_of(struct world *world)
{
    _cleanup_close_ int dir = login_limit_open(&world->root);

    return login_limit_read(dir, world->talk.limit.login);
}

/* Another agent with the same login has been refused; it may try again at `due`. */
static void refuse_other(struct world *world, int64_t until)
{
    _cleanup_close_ int dir = login_limit_open(&world->root);
    const struct login_limit told = {.until_ms = until};
    struct login_limit known;
    struct err err = ERR_INIT;

    WELL(login_limit_note(dir, world->talk.limit.login, &told, time_epoch_ms(), 60000, &known,
                          &err));
}

TEST(what_another_agent_was_told_holds_this_one)
{
    A_WORLD;

    CHECK(!limit_holds(host));
    int64_t until = time_epoch_ms() + HOUR;
    refuse_other(&world, until);
    CHECK(limit_holds(host));
    CHECK(limit_holds(host));
    CHECK_INT(talk->limit.until_ms, until);
    CHECK_INT(talk->limit.due_ms, until);
    CHECK(talk->limit.watch != -1);
    _cleanup_free_ char *notes = stored(&world, NOTE); /* it is said once */
    CHECK(str_starts(notes, "note done another agent with the same login was told to wait: its "
                            "provider takes no prompts until "));
    CHECK(strchr(notes, '\n')[1] == '\0');
    /* looked at each minute, as clocks are changed */
    int64_t now = time_monotonic_ms();
    CHECK(talk->limit.look_at > now + 50000 && talk->limit.look_at <= now + 60000);
    CHECK(!limit_is_on(talk)); /* nothing waits */
    (void)queue_text(&world, "x");
    CHECK(limit_is_on(talk));
    CHECK_INT(limit_tick(host, now), talk->limit.look_at);
    talk->turn.on = true;
    CHECK(!limit_is_on(talk));
    talk->turn.on = false;
    /* a person wants it now: one agent tries first */
    limit_skip(host);
    CHECK(!limit_holds(host));
    CHECK(talk->limit.trial != -1);
    CHECK(!talk->limit.on && !talk->limit.skip);
    CHECK_INT(talk->limit.watch, -1);
    limit_gives_up(host);
    CHECK_INT(talk->limit.trial, -1);
    CHECK(limit_holds(host));
    queue_fail(host, "cancelled", NULL);
    CHECK_INT(limit_tick(host, now), -1); /* nothing waits any more */
    CHECK(!talk->limit.on);
}

TEST(of_those_that_wait_one_tries_first)
{
    A_WORLD;
    _cleanup_close_ int dir = login_limit_open(&world.root);

    refuse_other(&world, time_epoch_ms() - 5); /* it is over, as far as is known */
    struct login_limit known = known_of(&world);
    const bool due = known.due_ms <= time_epoch_ms();
    if (!due)
        limit_skip(host);
    _cleanup_close_ int other = login_limit_try(dir, talk->limit.login);
    REQUIRE(other != -1);
    int64_t now = time_monotonic_ms();
    CHECK(limit_holds(host)); /* another agent tries */
    CHECK(talk->limit.on);
    if (due)
        CHECK(talk->limit.look_at >= now + 4000 && talk->limit.look_at <= now + 6000);
    fd_closep(&other);
    talk->limit.look_at = 0;
    CHECK(!limit_holds(host));
    CHECK(talk->limit.trial != -1);
    CHECK_INT(login_limit_try(dir, talk->limit.login), -1);
    /* in its turn it keeps the place */
    (void)queue_text(&world, "x");
    turn_run(host);
    REQUIRE(talk->turn.on);
    limit_gives_up(host);
    CHECK(talk->limit.trial != -1);
    CHECK_INT(limit_tick(host, now), talk->limit.trial_until);
    /* until it has brought more than a message of the provider could be */
    _cleanup_free_ char *text = mem_alloc(LIMIT_WORDS_MAX + 2);
    memset(text, 'x', LIMIT_WORDS_MAX + 1);
    limit_said(host, text, LIMIT_WORDS_MAX);
    CHECK_INT(limit_tick(host, now), talk->limit.trial_until);
    limit_said(host, "y", 1);
    CHECK_INT(limit_tick(host, now), -1);
    CHECK_INT(talk->limit.trial, -1);
    CHECK_INT(known_of(&world).attempts, 0); /* the others go on, too */
    limit_said(host, text, LIMIT_WORDS_MAX);
    CHECK_INT(talk->limit.said_len, LIMIT_WORDS_MAX + 1);
    CHECK_INT(strlen(talk->limit.said), LIMIT_WORDS_MAX + 1);
}

TEST(a_turn_that_tries_first_tells_how_it_went)
{
    for (int how = 0; how < 4; how++) {
        A_WORLD;
        refuse_other(&world, time_epoch_ms() + HOUR);
        limit_skip(host);
        (void)queue_text(&world, "x");
        turn_run(host);
        REQUIRE(talk->turn.on && talk->limit.trial != -1);
        if (how == 0)
            turn_end(host, "end_turn", 0, NULL);
        else if (how == 1)
            turn_end(host, "cancelled", 0, NULL);
        else if (how == 2)
            talk->turn.employs = true;
        if (how >= 2)
            (void)limit_tick(host, talk->limit.trial_until - (how == 2));
        CHECK_INT(talk->limit.trial, -1);
        CHECK_INT(known_of(&world).attempts, how == 1 ? 1 : 0);
    }
}

static struct limit_refusal refusal_of(int64_t until)
{
    return (struct limit_refusal){.until_ms = until, .why = "so much"};
}

TEST(a_prompt_that_is_refused_again_waits_longer)
{
    A_WORLD;
    int64_t last = 0;

    (void)queue_text(&world, "x");
    for (int attempt = 1; attempt <= 3; attempt++) {
        /* what began in the millisecond of the last refusal counts as sent before it */
        for (int64_t before = time_epoch_ms(); time_epoch_ms() == before;)
            ;
        limit_skip(host);
        turn_run(host);
        REQUIRE(talk->turn.on);
        const struct limit_refusal told = refusal_of(0);
        int64_t now = time_epoch_ms();
        turn_refused(host, &told);
        CHECK_INT(talk->limit.attempts, attempt);
        CHECK_INT(talk->limit.prompt, 1);
        CHECK(!talk->limit.sent);
        CHECK_INT(talk->limit.until_ms, 0);
        CHECK(talk->limit.due_ms > now && talk->limit.due_ms - now >= last);
        last = talk->limit.due_ms - now;
    }
    _cleanup_free_ char *notes = stored(&world, NOTE);
    CHECK(strstr(notes, "a limit of the provider: so much; mas sends the prompt again by its own "
                        "rule, at ") != NULL);
    CHECK(strstr(notes, "a limit of the provider, refused 3 times: so much;") != NULL);
    /* a time that is over says nothing after the first refusal */
    limit_skip(host);
    turn_run(host);
    const struct limit_refusal past = refusal_of(time_epoch_ms() - 1000);
    turn_refused(host, &past);
    CHECK_INT(talk->limit.until_ms, 0);
    CHECK(talk->limit.due_ms > time_epoch_ms());
    /* it is told what comes next: a time, and too much load */
    limit_skip(host);
    turn_run(host);
    const struct limit_refusal load = {
        .overloaded = true, .until_ms = time_epoch_ms() + HOUR, .why = "busy"};
    turn_refused(host, &load);
    CHECK_INT(talk->limit.until_ms, load.until_ms);
    _cleanup_free_ char *more = stored(&world, NOTE);
    CHECK(strstr(more, "the provider has too much load, refused 5 times: busy; mas sends the "
                       "prompt again when the provider takes prompts again, at ") != NULL);
    /* another prompt is refused for the first time */
    queue_fail(host, "cancelled", NULL);
    CHECK_INT(limit_tick(host, time_monotonic_ms()), -1);
    CHECK_INT(talk->limit.prompt, 0); /* cancelled */
    struct stat st;
    CHECK_INT(fstatat(host->run, "w1" WORKSPACE_HOST_LIMIT, &st, 0), -1);
    (void)queue_text(&world, "y");
    limit_skip(host);
    turn_run(host);
    REQUIRE(talk->turn.on);
    turn_refused(host, &load);
    CHECK_INT(talk->limit.attempts, 1);
}

TEST(only_what_was_written_whole_is_believed)
{
    static const struct {
        const char *text;
        int64_t prompt;
        size_t queued;
    } table[] = {
        {"1 2 5 6 0\n", 1, 1}, {"1 2 5 6 1\n", 0, 1}, /* it was sent again: no more */
        {"9 2 5 6 0\n", 0, 1}, /* there is no such prompt */
        {"1 2 5 6\n", 0, 1},   {"1 -2 5 6 0\n", 0, 1}, {"-1 2 5 6 0\n", 0, 1}, {"", 0, 1},
        {"x\n", 0, 1},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        A_WORLD;
        (void)queue_text(&world, "x");
        REQUIRE(place_put(host->run, "w1" WORKSPACE_HOST_LIMIT, table[i].text));
        world_close(&world);
        world_open(&world);
        CHECK_INT(talk->limit.prompt, table[i].prompt);
        CHECK_INT(talk->limit.attempts, table[i].prompt != 0 ? 2 : 0);
        CHECK_INT(talk->queue.count, table[i].queued);
    }
}

/* ---- slots */

TEST(only_so_many_turns_are_on_in_a_session)
{
    A_WORLD;
    _cleanup_close_ int dir = turn_slots_open(host->run);

    world.team.turns = host->team.turns = 2;
    turns_open(host);
    UNIT_MAYBE _cleanup_close_ int one = turn_slot_take(dir, 2);
    CHECK(!turns_hold(host)); /* there is room for one more */
    CHECK(talk->turns.pool[TURNS_SESSION].slot != -1);
    CHECK(!turn_slot_is_free(dir, 2));
    turns_give_up(host);
    CHECK(turn_slot_is_free(dir, 2));
    _cleanup_close_ int two = turn_slot_take(dir, 2);
    CHECK(turns_hold(host));
    CHECK(!talk->turns.waits); /* no prompt needs one */
    (void)queue_text(&world, "x");
    turn_run(host);
    CHECK(!talk->turn.on && turns_are_waited_for(talk));
    CHECK_STR(talk->turns.note, "waits for a turn: the session has 2 at a time");
    CHECK(talk->turns.pool[TURNS_SESSION].name != NULL);
    CHECK(!turn_ticket_is_first(dir, NULL, time_epoch_ms()));
    int64_t now = time_monotonic_ms();
    CHECK(turns_tick(host, now) <= now); /* once more, at once */
    CHECK(turns_hold(host));
    int64_t next = turns_tick(host, now);
    CHECK(next > now + 4000 && next <= now + 6000);
    fd_closep(&two);
    CHECK(turns_hold(host)); /* it does not look yet */
    talk->turns.look_at = 0;
    turn_run(host);
    CHECK(talk->turn.on && !turns_are_waited_for(talk));
    CHECK(talk->turns.pool[TURNS_SESSION].name == NULL);
    CHECK(turn_ticket_is_first(dir, NULL, time_epoch_ms()));
    turns_give_up(host); /* not in a turn */
    CHECK(!turn_slot_is_free(dir, 2));
    turn_end(host, "end_turn", 0, NULL);
    CHECK(turn_slot_is_free(dir, 2));
}

/* Whoever cannot use a slot does not stand in front of others. */
TEST(a_ticket_is_given_back_by_who_cannot_use_it)
{
    for (int why = 0; why < 4; why++) {
        A_WORLD;
        _cleanup_close_ int dir = turn_slots_open(host->run);
        host->team.turns = 1;
        turns_open(host);
        UNIT_MAYBE _cleanup_close_ int one = turn_slot_take(dir, 1);
        (void)queue_text(&world, "x");
        turn_run(host);
        REQUIRE(turns_are_waited_for(talk));
        CHECK(turns_tick(host, 0) != -1);
        CHECK(turns_are_waited_for(talk));
        if (why == 0)
            queue_fail(host, "cancelled", NULL);
        else if (why == 1)
            world.ready = false;
        else if (why == 2)
            talk->limit.on = true;
        else
            (void)snprintf(talk->spending.paused, BUDGET_WORDS, "x");
        CHECK_INT(turns_tick(host, 0), -1);
        CHECK(turn_ticket_is_first(dir, NULL, time_epoch_ms()));
    }
}

/* A slot of one pool is not kept while there is none of the other. */
TEST(a_turn_needs_a_slot_in_each_pool)
{
    A_WORLD;
    _cleanup_close_ int session = turn_slots_open(host->run);
    _cleanup_close_ int root = turn_slots_open(world.root.sessions);

    host->team.turns = 1;
    turns_open(host);
    talk->turns.pool[TURNS_ROOT].most = 1;
    _cleanup_close_ int one = turn_slot_take(session, 1);
    (void)queue_text(&world, "x");
    turn_run(host);
    CHECK_STR(talk->turns.note, "waits for a turn: the session has 1 at a time");
    CHECK(turn_slot_is_free(root, 1));
    fd_closep(&one);
    one = turn_slot_take(root, 1);
    talk->turns.look_at = 0;
    turn_run(host);
    CHECK_STR(talk->turns.note, "waits for a turn: the root has 1 at a time");
    CHECK(turn_slot_is_free(session, 1));
    fd_closep(&one);
    talk->turns.look_at = 0;
    turn_run(host);
    CHECK(talk->turn.on);
    CHECK(!turn_slot_is_free(session, 1) && !turn_slot_is_free(root, 1));
}
