/* A load generator for one URL: closed loop, or open loop at a fixed rate.
 *
 *   load --url http://127.0.0.1:8080/v1/chat/completions [-H 'name: value']... [-d FILE]
 *        [-c 32] [-n 5000 | -t SECONDS] [--rate R] [--stagger-ms S] [--timeout SECONDS]
 *        [--stream [--deltas N] [--abort-every 10 --abort-after K]]
 *
 * Closed loop: each of -c connections sends its next request when the last one is answered. Open loop
 * (--rate): request i is due at i/R seconds, and its latency counts from then, so that a server that
 * stalls cannot slow the clock it is measured with. --stagger-ms spreads the first request of each
 * connection over that time. With --stream an answer must end as a stream of its dialect does, with N
 * deltas if N is given, and every tenth (say) is cut after K deltas. Prints one JSON object. */
#include "answer_reader.h"

struct conn {
    int fd; /* -1 when closed */
    bool busy, cut, want_write;
    size_t sent;
    uint64_t due;
    struct answer answer;
};

static int poller, connections = 32, expected = -1, abort_every, abort_after = 1;
static double rate, stagger_ms, timeout_s = 60, seconds;
static long total = 5000, issued, answered, ok, non_200, cut, reset, refused, truncated, timed_out;
static bool streaming;
static struct sockaddr_in peer = {.sin_family = AF_INET};
static struct buffer request;
static struct samples latencies, first_chunks;
static struct conn *conns, **idle;
static int idle_len;
static uint64_t began;

static bool open_conn(struct conn *c) {
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0) die("socket");
    if (connect(c->fd, (struct sockaddr *)&peer, sizeof peer)) {
        close(c->fd);
        c->fd = -1;
        return false;
    }
    no_delay(c->fd);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &e);
    c->want_write = false;
    return true;
}

static void close_conn(struct conn *c) {
    close(c->fd);
    c->fd = -1;
}

/* The request is over, in whatever way; the connection may take another. */
static void finish(struct conn *c, long *count) {
    ++*count;
    answered++;
    c->busy = false;
    idle[idle_len++] = c;
}

static void lose(struct conn *c, long *count) {
    close_conn(c);
    finish(c, count);
}

static void complete(struct conn *c) {
    struct answer *a = &c->answer;
    uint64_t now = now_ns();
    bool short_of = streaming && (!stream_finished(a) || (expected >= 0 && a->deltas != expected));
    if (a->close_after || a->framing == UNTIL_CLOSE) close_conn(c);
    if (a->status != 200) return finish(c, &non_200);
    if (short_of || !a->body) return finish(c, &truncated);
    sample(&latencies, now - c->due);
    if (streaming) sample(&first_chunks, a->first_byte - c->due);
    finish(c, &ok);
}

static void send_rest(struct conn *c) {
    while (c->sent < request.len) {
        ssize_t n = send(c->fd, request.data + c->sent, request.len - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno != EAGAIN) return lose(c, &reset);
        if (n < 0) break;
        c->sent += (size_t)n;
    }
    bool rest = c->sent < request.len;
    if (rest == c->want_write) return;
    struct epoll_event e = {.events = EPOLLIN | (rest ? EPOLLOUT : 0u), .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &e);
    c->want_write = rest;
}

static void start(struct conn *c, uint64_t due) {
    issued++;
    c->busy = true;
    c->sent = 0;
    c->due = due;
    c->cut = abort_every && issued % abort_every == 0;
    answer_reset(&c->answer);
    if (c->fd < 0 && !open_conn(c)) return finish(c, &refused);
    send_rest(c);
}

static void ended(struct conn *c) {
    if (!c->busy) return close_conn(c);
    if (c->answer.in_body && c->answer.framing == UNTIL_CLOSE) return complete(c);
    lose(c, c->answer.in_body ? &truncated : &reset);
}

static void readable(struct conn *c) {
    static char data[262144];
    while (c->fd >= 0) {
        ssize_t n = recv(c->fd, data, sizeof data, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) return ended(c);
        if (!c->busy) return close_conn(c);
        answer_feed(&c->answer, data, (size_t)n, now_ns());
        if (c->cut && c->answer.deltas >= abort_after) return lose(c, &cut);
        if (c->answer.done) return complete(c);
        if ((size_t)n < sizeof data) return;
    }
}

/* When request number *i* may be sent at the earliest. */
static uint64_t due_at(long i) {
    if (rate > 0) return began + (uint64_t)((double)i * 1e9 / rate);
    if (i < connections) return began + (uint64_t)((double)i * stagger_ms * 1e6 / connections);
    return 0;
}

static bool more(uint64_t now) {
    return seconds > 0 ? (double)(now - began) < seconds * 1e9 : issued < total;
}

/* Start what is due. Returns how long to wait at most, in nanoseconds. */
static uint64_t dispatch(void) {
    for (;;) {
        uint64_t now = now_ns(), due = due_at(issued);
        if (!idle_len || !more(now)) return (uint64_t)(timeout_s * 1e9);
        if (due > now) return due - now;
        start(idle[--idle_len], rate > 0 ? due : now);
    }
}

static void give_up(void) {
    for (int i = 0; i < connections; i++)
        if (conns[i].busy) lose(&conns[i], &timed_out);
}

