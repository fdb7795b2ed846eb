// A kept Pod is found by its labels. Messages name cluster and namespace, because the user may have several.

import { exitCode, type Invocation } from "#kernel/command/index.ts";
import { clusterOf } from "./step-cluster.ts";
import { standardStreams } from "./standard-streams.ts";
import type { WharfRunOptions } from "./run-options.ts";
import { readWharfSettings, settingsCode } from "./settings.ts";
import { findKeptPod, shellBeside } from "../worker/kubernetes/kept-pod.ts";
import { openCluster } from "../worker/kubernetes/open-kubernetes.ts";

export interface StepInPod {
  readonly instance: string;
  readonly buildId: number;
  readonly stepId: number;
  readonly called: string;
}

/**
 * Opens a read-only shell beside the kept Pod of a failed step and returns its exit code, or 1 if nothing was kept.
 * Rejects if the cluster cannot be reached.
 */
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
