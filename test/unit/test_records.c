/* The files of a job and of the limits of a session, and directories that are put into a root. */
#include "root.h"

#include "gap.h"

#include "fleet/job.h"
#include "store/limits/session_limits.h"
#include "store/placement_stage.h"

/* ---- jobs */

static struct batch_job job_of(uint64_t number, unsigned restarts)
{
    struct batch_job job = {.submitted = 1766044800, .number = number, .restarts = restarts};

    memcpy(job.id, ID(1), ID_TEXT);
    return job;
}

/* What Slurm says may be older than what the job has written, and the other way round. */
TEST(a_run_counts_for_its_own_job_and_start)
{
    static const struct {
        uint64_t number;
        unsigned restarts;
        time_t ended;
        enum job_phase phase;
    } runs[] = {{4, 9, 0, JOB_BEGINS}, {5, 1, 0, JOB_BEGINS}, {5, 2, 0, JOB_IS_UP},
                {5, 3, 0, JOB_IS_UP},  {6, 0, 0, JOB_IS_UP},  {5, 2, 9, JOB_ENDS},
                {5, 1, 9, JOB_BEGINS}, {4, 2, 9, JOB_BEGINS}, {6, 0, 9, JOB_ENDS}};
    _cleanup_place_ struct place place = place_make();
    const struct batch_job job = job_of(5, 2);
    struct err err = ERR_INIT;

    CHECK_INT(job_phase(place.dir, &job), JOB_BEGINS);
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        const struct job_run run = {.number = runs[i].number,
                                    .restarts = runs[i].restarts,
                                    .started = 8,
                                    .ended = runs[i].ended};
        WELL(job_run_save(place.dir, &run, &err));
        CHECK_INT(job_phase(place.dir, &job), runs[i].phase);
    }
    CHECK(place_put(place.dir, JOB_RUN, "JOB=6\nRESTARTS=9\n"));
    CHECK_INT(job_phase(place.dir, &job), JOB_BEGINS);
}

/* The count of restarts is as large as Slurm's. */
TEST(a_run_with_the_most_restarts_is_read_back)
{
    _cleanup_place_ struct place place = place_make();
    const struct job_run run = {.number = 5, .restarts = UINT32_MAX, .started = 8};
    struct job_run got = {.number = 0};
    struct err err = ERR_INIT;

    WELL(job_run_save(place.dir, &run, &err));
    REQUIRE(job_run_load(place.dir, &got));
    CHECK(got.restarts == UINT32_MAX);
}

/* A job would be submitted from it. */
TEST(a_record_that_lacks_something_is_an_error)
{
    static const char *const lines[] = {"SESSION_ID=" ID(1), "SUBMITTED_AT=2025-12-18T08:00:00Z",
                                        "JOB=7"};
    static const char *const wrong[] = {"SESSION_ID=" ID(2), "SUBMITTED_AT=soon", "JOB=-1"};
    _cleanup_place_ struct place place = place_make();
    struct err err = ERR_INIT;

    for (size_t bad = 0; bad <= ARRAY_LEN(lines); bad++)
        for (int kind = 0; kind < 2; kind++) { /* it is missing, it is wrong */
            _cleanup_job_ struct batch_job job = JOB_INIT;
            _cleanup_str_ struct str text = STR_INIT;
            for (size_t i = 0; i < ARRAY_LEN(lines); i++)
                str_addf(&text, "%s\n", i != bad ? lines[i] : kind == 0 ? "" : wrong[i]);
            CHECK(place_put(place.dir, JOB_FILE, text.data));
            err = (struct err)ERR_INIT;
            CHECK_INT(job_load(place.dir, ID(1), &job, &err), bad == ARRAY_LEN(lines) ? 0 : -1);
            CHECK_INT(err.code, bad == ARRAY_LEN(lines) ? MAS_OK : MAS_DAMAGED);
            CHECK_INT(job.number, bad == ARRAY_LEN(lines) ? 7 : 0);
        }
}

