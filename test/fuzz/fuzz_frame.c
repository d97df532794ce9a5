/*
 * Frames from any bytes: the same wherever the bytes are cut, within their limits, and made again
 * the same by frame_add(). What they may hold is read on: a status, an error, a message.
 */
#include "base/frame.h"
#include "client/hosts.h"
#include "fuzz.h"
#include "model/agent_status.h"
#include "model/message.h"
#include "protocol/broker.h"

typedef void writer(const struct agent_status *status, struct json_out *out);

static void write_object(writer *write, const struct agent_status *status, struct str *to)
{
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    write(status, &out);
    json_close(&out, '}');
}

/* A command that an agent asks for: its words, if they are some, come out the same again. */
static void read_command(const struct frame *frame)
{
    _cleanup_strv_ char **argv = NULL;
    _cleanup_str_ struct str text = STR_INIT;
    struct frames frames = {.head = NULL};
    struct frame again;
    struct err err = ERR_INIT;
    bool colour = false;
    int code = 0;

    (void)broker_parse_answer(frame, &code, &err);
    if (broker_parse_request(frame, &argv, &colour, &err) == -1)
        return;
    must(strv_len(argv) >= 1 && strv_len(argv) <= BROKER_WORDS_MAX);
    must(broker_put_request(argv, colour, &text, &err) == 0);
    frames_feed(&frames, text.data, text.len);
    must(frames_next(&frames, &again, &err) == 1);
    must(again.body_len == frame->body_len && memcmp(again.body, frame->body, again.body_len) == 0);
    frame_free(&again);
    frames_free(&frames);
}

/* A host's answer may be anything; what is taken for a status must come out the same again. */
static void read_on(const struct frame *frame, struct str *notes)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str told = STR_INIT;
    _cleanup_str_ struct str again = STR_INIT;
    _cleanup_json_ struct json *json = NULL;
    struct agent_status status = {.state = AGENT_IDLE};
    struct err err = ERR_INIT;

    read_command(frame);
    str_addf(notes, "%d", hosts_reply_error(frame->head, &err));
    if (frame->body != NULL)
        (void)message_check(frame->body, frame->body_len);
    if (agent_status_parse(frame->head, &status, &err) == -1)
        return;
    write_object(agent_status_put, &status, &text);
    write_object(agent_status_tell, &status, &told);
    agent_status_free(&status);
    must(json_parse(told.data, told.len, told.len, &json, &err) == 0);
    must(agent_status_parse(json, &status, &err) == 0);
    write_object(agent_status_put, &status, &again);
    agent_status_free(&status);
    must(strcmp(text.data, again.data) == 0);
}

/* A frame that is made of this one's body must be read the same. */
static void make_again(const struct frame *frame)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    struct str head = {.data = (char[]){"{\"do\":\"x\"}"}, .len = 10};
    struct frames frames = {.head = NULL};
    struct frame again;
    struct err err = ERR_INIT;

    frame_add(&bytes, &head, frame->body, frame->body_len);
    frames_feed(&frames, bytes.data, bytes.len);
    must(frames_next(&frames, &again, &err) == 1);
    must((again.body == NULL) == (frame->body == NULL) && again.body_len == frame->body_len);
    must(again.body == NULL || memcmp(again.body, frame->body, frame->body_len) == 0);
    frame_free(&again);
    must(frames_next(&frames, &again, &err) == 0);
    frames_free(&frames);
}

/* Feeds bytes in pieces and notes what comes out. */
static void take_all(const char *bytes, size_t size, size_t step, struct str *notes)
{
    struct frames frames = {.head = NULL};
    struct frame frame;
    struct err err = ERR_INIT;
    int rc = 0;

    for (size_t i = 0; i < size && rc != -1; i += step) {
        frames_feed(&frames, bytes + i, size - i < step ? size - i : step);
        while ((rc = frames_next(&frames, &frame, &err)) == 1) {
            must(json_is_object(frame.head) && frame.body_len <= FRAME_BODY_MAX);
            must(frame.body == NULL ? frame.body_len == 0 : frame.body[frame.body_len] == '\0');
            read_on(&frame, notes);
            make_again(&frame);
            str_addf(notes, " %zu ", frame.body_len);
            str_addn(notes, frame.body, frame.body_len);
            frame_free(&frame);
        }
    }
    if (rc == -1) {
        must(err.code == MAS_DAMAGED);
        str_add(notes, " bad");
    }
    frames_free(&frames);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    must_be_same_in_pieces(data, size, 32, take_all);
    return 0;
}
