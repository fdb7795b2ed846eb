import { PassThrough, type Writable } from "node:stream";
import { finished } from "node:stream/promises";
import type { ExecOptions, TerminalSize } from "#kernel/kit/index.ts";

// Streams of a program elsewhere are those of this process, byte by byte: what is drawn or asked by others does not go through here. Only one program
// can have them at a time.

/** The streams of this process for a program elsewhere. */
export interface StandardStreams {
  /** As an exec takes them. `terminal` is there where the program is to have one, and `stderr` where it is not. */
  readonly streams: Pick<ExecOptions, "stdin" | "stdout" | "stderr" | "terminal">;
  /** Resolves when everything was passed on; then the terminal is as it was before, and nothing is read any more. Has to be called however the program has ended. */
  release(): Promise<void>;
}

/**
 * Lends the streams of this process to a program elsewhere. Where both ends are a terminal every key goes there, also those that would end this process,
 * and the program has a terminal of the same size; else its outputs stay apart.
 */
export function standardStreams(): StandardStreams {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) return apart();
  const sizes = new PassThrough({ objectMode: true });
  const tellSize = (): void => {
    const size: TerminalSize = { columns: stdout.columns, rows: stdout.rows };
    sizes.write(size);
  };
  const output = into(stdout);
  stdin.setRawMode(true);
  stdout.on("resize", tellSize);
  tellSize();
  return {
    streams: { stdin, stdout: output, terminal: sizes as AsyncIterable<TerminalSize> },
    async release() {
      await passedOn(output);
      stdout.off("resize", tellSize);
      sizes.end();
      stdin.setRawMode(false);
      stdin.pause();
    },
  };
}

/** Without a terminal. */
function apart(): StandardStreams {
  const { stdin } = process;
  const [stdout, stderr] = [into(process.stdout), into(process.stderr)];
  return {
    streams: { stdin, stdout, stderr },
    async release() {
      await Promise.all([stdout, stderr].map(passedOn));
      stdin.pause();
    },
  };
}

/** Who is slow to read has everything before this process ends. What was cut off is told by the exec. */
const passedOn = (output: PassThrough): Promise<void> => finished(output).catch(() => undefined);

/** A stream that may be ended without the end of the other one. */
function into(output: Writable): PassThrough {
  const passed = new PassThrough();
  passed.pipe(output, { end: false });
  return passed;
}
