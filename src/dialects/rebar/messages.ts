import type { ServerCondition } from "#kernel/dialect/index.ts";

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
