import type { Readable, Writable } from "node:stream";

export interface InteractionOptions {
  /** Otherwise its standard input is empty. */
  readonly stdin: boolean;
  /** Run it on a terminal, with one output for both streams. */
  readonly terminal: boolean;
}

/** In characters. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/**
 * A command beside a task, with its streams held by the caller. It has no id and no log, cannot be found again, and is
 * not masked. It ends by itself, with `kill`, or with this process. All streams have back-pressure.
 */
export interface Interaction {
  /** Its end is the end of the command's input. Never errors if the command does not read. */
  readonly stdin?: Writable;
  /** On a terminal: both outputs. */
  readonly stdout: Readable;
  /** Absent on a terminal. */
  readonly stderr?: Readable;
  /** The exit code: 128 + signal, 126 or 127 for a missing program. Outputs end soon after. Rejects if unknown. */
  readonly ended: Promise<number>;
  /** No effect without a terminal or after the end. */
  resize(size: TerminalSize): void;
  /** Ends the command and its children, if the runtime can. May be called after the end. */
  kill(): void;
}
