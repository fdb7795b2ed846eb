import type { CountOrShare, DeploymentObject } from "../deployment-types.ts";

/** How far a rolling update may stray from the wanted number of Pods. */
export interface RolloutBudget {
  /** More Pods than wanted, while there are old and new ones. */
  readonly surge: number;
  /** Fewer available Pods than wanted. */
  readonly unavailable: number;
}

/**
 * The bounds of a Deployment's updates. Shares of surge are rounded up, those of unavailability down, as Kubernetes rounds them;
 * when both come to nothing one Pod may be missing, or nothing could ever move. Recreate ends all Pods first: no surge, and
 * whatever is missing is missing.
 */
export function rolloutBudget({ spec }: DeploymentObject): RolloutBudget {
  const { replicas = 1, strategy } = spec;
  if (strategy?.type === "Recreate") return { surge: 0, unavailable: 0 };
  const { maxSurge = "25%", maxUnavailable = "25%" } = strategy?.rollingUpdate ?? {};
  const surge = resolve(maxSurge, replicas, Math.ceil);
  const unavailable = resolve(maxUnavailable, replicas, Math.floor);
  return { surge, unavailable: Math.min(replicas, surge === 0 && unavailable === 0 ? 1 : unavailable) };
}

/** `3` is three, `"25%"` a share of the replicas; what is neither, which no server stores, is nothing. */
function resolve(value: CountOrShare, replicas: number, round: (value: number) => number): number {
  if (typeof value === "number") return value;
  const share = /^(\d+)%$/.exec(value)?.[1];
  return share === undefined ? 0 : round((Number(share) * replicas) / 100);
}
