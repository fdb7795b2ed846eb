import type { Probe } from "../pod-types.ts";

export type ProbeKind = "startup" | "liveness" | "readiness";

export interface ProbeTally {
  readonly result: "unknown" | "success" | "failure";
  /** The latest answer and how often in a row it came. */
  readonly newest: "success" | "failure" | undefined;
  readonly inARow: number;
}

/** Before any answer a container is alive, not ready and not started. `wasSo`: it was, for an earlier process. */
export const firstTally = (kind: ProbeKind, wasSo: boolean): ProbeTally => ({
  result: kind === "liveness" || wasSo ? "success" : kind === "readiness" ? "failure" : "unknown",
  newest: undefined,
  inARow: 0,
});

const times = (threshold: number | undefined, otherwise: number): number => threshold ?? otherwise;

/** Adds one answer. Pure. */
export function counted(tally: ProbeTally, succeeded: boolean, probe: Probe): ProbeTally {
  const newest = succeeded ? "success" : "failure";
  const inARow = tally.newest === newest ? tally.inARow + 1 : 1;
  const needed = succeeded ? times(probe.successThreshold, 1) : times(probe.failureThreshold, 3);
  return { result: inARow >= needed ? newest : tally.result, newest, inARow };
}
