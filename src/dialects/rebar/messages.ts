import type { ServerCondition } from "#kernel/dialect/index.ts";
import { type Job, zeroTime } from "./objects.ts";

// Texts that people see.

export const firstUserName = "rocketskates";
/** The original's. */
export const wellKnownPassword = "r0cketsk8ts";

export const whyNot = {
  notRunnable: (why: string) => `the machine is not Runnable: ${why}; resume it so that its agent continues`,
  unavailable: (errors: readonly string[]) => `the machine is not available: ${errors.join("; ")}`,
  agent: (context: string) =>
    context === ""
      ? "the machine's agent has not asked for the next task"
      : `no agent of context ${context} has asked for it`,
} as const;

/** Why a machine is not Runnable, as its current job tells. */
export function sinceOf(job: Job | undefined): string {
  if (job === undefined) return "someone made it so, or its boot environment changed";
  const time = job.EndTime === zeroTime ? "" : ` at ${job.EndTime}`;
  if (job.State === "incomplete")
    return `task ${job.Task} ended incomplete${job.ExitState === "complete" ? "" : ` and asked for ${job.ExitState}`}`;
  if (job.ExitState === "reboot" || job.ExitState === "poweroff" || job.ExitState === "stop")
    return `task ${job.Task} asked for ${job.ExitState}${time}`;
  return `someone made it so after task ${job.Task}${time}, or its boot environment changed`;
}

export const knownPassword = (isTrue: boolean): ServerCondition => ({
  type: "WellKnownPassword",
  isTrue,
  reason: isTrue ? "DefaultPassword" : "OwnPassword",
  message: isTrue
    ? `user ${firstUserName} has the well-known password; change it with: drpcli users password ${firstUserName} NEW`
    : `user ${firstUserName} has a password of its own`,
});

export const nothingServed = {
  serves: "drpcli and agents of Digital Rebar's machines",
  flag: "--rebar-listen",
} as const;

/** What a person pastes to use drpcli. */
export const clientHint = (address: string, file: string): string =>
  `export RS_ENDPOINT=https://${address} RS_KEY="$(cat ${file})"`;
