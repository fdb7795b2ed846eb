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

/** What a run meets outside of the engine. */
export interface World {
  readonly clock: Clock;
  /** Aborted: the run is cancelled. */
  readonly signal: AbortSignal;
  /**
   * Carries out a step, by its full id. The signal of the step is aborted, with the engine's reason, when it is to end; the promise resolves when it
   * has. What it rejects with ends the run.
   */
  readonly start: (id: string, signal: AbortSignal) => Promise<ChildState>;
  /** The run has changed. */
  readonly onChange?: (run: RunState) => void;
}

/**
 * Runs a plan to its end in this process, driven by nothing but ends, the cancel and the next instant at which time changes something. Rejects with
 * the first fault of `start`, once everything else has been told to end.
 */
export function driveRun(plan: Plan, { clock, signal, start, onChange }: World): Promise<RunState> {
  const cache = createRunCache();
  const children = new Map<string, AbortController>();
  // Limits are for time that passes, not for a clock that somebody sets.
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
      // The engine tells again and again what is owed.
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
