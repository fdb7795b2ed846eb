import { formatAge, objectsAt } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { graphOfView, type RunGraph, type StepTraits } from "#kernel/dialect/index.ts";
import { templateBeside } from "./beside.ts";
import { axesOf, combinationsOf } from "./compile/matrix.ts";
import { stepSources } from "./compile/step-source.ts";
import { formParameters } from "./form-parameters.ts";
import type { ForEach, Workflow, WorkflowStep } from "./kinds.ts";
import { specOf } from "./spec-of.ts";
import { viewWorkflow } from "./view.ts";

/** Steps of a template are those it has frozen, or before the start those of the one in `beside`. */
export function graphOfWorkflow(stored: Workflow, beside: readonly KubeObject[] = []): RunGraph {
  const { spec, status, metadata } = stored;
  const template = templateBeside(spec?.templateRef?.name, metadata.namespace, beside);
  const resolvedSpec = status?.resolvedSpec ?? template?.spec;
  const workflow: Workflow = resolvedSpec === undefined ? stored : { ...stored, status: { ...status, resolvedSpec } };
  const traits = new Map(stepSources(specOf(workflow)).map(({ key, step }) => [key, traitsOf(step)]));
  return graphOfView(viewWorkflow(workflow), (id) => traits.get(id) ?? {});
}

export function traitsOf(step: WorkflowStep): StepTraits {
  const { when, forEach, repeat, cache, locks = [], inputs, outputArtifacts, approval } = step;
  const takes = (inputs?.artifacts ?? []).map(({ from }) => from);
  const leaves = (outputArtifacts ?? []).map(({ name }) => name);
  return {
    ...(when === undefined ? {} : { condition: when }),
    ...(forEach === undefined ? {} : { forEach: fanText(forEach) }),
    ...(repeat === undefined ? {} : { repeat: `until ${repeat.until}, at most ${repeat.maxIterations ?? 10} rounds` }),
    ...(cache === undefined ? {} : { cache: cacheText(cache) }),
    ...(locks.length === 0 ? {} : { locks: locks.map(({ name }) => name).join(", ") }),
    ...(takes.length === 0 ? {} : { takes: takes.join(", ") }),
    ...(leaves.length === 0 ? {} : { leaves: leaves.join(", ") }),
    ...(approval?.inputs === undefined ? {} : { asks: formParameters(objectsAt(approval, "inputs")) }),
  };
}

const cacheText = ({ maxAgeSeconds }: NonNullable<WorkflowStep["cache"]>): string =>
  maxAgeSeconds === undefined ? "of any age" : `up to ${formatAge(maxAgeSeconds * 1000)} old`;

function fanText(forEach: ForEach): string {
  const atOnce = forEach.maxParallel === undefined ? "" : `, ${forEach.maxParallel} at once`;
  return `${itemsText(forEach)}${atOnce}`;
}

function itemsText({ items, from, matrix }: ForEach): string {
  if (from !== undefined) return from;
  if (matrix === undefined) return countText(items?.length ?? 0);
  const axes = axesOf(matrix);
  return countText(axes.ok ? combinationsOf(matrix, axes.value).length : 0);
}

const countText = (count: number): string => `${count} ${count === 1 ? "item" : "items"}`;
