import type { CountOrShare, DeploymentObject } from "../deployment-types.ts";

export interface RolloutBudget {
  readonly surge: number;
  readonly unavailable: number;
}

/** Bounds of a rolling update. Surge is rounded up, unavailability down; if both are 0, one Pod may be unavailable. */
export function rolloutBudget({ spec }: DeploymentObject): RolloutBudget {
  const { replicas = 1, strategy } = spec;
  if (strategy?.type === "Recreate") return { surge: 0, unavailable: 0 };
  const { maxSurge = "25%", maxUnavailable = "25%" } = strategy?.rollingUpdate ?? {};
  const surge = resolve(maxSurge, replicas, Math.ceil);
  const unavailable = resolve(maxUnavailable, replicas, Math.floor);
  return { surge, unavailable: Math.min(replicas, surge === 0 && unavailable === 0 ? 1 : unavailable) };
}

/** Anything but a number or a share such as `25%`, which no server stores, counts as 0. */
function resolve(value: CountOrShare, replicas: number, round: (value: number) => number): number {
  if (typeof value === "number") return value;
  const share = /^(\d+)%$/.exec(value)?.[1];
  return share === undefined ? 0 : round((Number(share) * replicas) / 100);
}
