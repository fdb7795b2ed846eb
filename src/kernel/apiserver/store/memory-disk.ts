import { randomUUID } from "node:crypto";
import type { Disk } from "./disk.ts";

/** A disk that keeps nothing: what is in the memory image is all there is. */
export function memoryDisk(): Disk {
  return {
    /** Fresh every time, so that continue tokens of another store are not taken for this one's. */
    meta: { clusterUid: randomUUID(), revision: 0, compacted: 0 },
    objects: () => [],
    records: () => [],
    system: () => [],
    commit: () => Promise.resolve(),
    compact: () => Promise.resolve(),
    probe: () => Promise.resolve(),
    onFailure: () => undefined,
    figures: () => ({ redoBytes: 0, checkpoints: 0 }),
    backup: () => Promise.reject(new Error("a store in memory has no backup")),
    close: () => Promise.resolve(),
    abandon: () => Promise.resolve(),
  };
}
