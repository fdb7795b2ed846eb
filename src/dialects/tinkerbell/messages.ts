import type { ServerCondition } from "#kernel/dialect/index.ts";
import type { Millis } from "#lib/base/index.ts";

// All messages users see, to be compared with the original's.

/** Holds a prepared workflow until it has ended. */
export const finalizer = "slipway.dev/tinkerbell";

/** A new value requests another rendering. */
export const rerenderAnnotation = "slipway.dev/rerender";

export const rerenderedCondition = "Rerendered";

const units = [
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
] as const;

function partsOf(millis: Millis): readonly string[] {
  let rest = Math.max(0, Math.round(millis));
  const parts: string[] = [];
  for (const [unit, size] of units) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts;
}

/** `1m30s`, `2m`, `1s500ms`: exact, as in configuration. */
const formatDuration = (millis: Millis): string => partsOf(millis).join("") || "0s";

/** The two largest non-zero units: `1h2m`, `3s45ms`. */
export const formatElapsed = (millis: Millis): string => partsOf(millis).slice(0, 2).join("") || "0ms";

export const failures = {
  action: (name: string, message: string) => `action "${name}" failed: ${message}`,
  scheduled: (agent: string, limit: Millis) =>
    `agent ${agent} did not start the workflow within ${formatDuration(limit)} of dispatch`,
  workflowTimeout: (limit: Millis, action: string) =>
    `workflow exceeded its timeout of ${formatDuration(limit)} while action "${action}" was running`,
  actionTimeout: (name: string, limit: Millis) => `action "${name}" exceeded its timeout of ${formatDuration(limit)}`,
  canceled: (by: string) => `canceled by ${by}`,
  finishedBefore: "all actions had already finished",
  cancelTimeout: (agent: string, limit: Millis) =>
    `agent ${agent} did not confirm cancellation within ${formatDuration(limit)}; the action may still be running`,
  interrupted: (name: string, times: number) =>
    `action "${name}" was interrupted ${times} ${times === 1 ? "time" : "times"} (agent restarted)`,
  startedByOther: (name: string, { agentID, protocol }: { readonly agentID: string; readonly protocol: string }) =>
    `agent ${agentID} connected by the ${protocol} protocol while action "${name}", which it started by another one, is running; ` +
    "if the program that runs it is gone, cancel the workflow and retry it",
  agentLost: (agent: string, limit: Millis) => `agent ${agent} has been unreachable for ${formatDuration(limit)}`,
} as const;

export interface Notice {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

export const notice = (reason: string, message: string): Notice => ({ type: "Normal", reason, message });
export const warning = (reason: string, message: string): Notice => ({ type: "Warning", reason, message });

/** Reports that anyone may pose as an agent. */
const insecure = (isTrue: boolean, reason: string, message: string): ServerCondition => ({
  type: "InsecureAgents",
  isTrue,
  reason,
  message,
});

export const agentsUnserved: ServerCondition = insecure(false, "NotServed", "no agents of Tinkerbell are served");

export const insecureAgents = (address: string, isOpenToAll: boolean): ServerCondition =>
  isOpenToAll
    ? insecure(
        true,
        "NoAuthentication",
        `every user who reaches ${address} may act as any agent: --tink-anonymous-auth`,
      )
    : insecure(false, "Trusted", `agents at ${address} present a token or a certificate`);
