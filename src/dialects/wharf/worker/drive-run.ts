import {
  advance,
  type ChildState,
  createRunCache,
  type Effect,
  type Fact,
  isTerminal,
  newRun,
  type Plan,
  type RunState,
  stepState,
} from "#engine/index.ts";
import type { Cancel, Clock } from "#lib/base/index.ts";

export interface World {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * Runs a step by its full id until it has ended. Its signal carries the engine's reason. A rejection ends the run.
   */
  readonly start: (id: string, signal: AbortSignal) => Promise<ChildState>;
  readonly onChange?: (run: RunState) => void;
}

/** Runs a plan to its end in this process. Rejects with the first fault of `start` after aborting all other steps. */
export function driveRun(plan: Plan, { clock, signal, start, onChange }: World): Promise<RunState> {
  const cache = createRunCache();
  const children = new Map<string, AbortController>();
  // Limits count elapsed time, not the wall clock, which may be set.
  const origin = clock.now() - clock.monotonic();
  const now = (): number => origin + clock.monotonic();
  let run = newRun;
  let alarm: Cancel = () => undefined;
  return new Promise((resolve, reject) => {
    const cancel = (): void => turn({ kind: "action", action: "cancel" });
    const stop = (): void => {
      alarm();
      signal.removeEventListener("abort", cancel);
    };
    const fail = (fault: unknown): void => {
      stop();
      for (const child of children.values()) child.abort(fault);
      reject(fault);
    };
    const carryOut = ({ kind, step, attempt }: Effect): void => {
      const known = children.get(step);
      if (kind === "cancel") return void (known?.signal.aborted === false && known.abort(stepState(run, step).reason));
      // The engine repeats effects that are still due.
      if (known !== undefined) return;
      const child = new AbortController();
      children.set(step, child);
      start(step, child.signal).then((state) => turn({ kind: "child", step, attempt, state }), fail);
    };
    const turn = (...facts: readonly Fact[]): void => {
      if (isTerminal(run.phase)) return;
      alarm();
      const result = advance(plan, run, facts, now(), cache);
      run = result.run;
      onChange?.(run);
      if (isTerminal(run.phase)) {
        stop();
        return resolve(run);
      }
      for (const effect of result.effects) carryOut(effect);
      if (result.wakeAt !== undefined) alarm = clock.after(result.wakeAt - now(), turn);
    };
    turn(...(signal.aborted ? [{ kind: "action", action: "cancel" } as const] : []));
    signal.addEventListener("abort", cancel, { once: true });
  });
}
