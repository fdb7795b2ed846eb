import type { Probe } from "../pod-types.ts";

/** The three questions Kubernetes asks of a running container. */
export type ProbeKind = "startup" | "liveness" | "readiness";

/** What a probe says so far. */
export interface ProbeTally {
  readonly result: "unknown" | "success" | "failure";
  /** The newest answer and how often it has come in a row: the result follows when that reaches its threshold. */
  readonly newest: "success" | "failure" | undefined;
  readonly inARow: number;
}

/**
 * Before its first answers a container counts as alive and not ready; whether it has started is open. `wasSo`: an earlier process has
 * seen the container ready or started, which holds until the answers say otherwise.
 */
export const firstTally = (kind: ProbeKind, wasSo: boolean): ProbeTally => ({
  result: kind === "liveness" || wasSo ? "success" : kind === "readiness" ? "failure" : "unknown",
  newest: undefined,
  inARow: 0,
});

const times = (threshold: number | undefined, otherwise: number): number => threshold ?? otherwise;

/** One more answer. Pure. The thresholds are 1 success and 3 failures where the document has none. */
export function counted(tally: ProbeTally, succeeded: boolean, probe: Probe): ProbeTally {
  const newest = succeeded ? "success" : "failure";
  const inARow = tally.newest === newest ? tally.inARow + 1 : 1;
  const needed = succeeded ? times(probe.successThreshold, 1) : times(probe.failureThreshold, 3);
  return { result: inARow >= needed ? newest : tally.result, newest, inARow };
}
