import { SlipwayError } from "#lib/base/index.ts";

// Codes of failures of this folder: what can be wrong with a runtime itself, not with a task.

export const runnerUnreachable = (directory: string, cause: unknown): SlipwayError =>
  new SlipwayError("runner-unreachable", `the runner process for ${directory} cannot be reached`, {
    hint: `see ${directory}/runner.log`,
    cause,
  });

export const runnerTaken = (directory: string): SlipwayError =>
  new SlipwayError("runner-taken", `another server has taken over the runner process for ${directory}`);

export const runnerVersion = (directory: string, found: number, expected: number): SlipwayError =>
  new SlipwayError(
    "runner-version",
    `the runner process for ${directory} speaks protocol ${found}, this server speaks ${expected}`,
    { hint: "let its tasks end, then start the server again" },
  );

export const runtimeClosed = (name: string): SlipwayError =>
  new SlipwayError("runtime-closed", `the ${name} runtime has been closed`);

export const frameTooLong = (length: number, limit: number): SlipwayError =>
  new SlipwayError("frame-too-long", `a message of ${length} bytes is longer than the limit of ${limit}`);