/* A power cut must not leave a job that nobody knows; what a kill has left is in nobody's way. */
TEST(records_are_on_disk_before_anything_follows)
{
    _cleanup_place_ struct place place = place_make();
    const struct batch_job job = job_of(5, 0);
    const struct job_run run = {.number = 5, .started = 8};
    struct err err = ERR_INIT;

    CHECK(place_put(place.dir, JOB_FILE ".new", "half"));
    trace_begin();
    WELL(job_save(place.dir, &job, &err));
    CHECK_STR(trace_end(), "unlink job.new, fsync job.new, rename job, fsync DIR");
    CHECK(place_put(place.dir, JOB_RUN ".new", "half"));
    trace_begin();
    WELL(job_run_save(place.dir, &run, &err));
    CHECK_STR(trace_end(), "unlink run.new, fsync run.new, rename run, fsync DIR");
}

/* ---- limits */

static void put(struct session_limits *limits, int i, int64_t amount)
{
    char name[16];

    (void)snprintf(name, sizeof name, "a%d", i);
    session_limits_put(limits, name, LIMIT_MEMORY, amount);
}

static int64_t memory_of(const struct session_limits *limits, int i)
{
    _cleanup_config_ struct config config = CONFIG_INIT;
    struct agent agent = {.id = mem_printf("a%d", i)};
    struct err err = ERR_INIT;

    WELL(config_load(NULL, false, &config, NULL, &err));
    const struct limits_held held = session_limits_hold(limits, &config, &agent, NULL);
    free(agent.id);
    return held.of[LIMIT_MEMORY].amount;
}

/* As many agents as a team can have, the last of them and one more. */
TEST(each_agent_of_a_large_team_has_its_limit)
{
    static const int looked[] = {0, LIMITS_AGENTS_MAX / 2, LIMITS_AGENTS_MAX - 1};
    _cleanup_place_ struct place place = place_make();
    _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;
    _cleanup_session_limits_ struct session_limits got = SESSION_LIMITS_INIT;
    struct err err = ERR_INIT;

    for (int i = 0; i <= LIMITS_AGENTS_MAX; i++)
        put(&limits, i, ((int64_t)LIMIT_MEMORY_MIN) + i);
    WELL(session_limits_write(place.dir, &limits, &err));
    WELL(session_limits_read(place.dir, &got, &err));
    for (size_t i = 0; i < ARRAY_LEN(looked); i++)
        CHECK_INT(memory_of(&got, looked[i]), (int64_t)LIMIT_MEMORY_MIN + looked[i]);
    CHECK_INT(memory_of(&got, LIMITS_AGENTS_MAX), 0);
    /* one that is known changes still */
    put(&got, LIMITS_AGENTS_MAX - 1, -1);
    CHECK_INT(memory_of(&got, LIMITS_AGENTS_MAX - 1), 0);
    CHECK_INT(memory_of(&got, LIMITS_AGENTS_MAX - 2), (int64_t)LIMIT_MEMORY_MIN + looked[2] - 1);
}

TEST(one_limit_of_any_is_one)
{
    for (int at = -1; at < 3; at++) {
        _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;
        for (int i = 0; i < 3; i++)
            put(&limits, i, i == at ? -1 : 0);
        CHECK_INT(session_limits_any(&limits), at != -1);
        session_limits_put(&limits, NULL, LIMIT_PROCESSES, 1);
        CHECK(session_limits_any(&limits));
    }
}

