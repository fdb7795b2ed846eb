import { setMaxListeners } from "node:events";
import type { StepView } from "#engine/index.ts";
import { type Cancel, type Clock, messageOf } from "#lib/base/index.ts";
import type { ApiClient, LogOptions } from "#kernel/kit/index.ts";
import type { Environment } from "#kernel/command/index.ts";
import { LinePrefixer } from "./output/line-prefixer.ts";
import { patiently, reconnectMs } from "./patience.ts";
import { logName, type StepLog, stepLogs } from "#app/runs/index.ts";
import { followStepLog } from "./resumed-log.ts";

/** Prints the output of steps as it arrives, each container once. */
export interface LogStream {
  /**
   * Follows new containers of these steps from their beginning. Cheap to call for every change: only the newest state
   * is looked at.
   */
  see(steps: readonly StepView[]): void;
  /**
   * Looks at the last steps once more and resolves when their output has been printed. Called after the run has ended.
   * False if a log broke off for good, which is reported on stderr.
   */
  close(): Promise<boolean>;
  /** Stops following. Always called in the end. */
  stop(): void;
}

/** `tailLines` counts for each container. */
export interface LogStreamOptions extends Pick<LogOptions, "tailLines" | "timestamps"> {
  /**
   * Puts `step | ` before every line, or `step#2 | ` from the second attempt on. Lines of inner runs always have a
   * prefix.
   */
  readonly prefix: boolean;
  /** Selects logs; when absent, all are followed. */
  readonly isWanted?: (log: StepLog) => boolean;
}

/**
 * A log continues where it broke off when the server is back; one that cannot continue is reported on stderr, and the
 * others go on. Containers that wait to start are not followed yet. Lines of several containers are printed whole, as
 * they arrive.
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
  // Every container's stream listens to it.
  setMaxListeners(0, over);
  // By uid: a recreated Pod has a log of its own.
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

  /** True if more logs may come without a change of the run. */
  async function follow(steps: readonly StepView[]): Promise<boolean> {
    let isToCome = false;
    for (const step of steps.filter(({ phase }) => phase !== "Pending" && phase !== "Waiting")) {
      const logs = await stepLogs(client, step);
      const isActive = step.phase === "Starting" || step.phase === "Running";
      // The next step of an inner run may begin without a change of the outer run.
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
   * One look at a time; a failed one is repeated. Containers may start without a change of the run, so the steps are
   * looked at again until all have started.
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