static void run(void) {
    struct epoll_event events[512];
    while (more(now_ns()) || answered < issued) {
        uint64_t ns = dispatch(), asked = now_ns();
        struct timespec wait = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
        if (answered == issued && !more(now_ns())) return;
        int n = epoll_pwait2(poller, events, 512, &wait, NULL);
        if (n == 0 && (double)(now_ns() - asked) >= timeout_s * 1e9) give_up();
        for (int i = 0; i < n; i++) {
            struct conn *c = events[i].data.ptr;
            if (c->fd >= 0 && (events[i].events & EPOLLOUT)) send_rest(c);
            if (c->fd >= 0 && (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))) readable(c);
        }
    }
}

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void print_samples(const char *name, struct samples *s) {
    static const double at[] = {0.50, 0.95, 0.99};
    uint32_t value[3] = {0}, most = 0;
    if (s->len) {
        qsort(s->us, s->len, sizeof *s->us, by_value);
        for (int i = 0; i < 3; i++) value[i] = s->us[(size_t)(at[i] * (double)(s->len - 1))];
        most = s->us[s->len - 1];
    }
    printf(",\"%s\":{\"p50\":%u,\"p95\":%u,\"p99\":%u,\"max\":%u}", name, value[0], value[1], value[2], most);
}

static void report(double took) {
    printf("{\"requests\":%ld,\"ok\":%ld,\"non_200\":%ld,\"errors\":%ld,\"refused\":%ld,\"reset\":%ld,"
           "\"truncated\":%ld,\"timed_out\":%ld,\"cut\":%ld,\"seconds\":%.4f,\"rps\":%.1f",
           issued, ok, non_200, refused + reset + truncated + timed_out, refused, reset, truncated, timed_out, cut,
           took, (double)ok / took);
    printf(",\"deltas\":%zu,\"deltas_per_s\":%.1f", delta_delays.len, (double)delta_delays.len / took);
    print_samples("latency_us", &latencies);
    print_samples("first_chunk_us", &first_chunks);
    print_samples("delta_delay_us", &delta_delays);
    printf("}\n");
}

static void read_file(struct buffer *b, const char *path) {
    FILE *file = fopen(path, "rb");
    size_t n;
    if (!file) die(path);
    do {
        reserve(b, 65536);
        n = fread(b->data + b->len, 1, 65536, file);
        b->len += n;
    } while (n);
    fclose(file);
}

static void make_request(const char *url, const struct buffer *headers, const struct buffer *body) {
    char host[64], path[512] = "/";
    int port = 80;
    if (!url || sscanf(url, "http://%63[0-9.]:%d%511s", host, &port, path) < 2 || !inet_aton(host, &peer.sin_addr)) {
        fprintf(stderr, "--url wants http://ADDRESS:PORT/PATH, the address in numbers\n");
        exit(2);
    }
    peer.sin_port = htons((uint16_t)port);
    appendf(&request, "%s %s HTTP/1.1\r\nhost: %s:%d\r\n", body->len ? "POST" : "GET", path, host, port);
    if (headers->len) append(&request, headers->data, headers->len);
    if (body->len) appendf(&request, "content-type: application/json\r\ncontent-length: %zu\r\n", body->len);
    append(&request, "\r\n", 2);
    if (body->len) append(&request, body->data, body->len);
}

static void read_options(int argc, char **argv) {
    struct buffer headers = {0}, body = {0};
    const char *url = NULL;
    for (int i = 1; i < argc; i++) {
        const char *o = argv[i], *v = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(o, "--stream")) { streaming = true; continue; }
        i++;
        if (!strcmp(o, "--url")) url = v;
        else if (!strcmp(o, "-H")) appendf(&headers, "%s\r\n", v);
        else if (!strcmp(o, "-d")) read_file(&body, v);
        else if (!strcmp(o, "-c")) connections = (int)number(o, v);
        else if (!strcmp(o, "-n")) total = (long)number(o, v);
        else if (!strcmp(o, "-t")) seconds = number(o, v);
        else if (!strcmp(o, "--rate")) rate = number(o, v);
        else if (!strcmp(o, "--stagger-ms")) stagger_ms = number(o, v);
        else if (!strcmp(o, "--timeout")) timeout_s = number(o, v);
        else if (!strcmp(o, "--deltas")) expected = (int)number(o, v);
        else if (!strcmp(o, "--abort-every")) abort_every = (int)number(o, v);
        else if (!strcmp(o, "--abort-after")) abort_after = (int)number(o, v);
        else { fprintf(stderr, "unknown option %s\n", o); exit(2); }
    }
    make_request(url, &headers, &body);
}

int main(int argc, char **argv) {
    read_options(argc, argv);
    if (connections < 1) connections = 1;
    poller = epoll_create1(EPOLL_CLOEXEC);
    conns = calloc((size_t)connections, sizeof *conns);
    idle = calloc((size_t)connections, sizeof *idle);
    if (!conns || !idle) die("calloc");
    for (int i = connections - 1; i >= 0; i--) {
        conns[i].fd = -1;
        open_conn(&conns[i]);
        idle[idle_len++] = &conns[i];
    }
    usleep(50000); /* let the server accept, so that no latency holds a connection's set-up */
    began = now_ns();
    run();
    report((double)(now_ns() - began) / 1e9);
    return 0;
}
