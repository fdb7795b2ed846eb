import type { Instant, Millis } from "#lib/base/index.ts";
import type { Ending, Observed } from "./backend.ts";

export interface RemovalSettings {
  /** How long results are served after the end. */
  readonly drainMs: Millis;
  readonly cancelMs: Millis;
  /** Time after SIGTERM. */
  readonly terminateMs: Millis;
}

export const usualRemoval: RemovalSettings = { drainMs: 60_000, cancelMs: 30_000, terminateMs: 10_000 };

export interface RemovalStep {
  readonly act?: Ending | "remove";
  readonly at: Instant;
}

export interface Removal {
  readonly deletedAt: Instant;
  readonly isForced: boolean;
}

const lookAgainMs = 500;

/** The next step: cancel, freeze, serve for `drainMs`, terminate, remove; with force terminate at once. Depends only on
 * stored and observed facts, so a restarted provisioner continues. */
export function nextRemovalStep(
  { phase, isAlive, finishedAt }: Observed,
  { deletedAt, isForced }: Removal,
  now: Instant,
  { drainMs, cancelMs, terminateMs }: RemovalSettings,
): RemovalStep {
  if (phase === "absent") return { act: "remove", at: now };
  const soon = now + lookAgainMs;
  const isOver = phase === "finished";
  // Clock differences never extend the drain.
  const endedAt = isForced ? deletedAt : Math.min(now, Math.max(deletedAt, finishedAt ?? deletedAt));
  const leavesAt = isOver && !isForced ? endedAt + drainMs : deletedAt;
  if (isOver && now < leavesAt) return { at: leavesAt };
  if (!isAlive) return { act: "remove", at: now };
  if (isOver || isForced) return { act: now >= leavesAt + terminateMs ? "kill" : "terminate", at: soon };
  return { act: now >= deletedAt + cancelMs ? "kill" : "cancel", at: soon };
}
