import { hashName } from "#lib/base/index.node.ts";
import { controllerOf, type Stored } from "#kernel/model/index.ts";
import { Workflow } from "./kinds.ts";

/** What makes one child different from every other child of every run. */
export interface ChildId {
  readonly workflow: string;
  readonly uid: string;
  readonly step: string;
  /** Counts from 1; of an item of a fan-out, the item's own. */
  readonly attempt: number;
  /** Index of the item, where the step fans out. */
  readonly item?: number;
  /** Round of the loop, where the step is one. Rounds have attempts of their own, so that the name needs no more than those. */
  readonly iteration?: number;
}

const longestName = 63;
/** Characters of base32, so 50 bits: names of one namespace do not meet by accident. */
const hashLength = 10;

/**
 * `<workflow>-<step>-<hash>`, a DNS label. The hash covers the uid, so a workflow that is created again under its old name
 * never meets the children of the former one.
 */
export function childName({ workflow, uid, step, attempt, item }: ChildId): string {
  const readable = `${workflow}-${step}`.toLowerCase().replaceAll(/[^a-z0-9-]/g, "-");
  const cut = readable.slice(0, longestName - hashLength - 1).replace(/-+$/, "");
  return `${cut}-${hashName([uid, step, item ?? "", 0, attempt], hashLength)}`;
}

/** The workflow's name as a label value, which may have only 63 characters while names have 253. */
export function workflowLabel(name: string): string {
  if (name.length <= longestName) return name;
  return `${name.slice(0, longestName - hashLength - 1)}-${hashName([name], hashLength)}`;
}

/** How children are found. The uid and not the name decides: the name may be given again. */
export const labels = {
  workflow: "slipway.dev/workflow",
  uid: "slipway.dev/workflow-uid",
  step: "slipway.dev/step",
  attempt: "slipway.dev/attempt",
  item: "slipway.dev/item",
  iteration: "slipway.dev/iteration",
  depth: "slipway.dev/depth",
} as const;

/** The labels every child carries besides those of `spec.selector` and of its template. */
export const childLabels = ({
  workflow,
  uid,
  step,
  attempt,
  item,
  iteration,
}: ChildId): Readonly<Record<string, string>> => ({
  [labels.workflow]: workflowLabel(workflow),
  [labels.uid]: uid,
  [labels.step]: step,
  [labels.attempt]: String(attempt),
  ...(item === undefined ? {} : { [labels.item]: String(item) }),
  ...(iteration === undefined ? {} : { [labels.iteration]: String(iteration) }),
});

/** True for a workflow that a step of another one has created: it goes with that one. */
export const isChildOfStep = (workflow: Stored<Workflow>): boolean =>
  controllerOf(workflow)?.kind === Workflow.kind && workflow.metadata.labels?.[labels.step] !== undefined;
