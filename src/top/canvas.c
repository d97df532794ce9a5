#include "top/canvas.h"

#include "top/text.h"

void canvas_reset(struct canvas *canvas, size_t rows, size_t columns)
{
    if (rows > canvas->room) {
        canvas->row = mem_grow(canvas->row, rows, sizeof *canvas->row);
        for (size_t i = canvas->room; i < rows; i++)
            canvas->row[i] = (struct canvas_row){.text = STR_INIT};
        canvas->room = rows;
    }
    for (size_t i = 0; i < rows; i++) {
        struct canvas_row *row = &canvas->row[i];
        str_clear(&row->text);
        row->count = row->used = 0;
        row->chosen = row->bar = false;
        row->chosen_end = SIZE_MAX;
    }
    canvas->rows = rows;
    canvas->columns = columns;
    canvas->cursor_row = rows;
}

void canvas_free(struct canvas *canvas)
{
    for (size_t i = 0; i < canvas->room; i++) {
        str_free(&canvas->row[i].text);
        free(canvas->row[i].pieces);
    }
    free(canvas->row);
    *canvas = (struct canvas)CANVAS_INIT;
}

static void begin_piece(struct canvas_row *row, enum paint paint)
{
    if (row->count > 0 && row->pieces[row->count - 1].paint == paint)
        return;
    row->pieces = mem_room(row->pieces, row->count, sizeof *row->pieces);
    row->pieces[row->count++] = (struct canvas_piece){row->text.len, paint};
}

static void add(struct canvas *canvas, size_t y, enum paint paint, const char *text, size_t columns)
{
    struct canvas_row *row = &canvas->row[y];

    begin_piece(row, paint);
    row->used += text_put(&row->text, text, columns, canvas->unicode);
}

size_t canvas_left(const struct canvas *canvas, size_t y)
{
    return y < canvas->rows ? canvas->columns - canvas->row[y].used : 0;
}

void canvas_add(struct canvas *canvas, size_t y, enum paint paint, const char *text)
{
    if (y < canvas->rows)
        add(canvas, y, paint, text, canvas_left(canvas, y));
}

void canvas_addf(struct canvas *canvas, size_t y, enum paint paint, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) == -1)
        mem_fail();
    va_end(args);
    canvas_add(canvas, y, paint, text);
    free(text);
}

static void fill(struct canvas *canvas, size_t y, enum paint paint, size_t column, const char *with)
{
    if (y >= canvas->rows)
        return;
    struct canvas_row *row = &canvas->row[y];
    if (column > canvas->columns)
        column = canvas->columns;
    if (row->used < column)
        begin_piece(row, paint);
    for (; row->used < column; row->used++)
        str_add(&row->text, with);
}

void canvas_pad(struct canvas *canvas, size_t y, size_t column)
{
    fill(canvas, y, PAINT_PLAIN, column, " ");
}

void canvas_cell(struct canvas *canvas, size_t y, enum paint paint, const char *text,
                 size_t columns, bool right)
{
    if (y >= canvas->rows)
        return;
    size_t start = canvas->row[y].used;
    size_t room = columns < canvas_left(canvas, y) ? columns : canvas_left(canvas, y);
    size_t width = right ? text_columns(text, canvas->unicode) : 0;
    if (right && width < room)
        canvas_pad(canvas, y, start + room - width);
    add(canvas, y, paint, text, start + room - canvas->row[y].used);
    canvas_pad(canvas, y, start + room);
}

void canvas_line(struct canvas *canvas, size_t y, enum paint paint, size_t column)
{
    fill(canvas, y, paint, column, canvas->unicode ? "\u2500" : "-");
}

void canvas_split(struct canvas *canvas, size_t y, size_t end, size_t columns)
{
    for (; y < end && y < canvas->rows; y++) {
        canvas_pad(canvas, y, columns);
        canvas->row[y].chosen_end = canvas->row[y].text.len;
        canvas_add(canvas, y, PAINT_DIM, canvas->unicode ? "\u2502" : "|");
    }
}
