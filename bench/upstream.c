/* A fast stand-in for a model provider: OpenAI chat, OpenAI Responses and Anthropic messages, streamed and not.
 *
 *   upstream [--port 0] [--delay-ms 0] [--deltas 50] [--gap-ms 20]
 *
 * prints the port it listens on (127.0.0.1) and serves until it is killed. A model name may override
 * the options for its request: "bench-d60-n100-g0" waits 60 ms, then sends 100 deltas with no gap;
 * "bench-l1" answers with the rate-limit headers of OpenAI, of windows that are nearly full.
 * The text of each delta carries the time it was sent, as "@<nanoseconds>@", which survives any
 * translation between dialects. GET /stats tells the connections open now (but its own), how
 * many of them are busy with an answer, and since the start: accepted, requests, and aborted (closed by
 * the client in the middle of an answer). */
#include "answers.h"

#define BODY_MAX (64u << 20)
#define FLUSH_AT 16384

static int poller, delay_ms = 0, deltas = 50, gap_ms = 20;
static long open_now, busy_now, accepted, requests, aborted;
static struct conn **heap;
static int heap_len, heap_cap;

static void place(int slot, struct conn *c) {
    heap[slot] = c;
    c->slot = slot;
}

static void sift(int slot, struct conn *c) {
    while (slot > 0 && heap[(slot - 1) / 2]->due > c->due) {
        place(slot, heap[(slot - 1) / 2]);
        slot = (slot - 1) / 2;
    }
    for (int child; (child = 2 * slot + 1) < heap_len; slot = child) {
        if (child + 1 < heap_len && heap[child + 1]->due < heap[child]->due) child++;
        if (heap[child]->due >= c->due) break;
        place(slot, heap[child]);
    }
    place(slot, c);
}

static void stop_timer(struct conn *c) {
    int slot = c->slot;
    if (slot < 0) return;
    struct conn *last = heap[--heap_len];
    c->slot = -1;
    if (last != c) sift(slot, last);
}

static void start_timer(struct conn *c, uint64_t due) {
    stop_timer(c);
    if (heap_len == heap_cap) {
        heap_cap = heap_cap ? heap_cap * 2 : 256;
        heap = realloc(heap, (size_t)heap_cap * sizeof *heap);
        if (!heap) die("realloc");
    }
    c->due = due;
    heap_len++;
    sift(heap_len - 1, c);
}

static void close_conn(struct conn *c) {
    if (c->busy) aborted++, busy_now--;
    stop_timer(c);
    close(c->fd);
    open_now--;
    free(c->in.data);
    free(c->out.data);
    free(c);
}

/* Write what there is. False when the connection is gone. */
static bool flush(struct conn *c) {
    while (c->sent < c->out.len) {
        ssize_t n = send(c->fd, c->out.data + c->sent, c->out.len - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno != EAGAIN) return false;
        if (n < 0) break;
        c->sent += (size_t)n;
    }
    bool rest = c->sent < c->out.len;
    if (!rest) c->sent = c->out.len = 0;
    if (rest != c->want_write) {
        struct epoll_event e = {.events = EPOLLIN | (rest ? EPOLLOUT : 0u), .data.ptr = c};
        epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &e);
        c->want_write = rest;
    }
    return true;
}

static void release(struct conn *c) {
    c->busy = false;
    busy_now--;
}

/* Send what is due of the answer to a model call. False when the connection is gone. */
static bool proceed(struct conn *c) {
    if (!c->streamed) {
        whole(c);
        release(c);
        return flush(c);
    }
    if (c->next < 0) {
        stream_head(c);
        c->next = 0;
    }
    do {
        if (c->next < c->deltas) stream_delta(c);
        if (c->out.len - c->sent > FLUSH_AT && !flush(c)) return false;
    } while (++c->next < c->deltas && !c->gap_ms);
    if (c->next >= c->deltas) {
        stream_end(c);
        release(c);
    } else {
        start_timer(c, c->due + (uint64_t)c->gap_ms * 1000000u);
    }
    return flush(c);
}

static bool has(const char *body, size_t len, const char *tight, const char *spaced) {
    return memmem(body, len, tight, strlen(tight)) || memmem(body, len, spaced, strlen(spaced));
}

/* Read the model name, and from its parts -dN, -nN, -gN, -lN the delay, deltas, gap and limits. */
static int read_model(struct conn *c, const char *body, size_t len) {
    int delay = delay_ms;
    const char *at = memmem(body, len, "\"model\":", 8), *end = body + len;
    size_t n = 0;
    c->deltas = deltas;
    c->gap_ms = gap_ms;
    c->limits = 0;
    if (at && (at = memchr(at + 8, '"', (size_t)(end - at - 8))))
        while (++at < end && *at != '"' && n < sizeof c->model - 1) c->model[n++] = *at;
    c->model[n] = 0;
    for (char *part = strchr(c->model, '-'); part; part = strchr(part + 1, '-')) {
        if (part[1] < '0' || part[2] < '0' || part[2] > '9') continue;
        int value = atoi(part + 2);
        if (part[1] == 'd') delay = value;
        if (part[1] == 'n') c->deltas = value;
        if (part[1] == 'g') c->gap_ms = value;
        if (part[1] == 'l') c->limits = value;
    }
    return delay;
}

