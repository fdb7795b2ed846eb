// The first signal cancels the build, the second one ends this process, and so does the end of the grace period.
// After the build, while its scratch is removed, a third signal ends the process at once.

import { afterAwake, type Clock, deferred, type Millis } from "#lib/base/index.ts";
import type { EndSignal, OwnProcess } from "#kernel/command/index.ts";

/** Exit codes as shells report them: 128 plus the signal number. */
const signalCodes: Readonly<Record<EndSignal, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

const forcedCodes = { again: 2, late: 3 } as const;

const marginMs: Millis = 10_000;

export interface BuildSignals {
  readonly cancelled: AbortSignal;
  cancel(reason: string): void;
  code(): number | undefined;
  next(): Promise<void>;
}

export interface BuildOver {
  readonly code: number;
  readonly isWhole: boolean;
}

/** Takes over the signals of the process. `kill` synchronously ends whatever the build still runs; it is also called
 * when this process fails. After the build has ended no signal changes its exit code. Without `graceMs` canceling may
 * take any time. */
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
      // A second signal does not wait for slow readers, a third one not even for scratch to be removed.
      if (over.isWhole || count > 2) own.exit(over.code);
      else tell("slipway: the build has ended and its scratch is being removed; interrupt again to exit now\n");
      return;
    }
    came.resolve();
    if (over !== undefined) return;
    tell("slipway: the build is being cancelled; interrupt again to kill it\n");
    // If the build was already canceled, this signal is not the cause.
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
