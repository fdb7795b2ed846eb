import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#lib/base/index.ts";
import { commands } from "#app/cli/commands/index.ts";
import { connectRunning } from "#app/cli/connect.ts";
import type { Host } from "#kernel/command/index.ts";
import { environmentIn, keptOutput, type Place } from "#kernel/command/testing/index.ts";
import { execute } from "#app/cli/execute.ts";
import { host } from "#app/cli/host.ts";

/** What a command line printed and how it ended. */
export interface Finished {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface CommandLinePlace extends Place {
  /** Whose files they read; one of their own unless told, which `close` removes. */
  readonly directory?: string;
  /** The same unless told. */
  readonly home?: string;
  /** Parts of the program that are others here. */
  readonly host?: Partial<Host>;
}

/** Command lines in a directory, in this process: everything is real but the process they would be. */
export async function commandLine(place: CommandLinePlace = {}) {
  const directory = place.directory ?? (await mkdtemp(join(tmpdir(), "slipway-cli-")));
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
        environment: () => ({ ...environmentIn(directory, place, out, err), home: place.home ?? directory }),
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
        host: { ...host, ...place.host },
      });
      return { code, out: out.text(), err: err.text() };
    },
    close: async () => {
      if (place.directory === undefined) await rm(directory, { recursive: true, force: true });
    },
  };
}

export type CommandLine = Awaited<ReturnType<typeof commandLine>>;
