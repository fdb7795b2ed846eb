// The wall clock of the process, off by the seconds that the file named by CLOCK_OFFSET holds: a clock that an administrator sets.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static const volatile char *text;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("CLOCK_OFFSET");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) text = mapped;
}

static long offset(void) {
  char copy[17] = {0};
  if (text) for (int at = 0; at < 16; at++) copy[at] = text[at];
  return atol(copy);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += offset();
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  static int (*real)(struct timeval *, void *);
  if (!real) real = dlsym(RTLD_NEXT, "gettimeofday");
  int result = real(time, zone);
  if (result == 0) time->tv_sec += offset();
  return result;
}
