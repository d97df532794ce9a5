/*
 * mas-top MAS ROOT [OPTION]... [ID]...: the screen of `mas top`, which starts it.
 */
#include "base/time.h"
#include "client/hosts.h"
#include "os/signals.h"
#include "top/feed.h"
#include "top/list.h"
#include "top/top.h"

#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>

/* ---- --once: the list as text */

enum { COLUMNS_MAX = 4096 };

/* Returns the width of the terminal, or of $COLUMNS; without both, as wide as it takes. */
static size_t width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    long n = columns != NULL ? strtol(columns, NULL, 10) : 0;

    if (n <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        n = size.ws_col;
    return n > 0 && n < COLUMNS_MAX ? (size_t)n : COLUMNS_MAX;
}

static int wait_for_hosts(struct top_feed *feed, struct err *err)
{
    _cleanup_loop_ struct loop loop = LOOP_INIT;
    int64_t end = time_monotonic_ms() + HOSTS_ANSWER_MS;

    while (feed_pending(feed) > 0 && time_monotonic_ms() < end) {
        loop_begin(&loop);
        int64_t until = time_sooner(feed_want(feed, &loop), end);
        if (loop_wait(&loop, until) == -1)
            return err_errno(err, "cannot wait for the hosts");
        feed_turn(feed, &loop);
    }
    return 0;
}

static void print_row(const struct canvas_row *row)
{
    size_t len = row->text.len;

    while (len > 0 && row->text.data[len - 1] == ' ')
        len--;
    printf("%.*s\n", (int)len, str_text(&row->text));
}

static void print_head(const struct top_row *row)
{
    _cleanup_str_ struct str line = STR_INIT;
    const char *name = row->team != NULL ? row->team->name : attention_name(row->class);

    str_add_visible(&line, name, strlen(name));
    printf("%s: %zu\n", line.data, row->count);
}

/* Waits for the hosts, at most as long as other commands do, and prints the list. */
static int once_print(struct top_feed *feed, bool by_team, bool unicode, struct err *err)
{
    struct rows rows = {.by_team = by_team};
    struct canvas canvas = CANVAS_INIT;

    if (wait_for_hosts(feed, err) == -1)
        return -1;
    rows_build(&rows, feed->table);
    canvas.unicode = unicode;
    canvas_reset(&canvas, rows.count + 1, width());
    const struct list_place place = {.end = rows.count + 1, .heads = true};
    list_draw(&canvas, &rows, &place, time_epoch_ms());
    if (rows.count > 0)
        print_row(&canvas.row[0]);
    else
        printf("no session runs\n");
    for (size_t i = 0; i < rows.count; i++) {
        if (rows.list[i].kind == ROW_HEAD)
            print_head(&rows.list[i]);
        else
            print_row(&canvas.row[i + 1]);
    }
    canvas_free(&canvas);
    rows_free(&rows);
    return 0;
}

/* ---- the program */

enum {
    DRAW_MS = 45, /* between two drawings, at least */
    TICK_MS = 1000, /* at most, for the ages */
};

static const int caught[] = {SIGWINCH, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT, 0};

/* Stops this process, as the shell's job control expects it, until somebody continues it. */
static void stop(void)
{
    screen_suspend();
    (void)raise(SIGSTOP);
    screen_resume();
}

static void handle_signals(struct top *top, int fd)
{
    for (int sig; (sig = signals_next(fd)) != 0;) {
        top->changed = true;
        if (sig == SIGWINCH)
            screen_resize();
        else if (sig == SIGTSTP)
            stop();
        else if (sig == SIGCONT)
            screen_resume(); /* whoever ran meanwhile may have used the terminal */
        else
            top->ends = true;
    }
}

static void handle_keys(struct top *top, short events)
{
    struct press press;

    if (screen_is_gone(events)) {
        top->ends = true;
        return;
    }
    if (top->table.changed) /* the rows may be of what is gone */
        rows_build(&top->rows, &top->table);
    while (!top->ends && screen_press(&press))
        input_press(top, &press);
}

