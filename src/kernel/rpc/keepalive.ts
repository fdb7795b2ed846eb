import type { Cancel, Clock, Millis } from "#lib/base/index.ts";

export interface PingedSession {
  /** False if it could not be sent; throws if the session is over. */
  ping(answered: (error: Error | null) => void): boolean;
  destroy(): void;
  once(event: "close", listener: () => void): unknown;
}

/** When each session is pinged, and how long the answer may take. */
export interface KeepaliveTimes {
  readonly time: Millis;
  readonly timeout: Millis;
}

/** A group is pinged in one turn: of ten thousand sessions 167, or at most 334. */
const groupCount = 60;

interface Group {
  readonly sessions: Set<PingedSession>;
  cancel: Cancel | undefined;
}

/**
 * Detects frozen and unplugged peers: each session is pinged once in `time`, and destroyed without an answer within
 * `timeout`. Sessions are pinged in groups, because timers and wake-ups dominate the cost on an idle server.
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

  close(): void {
    for (const group of this.#groups) {
      group.cancel?.();
      group.sessions.clear();
    }
    for (const cancel of this.#rounds) cancel();
  }

  /** The group pinged last from now on, unless twice the average: ten thousand clients may return at once. */
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

  /** Moments that passed while the process slept are skipped. */
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

/** Calls `answered` when the session has answered or is over. */
function pinged(session: PingedSession, answered: () => void): void {
  try {
    const isSent = session.ping((error) => {
      answered();
      if (error !== null) session.destroy();
    });
    if (isSent) return;
  } catch {
    // It has just ended.
  }
  answered();
  session.destroy();
}
