import { ok, type Result } from "#lib/base/index.ts";
import type { SimulatedAttempt } from "#engine/index.ts";
import type { KubeObject, Stored } from "#kernel/model/index.ts";
import { childName } from "./child-names.ts";
import type { CompiledWorkflow } from "./compile/compiled.ts";
import { itemsOf, itemValues } from "./compile/for-each.ts";
import type { Workflow } from "./kinds.ts";
import { attemptOf, type PassState } from "./reconcile/attempts.ts";
import { childOf } from "./steps/child.ts";
import type { Attempt } from "./steps/executor.ts";
import { renderJob } from "./steps/job.ts";
import { renderTemplate } from "./steps/template.ts";
import { renderWorkflow } from "./steps/workflow.ts";

/** Stands for the uid in rendered names. */
const unknownUid = "<uid>";
const unknownHash = "<hash>";

export function manifestOf(
  tried: SimulatedAttempt,
  workflow: Workflow,
  compiled: CompiledWorkflow,
): Result<KubeObject, string> | undefined {
  const attempt = attemptFor(tried, workflow, compiled);
  if (attempt === undefined) return undefined;
  const { type } = attempt.step;
  if (type === "workflow") return named(renderWorkflow(attempt), attempt);
  if (type === "template") return named(renderTemplate(attempt), attempt);
  return type === "jobTemplate" || type === "container" ? named(renderJob(attempt), attempt) : undefined;
}

function attemptFor(
  { step: key, attempt: number, item, iteration, run }: SimulatedAttempt,
  workflow: Workflow,
  compiled: CompiledWorkflow,
): Attempt | undefined {
  const step = compiled.steps.get(key);
  if (step === undefined) return undefined;
  const { name = workflow.metadata.generateName ?? "" } = workflow.metadata;
  // Only name and uid are used.
  const metadata = { ...workflow.metadata, name, uid: unknownUid, resourceVersion: "", creationTimestamp: "" };
  const stored: Stored<Workflow> = { ...workflow, metadata };
  const state: PassState = { workflow: stored, compiled, run, now: 0 };
  const ofStep = { ...attemptOf(state, step), number, ...(step.repeatUntil === undefined ? {} : { iteration }) };
  if (item === undefined) return ofStep;
  const items = itemsOf(step, compiled, ofStep.values);
  // An unknown list has one unknown item.
  const value = items.ok ? (items.value[item.index] ?? null) : `<item ${item.index}>`;
  const values = { ...ofStep.values, local: itemValues(item.index, value) };
  return { ...ofStep, number: item.attempt, item: { index: item.index, value }, values };
}

/** The hash of a generated name covers the uid. */
function named(manifest: Result<KubeObject, string>, attempt: Attempt): Result<KubeObject, string> {
  if (!manifest.ok) return manifest;
  const name = childName(childOf(attempt));
  const { metadata } = manifest.value;
  if (metadata.name !== name) return manifest;
  const stem = name.slice(0, name.lastIndexOf("-") + 1);
  return ok({ ...manifest.value, metadata: { ...metadata, name: `${stem}${unknownHash}` } });
}
