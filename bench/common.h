/* What the mock upstream and the load generator share: a clock, buffers, sockets. */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct buffer {
    char *data;
    size_t len, cap;
};

static inline void die(const char *what) {
    perror(what);
    exit(1);
}

/* Nanoseconds of a clock that all processes of one machine share. */
static inline uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static inline void reserve(struct buffer *b, size_t more) {
    if (b->len + more <= b->cap) return;
    while (b->cap < b->len + more) b->cap = b->cap ? b->cap * 2 : 4096;
    b->data = realloc(b->data, b->cap);
    if (!b->data) die("realloc");
}

static inline void append(struct buffer *b, const char *data, size_t len) {
    reserve(b, len);
    memcpy(b->data + b->len, data, len);
    b->len += len;
}

__attribute__((format(printf, 2, 3)))
static inline void appendf(struct buffer *b, const char *format, ...) {
    char line[2048];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0 || n >= (int)sizeof line) die("line too long");
    append(b, line, (size_t)n);
}

/* The value of a header in head[0..len), or NULL. name comes with its colon, as "content-length:". */
static inline const char *header(const char *head, size_t len, const char *name) {
    size_t n = strlen(name);
    const char *end = head + len, *line = memchr(head, '\n', len);
    while (line && (size_t)(end - ++line) > n) {
        if (!strncasecmp(line, name, n)) {
            line += n;
            while (line < end && *line == ' ') line++;
            return line;
        }
        line = memchr(line, '\n', (size_t)(end - line));
    }
    return NULL;
}

static inline void no_delay(int fd) {
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/* A number, or an exit that names the option. */
static inline double number(const char *option, const char *text) {
    char *end;
    double value = text ? strtod(text, &end) : -1;
    if (!text || *end || end == text || value < 0) {
        fprintf(stderr, "%s wants a number\n", option);
        exit(2);
    }
    return value;
}
#endif
