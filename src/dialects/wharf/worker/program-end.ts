import { constants } from "node:os";
import type { StepEnd } from "./step-runtime.ts";

export interface ProgramEnd {
  readonly exitCode: number;
  readonly outOfMemory: boolean;
}

const commandReasons: Readonly<Record<number, readonly [string, string]>> = {
  126: ["NotExecutable", "exit code 126: a command cannot be executed"],
  127: ["NotFound", "exit code 127: a command was not found"],
};

const signals = new Map(Object.entries(constants.signals).map(([name, number]) => [128 + number, name]));

/** Engines do not report signals: exit codes above 128 count as signals. */
export function endOfLife({ exitCode, outOfMemory }: ProgramEnd, isCancelled: boolean): StepEnd {
  if (isCancelled) return { status: "Cancelled", exitCode };
  if (exitCode === 0 && !outOfMemory) return { status: "Success", exitCode };
  if (outOfMemory) return failed(exitCode, "OutOfMemory", "killed because it exceeded its memory limit");
  const [reason, message] = commandReasons[exitCode] ?? reasonOf(exitCode);
  return failed(exitCode, reason, message);
}

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
