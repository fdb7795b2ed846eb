import type { Instant, Millis } from "#lib/base/index.ts";
import type { Ending, Observed } from "./backend.ts";

/** How patient the end of a worker is. */
export interface RemovalSettings {
  /** How long results are served after the end of the build, for whoever takes them over. */
  readonly drainMs: Millis;
  /** What a build that is cancelled has to end in. */
  readonly cancelMs: Millis;
  /** What a program has to end in that was asked to. */
  readonly terminateMs: Millis;
}

export const usualRemoval: RemovalSettings = { drainMs: 60_000, cancelMs: 30_000, terminateMs: 10_000 };

/** What a worker that is to go needs next. */
export interface RemovalStep {
  readonly act?: Ending | "remove";
  /** When to look again, at the latest. */
  readonly at: Instant;
}

/** Of the way to the end of a worker, as it is stored. */
export interface Removal {
  readonly deletedAt: Instant;
  readonly isForced: boolean;
}

/** How often a program that was asked to end is looked for. */
const lookAgainMs = 500;

/**
 * The next step of the way: cancel, freeze, serve until `drainMs` have passed, end the program, remove. With force the program ends at once.
 * Follows from what is stored and what is seen alone, so that a provisioner that begins anew goes on where another was.
 */
export function nextRemovalStep(
  { phase, isAlive, finishedAt }: Observed,
  { deletedAt, isForced }: Removal,
  now: Instant,
  { drainMs, cancelMs, terminateMs }: RemovalSettings,
): RemovalStep {
  if (phase === "absent") return { act: "remove", at: now };
  const soon = now + lookAgainMs;
  const isOver = phase === "finished";
  // A clock that was set back, or a worker whose clock is ahead, keeps nobody for longer than the drain.
  const endedAt = isForced ? deletedAt : Math.min(now, Math.max(deletedAt, finishedAt ?? deletedAt));
  const leavesAt = isOver && !isForced ? endedAt + drainMs : deletedAt;
  if (isOver && now < leavesAt) return { at: leavesAt };
  if (!isAlive) return { act: "remove", at: now };
  if (isOver || isForced) return { act: now >= leavesAt + terminateMs ? "kill" : "terminate", at: soon };
  return { act: now >= deletedAt + cancelMs ? "kill" : "cancel", at: soon };
}
