import { constants } from "node:os";
import type { StepEnd } from "./step-runtime.ts";

/** How a container has ended, as engines and clusters tell it. */
export interface ProgramEnd {
  readonly exitCode: number;
  readonly outOfMemory: boolean;
}

/** Shells say these of a command; an engine says them of the program that a container begins with. */
const commandReasons: Readonly<Record<number, readonly [string, string]>> = {
  126: ["NotExecutable", "exit code 126: a command cannot be executed"],
  127: ["NotFound", "exit code 127: a command was not found"],
};

const signals = new Map(Object.entries(constants.signals).map(([name, number]) => [128 + number, name]));

/** Nobody tells the signals of containers: a code that reads like one counts as one. */
export function endOfLife({ exitCode, outOfMemory }: ProgramEnd, isCancelled: boolean): StepEnd {
  if (isCancelled) return { status: "Cancelled", exitCode };
  if (exitCode === 0 && !outOfMemory) return { status: "Success", exitCode };
  if (outOfMemory) return failed(exitCode, "OutOfMemory", "killed because it used more memory than it may");
  const [reason, message] = commandReasons[exitCode] ?? reasonOf(exitCode);
  return failed(exitCode, reason, message);
}

/** Codes that no signal has are the program's own. */
function reasonOf(exitCode: number): readonly [string, string] {
  const signal = signals.get(exitCode);
  return signal === undefined ? ["ExitCode", `exit code ${exitCode}`] : ["Signal", `killed by ${signal}`];
}

const failed = (exitCode: number | null, reason: string, message: string): StepEnd => ({
  status: "Failed",
  exitCode,
  reason,
  message,
});
