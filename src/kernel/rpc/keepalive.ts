import type { Cancel, Clock, Millis } from "#lib/base/index.ts";

/** What of a session of HTTP/2 is needed here. */
export interface PingedSession {
  /** False when it could not be sent; throws when the session is over. */
  ping(answered: (error: Error | null) => void): boolean;
  destroy(): void;
  once(event: "close", listener: () => void): unknown;
}

/** After which time each session is pinged, and how long its answer may take. */
export interface KeepaliveTimes {
  readonly time: Millis;
  readonly timeout: Millis;
}

/** Those of one group are pinged in one turn: of ten thousand sessions 167, or 334 where all have come at once. */
const groupCount = 60;

/** Sessions that are pinged together. */
interface Group {
  readonly sessions: Set<PingedSession>;
  cancel: Cancel | undefined;
}

/**
 * Notices sessions whose other side is frozen or has been unplugged: each is pinged once in `time`, and destroyed when it has not answered
 * within `timeout`. Sessions are pinged in groups, because what an idle server spends on a ping is mostly its timers and being woken.
 * Without sessions there is no timer.
 */
export class Keepalive {
  readonly #clock: Clock;
  readonly #times: KeepaliveTimes;
  readonly #begun: Millis;
  readonly #groups: readonly Group[];
  readonly #rounds = new Set<Cancel>();
  #count = 0;

  constructor(clock: Clock, times: KeepaliveTimes) {
    this.#clock = clock;
    this.#times = times;
    this.#begun = clock.monotonic();
    this.#groups = Array.from({ length: groupCount }, () => ({ sessions: new Set(), cancel: undefined }));
  }

  /** Until it is closed. O(groups). */
  add(session: PingedSession): void {
    const at = this.#groupFor();
    const group = this.#groups[at];
    if (group === undefined) return;
    group.sessions.add(session);
    this.#count++;
    session.once("close", () => {
      this.#count--;
      group.sessions.delete(session);
      if (group.sessions.size > 0) return;
      group.cancel?.();
      group.cancel = undefined;
    });
    if (group.cancel === undefined) this.#schedule(group, this.#begun + (at / groupCount - 1) * this.#times.time);
  }

  /** Pings nobody any more. */
  close(): void {
    for (const group of this.#groups) {
      group.cancel?.();
      group.sessions.clear();
    }
    for (const cancel of this.#rounds) cancel();
  }

  /**
   * The group that is pinged last from now on, unless it is twice as large as others: who comes back after a crash with ten thousand others has
   * enough to do at first, and is not pinged before half of the time.
   */
  #groupFor(): number {
    const most = Math.ceil((2 * (this.#count + 1)) / groupCount);
    const since = this.#clock.monotonic() - this.#begun;
    const latest = Math.floor((since / this.#times.time) * groupCount) % groupCount;
    for (let back = 0; back < groupCount; back++) {
      const at = (latest - back + groupCount) % groupCount;
      if ((this.#groups[at]?.sessions.size ?? 0) < most) return at;
    }
    return latest;
  }

  /** Each group has its own moments, `time` apart; those that this process has slept through are passed over. */
  #schedule(group: Group, last: Millis): void {
    const { time } = this.#times;
    const now = this.#clock.monotonic();
    const next = last + time * Math.max(1, Math.floor((now - last) / time) + 1);
    group.cancel = this.#clock.after(Math.ceil(next - now), () => {
      this.#schedule(group, next);
      this.#ping(group.sessions);
    });
  }

  #ping(sessions: ReadonlySet<PingedSession>): void {
    const silent = new Set(sessions);
    const cancel = this.#clock.after(this.#times.timeout, () => {
      this.#rounds.delete(cancel);
      for (const session of silent) session.destroy();
    });
    this.#rounds.add(cancel);
    for (const session of sessions)
      pinged(session, () => {
        silent.delete(session);
        if (silent.size > 0) return;
        cancel();
        this.#rounds.delete(cancel);
      });
  }
}

/** Calls `answered` when it has answered, or is over: one that cannot be pinged is. */
function pinged(session: PingedSession, answered: () => void): void {
  try {
    const isSent = session.ping((error) => {
      answered();
      if (error !== null) session.destroy();
    });
    if (isSent) return;
  } catch {
    // It has ended in this moment.
  }
  answered();
  session.destroy();
}
