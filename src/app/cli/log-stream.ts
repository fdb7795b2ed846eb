import type { StepView } from "#engine/index.ts";
import type { ApiClient, LogOptions } from "#kernel/kit/index.ts";
import type { Output } from "./environment.ts";
import { LinePrefixer } from "./output/line-prefixer.ts";
import { readStepLog, type StepLog, stepLogs } from "./step-logs.ts";

/** Prints the output of steps as it comes, each container once, however often the run is seen. */
export interface LogStream {
  /**
   * Tells of the steps as they are now; new containers are followed from their beginning. May be called as often as
   * the run changes: looks are made one after the other, and only the newest state matters.
   */
  see(steps: readonly StepView[]): void;
  /**
   * Looks once more at the steps that were seen last, and resolves when everything they wrote has been printed. Must
   * be called after the run has ended; before that it waits for containers that still write.
   */
  close(): Promise<void>;
}

/**
 * What is printed of each container; `tailLines` counts for each of them, `timestamps` puts the time in front of
 * every line.
 */
export interface LogStreamOptions extends Pick<LogOptions, "tailLines" | "timestamps"> {
  /**
   * Put `step | ` before every line, or `step#2 | ` from the second attempt on. Needed as soon as lines of several
   * steps may mix.
   */
  readonly prefix: boolean;
}

/**
 * Starts with nothing to follow; `signal` ends all that is followed by then. A container that waits to start is not
 * followed yet: its log would be refused. Lines of several containers come in the order in which they arrive, each
 * whole.
 */
export function startLogStream(
  client: ApiClient,
  output: Output,
  options: LogStreamOptions,
  signal: AbortSignal,
): LogStream {
  const { prefix, ...read } = options;
  // By uid: a Pod made again under its old name has a log of its own. Grows with the containers of one run, which is
  // bounded.
  const followed = new Set<string>();
  const streams = new Set<Promise<void>>();
  let last: readonly StepView[] = [];
  let looking: Promise<void> = Promise.resolve();

  async function print(log: StepLog): Promise<void> {
    const lines = new LinePrefixer(prefix ? `${log.step}${log.attempt > 1 ? `#${log.attempt}` : ""} | ` : "");
    for await (const chunk of readStepLog(client, log, { ...read, follow: true, signal }))
      output.write(lines.push(chunk));
    output.write(lines.end());
  }

  async function follow(steps: readonly StepView[]): Promise<void> {
    for (const step of steps.filter(({ phase }) => phase !== "Pending" && phase !== "Waiting")) {
      for (const log of await stepLogs(client, step)) {
        const key = `${log.pod.metadata.uid}/${log.container}`;
        if (followed.has(key) || !hasStarted(log)) continue;
        followed.add(key);
        // A log that breaks off must not end the others; all of it is there for `slipway logs`.
        const stream: Promise<void> = print(log)
          .catch(() => undefined)
          .finally(() => streams.delete(stream));
        streams.add(stream);
      }
    }
  }

  return {
    see(steps) {
      last = steps;
      // One look at a time, in order; a failed one is made up for by the next.
      looking = looking.then(() => follow(steps)).catch(() => undefined);
    },
    async close() {
      await looking;
      await follow(last);
      await Promise.all(streams);
    },
  };
}

interface ContainerStatus {
  readonly name: string;
  readonly state?: { readonly waiting?: unknown };
}

/** Whether the kubelet's words allow to ask for the log: a status that is there, in any state but waiting. */
function hasStarted({ pod, container }: StepLog): boolean {
  // A stored Pod has passed its schema.
  const status = pod.status as
    | {
        readonly containerStatuses?: readonly ContainerStatus[];
        readonly initContainerStatuses?: readonly ContainerStatus[];
      }
    | undefined;
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const found = all.find(({ name }) => name === container);
  return found !== undefined && found.state?.waiting === undefined;
}
