import { SlipwayError } from "#lib/base/index.ts";

// Failures of a runtime itself; a task that cannot be started is an outcome (`not-started`).

/** No runner answers and none can be started. May pass. */
export const runnerUnreachable = (directory: string, cause: unknown): SlipwayError =>
  new SlipwayError("runner-unreachable", `the runner process for ${directory} cannot be reached`, {
    hint: `see ${directory}/runner.log`,
    cause,
  });

/** The runner is stopped or stuck. May pass. */
export const runnerSilent = (directory: string, cause: unknown): SlipwayError =>
  new SlipwayError("runner-silent", `the runner process for ${directory} does not answer`, {
    hint: "resume it if it was stopped (kill -CONT), or kill it (kill -KILL): its steps are then reported as lost",
    cause,
  });

/** Final: another server owns the runner now. */
export const runnerTaken = (directory: string): SlipwayError =>
  new SlipwayError("runner-taken", `another server has taken over the runner process for ${directory}`);

/** The runner outlived an upgrade. Its tasks continue; a new one is started when they have ended. */
export const runnerVersion = (directory: string, found: number, expected: number): SlipwayError =>
  new SlipwayError(
    "runner-version",
    `the runner process for ${directory} speaks protocol ${found}, this server speaks ${expected}`,
    { hint: "steps start again when its tasks have ended" },
  );

/** A call during or after closing. */
export const runtimeClosed = (name: string): SlipwayError =>
  new SlipwayError("runtime-closed", `the ${name} runtime has been closed`);

export const frameTooLong = (length: number, limit: number): SlipwayError =>
  new SlipwayError("frame-too-long", `a message of ${length} bytes is longer than the limit of ${limit}`);

/** The disk is full, or mkfifo(1) is missing. */
export const pipesFailed = (directory: string, reason: string, cause: unknown): SlipwayError =>
  new SlipwayError("pipes-failed", `pipes for the output of steps cannot be made in ${directory}: ${reason}`, {
    cause,
  });
