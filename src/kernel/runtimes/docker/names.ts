import { createHash } from "node:crypto";

// Labels of everything of ours in an engine. The store keeps control planes on one engine apart.

export const labels = {
  store: "dev.slipway.store",
  /** `task`, `sandbox`, `network`, `volume`. */
  role: "dev.slipway.role",
  task: "dev.slipway.task",
  sandbox: "dev.slipway.sandbox",
  /** `namespace/name`, for people. */
  pod: "dev.slipway.pod",
  /** Where a task's output belongs. */
  log: "dev.slipway.log",
  /** Names of masked variables, separated by commas. */
  masked: "dev.slipway.masked",
  /** The file of the task's last word, without masked values. */
  message: "dev.slipway.message",
  /** The process of a store in memory: `pid startTicks boot`. */
  owner: "dev.slipway.owner",
} as const;

export const storeMark = (store: string): string => createHash("sha256").update(store).digest("hex").slice(0, 10);

/** A container's or volume's name, accepted once by an engine: `slipway-3f2a9c01bb-<uid>_main_0-5d41402a`. */
export function engineName(store: string, id: string): string {
  const mark = createHash("sha256").update(id).digest("hex").slice(0, 8);
  return `slipway-${storeMark(store)}-${id.replaceAll(/[^A-Za-z0-9_.-]/g, "_").slice(0, 120)}-${mark}`;
}

export const sandboxName = (store: string, id: string): string => engineName(store, `${id}/sandbox`);
export const networkName = (store: string): string => `slipway-${storeMark(store)}`;
