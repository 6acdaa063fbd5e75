/* Sends messages between two nodes over TCP, and checks that they arrive as they were sent.
 *
 * Runs on every node of a cluster at once: listens for partners, and takes orders from its input, one a line:
 *   pair ADDRESS PORT SOURCE SECONDS      small messages back and forth, then a stream there and a stream back
 *   stream ADDRESS PORT SOURCE SECONDS    a stream there only
 * It answers "ready PORT" at the beginning, then "pair MICROSECONDS THERE BACK", "stream THERE" (10^6 byte/s) or
 * "failed REASON", with tabs in between. It ends with its input, or when its time is over. Partners know a token, and
 * nobody else is served. A rate is measured where the data arrives: of a pair the median of short windows, so that a
 * disturbance does not count, of a stream all that arrives after a fifth of the time, when it is at its speed.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SMALL = 64, BLOCK = 262144, WINDOWS = 12, ECHOES = 400, WAITING = 1024, TEXT = 160 };
static const double ECHO_S = 0.1, SPEEDS_UP = 0.2;
static const struct timeval PATIENCE = { 4, 0 };

static char token[17];
static unsigned char block[BLOCK];

typedef struct {
    double median, mean;                    /* 10^6 byte/s */
    int right;
} Arrived;

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int ascending(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

static void be_patient(int line)
{
    int one = 1;
    setsockopt(line, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &PATIENCE, sizeof PATIENCE);
    setsockopt(line, SOL_SOCKET, SO_SNDTIMEO, &PATIENCE, sizeof PATIENCE);
}

static int send_all(int line, const void *data, size_t size)
{
    for (const char *next = data; size > 0;) {
        ssize_t sent = send(line, next, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return -1;
        next += sent;
        size -= (size_t)sent;
    }
    return 0;
}

static int take_all(int line, void *data, size_t size)
{
    for (char *next = data; size > 0;) {
        ssize_t came = recv(line, next, size, 0);
        if (came <= 0) {
            if (came == 0)
                errno = ECONNRESET;
            return -1;
        }
        next += came;
        size -= (size_t)came;
    }
    return 0;
}

/* Send the block again and again until the time is over, then end the stream. */
static int send_stream(int line, double seconds)
{
    for (double end_s = now_s() + seconds; now_s() < end_s;)
        if (send_all(line, block, BLOCK) < 0)
            return -1;
    return shutdown(line, SHUT_WR);
}

/* Receive a stream up to its end; what comes after the time is read but not counted. */
static int take_stream(int line, double seconds, Arrived *arrived)
{
    static __thread unsigned char data[BLOCK];
    double rates[WINDOWS], began_s = 0, first_s = 0, window_s = 0, last_s = 0;
    size_t total = 0, first = 0, counted = 0, before = 0;
    int windows = 0;
    arrived->right = 1;
    for (;;) {
        ssize_t came = recv(line, data, BLOCK - total % BLOCK, 0);
        double time_s = now_s();
        if (came < 0)
            return -1;
        if (came == 0)
            break;
        if (memcmp(data, block + total % BLOCK, (size_t)came) != 0)
            arrived->right = 0;
        total += (size_t)came;
        if (began_s == 0) {
            began_s = first_s = window_s = time_s;
            first = before = total;
        } else if (time_s - began_s <= seconds) {
            if (first_s == began_s && time_s - began_s >= SPEEDS_UP * seconds) {
                first_s = time_s;
                first = total;
            }
            last_s = time_s;
            counted = total - first;
            if (windows < WINDOWS && time_s - window_s >= seconds / WINDOWS) {
                rates[windows++] = 1e-6 * (double)(total - before) / (time_s - window_s);
                window_s = time_s;
                before = total;
            }
        }
    }
    if (last_s <= first_s) {
        errno = ENODATA;
        return -1;
    }
    arrived->mean = 1e-6 * (double)counted / (last_s - first_s);
    arrived->median = windows > 3 ? median(rates + 1, windows - 1) : arrived->mean;     /* the first one speeds up */
    return 0;
}

/* Serve one partner until it leaves. A request has SMALL bytes: token, what to do, seconds. */
static void *serve(void *argument)
{
    int line = (int)(intptr_t)argument;
    char request[SMALL + 1] = "", kind[8], who[17];
    double seconds;
    while (take_all(line, request, SMALL) == 0) {
        Arrived arrived = { 0 };
        if (sscanf(request, "%16s %7s %lf", who, kind, &seconds) != 3 || strcmp(who, token) != 0)
            break;
        if (strcmp(kind, "echo") == 0) {
            if (send_all(line, request, SMALL) < 0)
                break;
            continue;
        }
        if (strcmp(kind, "give") == 0)
            send_stream(line, seconds);
        else if (take_stream(line, seconds, &arrived) == 0) {
            char answer[SMALL] = "";
            snprintf(answer, sizeof answer, "%.6g %.6g %d", arrived.median, arrived.mean, arrived.right);
            send_all(line, answer, SMALL);
        }
        break;
    }
    close(line);
    return NULL;
}

static void *listen_for_partners(void *argument)
{
    int door = (int)(intptr_t)argument;
    for (;;) {
        pthread_t thread;
        int line = accept(door, NULL, NULL);
        if (line < 0) {
            usleep(10000);
            continue;
        }
        be_patient(line);
        if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)line) == 0)
            pthread_detach(thread);
        else
            close(line);
    }
    return NULL;
}

