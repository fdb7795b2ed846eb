import { PassThrough, type Writable } from "node:stream";
import { finished } from "node:stream/promises";
import type { ExecOptions, TerminalSize } from "#kernel/kit/index.ts";

export interface StandardStreams {
  /** `terminal` is set if the program gets a terminal, `stderr` otherwise. */
  readonly streams: Pick<ExecOptions, "stdin" | "stdout" | "stderr" | "terminal">;
  /** Resolves when all output is passed on and the terminal is restored. Must be called however the program ended. */
  release(): Promise<void>;
}

/**
 * Lends the streams of this process to a remote program: with a terminal at both ends all keys go there, otherwise its
 * outputs stay separate.
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

const passedOn = (output: PassThrough): Promise<void> => finished(output).catch(() => undefined);

/** Ending the result does not end `output`. */
function into(output: Writable): PassThrough {
  const passed = new PassThrough();
  passed.pipe(output, { end: false });
  return passed;
}
