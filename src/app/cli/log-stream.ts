import { setMaxListeners } from "node:events";
import type { StepView } from "#engine/index.ts";
import { type Cancel, type Clock, messageOf } from "#lib/base/index.ts";
import type { ApiClient, LogOptions } from "#kernel/kit/index.ts";
import type { Environment } from "#kernel/command/index.ts";
import { LinePrefixer } from "./output/line-prefixer.ts";
import { patiently, reconnectMs } from "./patience.ts";
import { logName, type StepLog } from "./pod-logs.ts";
import { followStepLog } from "./resumed-log.ts";
import { stepLogs } from "./step-logs.ts";

/** Prints the output of steps as it comes, each container once, however often the run is seen. */
export interface LogStream {
  /**
   * Tells of the steps as they are now; new containers are followed from their beginning. May be called as often as
   * the run changes: looks are made one after the other, and only the newest state matters.
   */
  see(steps: readonly StepView[]): void;
  /**
   * Looks once more at the steps that were seen last, and resolves when everything they wrote has been printed. Must
   * be called after the run has ended; before that it waits for containers that still write. False when a log broke off
   * for good, which stderr was told.
   */
  close(): Promise<boolean>;
  /** Follows nothing any more. To be called in the end, also when sight of the run was lost. */
  stop(): void;
}

/**
 * What is printed of each container; `tailLines` counts for each of them, `timestamps` puts the time in front of
 * every line.
 */
export interface LogStreamOptions extends Pick<LogOptions, "tailLines" | "timestamps"> {
  /**
   * Put `step | ` before every line, or `step#2 | ` from the second attempt on. Needed as soon as lines of several
   * steps may mix; lines of a run inside of the run have it always.
   */
  readonly prefix: boolean;
  /** Leaves out logs of the steps that are told of; all of them are followed when absent. */
  readonly isWanted?: (log: StepLog) => boolean;
}

/**
 * Starts with nothing to follow; `signal` ends all that is followed by then. A log goes on where it broke off when the
 * server is back; one that cannot is told of on stderr, and does not end the others. A container that waits to start is not
 * followed yet: its log would be refused. Lines of several containers come in the order in which they arrive, each
 * whole.
 */
export function startLogStream(
  client: ApiClient,
  { out, err }: Pick<Environment, "out" | "err">,
  options: LogStreamOptions,
  clock: Clock,
  signal: AbortSignal,
): LogStream {
  const { prefix, isWanted = () => true, ...read } = options;
  const stopped = new AbortController();
  const over = AbortSignal.any([signal, stopped.signal]);
  // All streams listen to it, as many as there are containers, and each takes its listeners away at its end.
  setMaxListeners(0, over);
  // By uid: a Pod made again under its old name has a log of its own. Grows with the containers of one run, which is
  // bounded.
  const followed = new Set<string>();
  const streams = new Set<Promise<void>>();
  let last: readonly StepView[] = [];
  let looking: Promise<void> = Promise.resolve();
  let later: Cancel | undefined;
  let isClosing = false;
  let isWhole = true;

  async function print(log: StepLog): Promise<void> {
    const lines = new LinePrefixer(prefix || log.inner !== undefined ? `${logName(log)} | ` : "");
    try {
      for await (const chunk of followStepLog(client, log, read, clock, over)) out.write(lines.push(chunk));
    } catch (thrown) {
      if (over.aborted) return;
      isWhole = false;
      err.write(`slipway: ${log.step}: the log of attempt ${log.attempt} broke off: ${messageOf(thrown)}\n`);
    } finally {
      out.write(lines.end());
    }
  }

  /** True when an active step has nothing to follow yet, a container that has still to start, or steps of its own. */
  async function follow(steps: readonly StepView[]): Promise<boolean> {
    let isToCome = false;
    for (const step of steps.filter(({ phase }) => phase !== "Pending" && phase !== "Waiting")) {
      const logs = await stepLogs(client, step);
      const isActive = step.phase === "Starting" || step.phase === "Running";
      // Of a run inside of the run the next step may begin, which changes nothing of the run itself.
      const isInner = logs.some(({ inner }) => inner !== undefined);
      if (isActive && (logs.length === 0 || isInner || !logs.every(({ hasStarted }) => hasStarted))) isToCome = true;
      for (const log of logs.filter(isWanted)) {
        const key = `${log.uid}/${log.container}`;
        if (followed.has(key) || !log.hasStarted) continue;
        followed.add(key);
        const stream: Promise<void> = print(log).finally(() => streams.delete(stream));
        streams.add(stream);
      }
    }
    return isToCome;
  }

  /**
   * One look at a time, in order; a failed one is made up for by the next. A container starts without a change of the run, and one that was
   * not seen by then would be silent until the next change: it is looked for again.
   */
  function look(): void {
    looking = looking
      .then(() => follow(last))
      .catch(() => true)
      .then((isToCome) => {
        later?.();
        if (isToCome && !isClosing && !over.aborted) later = clock.after(reconnectMs, look);
      });
  }

  return {
    see(steps) {
      last = steps;
      look();
    },
    async close() {
      isClosing = true;
      later?.();
      await looking;
      await patiently(clock, over, () => follow(last));
      await Promise.all(streams);
      return isWhole;
    },
    stop() {
      later?.();
      stopped.abort();
    },
  };
}