static int open_door(unsigned *port)
{
    struct sockaddr_in own = { .sin_family = AF_INET };
    socklen_t size = sizeof own;
    int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (door < 0 || bind(door, (struct sockaddr *)&own, size) < 0 || listen(door, WAITING) < 0
        || getsockname(door, (struct sockaddr *)&own, &size) < 0)
        return -1;
    *port = ntohs(own.sin_port);
    return door;
}

static int request(int line, const char *kind, double seconds)
{
    char text[SMALL] = "";
    snprintf(text, sizeof text, "%s %s %g", token, kind, seconds);
    return send_all(line, text, SMALL);
}

static int call(const char *address, unsigned port, const char *source)
{
    struct sockaddr_in own = { .sin_family = AF_INET }, partner = { .sin_family = AF_INET };
    int line = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    partner.sin_port = htons((uint16_t)port);
    if (inet_pton(AF_INET, address, &partner.sin_addr) != 1 || inet_pton(AF_INET, source, &own.sin_addr) != 1) {
        errno = EINVAL;
        return -1;
    }
    if (line < 0)
        return -1;
    be_patient(line);
    if (bind(line, (struct sockaddr *)&own, sizeof own) < 0
        || connect(line, (struct sockaddr *)&partner, sizeof partner) < 0) {
        int why = errno == EINPROGRESS || errno == EAGAIN ? ETIMEDOUT : errno;
        close(line);
        errno = why;
        return -1;
    }
    return line;
}

/* Half the time of a round trip in microseconds, the median of many; below 0 if there is none. */
static double latency_us(int line)
{
    static double halves[ECHOES];
    char answer[SMALL];
    int count = 0;
    for (double end_s = now_s() + ECHO_S; count < ECHOES && (count < 3 || now_s() < end_s); count++) {
        double began_s = now_s();
        if (request(line, "echo", 0) < 0 || take_all(line, answer, SMALL) < 0)
            return -1;
        halves[count] = 0.5e6 * (now_s() - began_s);
    }
    return median(halves, count);
}

static int stream_there(int line, double seconds, Arrived *arrived)
{
    char answer[SMALL + 1] = "";
    if (request(line, "take", seconds) < 0 || send_stream(line, seconds) < 0 || take_all(line, answer, SMALL) < 0)
        return -1;
    return sscanf(answer, "%lf %lf %d", &arrived->median, &arrived->mean, &arrived->right) == 3 ? 0 : -1;
}

static void failed(const char *what)
{
    int why = errno == EAGAIN || errno == EWOULDBLOCK ? ETIMEDOUT : errno;
    printf("failed\t%s: %s\n", what, strerror(why));
}

static void pair(const char *address, unsigned port, const char *source, double seconds)
{
    static const char LARGE[] = "small messages pass, large ones do not";
    Arrived there = { 0 }, back = { 0 };
    double small_us;
    int line = call(address, port, source);
    if (line < 0) {
        failed("no connection");
        return;
    }
    small_us = latency_us(line);
    if (small_us < 0)
        failed("no message comes back");
    else if (stream_there(line, seconds, &there) < 0)
        failed(LARGE);
    else {
        close(line);
        line = call(address, port, source);
        if (line < 0) {
            failed("no second connection");
            return;
        }
        if (request(line, "give", seconds) < 0 || take_stream(line, seconds, &back) < 0)
            failed(LARGE);
        else if (!there.right || !back.right)
            printf("failed\tdata did not arrive as it was sent\n");
        else
            printf("pair\t%.6g\t%.6g\t%.6g\n", small_us, there.median, back.median);
    }
    close(line);
}

static void stream(const char *address, unsigned port, const char *source, double seconds)
{
    Arrived there = { 0 };
    int line = call(address, port, source);
    if (line < 0) {
        failed("no connection");
        return;
    }
    if (stream_there(line, seconds, &there) < 0)
        failed("data does not get through");
    else if (!there.right)
        printf("failed\tdata did not arrive as it was sent\n");
    else
        printf("stream\t%.6g\n", there.mean);
    close(line);
}

int main(int argc, char **argv)
{
    unsigned port = 0;
    int door;
    pthread_t listener;
    char order[256];
    uint64_t state = 1;
    if (argc != 3 || strlen(argv[1]) != 16) {
        fprintf(stderr, "usage: node_pairs TOKEN SECONDS, with a token of 16 letters\n");
        return 2;
    }
    strcpy(token, argv[1]);
    alarm((unsigned)atoi(argv[2]));
    signal(SIGPIPE, SIG_IGN);
    for (size_t at = 0; at < BLOCK; at++) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        block[at] = (unsigned char)(state >> 56);
    }
    door = open_door(&port);
    if (door < 0 || pthread_create(&listener, NULL, listen_for_partners, (void *)(intptr_t)door) != 0) {
        perror("cannot listen for other nodes");
        return 1;
    }
    printf("ready\t%u\n", port);
    fflush(stdout);
    while (fgets(order, sizeof order, stdin)) {
        char kind[8], address[TEXT], source[TEXT];
        double seconds;
        if (sscanf(order, "%7s %159s %u %159s %lf", kind, address, &port, source, &seconds) != 5)
            printf("failed\tan order cannot be read\n");
        else if (strcmp(kind, "pair") == 0)
            pair(address, port, source, seconds);
        else
            stream(address, port, source, seconds);
        fflush(stdout);
    }
    return 0;
}
