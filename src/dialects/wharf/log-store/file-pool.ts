import { type FileHandle, open } from "node:fs/promises";
import { OpenPool } from "#kernel/streams/index.ts";

export type FilePool = OpenPool<FileHandle>;

/** Files are created if missing, with mode 0600. */
export const createFilePool = (mostOpen = 128): FilePool =>
  new OpenPool({
    // Not `a`: writes go to known offsets.
    open: (path) => open(path, "r+").catch(() => open(path, "wx+", 0o600)),
    close: (handle) => handle.close(),
    mostOpen,
  });
