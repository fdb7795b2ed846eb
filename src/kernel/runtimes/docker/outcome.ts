import { constants } from "node:os";
import { type Instant, isJsonObject, type JsonObject, type Millis, parseInstant } from "#lib/base/index.ts";
import { withoutValues } from "#kernel/logs/index.ts";
import type { TaskOutcome } from "../contract.ts";
import { maskedIn } from "./output.ts";

/** What `GET /containers/<id>/json` says of a container's life; its own words, typed. */
export interface ContainerLife {
  readonly status: "created" | "running" | "paused" | "restarting" | "removing" | "exited" | "dead";
  readonly isRunning: boolean;
  readonly exitCode: number;
  readonly outOfMemory: boolean;
  /** It has a limit of its own, beyond which the kernel kills it. */
  readonly isMemoryLimited: boolean;
  /** Why it could not be started, or what else went wrong; empty mostly. */
  readonly error: string;
  /** Before anything that it has printed; the engine notes its start when that has been answered, and programs may have printed by then. */
  readonly createdAt: Instant | undefined;
  /** Undefined while it was never started. */
  readonly startedAt: Instant | undefined;
  readonly finishedAt: Instant | undefined;
}

/** Reads the `State` of an inspected container. What is missing counts as never having happened. */
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

/** The kernel may have killed it for its use of memory, though the engine does not say so: it hears of it by another way than of the end. */
export const mayHaveRunOutOfMemory = ({ exitCode, outOfMemory, isMemoryLimited }: ContainerLife): boolean =>
  exitCode === 137 && isMemoryLimited && !outOfMemory;

/** An engine begins to listen for the kernel's word after the start; on a busy machine that takes a while. */
const deafFor: Millis = 1_000;

/**
 * Of a container that may have run out of memory and that nobody has killed: whether it ended before the engine can be relied on to have
 * listened. Then the kernel is the likely one, for a program that wants too much does so at once.
 */
export const endedUnheard = ({ startedAt, finishedAt }: ContainerLife): boolean =>
  startedAt !== undefined && finishedAt !== undefined && finishedAt - startedAt < deafFor;

/** The engine writes the year 1 for what has not happened. */
function timeOf(text: string): Instant | undefined {
  const at = parseInstant(text.replace(/(\.\d{3})\d*/, "$1"));
  return at === undefined || at <= 0 ? undefined : at;
}

/** What is told of a start that failed is kept and sent around. */
const longestMessage = 1_024;

/** A container that could not be started. The code is what a shell would say, as far as the engine's words tell. */
export function notStarted(message: string, finishedAt: Instant): TaskOutcome {
  const text = message.length > longestMessage ? `${message.slice(0, longestMessage)}…` : message;
  return { kind: "not-started", code: startCode(message), message: text, finishedAt };
}

function startCode(message: string): number {
  if (/executable file not found|no such file or directory/i.test(message)) return 127;
  return /permission denied|is a directory|exec format error/i.test(message) ? 126 : 128;
}

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [128 + number, name]));

/**
 * How a container that is not running any more has ended. The engine tells no signals: a code above 128 that reads like one counts as
 * one, also where the program has chosen the code itself. `now` stands for times that the engine has not written.
 */
export function outcomeOf(life: ContainerLife, now: Instant, note?: string): TaskOutcome {
  const finishedAt = life.finishedAt ?? now;
  if (life.startedAt === undefined) return notStarted(life.error || "it was never started", finishedAt);
  const signal = signalNames.get(life.exitCode);
  return {
    kind: "exited",
    code: life.exitCode,
    ...(signal === undefined ? {} : { signal }),
    startedAt: life.startedAt,
    // A machine whose clock was set back in between.
    finishedAt: Math.max(life.startedAt, finishedAt),
    ...(note === undefined ? {} : { note }),
    ...(life.outOfMemory ? { outOfMemory: true as const } : {}),
  };
}
