import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#lib/base/index.ts";
import { commands } from "#app/cli/commands/index.ts";
import { connectRunning } from "#app/cli/connect.ts";
import { environmentIn, keptOutput, type Place } from "#kernel/command/testing/index.ts";
import { execute } from "#app/cli/execute.ts";
import { host } from "#app/cli/host.ts";

/** What a command line printed and how it ended. */
export interface Finished {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Command lines in a directory of their own, in this process: everything is real but the process they would be. */
export async function commandLine(place: Place = {}) {
  const directory = await mkdtemp(join(tmpdir(), "slipway-cli-"));
  const { client, clock = systemClock, signal = new AbortController().signal } = place;
  let written = "";
  let notice: () => void = () => undefined;
  const tapped = (output: ReturnType<typeof keptOutput>): ReturnType<typeof keptOutput> => ({
    ...output,
    write(text) {
      output.write(text);
      written += text;
      notice();
    },
  });
  return {
    directory,
    /** Resolves once what all command lines together have written so far meets the test. */
    until: (test: (text: string) => boolean): Promise<void> =>
      new Promise((resolve) => {
        notice = () => {
          if (test(written)) resolve();
        };
        notice();
      }),
    /** Carries out one command line of these words. */
    async run(...args: readonly string[]): Promise<Finished> {
      const [out, err] = [tapped(keptOutput(place.terminal)), tapped(keptOutput(place.terminal))];
      const code = await execute(args, commands, "0.0.0-test", {
        environment: () => environmentIn(directory, place, out, err),
        clock,
        signal,
        process: {
          outliveOutputs: () => undefined,
          takeOver: (told) => signal.addEventListener("abort", () => told("SIGTERM"), { once: true }),
          exit: () => undefined,
        },
        connect: (options, environment) =>
          client === undefined
            ? connectRunning(options, environment, clock)
            : Promise.resolve({
                client,
                namespace: options.namespace ?? "default",
                close: () => Promise.resolve(),
              }),
        host,
      });
      return { code, out: out.text(), err: err.text() };
    },
    close: () => rm(directory, { recursive: true, force: true }),
  };
}

export type CommandLine = Awaited<ReturnType<typeof commandLine>>;
