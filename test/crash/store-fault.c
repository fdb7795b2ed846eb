// Loaded before the C library: while the file named by FAULT says "flush" or "write", flushing or writing a database file
// fails the way a broken or a full disk does.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_database(int fd) {
  char link[64], target[512];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, target, sizeof target - 1);
  if (length < 0) return 0;
  target[length] = 0;
  return strstr(target, ".mdb") != NULL;
}

static int fails(int fd, const char *operation, int error) {
  char said[16] = {0};
  const char *path = getenv("FAULT");
  FILE *file = path == NULL ? NULL : fopen(path, "r");
  if (file == NULL) return 0;
  size_t length = fread(said, 1, sizeof said - 1, file);
  fclose(file);
  if (length == 0 || strncmp(said, operation, strlen(operation)) != 0 || !is_database(fd)) return 0;
  errno = error;
  return 1;
}

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

int fdatasync(int fd) { return fails(fd, "flush", EIO) ? -1 : REAL("fdatasync", int (*)(int))(fd); }
int fsync(int fd) { return fails(fd, "flush", EIO) ? -1 : REAL("fsync", int (*)(int))(fd); }
ssize_t write(int fd, const void *bytes, size_t size) {
  return fails(fd, "write", ENOSPC) ? -1 : REAL("write", ssize_t (*)(int, const void *, size_t))(fd, bytes, size);
}
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
  if (fails(fd, "write", ENOSPC)) return -1;
  return REAL("pwrite64", ssize_t (*)(int, const void *, size_t, off64_t))(fd, bytes, size, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
  return fails(fd, "write", ENOSPC) ? -1 : REAL("pwrite", ssize_t (*)(int, const void *, size_t, off_t))(fd, bytes, size, at);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  return fails(fd, "write", ENOSPC) ? -1 : REAL("writev", ssize_t (*)(int, const struct iovec *, int))(fd, parts, count);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
  if (fails(fd, "write", ENOSPC)) return -1;
  return REAL("pwritev64", ssize_t (*)(int, const struct iovec *, int, off64_t))(fd, parts, count, at);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  if (fails(fd, "write", ENOSPC)) return -1;
  return REAL("pwritev", ssize_t (*)(int, const struct iovec *, int, off_t))(fd, parts, count, at);
}
