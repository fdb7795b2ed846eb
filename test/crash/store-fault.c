// Loaded before the C library: while the file named by FAULT says "flush" or "write", flushing a file of the store, or making it
// longer, fails the way a broken or a full disk does. While it says "cut", the power goes: of what is written from then on some reaches the
// disk and some does not, as it pleases the kernel and the drive, and the next flush finds nobody to answer. The file named by
// CLOCK holds seconds, as eight bytes, by which somebody has set the clock wrong.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static int is_stored(int fd) {
  char link[64], target[512];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, target, sizeof target - 1);
  if (length < 0) return 0;
  target[length] = 0;
  return strstr(target, ".mdb") != NULL || strstr(target, ".redo-") != NULL;
}

static int says(int fd, const char *operation) {
  char said[16] = {0};
  const char *path = getenv("FAULT");
  FILE *file = path == NULL ? NULL : fopen(path, "r");
  if (file == NULL) return 0;
  size_t length = fread(said, 1, sizeof said - 1, file);
  fclose(file);
  return length > 0 && strncmp(said, operation, strlen(operation)) == 0 && is_stored(fd);
}

static int fails(int fd, const char *operation, int error) {
  if (!says(fd, operation)) return 0;
  errno = error;
  return 1;
}

/* A full disk refuses what needs room; bytes that the file has already can be written over. */
static int is_full(int fd, off64_t end) {
  struct stat64 file;
  return says(fd, "write") && (fstat64(fd, &file) != 0 || end > file.st_size);
}
static int refuses(int fd, off64_t end) {
  if (!is_full(fd, end)) return 0;
  errno = ENOSPC;
  return 1;
}

static int is_lost(int fd) { return says(fd, "cut") && rand() % 2 == 0; }

// A write of many sectors may reach the disk in part, in any order.
#define SECTOR 512
static ssize_t tear(int fd, const char *bytes, size_t size, off64_t at) {
  ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
  for (size_t start = 0; start < size; start += SECTOR) {
    size_t part = size - start < SECTOR ? size - start : SECTOR;
    if (rand() % 2 == 0) real(fd, bytes + start, part, at + (off64_t)start);
  }
  return (ssize_t)size;
}

static ssize_t size_of(const struct iovec *parts, int count) {
  ssize_t size = 0;
  for (int part = 0; part < count; part++) size += parts[part].iov_len;
  return size;
}

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

static int flush(int fd, const char *name) {
  if (says(fd, "cut")) _exit(9);
  return fails(fd, "flush", EIO) ? -1 : REAL(name, int (*)(int))(fd);
}
int fdatasync(int fd) { return flush(fd, "fdatasync"); }
int fsync(int fd) { return flush(fd, "fsync"); }

/* A write that flushes what it has written: where flushes fail all of it is in the file, and the caller is told that it failed. */
static ssize_t flushed(int fd, ssize_t written) {
  int flags = fcntl(fd, F_GETFL);
  if (flags == -1 || (flags & O_DSYNC) == 0) return written;
  if (says(fd, "cut")) _exit(9);
  return fails(fd, "flush", EIO) ? -1 : written;
}

ssize_t write(int fd, const void *bytes, size_t size) {
  if (refuses(fd, lseek64(fd, 0, SEEK_CUR) + size)) return -1;
  return flushed(fd, is_lost(fd) ? (ssize_t)size : REAL("write", ssize_t (*)(int, const void *, size_t))(fd, bytes, size));
}
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
  if (refuses(fd, at + size)) return -1;
  if (is_lost(fd)) return flushed(fd, tear(fd, bytes, size, at));
  return flushed(fd, REAL("pwrite64", ssize_t (*)(int, const void *, size_t, off64_t))(fd, bytes, size, at));
}
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) { return pwrite64(fd, bytes, size, at); }
ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (refuses(fd, lseek64(fd, 0, SEEK_CUR) + size_of(parts, count))) return -1;
  if (is_lost(fd)) return flushed(fd, size_of(parts, count));
  return flushed(fd, REAL("writev", ssize_t (*)(int, const struct iovec *, int))(fd, parts, count));
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
  if (refuses(fd, at + size_of(parts, count))) return -1;
  if (is_lost(fd)) return flushed(fd, size_of(parts, count));
  return flushed(fd, REAL("pwritev64", ssize_t (*)(int, const struct iovec *, int, off64_t))(fd, parts, count, at));
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { return pwritev64(fd, parts, count, at); }

static long long clock_error(void) {
  static volatile long long *seconds = NULL;
  static int is_looked_for = 0;
  if (!is_looked_for) {
    is_looked_for = 1;
    const char *path = getenv("CLOCK");
    int fd = path == NULL ? -1 : open(path, O_RDONLY);
    void *page = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *seconds, PROT_READ, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED) seconds = page;
  }
  return seconds == NULL ? 0 : *seconds;
}
int clock_gettime(clockid_t id, struct timespec *time) {
  int result = REAL("clock_gettime", int (*)(clockid_t, struct timespec *))(id, time);
  if (id == CLOCK_REALTIME) time->tv_sec += clock_error();
  return result;
}
int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  int result = REAL("gettimeofday", int (*)(struct timeval *, void *))(time, zone);
  time->tv_sec += clock_error();
  return result;
}
