import type { Readable, Writable } from "node:stream";

/** How somebody wants to hold a command that is run for him. */
export interface InteractionOptions {
  /** Otherwise its standard input is empty. */
  readonly stdin: boolean;
  /** On a terminal of its own, which has one output for both streams. */
  readonly terminal: boolean;
}

/** Of a terminal, in characters. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/**
 * A command that runs beside a task for somebody who holds its streams. It is no task: it has no id and no log, nobody finds it
 * again, and what it prints is not masked. It ends by itself, with `kill`, or with this process.
 *
 * All streams have back-pressure: who does not read holds the command up.
 */
export interface Interaction {
  /** Present when it was asked for. Its end is the end of the command's input. Never throws or errors when the command does not read. */
  readonly stdin?: Writable;
  /** Of a terminal: everything. */
  readonly stdout: Readable;
  /** Absent with a terminal. */
  readonly stderr?: Readable;
  /**
   * The exit code, 128 + the signal's number where one ended it, 126 or 127 when there is no such program, which stderr says. Both outputs
   * end before or soon after it. Rejects when nobody knows.
   */
  readonly ended: Promise<number>;
  /** Without effect where there is no terminal, or the command has ended. */
  resize(size: TerminalSize): void;
  /** Ends the command with everything it has started, where the runtime can: see its README. Ended ones are no error. */
  kill(): void;
}
