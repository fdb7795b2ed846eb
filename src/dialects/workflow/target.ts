import type { KubeObject } from "#kernel/model/index.ts";
import type { Workflow } from "./kinds.ts";

/** The workflow reduced to a main step and its dependencies, without final steps and outputs. */
export function upToStep(workflow: Workflow, target: string): KubeObject {
  const { apiVersion, kind, metadata, spec } = workflow;
  const { steps = {}, finally: _final, finallyDeadlineSeconds: _limit, outputs: _outputs, ...rest } = spec;
  // The set is its own queue: iteration includes additions.
  const needed = new Set([target]);
  for (const key of needed) for (const before of steps[key]?.dependencies ?? []) needed.add(before);
  const kept = Object.fromEntries(Object.entries(steps).filter(([key]) => needed.has(key)));
  return { apiVersion, kind, metadata, spec: { ...rest, steps: kept } } satisfies Workflow;
}
