import type { Stored } from "#kernel/model/index.ts";
import {
  type DeploymentObject,
  desiredAnnotation,
  mostAnnotation,
  type ReplicaSetObject,
  revisionAnnotation,
  revisionHistoryAnnotation,
} from "../deployment-types.ts";
import { rolloutBudget } from "./rollout-budget.ts";

type Annotations = Readonly<Record<string, string>>;

const notCopied: ReadonlySet<string> = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revisionAnnotation,
  revisionHistoryAnnotation,
  desiredAnnotation,
  mostAnnotation,
]);

export const revisionOf = ({ metadata }: ReplicaSetObject | DeploymentObject): number => {
  const text = metadata.annotations?.[revisionAnnotation] ?? "";
  return /^\d+$/.test(text) ? Number(text) : 0;
};

export const nextRevision = (others: readonly ReplicaSetObject[]): number => Math.max(0, ...others.map(revisionOf)) + 1;

/** The current set's annotations: the Deployment's own and the revision. A reused set remembers earlier ones. */
export function currentAnnotations(
  deployment: DeploymentObject,
  set: ReplicaSetObject | undefined,
  revision: number,
): Annotations {
  const copied = Object.entries(deployment.metadata.annotations ?? {}).filter(([name]) => !notCopied.has(name));
  const before = set === undefined ? 0 : revisionOf(set);
  const history = set?.metadata.annotations?.[revisionHistoryAnnotation] ?? "";
  const isBack = before > 0 && before < revision;
  return {
    ...set?.metadata.annotations,
    ...Object.fromEntries(copied),
    [revisionAnnotation]: String(Math.max(before, revision)),
    ...(isBack ? { [revisionHistoryAnnotation]: history === "" ? `${before}` : `${history},${before}` } : {}),
  };
}

export function sizeAnnotations(deployment: DeploymentObject): Annotations {
  const { replicas = 1 } = deployment.spec;
  return { [desiredAnnotation]: `${replicas}`, [mostAnnotation]: `${replicas + rolloutBudget(deployment).surge}` };
}

export const desiredBefore = ({ metadata }: Stored<ReplicaSetObject>): number | undefined =>
  numberIn(metadata.annotations?.[desiredAnnotation]);

export const mostBefore = ({ metadata }: Stored<ReplicaSetObject>): number | undefined =>
  numberIn(metadata.annotations?.[mostAnnotation]);

const numberIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
