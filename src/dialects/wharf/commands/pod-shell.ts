// A kept Pod is found by its labels. Messages name cluster and namespace, because the user may have several.

import { PassThrough, type Writable } from "node:stream";
import { finished } from "node:stream/promises";
import type { ExecOptions, TerminalSize } from "#kernel/kit/index.ts";
import { exitCode, type Invocation } from "#kernel/command/index.ts";
import { clusterOf } from "./step-cluster.ts";
import type { WharfRunOptions } from "./run-options.ts";
import { readWharfSettings, settingsCode } from "./settings.ts";
import { findKeptPod, shellBeside } from "../worker/kubernetes/kept-pod.ts";
import { openCluster } from "../worker/kubernetes/open-kubernetes.ts";

interface StepInPod {
  readonly instance: string;
  readonly buildId: number;
  readonly stepId: number;
  readonly called: string;
}

/** Opens a read-only shell beside the kept Pod of a failed step and returns its exit code, or 1 if nothing was kept.
 * Rejects if the cluster cannot be reached. */
export async function openPodShell(
  { options, environment, clock, signal }: Invocation<WharfRunOptions>,
  step: StepInPod,
): Promise<number> {
  const settings = await readWharfSettings(environment, options.loglevel);
  if (settings === undefined) return settingsCode;
  const chosen = clusterOf(options);
  const cluster = await openCluster({
    choice: {
      ...chosen,
      context: chosen.context ?? settings["k8s.context"],
      namespace: chosen.namespace ?? settings["k8s.namespace"],
    },
    variables: environment.all,
    clock,
  });
  const { client, streams, namespace, server } = cluster;
  const place = `the namespace ${namespace} of ${server}`;
  const refuse = (message: string): number => {
    environment.err.write(`slipway: ${message}\n`);
    return exitCode.failed;
  };
  try {
    const pod = await findKeptPod(cluster, step);
    if (pod === undefined)
      return refuse(`no Pod of ${step.called} is kept in ${place}; use --keep to keep Pods of failed steps`);
    if (!pod.isOpen)
      return refuse(`no shell can be opened in the Pod ${pod.name} in ${place}: its containers have ended`);
    const { container, ...command } = shellBeside(pod);
    environment.err.write(
      `${step.called}: ${pod.directory} of the Pod ${pod.name} in ${place}, read-only, from its container ${container}\n`,
    );
    const own = standardStreams();
    try {
      const { exitCode: code } = await streams.exec(
        { namespace, name: pod.name },
        { ...command, container, ...own.streams, signal },
      );
      return code;
    } finally {
      await own.release();
    }
  } finally {
    streams.close();
    await client.close();
  }
}

interface StandardStreams {
  /** `terminal` is set if the program gets a terminal, `stderr` otherwise. */
  readonly streams: Pick<ExecOptions, "stdin" | "stdout" | "stderr" | "terminal">;
  /** Resolves when all output is passed on and the terminal is restored. Must be called however the program ended. */
  release(): Promise<void>;
}

/** Lends the streams of this process to a remote program: with a terminal at both ends all keys go there, otherwise its
 * outputs stay separate. */
function standardStreams(): StandardStreams {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) return apart();
  const sizes = new PassThrough({ objectMode: true });
  const tellSize = (): void => {
    const size: TerminalSize = { columns: stdout.columns, rows: stdout.rows };
    sizes.write(size);
  };
  const output = into(stdout);
  stdin.setRawMode(true);
  stdout.on("resize", tellSize);
  tellSize();
  return {
    streams: { stdin, stdout: output, terminal: sizes as AsyncIterable<TerminalSize> },
    async release() {
      await passedOn(output);
      stdout.off("resize", tellSize);
      sizes.end();
      stdin.setRawMode(false);
      stdin.pause();
    },
  };
}

function apart(): StandardStreams {
  const { stdin } = process;
  const [stdout, stderr] = [into(process.stdout), into(process.stderr)];
  return {
    streams: { stdin, stdout, stderr },
    async release() {
      await Promise.all([stdout, stderr].map(passedOn));
      stdin.pause();
    },
  };
}

const passedOn = (output: PassThrough): Promise<void> => finished(output).catch(() => undefined);

/** Ending the result does not end `output`. */
function into(output: Writable): PassThrough {
  const passed = new PassThrough();
  passed.pipe(output, { end: false });
  return passed;
}
