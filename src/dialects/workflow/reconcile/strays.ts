import { isActive } from "#engine/index.ts";
import { labels } from "../child-names.ts";
import type { CompiledWorkflow } from "../compile/compiled.ts";
import { isLetLive } from "../compile/step-source.ts";
import { notices } from "../messages.ts";
import type { Pass } from "./pass.ts";

/**
 * Reports, once per process, objects with the workflow's uid that have no controller and belong to no active step. They
 * are left alone: someone may have copied the labels on purpose.
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
