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

/** Annotations of a Deployment that say something of itself alone. */
const notCopied: ReadonlySet<string> = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revisionAnnotation,
  revisionHistoryAnnotation,
  desiredAnnotation,
  mostAnnotation,
]);

/** The number of a template's revision; 0 when it has none. */
export const revisionOf = ({ metadata }: ReplicaSetObject | DeploymentObject): number => {
  const text = metadata.annotations?.[revisionAnnotation] ?? "";
  return /^\d+$/.test(text) ? Number(text) : 0;
};

/** The revision that the current template has among these sets: one more than all others have. */
export const nextRevision = (others: readonly ReplicaSetObject[]): number => Math.max(0, ...others.map(revisionOf)) + 1;

/**
 * The annotations of the set with the current template: the Deployment's own (`kubernetes.io/change-cause` among them, which
 * `kubectl rollout history` shows), and its revision. A set whose template came back remembers the revisions it had.
 */
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

/** What a scaled set says of the Deployment that scaled it: by it the next change of scale is told from a rollout. */
export function sizeAnnotations(deployment: DeploymentObject): Annotations {
  const { replicas = 1 } = deployment.spec;
  return { [desiredAnnotation]: `${replicas}`, [mostAnnotation]: `${replicas + rolloutBudget(deployment).surge}` };
}

/** The Deployment's replicas when it scaled this set, as the set says; undefined when it does not. */
export const desiredBefore = ({ metadata }: Stored<ReplicaSetObject>): number | undefined =>
  numberIn(metadata.annotations?.[desiredAnnotation]);

/** The most Pods the Deployment could have had then. */
export const mostBefore = ({ metadata }: Stored<ReplicaSetObject>): number | undefined =>
  numberIn(metadata.annotations?.[mostAnnotation]);

const numberIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
