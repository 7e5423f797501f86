/* What the mock upstream says: answers and streams of three dialects, and embeddings, written to a connection's buffer. */
#ifndef BENCH_ANSWERS_H
#define BENCH_ANSWERS_H
#include "common.h"

struct conn {
    int fd, slot; /* slot: place in the timer heap, -1 when no timer runs */
    struct buffer in, out;
    size_t sent; /* bytes of out already written */
    uint64_t due;
    bool busy, streamed, anthropic, responses, embeds, usage, want_write;
    int deltas, gap_ms, limits, next; /* next: the delta to send, -1 before the head */
    char model[64];
};

__attribute__((format(printf, 2, 3)))
static void event(struct conn *c, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    appendf(&c->out, "%x\r\n%s\r\n", (unsigned)n, text);
}

#define CHUNK "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000," \
              "\"model\":\"%s\",\"system_fingerprint\":\"fp_bench\",\"choices\":[" 
#define CHOICE(delta, reason) "{\"index\":0,\"delta\":{" delta "},\"logprobs\":null,\"finish_reason\":" reason "}]"

static const char *limits(const struct conn *c) {
    return c->limits ? "x-ratelimit-limit-requests: 6000000\r\nx-ratelimit-remaining-requests: 5999000\r\n"
                       "x-ratelimit-reset-requests: 10ms\r\nx-ratelimit-limit-tokens: 9000000000\r\n"
                       "x-ratelimit-remaining-tokens: 8999900000\r\nx-ratelimit-reset-tokens: 1ms\r\n" : "";
}

/* A response as it stands in a stream; what is in it besides matters to nobody who reads along. */
#define RESPONSE "{\"id\":\"resp_bench\",\"object\":\"response\",\"created_at\":1700000000,\"status\":\"%s\",\"error\":null," \
                 "\"incomplete_details\":null,\"instructions\":null,\"model\":\"%s\",\"parallel_tool_calls\":true,\"store\":false," \
                 "\"temperature\":1.0,\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":1.0,\"truncation\":\"disabled\",\"output\":["
#define ITEM(status, content) "{\"id\":\"msg_bench\",\"type\":\"message\",\"status\":\"" status "\",\"role\":\"assistant\",\"content\":[" content "]}"
#define PART(text) "{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":\"" text "\"}"
#define NAMED(name) "event: response." name "\ndata: {\"type\":\"response." name "\",\"sequence_number\":%d,"
#define PLACE "\"item_id\":\"msg_bench\",\"output_index\":0,\"content_index\":0,"

static void response_head(struct conn *c) {
    event(c, NAMED("created") "\"response\":" RESPONSE "],\"usage\":null}}\n\n", 0, "in_progress", c->model);
    event(c, NAMED("in_progress") "\"response\":" RESPONSE "],\"usage\":null}}\n\n", 1, "in_progress", c->model);
    event(c, NAMED("output_item.added") "\"output_index\":0,\"item\":" ITEM("in_progress", "") "}\n\n", 2);
    event(c, NAMED("content_part.added") PLACE "\"part\":" PART("") "}\n\n", 3);
}

static void response_end(struct conn *c) {
    int n = c->deltas + 4;
    event(c, NAMED("output_text.done") PLACE "\"logprobs\":[],\"text\":\"%s\"}\n\n", n, "all of it");
    event(c, NAMED("content_part.done") PLACE "\"part\":" PART("%s") "}\n\n", n + 1, "all of it");
    event(c, NAMED("output_item.done") "\"output_index\":0,\"item\":" ITEM("completed", PART("%s")) "}\n\n", n + 2, "all of it");
    event(c, NAMED("completed") "\"response\":" RESPONSE ITEM("completed", PART("%s")) "],\"usage\":{\"input_tokens\":60,"
             "\"input_tokens_details\":{\"cached_tokens\":0},\"output_tokens\":%d,\"output_tokens_details\":{\"reasoning_tokens\":0},"
             "\"total_tokens\":%d}}}\n\n", n + 3, "completed", c->model, "all of it", c->deltas, c->deltas + 60);
}

