import { constants } from "node:os";
import { type Instant, isJsonObject, type JsonObject, type Millis, parseInstant } from "#lib/base/index.ts";
import { withoutValues } from "#kernel/streams/index.ts";
import type { TaskOutcome } from "../contract.ts";
import { maskedIn } from "./output.ts";

export interface ContainerLife {
  readonly status: "created" | "running" | "paused" | "restarting" | "removing" | "exited" | "dead";
  readonly isRunning: boolean;
  readonly exitCode: number;
  readonly outOfMemory: boolean;
  readonly isMemoryLimited: boolean;
  /** Why it could not be started; mostly empty. */
  readonly error: string;
  /** Before any output; programs may print before the engine notes their start. */
  readonly createdAt: Instant | undefined;
  /** Undefined if it was never started. */
  readonly startedAt: Instant | undefined;
  readonly finishedAt: Instant | undefined;
}

/** Missing members count as never having happened. */
export function lifeOf(container: JsonObject): ContainerLife {
  const state = isJsonObject(container["State"]) ? container["State"] : {};
  const host = isJsonObject(container["HostConfig"]) ? container["HostConfig"] : {};
  const text = (name: string) => (typeof state[name] === "string" ? state[name] : "");
  return {
    status: text("Status") as ContainerLife["status"],
    isRunning: state["Running"] === true,
    exitCode: typeof state["ExitCode"] === "number" ? state["ExitCode"] : 0,
    outOfMemory: state["OOMKilled"] === true,
    isMemoryLimited: Number(host["Memory"] ?? 0) > 0,
    error: withoutValues(text("Error"), maskedIn(container)),
    createdAt: typeof container["Created"] === "string" ? timeOf(container["Created"]) : undefined,
    startedAt: timeOf(text("StartedAt")),
    finishedAt: timeOf(text("FinishedAt")),
  };
}

/** The kernel may have killed it for its use of memory without the engine knowing yet. */
export const mayHaveRunOutOfMemory = ({ exitCode, outOfMemory, isMemoryLimited }: ContainerLife): boolean =>
  exitCode === 137 && isMemoryLimited && !outOfMemory;

/** An engine begins to listen for the kernel's report after the start, on a busy machine a while later. */
const deafFor: Millis = 1_000;

/** Whether a container ended before the engine surely listened: running out of memory is then the likely cause. */
export const endedUnheard = ({ startedAt, finishedAt }: ContainerLife): boolean =>
  startedAt !== undefined && finishedAt !== undefined && finishedAt - startedAt < deafFor;

/** The engine writes the year 1 for never. */
function timeOf(text: string): Instant | undefined {
  const at = parseInstant(text.replace(/(\.\d{3})\d*/, "$1"));
  return at === undefined || at <= 0 ? undefined : at;
}

const longestMessage = 1_024;

/** The code is what a shell would use, judged by the engine's words. */
export function notStarted(message: string, finishedAt: Instant): TaskOutcome {
  const text = message.length > longestMessage ? `${message.slice(0, longestMessage)}…` : message;
  return { kind: "not-started", code: startCode(message), message: text, finishedAt };
}

function startCode(message: string): number {
  if (/executable file not found|no such file or directory/i.test(message)) return 127;
  return /permission denied|is a directory|exec format error/i.test(message) ? 126 : 128;
}

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [128 + number, name]));

/** The end of a container. A code above 128 that reads like a signal counts as one. `now` replaces missing times. */
export function outcomeOf(life: ContainerLife, now: Instant, note?: string): TaskOutcome {
  const finishedAt = life.finishedAt ?? now;
  if (life.startedAt === undefined) return notStarted(life.error || "it was never started", finishedAt);
  const signal = signalNames.get(life.exitCode);
  return {
    kind: "exited",
    code: life.exitCode,
    ...(signal === undefined ? {} : { signal }),
    startedAt: life.startedAt,
    // The clock may have been set back.
    finishedAt: Math.max(life.startedAt, finishedAt),
    ...(note === undefined ? {} : { note }),
    ...(life.outOfMemory ? { outOfMemory: true as const } : {}),
  };
}
