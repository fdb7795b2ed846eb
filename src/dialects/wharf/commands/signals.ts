// What a signal means to a build: the first one asks it to end, the second ends this process, and so does time when asking has not helped. While
// the results of a build that has ended are completed it takes three: a second one may be sent before anybody can know of the end.

import { afterAwake, type Clock, deferred, type Millis } from "#lib/base/index.ts";
import type { EndSignal, OwnProcess } from "#kernel/command/index.ts";

/** As shells tell of programs that a signal has ended: 128 and its number. */
const signalCodes: Readonly<Record<EndSignal, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

/** The original's words for a build that did not end by being asked: a second signal, and no end in time. */
const forcedCodes = { again: 2, late: 3 } as const;

/** How much longer than the grace of its steps a build may take to end. */
const marginMs: Millis = 10_000;

/** What a build needs to know of signals. */
export interface BuildSignals {
  /** Aborted by the first signal, or by `cancel`. */
  readonly cancelled: AbortSignal;
  /** The same as a signal, from somebody else. */
  cancel(reason: string): void;
  /** The code of the signal that has cancelled the build; undefined when none has. */
  code(): number | undefined;
  /** Resolves with the next signal, or at once if one has come. For whoever stays after the build until he is told to go. */
  next(): Promise<void>;
}

/** The end of a build, from the moment on at which anybody may know of it. */
export interface BuildOver {
  readonly code: number;
  /** Nothing is written or removed any more. */
  readonly isWhole: boolean;
}

/**
 * Takes signals over from the process. `kill` ends in one turn whatever of the build still runs: nothing is waited for after it. It is called for a
 * fault of ours, too, so that no step is left without its worker. From the moment on at which the build has `ended` no signal cancels it, and none changes
 * its code; a third one is not kept waiting by what is still written or removed. Without a grace a build may take as long as it likes to end: some of
 * its stages run after a cancel, too.
 */
export function watchSignals(
  own: OwnProcess,
  {
    clock,
    graceMs,
    kill,
    tell,
    ended,
  }: {
    readonly clock: Clock;
    readonly graceMs: Millis | undefined;
    readonly kill: () => void;
    readonly tell: (text: string) => void;
    readonly ended: () => BuildOver | undefined;
  },
): BuildSignals {
  const cancelled = new AbortController();
  const came = deferred<void>();
  let count = 0;
  let cause: EndSignal | undefined;
  const force = (code: number): void => {
    kill();
    own.exit(code);
  };
  own.takeOver((signal) => {
    const over = ended();
    count++;
    if (count > 1) {
      if (over === undefined) return force(forcedCodes.again);
      // What goes on after the build, such as a slow reader of what it has printed, is not waited for by who asks twice; scratch that does not
      // go, on a disk that hangs, not by who asks a third time: no program does, so it is somebody who has read this.
      if (over.isWhole || count > 2) own.exit(over.code);
      else tell("slipway: the build has ended and its scratch is being removed; once more to end at once\n");
      return;
    }
    came.resolve();
    if (over !== undefined) return;
    tell("slipway: the build is being cancelled; once more to end it at once\n");
    // Whoever has cancelled the build before this signal is why it ends: its code does not depend on how soon the signal comes.
    if (!cancelled.signal.aborted) cause = signal;
    cancelled.abort(signal);
    if (graceMs !== undefined)
      afterAwake(clock, graceMs + marginMs, () => {
        if (ended() === undefined) force(forcedCodes.late);
      });
  }, kill);
  return {
    cancelled: cancelled.signal,
    cancel: (reason) => cancelled.abort(reason),
    code: () => (cause === undefined ? undefined : signalCodes[cause]),
    next: () => came.promise,
  };
}
