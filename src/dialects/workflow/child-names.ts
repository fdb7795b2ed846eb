import { hashName } from "#lib/base/index.node.ts";
import { controllerOf, type Stored } from "#kernel/model/index.ts";
import { Workflow } from "./kinds.ts";

export interface ChildId {
  readonly workflow: string;
  readonly uid: string;
  readonly step: string;
  /** Counts from 1; for an item, its own attempts. */
  readonly attempt: number;
  readonly item?: number;
  /** Round of a loop. Attempts count on over rounds, so the name does not need it. */
  readonly iteration?: number;
}

const longestName = 63;
/** Characters of base32: 50 bits. */
const hashLength = 10;

/** `<workflow>-<step>-<hash>`, a DNS label. The hash covers the uid: a recreated workflow has other children. */
export function childName({ workflow, uid, step, attempt, item }: ChildId): string {
  const readable = `${workflow}-${step}`.toLowerCase().replaceAll(/[^a-z0-9-]/g, "-");
  const cut = readable.slice(0, longestName - hashLength - 1).replace(/-+$/, "");
  return `${cut}-${hashName([uid, step, item ?? "", 0, attempt], hashLength)}`;
}

/** Label values have 63 characters, names up to 253. */
export function workflowLabel(name: string): string {
  if (name.length <= longestName) return name;
  return `${name.slice(0, longestName - hashLength - 1)}-${hashName([name], hashLength)}`;
}

/** Labels to find children by. The uid identifies the workflow, because names are reused. */
export const labels = {
  workflow: "slipway.dev/workflow",
  uid: "slipway.dev/workflow-uid",
  step: "slipway.dev/step",
  attempt: "slipway.dev/attempt",
  item: "slipway.dev/item",
  iteration: "slipway.dev/iteration",
  depth: "slipway.dev/depth",
} as const;

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

/** A step of another workflow created it, and it goes with that one. */
export const isChildOfStep = (workflow: Stored<Workflow>): boolean =>
  controllerOf(workflow)?.kind === Workflow.kind && workflow.metadata.labels?.[labels.step] !== undefined;
