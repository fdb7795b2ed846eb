// A look into a Pod that a failed step has left. Nothing on this machine says which one it is: the labels of the Pod do, by which kubectl finds it, too.
// A cluster may be another one than that of the build, for a user with several: every message names it, with the namespace.

import { exitCode, type Invocation } from "#kernel/command/index.ts";
import { clusterOf } from "./step-cluster.ts";
import { standardStreams } from "./standard-streams.ts";
import type { WharfRunOptions } from "./run-options.ts";
import { readWharfSettings, settingsCode } from "./settings.ts";

/** What is known of the step by the results of its build. */
export interface StepInPod {
  /** Of whom the build was: several may build in one namespace, each with numbers of their own. */
  readonly instance: string;
  /** As the build had it, also where its results have been moved. */
  readonly buildId: number;
  /** From 1, in the order of the definition. */
  readonly stepId: number;
  /** In words, for people. */
  readonly called: string;
}

/**
 * Opens a shell in the Pod that a failed step was kept in, and ends with its code. The container of the step has ended, so that the shell runs in the one
 * beside it, which sees the same files and can change none of them. It has a terminal where this process has one.
 *
 * Answers 1, with the reason on stderr, where nothing was kept or nothing runs in the Pod any more, and the code for wrong settings where those are wrong.
 * Rejects with a SlipwayError or an ApiError where the cluster cannot be reached, or does not let this account open a stream.
 */
export async function openPodShell(
  { options, environment, clock, signal }: Invocation<WharfRunOptions>,
  step: StepInPod,
): Promise<number> {
  const settings = await readWharfSettings(environment, options.loglevel);
  if (settings === undefined) return settingsCode;
  const { loadKeptPods } = await import("../dialect.ts");
  const { findKeptPod, openCluster, shellBeside } = await loadKeptPods();
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
      return refuse(`nothing is kept of ${step.called} in ${place}: --keep keeps the Pods of failed steps`);
    if (!pod.isOpen)
      return refuse(`no shell can be opened in the Pod ${pod.name} in ${place}: nothing runs there any more`);
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
