import { inParallel, messageOf, SlipwayError } from "#lib/base/index.ts";
import { type KubeObject, Pod } from "#kernel/model/index.ts";
import type { Diagnostic } from "../../definition/diagnostics.ts";
import type { StepPlan } from "../../plan/step-plan.ts";
import type { Cluster } from "./cluster.ts";
import { defaultImages, type HelperImages } from "./helper-images.ts";

export async function checkSteps(
  steps: readonly StepPlan[],
  { client, namespace, server }: Cluster,
  images: HelperImages,
  signal: AbortSignal,
): Promise<readonly Diagnostic[]> {
  try {
    await client.list(Pod, { namespace, limit: 1, signal });
  } catch (thrown) {
    signal.throwIfAborted();
    const hint = thrown instanceof SlipwayError ? thrown.hint : undefined;
    const message = `steps cannot be run as Pods in the namespace ${namespace} of ${server}: ${messageOf(thrown)}`;
    return [
      problem(
        message,
        "",
        hint ?? "name another cluster or account with --k8s-context, or another runtime with --runtime",
      ),
    ];
  }
  if (images.init !== defaultImages.init) return [];
  return steps
    .filter(({ os }) => os !== "linux")
    .map(({ stage, step, type, os }) =>
      problem(
        `a step for ${os} cannot get its repository by the image ${images.init}, which is for linux`,
        `${stage}/${step}/${type}`,
        `name one for ${os} that has a shell and tar, as worker.steps.init.image, or leave the stage out with --stage`,
      ),
    );
}

const parallel = 8;

export async function tryPods(
  pods: readonly { readonly step: StepPlan; readonly pod: KubeObject }[],
  { client }: Pick<Cluster, "client">,
  signal: AbortSignal,
): Promise<readonly Diagnostic[]> {
  const found: (Diagnostic | undefined)[] = [];
  const tryOne = async ([index, { step, pod }]: readonly [number, (typeof pods)[number]]): Promise<void> => {
    try {
      await client.create(Pod, pod, { dryRun: true, signal });
    } catch (thrown) {
      signal.throwIfAborted();
      const path = `${step.stage}/${step.step}/${step.type}`;
      found[index] = problem(`the cluster refuses the Pod of the step: ${messageOf(thrown)}`, path);
    }
  };
  await inParallel([...pods.entries()], tryOne, parallel);
  return found.filter((each) => each !== undefined);
}

const problem = (message: string, path: string, hint?: string): Diagnostic => ({
  severity: "error",
  code: "runtime-unsupported",
  message,
  path,
  related: [],
  ...(hint === undefined ? {} : { hint }),
});
