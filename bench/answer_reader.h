/* Reads an HTTP/1.1 answer from bytes that may be cut anywhere, and finds the time stamps in it. */
#ifndef BENCH_ANSWER_READER_H
#define BENCH_ANSWER_READER_H
#include "common.h"

#define TAIL 128

struct samples {
    uint32_t *us;
    size_t len, cap;
};

enum framing { SIZED, CHUNK_SIZE, CHUNK_DATA, CHUNK_END, TRAILER, UNTIL_CLOSE };

struct answer {
    struct buffer head; /* the status line and headers, until they are complete */
    bool in_body, done, close_after;
    int status;
    enum framing framing;
    size_t left; /* bytes left of the body, or of the chunk */
    size_t line; /* bytes on the current line of chunk framing, but CR and LF */
    size_t body; /* bytes of body so far */
    uint64_t first_byte;
    int deltas;
    uint64_t stamp; /* the digits of a time stamp read so far */
    uint64_t last;  /* the latest time stamp */
    int digits;     /* how many; -1 outside of a stamp */
    bool completed; /* a response told that it is complete; its last event is too long for the tail */
    char tail[TAIL];
    size_t tail_len;
};

static struct samples delta_delays;

static inline void sample(struct samples *s, uint64_t ns) {
    if (s->len == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 65536;
        s->us = realloc(s->us, s->cap * sizeof *s->us);
        if (!s->us) die("realloc");
    }
    s->us[s->len++] = ns / 1000 > UINT32_MAX ? UINT32_MAX : (uint32_t)(ns / 1000);
}

static inline void answer_reset(struct answer *a) {
    struct buffer head = a->head;
    head.len = 0;
    memset(a, 0, sizeof *a);
    a->head = head;
    a->digits = -1;
}

static inline void keep_tail(struct answer *a, const char *data, size_t len) {
    if (len >= TAIL) {
        memcpy(a->tail, data + len - TAIL, TAIL);
        a->tail_len = TAIL;
        return;
    }
    size_t old = a->tail_len + len > TAIL ? TAIL - len : a->tail_len;
    memmove(a->tail, a->tail + a->tail_len - old, old);
    memcpy(a->tail + old, data, len);
    a->tail_len = old + len;
}

/* Count the deltas, and how long each was under way: each holds "@<nanoseconds>@". */
static inline void find_stamps(struct answer *a, const char *data, size_t len, uint64_t now) {
    const char *end = data + len;
    while (data < end) {
        if (a->digits < 0) {
            data = memchr(data, '@', (size_t)(end - data));
            if (!data) return;
            data++;
            a->digits = 0;
            a->stamp = 0;
        } else if (*data >= '0' && *data <= '9') {
            a->stamp = a->stamp * 10 + (uint64_t)(*data++ - '0');
            a->digits++;
        } else {
            if (*data == '@' && a->digits > 5) {
                if (a->stamp <= a->last) { /* a text that is told again as a whole is no delta */
                    data++;
                    a->digits = -1;
                    continue;
                }
                a->last = a->stamp;
                a->deltas++;
                sample(&delta_delays, now > a->stamp ? now - a->stamp : 0);
                data++;
            }
            a->digits = -1;
        }
    }
}

/* Note the last event of a response, whose name may be cut between two reads. */
static inline void find_completed(struct answer *a, const char *data, size_t len) {
    static const char name[] = "event: response.completed\n";
    const size_t n = sizeof name - 1;
    char seam[2 * sizeof name];
    size_t before = a->tail_len < n ? a->tail_len : n, after = len < n ? len : n;
    memcpy(seam, a->tail + a->tail_len - before, before);
    memcpy(seam + before, data, after);
    a->completed = a->completed || memmem(seam, before + after, name, n) || memmem(data, len, name, n);
}

static inline void body_bytes(struct answer *a, const char *data, size_t len, uint64_t now) {
    if (!len) return;
    if (!a->body) a->first_byte = now;
    a->body += len;
    find_stamps(a, data, len, now);
    find_completed(a, data, len);
    keep_tail(a, data, len);
}

static inline void begin_body(struct answer *a) {
    const char *value;
    a->in_body = true;
    a->status = a->head.len > 12 ? atoi(a->head.data + 9) : 0;
    value = header(a->head.data, a->head.len, "connection:");
    a->close_after = value && !strncasecmp(value, "close", 5);
    if ((value = header(a->head.data, a->head.len, "content-length:"))) {
        a->framing = SIZED;
        a->left = strtoul(value, NULL, 10);
        a->done = !a->left;
    } else if (header(a->head.data, a->head.len, "transfer-encoding:")) {
        a->framing = CHUNK_SIZE;
    } else {
        a->framing = UNTIL_CLOSE;
    }
}

/* One byte of chunk framing: a size line, the CRLF after the data, the trailer. */
static inline void framing_byte(struct answer *a, char c) {
    if (c == '\r') return;
    if (c != '\n') {
        if (a->framing == CHUNK_SIZE && a->line++ < 16) {
            int digit = c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
            if (digit >= 0 && digit < 16) a->left = a->left * 16 + (size_t)digit;
        } else {
            a->line++;
        }
        return;
    }
    if (a->framing == CHUNK_END) a->framing = CHUNK_SIZE, a->left = 0;
    else if (a->framing == CHUNK_SIZE) a->framing = a->left ? CHUNK_DATA : TRAILER;
    else a->done = !a->line;
    a->line = 0;
}

/* Take bytes of an answer; bytes after its end are ignored. */
static inline void answer_feed(struct answer *a, const char *data, size_t len, uint64_t now) {
    if (!a->in_body) {
        size_t before = a->head.len;
        append(&a->head, data, len);
        char *end = memmem(a->head.data, a->head.len, "\r\n\r\n", 4);
        if (!end) return;
        a->head.len = (size_t)(end - a->head.data) + 4;
        data += a->head.len - before;
        len -= a->head.len - before;
        begin_body(a);
    }
    while (len && !a->done) {
        if (a->framing != SIZED && a->framing != CHUNK_DATA && a->framing != UNTIL_CLOSE) {
            framing_byte(a, *data++);
            len--;
            continue;
        }
        size_t n = a->framing == UNTIL_CLOSE || len < a->left ? len : a->left;
        body_bytes(a, data, n, now);
        data += n;
        len -= n;
        if (a->framing == UNTIL_CLOSE) continue;
        a->left -= n;
        if (!a->left && a->framing == SIZED) a->done = true;
        if (!a->left && a->framing == CHUNK_DATA) a->framing = CHUNK_END;
    }
}

/* Whether the body ended as a finished stream of its dialect does. */
static inline bool stream_finished(const struct answer *a) {
    if (a->completed && a->tail_len > 3 && !memcmp(a->tail + a->tail_len - 3, "}\n\n", 3)) return true;
    return memmem(a->tail, a->tail_len, "data: [DONE]\n", 13) || memmem(a->tail, a->tail_len, "\"message_stop\"}\n", 16);
}
#endif
