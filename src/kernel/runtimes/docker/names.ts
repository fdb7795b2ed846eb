import { createHash } from "node:crypto";

// Everything of ours in an engine bears these labels. The store is what keeps servers on one engine apart: it is the identity of
// the control plane whose objects the containers stand for, and whoever has another one does not look at them.

export const labels = {
  /** The control plane's own, for ever. */
  store: "dev.slipway.store",
  /** `task`, `sandbox`, `network`, `volume`. */
  role: "dev.slipway.role",
  task: "dev.slipway.task",
  sandbox: "dev.slipway.sandbox",
  /** `namespace/name`, for people. */
  pod: "dev.slipway.pod",
  /** Where a task's output belongs. */
  log: "dev.slipway.log",
  /** Names of the variables whose values do not get there, divided by commas. */
  masked: "dev.slipway.masked",
  /** Where the task's last word is to be read, without their values. */
  message: "dev.slipway.message",
  /** The process whose end is the end of the store, for stores in memory: `pid startTicks boot`. */
  owner: "dev.slipway.owner",
} as const;

/** Short, and different for each store. */
export const storeMark = (store: string): string => createHash("sha256").update(store).digest("hex").slice(0, 10);

/**
 * The name of a container or volume, which an engine gives only once: that is what keeps a task from being run twice. Readable,
 * and different for different ids: `slipway-3f2a9c01bb-<uid>_main_0-5d41402a`.
 */
export function engineName(store: string, id: string): string {
  const mark = createHash("sha256").update(id).digest("hex").slice(0, 8);
  return `slipway-${storeMark(store)}-${id.replaceAll(/[^A-Za-z0-9_.-]/g, "_").slice(0, 120)}-${mark}`;
}

export const sandboxName = (store: string, id: string): string => engineName(store, `${id}/sandbox`);
export const networkName = (store: string): string => `slipway-${storeMark(store)}`;
