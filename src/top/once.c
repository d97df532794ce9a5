#include "top/once.h"

#include "base/time.h"
#include "client/hosts.h"
#include "top/list.h"

#include <sys/ioctl.h>

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

int once_print(struct top_feed *feed, bool by_team, bool unicode, struct err *err)
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
