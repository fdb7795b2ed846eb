import type { Millis } from "#lib/base/index.ts";

// Every text that users see, in one place, so that it can be compared with the original's.

/** Holds a prepared workflow until it has ended. */
export const finalizer = "slipway.dev/tinkerbell";

/** `90s`, `2m`, `1h30m`: whole seconds, as durations in configuration are written. */
export function formatDuration(millis: Millis): string {
  const seconds = Math.round(millis / 1000);
  const parts = [
    [Math.floor(seconds / 3600), "h"],
    [Math.floor((seconds % 3600) / 60), "m"],
    [seconds % 60, "s"],
  ] as const;
  const text = parts
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join("");
  return text === "" ? "0s" : text;
}

/** Largest first; what is left is told in the next one. */
const units = [
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
] as const;

/** The two largest units that are not zero: `1h2m`, `3s45ms`. */
export function formatElapsed(millis: Millis): string {
  let rest = Math.max(0, Math.round(millis));
  const parts: string[] = [];
  for (const [unit, size] of units) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.length === 0 ? "0ms" : parts.slice(0, 2).join("");
}

/** Why a workflow has ended badly: the words, and what is said to people. */
export const failures = {
  action: (name: string, message: string) => `action "${name}" failed: ${message}`,
  scheduled: (agent: string, limit: Millis) =>
    `agent ${agent} did not start the workflow within ${formatDuration(limit)} of dispatch`,
  workflowTimeout: (limit: Millis, action: string) =>
    `workflow exceeded its timeout of ${formatDuration(limit)} while action "${action}" was running`,
  actionTimeout: (name: string, limit: Millis) => `action "${name}" exceeded its timeout of ${formatDuration(limit)}`,
  canceled: (by: string) => `canceled by ${by}`,
  finishedBefore: "all actions had already finished",
  cancelTimeout: (agent: string, limit: Millis) =>
    `agent ${agent} did not confirm cancellation within ${formatDuration(limit)}; the action may still be running`,
  interrupted: (name: string, times: number) =>
    `action "${name}" was interrupted ${times} ${times === 1 ? "time" : "times"} (agent restarted)`,
  agentLost: (agent: string, limit: Millis) => `agent ${agent} has been unreachable for ${formatDuration(limit)}`,
} as const;

/** One thing people are told of a workflow, as a Kubernetes event. */
export interface Notice {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

export const notice = (reason: string, message: string): Notice => ({ type: "Normal", reason, message });
export const warning = (reason: string, message: string): Notice => ({ type: "Warning", reason, message });
