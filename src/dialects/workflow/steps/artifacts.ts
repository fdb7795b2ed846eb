import { err, type JsonObject, ok, type Result } from "#lib/base/index.ts";
import type { ChildState } from "#engine/index.ts";
import { carriesLabel, leavesAnnotation, takesAnnotation } from "#kernel/artifacts/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { Node } from "#kernel/model/index.ts";
import { leftFor, missingInput } from "../compile/artifacts.ts";
import { failed } from "./child.ts";
import type { Attempt, Finding } from "./executor.ts";
import type { PodAnnotations } from "./job-manifest.ts";
import type { ContainerEnd } from "./pod-results.ts";
import { mayTryAgain } from "./retry-when.ts";

const hasArtifacts = ({ step }: Attempt): boolean => step.takes.length > 0 || step.leaves.length > 0;

/** Annotations with the artifacts of an attempt's Pods. The error is for people. */
export function artifactAnnotations(attempt: Attempt): Result<PodAnnotations, string> {
  const { step, values } = attempt;
  if (!hasArtifacts(attempt)) return ok({});
  const taken: JsonObject[] = [];
  const missing = missingInput(step.takes, values.state);
  if (missing !== undefined) return err(`${missing.step} has not left the artifact "${missing.artifact}"`);
  for (const input of step.takes) {
    for (const { path, stored } of leftFor(input, values.state)) taken.push({ ...stored, name: input.name, path });
  }
  return ok({
    ...(step.takes.length === 0 ? {} : { [takesAnnotation]: JSON.stringify(taken) }),
    ...(step.leaves.length === 0 ? {} : { [leavesAnnotation]: JSON.stringify(step.leaves) }),
  });
}

/** Clusters do not support artifacts. Called only for steps with artifacts. */
export async function nobodyCarries(
  client: ApiClient,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<Finding | undefined> {
  if (!hasArtifacts(attempt)) return undefined;
  const { items } = await client.list(Node, { labelSelector: `${carriesLabel}=true`, limit: 1, signal });
  if (items.length > 0) return undefined;
  const message = `no node carries artifacts (label ${carriesLabel}): the step needs Pods that Slipway runs itself, or a volume that its steps share`;
  return failed("ArtifactsNotCarried", message);
}

export function withArtifacts(attempt: Attempt, state: ChildState, end: ContainerEnd | undefined): ChildState {
  const { leaves } = attempt.step;
  if (state.is !== "succeeded" || leaves.length === 0 || state.again === true) return state;
  const { artifacts, problem = unanswered } = end?.left ?? {};
  if (artifacts !== undefined) {
    const missing = leaves.find(({ name, optional }) => optional !== true && artifacts[name] === undefined);
    if (missing === undefined) return { ...state, artifacts: asObject(artifacts) };
  }
  const exitCode = end?.exitCode ?? null;
  return { is: "failed", ...problem, retryable: mayTryAgain(attempt, { ...problem, exitCode, outputs: {} }) };
}

/** The Pod is gone, or its runtime does not support artifacts. */
const unanswered = { reason: "ArtifactMissing", message: "the artifacts of the Pod were not stored" };

const asObject = (artifacts: object): JsonObject => ({ ...artifacts });
