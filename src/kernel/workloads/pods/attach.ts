import { Readable } from "node:stream";
import { deferred } from "#lib/base/index.ts";
import { type LogStream, readLogs } from "#kernel/streams/index.ts";
import { badRequest } from "#kernel/model/index.ts";
import type { Interaction, Runtime } from "#kernel/runtimes/index.ts";
import type { RunningContainer } from "./container-reach.ts";
import { podPaths } from "./pod-paths.ts";
import { endOf } from "./pod-logs.ts";

interface AttachOptions {
  readonly directory: string;
  readonly runtime: Runtime;
}

interface AttachRequest {
  readonly container: string;
  readonly stdin: boolean;
  readonly terminal: boolean;
}

export function refuseInput({ container, stdin, terminal }: AttachRequest): void {
  if (stdin) throw badRequest(`container ${container} has no stdin to attach: no container here is given one`);
  if (terminal) throw badRequest(`Unable to use a TTY - container ${container} did not allocate one`);
}

/** A container's output from now on, read from its log, until its end or `kill`. Its exit code is always 0. */
export function attachToLog(
  { pod, container, task }: RunningContainer,
  request: AttachRequest,
  { directory, runtime }: AttachOptions,
): Interaction {
  refuseInput(request);
  const restart = Number(task.slice(task.lastIndexOf("/") + 1));
  const path = podPaths(directory, pod).log(container.name, restart);
  const gone = new AbortController();
  const outputOf = (stream: LogStream): Readable => {
    const follow = AbortSignal.any([endOf(runtime, task, gone.signal), gone.signal]);
    const lines = readLogs(path, { stream, tailLines: 0, follow, signal: gone.signal });
    const output = Readable.from(lines, { objectMode: false });
    // The first read looks up the start position, which must be that of now.
    output.read(0);
    return output;
  };
  const ended = deferred<number>();
  const [stdout, stderr] = [outputOf("stdout"), outputOf("stderr")];
  let open = 2;
  for (const output of [stdout, stderr]) {
    output.on("error", () => undefined);
    output.once("close", () => {
      open -= 1;
      if (open > 0) return;
      gone.abort();
      ended.resolve(0);
    });
  }
  return { stdout, stderr, ended: ended.promise, resize: () => undefined, kill: () => gone.abort() };
}
