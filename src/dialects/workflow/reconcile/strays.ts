import { isActive } from "#engine/index.ts";
import { labels } from "../child-names.ts";
import type { CompiledWorkflow } from "../compile/compiled.ts";
import { isLetLive } from "../compile/step-source.ts";
import { notices } from "../messages.ts";
import type { Pass } from "./pass.ts";

/**
 * Reports, once each per process, objects that bear the workflow's uid, have no controller, and are no child of an active step. They
 * are neither counted nor deleted: whoever copied the labels may have had a reason. What steps let live on is no surprise. One index
 * lookup when there are none.
 */
export function strayStage(pass: Pass, compiled: CompiledWorkflow): void {
  const { workflow, memory, kinds } = pass;
  const strays = kinds.strays(workflow.metadata.uid);
  if (strays.length === 0) return;
  const expected = new Set(
    Object.values(workflow.status?.statuses ?? {}).flatMap(({ phase, reference }) =>
      phase !== undefined && isActive(phase) && reference?.name !== undefined ? [reference.name] : [],
    ),
  );
  for (const { kind, metadata } of strays) {
    if (expected.has(metadata.name) || memory.reportedStrays.has(metadata.uid)) continue;
    const step = compiled.steps.get(metadata.labels?.[labels.step] ?? "");
    if (step !== undefined && isLetLive(step.step)) continue;
    memory.reportedStrays.add(metadata.uid);
    pass.record(workflow, notices.stray(kind, metadata.name));
  }
}
