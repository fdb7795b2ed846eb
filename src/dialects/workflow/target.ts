import type { KubeObject } from "#kernel/model/index.ts";
import type { Workflow } from "./kinds.ts";

/**
 * The workflow with this main step and all that it depends on, and nothing else: final steps and outputs are about the whole of it, and
 * may speak of steps that are not there any more.
 */
export function upToStep(workflow: Workflow, target: string): KubeObject {
  const { apiVersion, kind, metadata, spec } = workflow;
  const { steps = {}, finally: _final, finallyDeadlineSeconds: _limit, outputs: _outputs, ...rest } = spec;
  // A set is iterated in insertion order and grows while we look: it is its own queue.
  const needed = new Set([target]);
  for (const key of needed) for (const before of steps[key]?.dependencies ?? []) needed.add(before);
  const kept = Object.fromEntries(Object.entries(steps).filter(([key]) => needed.has(key)));
  return { apiVersion, kind, metadata, spec: { ...rest, steps: kept } } satisfies Workflow;
}
