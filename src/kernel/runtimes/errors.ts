import { SlipwayError } from "#lib/base/index.ts";

// Codes of failures of this folder: what can be wrong with a runtime itself, not with a task. A task that cannot be started is
// an outcome (`not-started`), never one of these.

/** No runner answers and none can be started, after all tries. Passes by itself when the cause does: calls may be repeated. */
export const runnerUnreachable = (directory: string, cause: unknown): SlipwayError =>
  new SlipwayError("runner-unreachable", `the runner process for ${directory} cannot be reached`, {
    hint: `see ${directory}/runner.log`,
    cause,
  });

/** The runner is there and does not answer: stopped, or stuck. Passes by itself when it answers again, or is gone. */
export const runnerSilent = (directory: string, cause: unknown): SlipwayError =>
  new SlipwayError("runner-silent", `the runner process for ${directory} does not answer`, {
    hint: "let it go on if it was stopped (kill -CONT), else end it (kill -KILL): what it runs is then reported as lost",
    cause,
  });

/** For good: another server has said hello to the runner, and two owners would give it contrary orders. */
export const runnerTaken = (directory: string): SlipwayError =>
  new SlipwayError("runner-taken", `another server has taken over the runner process for ${directory}`);

/** The runner outlived an upgrade and cannot be spoken to. Its tasks go on; when it has ended with them a new one is started. */
export const runnerVersion = (directory: string, found: number, expected: number): SlipwayError =>
  new SlipwayError(
    "runner-version",
    `the runner process for ${directory} speaks protocol ${found}, this server speaks ${expected}`,
    { hint: "nothing is started until its tasks have ended; then this server goes on by itself" },
  );

/** The caller's own mistake, or a call that was under way when the runtime was closed. */
export const runtimeClosed = (name: string): SlipwayError =>
  new SlipwayError("runtime-closed", `the ${name} runtime has been closed`);

/** A task whose command and environment are together longer than any system would take. */
export const frameTooLong = (length: number, limit: number): SlipwayError =>
  new SlipwayError("frame-too-long", `a message of ${length} bytes is longer than the limit of ${limit}`);

/** Tasks cannot be given their output: the disk is full, or mkfifo(1) is missing. */
export const pipesFailed = (directory: string, reason: string, cause: unknown): SlipwayError =>
  new SlipwayError("pipes-failed", `pipes for the output of steps cannot be made in ${directory}: ${reason}`, {
    cause,
  });