/* A limit that is set over a damaged file counts from then on; one that cannot be read does not. */
TEST(limits_are_set_over_damaged_ones_only)
{
    A_ROOT;
    REQUIRE(root_put_session(&root, ID(1), NULL));
    _cleanup_close_ int dir = workspace_open(&root, ID(1));
    _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;

    CHECK(place_put(dir, WORKSPACE_LIMITS, "{\"memory\":"));
    CHECK(place_put(dir, WORKSPACE_LIMITS ".new", "half"));
    CHECK_INT(session_limits_read(dir, &limits, &err), -1);
    CHECK_INT(err.code, MAS_DAMAGED);
    trace_begin();
    WELL(session_limits_set(&root, dir, NULL, LIMIT_MEMORY, (int64_t)LIMIT_MEMORY_MIN, 0, &err));
    CHECK(strstr(trace_end(),
                 "fsync " WORKSPACE_LIMITS ".new, rename " WORKSPACE_LIMITS ", fsync DIR") != NULL);
    WELL(session_limits_read(dir, &limits, &err));
    CHECK_INT(limits.all.of[LIMIT_MEMORY], (int64_t)LIMIT_MEMORY_MIN);
    CHECK_INT(unlinkat(dir, WORKSPACE_LIMITS, 0), 0);
    CHECK_INT(symlinkat("elsewhere", dir, WORKSPACE_LIMITS), 0);
    CHECK_INT(session_limits_set(&root, dir, NULL, LIMIT_MEMORY, 0, 0, &err), -1);
}

/* ---- directories that are put into a root */

static const char *const parts[] = {"unit/a", "unit/b", "workflows"};

/* A root with unit/, and the parts as they are built beside it. */
static void stage_make(const struct place *place, struct placement_stage *ret)
{
    *ret = (struct placement_stage)PLACEMENT_STAGE_INIT;
    ret->root = place->dir;
    memcpy(ret->id, ID(1), ID_TEXT);
    CHECK_INT(mkdirat(place->dir, "unit", 0700), 0);
    ret->dir = path_make_dir(place->dir, ".new-" ID(1), 0700);
    CHECK_INT(mkdirat(ret->dir, "unit", 0700), 0);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        _cleanup_close_ int dir = path_make_dir(ret->dir, parts[i], 0700);
        CHECK(dir != -1 && place_put(dir, "file", "x"));
        strv_push(&ret->paths, parts[i]);
    }
}

static int placed(const struct place *place)
{
    int count = 0;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        _cleanup_free_ char *file = mem_printf("%s/file", parts[i]);
        count += faccessat(place->dir, file, F_OK, 0) == 0;
    }
    return count;
}

TEST(directories_are_put_into_a_root_durably_or_not_at_all)
{
    _cleanup_place_ struct place place = place_make();
    struct placement_stage stage;
    struct err err = ERR_INIT;

    stage_make(&place, &stage);
    trace_begin();
    WELL(placement_stage_place(&stage, &err));
    CHECK_STR(trace_end(), "fsync DIR, fsync DIR, fsync DIR");
    CHECK_INT(placed(&place), 3);
    placement_stage_undo(&stage);
    CHECK_INT(placed(&place), 0);
    WELL(placement_stage_place(&stage, &err)); /* all was back where it was built */
    CHECK_INT(placed(&place), 3);
    placement_stage_release(&stage);
    CHECK_INT(placed(&place), 3);
    CHECK_INT(faccessat(place.dir, ".new-" ID(1), F_OK, 0), -1);
}

/* Another command has made one of them meanwhile, with what is in it, or without anything. */
TEST(what_another_command_has_made_is_left_as_it_is)
{
    for (size_t at = 0; at < ARRAY_LEN(parts); at++)
        for (int empty = 0; empty < 2; empty++) {
            _cleanup_place_ struct place place = place_make();
            struct placement_stage stage;
            struct err err = ERR_INIT;
            struct stat st, now;

            stage_make(&place, &stage);
            _cleanup_close_ int other = path_make_dir(place.dir, parts[at], 0700);
            CHECK(empty || place_put(other, "other", "x"));
            CHECK_INT(fstat(other, &st), 0);
            CHECK_INT(placement_stage_place(&stage, &err), -1);
            CHECK_INT(err.code, MAS_CONFLICT);
            placement_stage_undo(&stage);
            CHECK_INT(placed(&place), 0);
            placement_stage_release(&stage);
            CHECK_INT(fstatat(place.dir, parts[at], &now, AT_SYMLINK_NOFOLLOW), 0);
            CHECK(now.st_ino == st.st_ino);
            CHECK(empty || faccessat(other, "other", F_OK, 0) == 0);
        }
}