static bool model_call(struct conn *c, const char *body, size_t len) {
    int delay = read_model(c, body, len);
    c->streamed = has(body, len, "\"stream\":true", "\"stream\": true");
    c->usage = has(body, len, "\"include_usage\":true", "\"include_usage\": true");
    c->next = -1;
    c->busy = true;
    busy_now++;
    requests++;
    c->due = now_ns() + (uint64_t)delay * 1000000u;
    if (!delay) return proceed(c);
    start_timer(c, c->due);
    return true;
}

static bool respond(struct conn *c, const char *target, const char *body, size_t len) {
    char stats[160];
    if (!strncmp(target, "POST ", 5)) {
        size_t n = strcspn(target + 5, " ?");
        const char *end = target + 5 + n;
        c->anthropic = n >= 9 && !strncmp(end - 9, "/messages", 9);
        c->responses = n >= 10 && !strncmp(end - 10, "/responses", 10);
        c->embeds = n >= 11 && !strncmp(end - 11, "/embeddings", 11);
        if (c->anthropic || c->responses || c->embeds || (n >= 17 && !strncmp(end - 17, "/chat/completions", 17))) return model_call(c, body, len);
    }
    if (!strncmp(target, "GET /stats ", 11)) {
        snprintf(stats, sizeof stats, "{\"open\":%ld,\"busy\":%ld,\"accepted\":%ld,\"requests\":%ld,\"aborted\":%ld}",
                 open_now - 1, busy_now, accepted, requests, aborted);
        answer(c, "200 OK", stats);
    } else {
        answer(c, "404 Not Found", "{\"error\":{\"message\":\"no such path\"}}");
    }
    return flush(c);
}

/* Serve every request that has come in whole. False when the connection is gone. */
static bool serve(struct conn *c) {
    while (!c->busy && c->in.len) {
        char *end = memmem(c->in.data, c->in.len, "\r\n\r\n", 4);
        if (!end) return c->in.len < 65536;
        size_t head = (size_t)(end - c->in.data) + 4;
        const char *length = header(c->in.data, head, "content-length:");
        size_t body = length ? strtoul(length, NULL, 10) : 0;
        if (body > BODY_MAX || header(c->in.data, head, "transfer-encoding:")) return false;
        if (c->in.len < head + body) {
            reserve(&c->in, head + body - c->in.len);
            return true;
        }
        if (!respond(c, c->in.data, c->in.data + head, body)) return false;
        c->in.len -= head + body;
        memmove(c->in.data, c->in.data + head + body, c->in.len);
    }
    return true;
}

static bool readable(struct conn *c) {
    for (;;) {
        reserve(&c->in, 16384);
        size_t room = c->in.cap - c->in.len;
        ssize_t n = recv(c->fd, c->in.data + c->in.len, room, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return true;
        if (n <= 0) return false;
        c->in.len += (size_t)n;
        if (!serve(c)) return false;
        if ((size_t)n < room) return true;
    }
}

static void accept_all(int listener) {
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct conn *c = calloc(1, sizeof *c);
        if (!c) die("calloc");
        no_delay(fd);
        c->fd = fd;
        c->slot = -1;
        open_now++;
        accepted++;
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e);
    }
}

static int listen_on(int port) {
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) || listen(fd, 4096)) die("listen");
    getsockname(fd, (struct sockaddr *)&at, &len);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

/* Wait for sockets until the next timer. To the nanosecond: timers rounded to milliseconds would make
 * the deltas of many streams come in step, which is kinder to a server than real traffic. */
static int wait_events(struct epoll_event *events, int most) {
    if (!heap_len) return epoll_pwait2(poller, events, most, NULL, NULL);
    uint64_t now = now_ns(), left = heap[0]->due > now ? heap[0]->due - now : 0;
    struct timespec t = {.tv_sec = (time_t)(left / 1000000000u), .tv_nsec = (long)(left % 1000000000u)};
    return epoll_pwait2(poller, events, most, &t, NULL);
}

static void run_timers(void) {
    while (heap_len && heap[0]->due <= now_ns()) {
        struct conn *c = heap[0];
        stop_timer(c);
        if (!proceed(c) || (!c->busy && !serve(c))) close_conn(c);
    }
}

int main(int argc, char **argv) {
    int port = 0;
    for (int i = 1; i < argc; i += 2) {
        int value = (int)number(argv[i], i + 1 < argc ? argv[i + 1] : NULL);
        if (!strcmp(argv[i], "--port")) port = value;
        else if (!strcmp(argv[i], "--delay-ms")) delay_ms = value;
        else if (!strcmp(argv[i], "--deltas")) deltas = value;
        else if (!strcmp(argv[i], "--gap-ms")) gap_ms = value;
        else {
            fprintf(stderr, "unknown option %s\n", argv[i]);
            return 2;
        }
    }
    struct epoll_event events[256], e = {.events = EPOLLIN, .data.ptr = NULL};
    poller = epoll_create1(EPOLL_CLOEXEC);
    int listener = listen_on(port);
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &e);
    for (;;) {
        int n = wait_events(events, 256);
        for (int i = 0; i < n; i++) {
            struct conn *c = events[i].data.ptr;
            if (!c) {
                accept_all(listener);
                continue;
            }
            bool alive = !(events[i].events & EPOLLOUT) || flush(c);
            if (alive && (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))) alive = readable(c);
            if (!alive) close_conn(c);
        }
        run_timers();
    }
}
