import type { ExitState, JobState } from "../objects.ts";

/** How a job ended, and what its last script asks of the agent. */
export interface JobEnding {
  readonly state: Extract<JobState, "finished" | "incomplete" | "failed">;
  readonly asks?: "reboot" | "poweroff" | "stop";
}

const failed: JobEnding = { state: "failed" };

/** Bits: 16 stop, 32 power off, 64 reboot, 128 incomplete. At most one of the first three. */
const sane: ReadonlyMap<number, JobEnding> = new Map([
  [0, { state: "finished" }],
  [16, { state: "finished", asks: "stop" }],
  [32, { state: "finished", asks: "poweroff" }],
  [64, { state: "finished", asks: "reboot" }],
  [128, { state: "incomplete" }],
  [144, { state: "incomplete", asks: "stop" }],
  [160, { state: "incomplete", asks: "poweroff" }],
  [192, { state: "incomplete", asks: "reboot" }],
]);

const original: ReadonlyMap<number, JobEnding> = new Map([
  [0, { state: "finished" }],
  [1, { state: "finished", asks: "reboot" }],
  [2, { state: "incomplete" }],
  [3, { state: "incomplete", asks: "reboot" }],
]);

/** What an exit code of a script means. Codes by signals are failures, too. */
export const endingOfCode = (code: number, isSane: boolean): JobEnding =>
  (isSane ? sane : original).get(code) ?? failed;

/** Undefined: the next action runs. A script that asks for something before the last action leaves work undone. */
export function endingAfter(ending: JobEnding, isLast: boolean): JobEnding | undefined {
  if (ending.asks !== undefined) return isLast ? ending : { ...ending, state: "incomplete" };
  return ending.state === "finished" && !isLast ? undefined : ending;
}

export const exitStateOf = ({ state, asks }: JobEnding): ExitState =>
  asks ?? (state === "failed" ? "failed" : "complete");