static void say_result(void *arg, bool is_error, const char *text)
{
    top_say(arg, is_error, "%s", text);
}

static int loop_top(struct top *top, int signals, struct err *err)
{
    _cleanup_loop_ struct loop loop = LOOP_INIT;
    int64_t drawn = 0;

    top->changed = true;
    while (!top->ends) {
        int64_t now = time_monotonic_ms();
        bool news = top->changed || top->table.changed;
        if ((news && now - drawn >= DRAW_MS) || now - drawn >= TICK_MS) {
            view_top(top);
            top->changed = top->table.changed = news = false;
            drawn = now;
        }
        loop_begin(&loop);
        loop_want(&loop, STDIN_FILENO, POLLIN);
        loop_want(&loop, signals, POLLIN);
        int64_t until = drawn + (news ? DRAW_MS : TICK_MS);
        until = time_sooner(until, feed_want(&top->feed, &loop));
        until = time_sooner(until, tails_want(&top->tails, &loop));
        until = time_sooner(until, acts_want(&top->acts, &loop));
        if (loop_wait(&loop, until) == -1)
            return err_errno(err, "cannot wait for the terminal");
        if (loop_got(&loop, signals) != 0)
            handle_signals(top, signals);
        if (loop_got(&loop, STDIN_FILENO) != 0)
            handle_keys(top, loop_got(&loop, STDIN_FILENO));
        acts_turn(&top->acts, &loop);
        tails_turn(&top->tails, &loop);
        feed_turn(&top->feed, &loop);
    }
    return 0;
}

static int run_screen(struct top *top, struct err *err)
{
    _cleanup_close_ int signals = signals_open(caught);

    if (signals == -1)
        return err_errno(err, "cannot catch signals");
    if (screen_open(err) == -1)
        return -1;
    int rc = loop_top(top, signals, err);
    screen_close();
    return rc;
}

static void free_top(struct top *top)
{
    acts_free(&top->acts);
    feed_close(&top->feed);
    table_free(&top->table);
    rows_free(&top->rows);
    canvas_free(&top->canvas);
    editor_free(&top->editor);
    free(top->message);
    free(top->asked);
    free(top->question);
}

static int run(char **argv, struct err *err)
{
    struct top top = {
        .acts = {.mas = argv[1]}, .keys = top_keys, .table = TOP_TABLE_INIT, .canvas = CANVAS_INIT};
    const char *root = argv[2];
    bool once = false;

    for (argv += 3; *argv != NULL && argv[0][0] == '-'; argv++) {
        once = once || strcmp(*argv, "--once") == 0;
        top.rows.by_team = top.rows.by_team || strcmp(*argv, "--teams") == 0;
    }
    (void)setlocale(LC_ALL, "");
    top.canvas.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    top.preview = true;
    top.tails = (struct tails){.root = &top.feed.root, .table = &top.table};
    top.acts.root = &top.feed.root;
    top.acts.say = say_result;
    top.acts.arg = &top;
    int rc = feed_open(&top.feed, root, *argv != NULL ? argv : NULL, &top.table, err);
    if (rc == 0)
        rc = once ? once_print(&top.feed, top.rows.by_team, top.canvas.unicode, err)
                  : run_screen(&top, err);
    free_top(&top);
    return rc;
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;

    (void)signal(SIGXFSZ, SIG_IGN); /* as in mas */
    (void)signal(SIGPIPE, SIG_IGN);
    if (argc < 3) {
        (void)fputs("usage: mas-top MAS ROOT [OPTION]... [ID]... (mas top starts it)\n", stderr);
        return MAS_USAGE;
    }
    if (run(argv, &err) == -1) {
        (void)fflush(stdout);
        err_print(&err);
        return err.code;
    }
    if (fflush(stdout) == EOF || ferror(stdout)) {
        (void)err_errno(&err, "cannot write to standard output");
        err_print(&err);
        return MAS_FAILED;
    }
    return MAS_OK;
}
