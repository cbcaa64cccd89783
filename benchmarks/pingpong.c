/* A ping-pong over the pipes of a spawned server: the least that a client can cost.
 *
 * usage: pingpong CALLS WARMUPS BYTES CLIENT_CPU SERVER_CPU PROGRAM ARGUMENT...
 * (a CPU of -1 pins nothing). Writes one round trip in ns per line.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void pin(int cpu) {
    if (cpu < 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        perror("sched_setaffinity");
        exit(2);
    }
}

int main(int argc, char **argv) {
    if (argc < 7) return 2;
    int calls = atoi(argv[1]), warmups = atoi(argv[2]), size = atoi(argv[3]);
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) return 2;
    pid_t server = fork();
    if (server == 0) {
        pin(atoi(argv[5]));
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[0]), close(to[1]), close(from[0]), close(from[1]);
        execvp(argv[6], argv + 6);
        _exit(127);
    }
    pin(atoi(argv[4]));
    close(to[0]), close(from[1]);
    alarm(60);
    char *line = malloc(size), *answer = malloc(size);
    long long *took = malloc(sizeof *took * (calls > 0 ? calls : 1));
    memset(line, 'x', size);
    line[size - 1] = '\n';
    for (int i = -warmups; i < calls; i++) {
        long long start = now_ns();
        if (write(to[1], line, size) != size) return 2;
        for (int have = 0; have < size;) {
            ssize_t n = read(from[0], answer + have, size - have);
            if (n <= 0) return 2;
            have += n;
        }
        long long end = now_ns();
        if (i >= 0) took[i] = end - start;
    }
    close(to[1]);
    waitpid(server, NULL, 0);
    for (int i = 0; i < calls; i++) printf("%lld\n", took[i]);
    return 0;
}