static void stream_head(struct conn *c) {
    appendf(&c->out, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n%stransfer-encoding: chunked\r\n\r\n", limits(c));
    if (c->responses) {
        response_head(c);
        return;
    }
    if (!c->anthropic) {
        event(c, CHUNK CHOICE("\"role\":\"assistant\",\"content\":\"\"", "null") "}\n\n", c->model);
        return;
    }
    event(c, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_bench\",\"type\":\"message\","
             "\"role\":\"assistant\",\"model\":\"%s\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,"
             "\"usage\":{\"input_tokens\":60,\"output_tokens\":1}}}\n\n", c->model);
    event(c, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"
             "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n");
}

static void stream_delta(struct conn *c) {
    unsigned long long now = now_ns();
    if (c->anthropic)
        event(c, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
                 "\"delta\":{\"type\":\"text_delta\",\"text\":\"@%llu@ word\"}}\n\n", now);
    else if (c->responses)
        event(c, NAMED("output_text.delta") PLACE "\"delta\":\"@%llu@ word\",\"logprobs\":[],\"obfuscation\":\"k3Jx9QwZ\"}\n\n",
              c->next + 4, now);
    else
        event(c, CHUNK CHOICE("\"content\":\"@%llu@ word\"", "null") "}\n\n", c->model, now);
}

static void stream_end(struct conn *c) {
    if (c->anthropic) {
        event(c, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n");
        event(c, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\","
                 "\"stop_sequence\":null},\"usage\":{\"output_tokens\":%d}}\n\n", c->deltas);
        event(c, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
    } else if (c->responses) {
        response_end(c);
    } else {
        event(c, CHUNK CHOICE("", "\"stop\"") "}\n\n", c->model);
        if (c->usage)
            event(c, CHUNK "],\"usage\":{\"prompt_tokens\":60,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\n",
                  c->model, c->deltas, c->deltas + 60);
        event(c, "data: [DONE]\n\n");
    }
    append(&c->out, "0\r\n\r\n", 5);
}

static void answer(struct conn *c, const char *status, const char *body) {
    appendf(&c->out, "HTTP/1.1 %s\r\ncontent-type: application/json\r\nx-request-id: req_bench\r\n%s"
                     "content-length: %zu\r\n\r\n%s", status, limits(c), strlen(body), body);
}

/* As many vectors as a stream would have deltas, each of 1,536 numbers in base64. */
static void embeddings(struct conn *c) {
    static char vector[8193];
    static struct buffer body;
    for (int i = 0; !vector[8191] && i < 8192; i++)
        vector[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[(i * 37 + i / 64) % 64];
    body.len = 0;
    appendf(&body, "{\"object\":\"list\",\"data\":[");
    for (int i = 0; i < c->deltas; i++) {
        appendf(&body, "%s{\"object\":\"embedding\",\"index\":%d,\"embedding\":\"", i ? "," : "", i);
        append(&body, vector, 8192);
        append(&body, "\"}", 2);
    }
    appendf(&body, "],\"model\":\"%s\",\"usage\":{\"prompt_tokens\":60,\"total_tokens\":60}}", c->model);
    appendf(&c->out, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: req_bench\r\n%s"
                     "content-length: %zu\r\n\r\n", limits(c), body.len);
    append(&c->out, body.data, body.len);
}

static void whole(struct conn *c) {
    if (c->embeds) {
        embeddings(c);
        return;
    }
    static const char text[] = "The capital of France is Paris. It lies on the Seine, in the north of the country, "
        "and has been the seat of its government, with few interruptions, for about 1000 years.";
    char body[1024];
    if (c->responses)
        snprintf(body, sizeof body, RESPONSE ITEM("completed", PART("%s")) "],\"usage\":{\"input_tokens\":60,\"output_tokens\":36,"
            "\"total_tokens\":96}}", "completed", c->model, text);
    else if (c->anthropic)
        snprintf(body, sizeof body, "{\"id\":\"msg_bench\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"%s\","
            "\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],\"stop_reason\":\"end_turn\",\"stop_sequence\":null,"
            "\"usage\":{\"input_tokens\":60,\"output_tokens\":36}}", c->model, text);
    else
        snprintf(body, sizeof body, "{\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion\",\"created\":1700000000,"
            "\"model\":\"%s\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"%s\",\"refusal\":null,"
            "\"annotations\":[]},\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":60,"
            "\"completion_tokens\":36,\"total_tokens\":96,\"prompt_tokens_details\":{\"cached_tokens\":0,\"audio_tokens\":0}},"
            "\"service_tier\":\"default\",\"system_fingerprint\":\"fp_bench\"}", c->model, text);
    answer(c, "200 OK", body);
}
#endif
