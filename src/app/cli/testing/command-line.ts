import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { commands } from "../commands/index.ts";
import { connectRunning } from "../connect.ts";
import type { Environment, Output } from "../environment.ts";
import { execute } from "../execute.ts";

/** What a command line printed and how it ended. */
export interface Finished {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** What a test decides about where its command lines run. */
export interface Place {
  /** The running control plane; none unless told. */
  readonly client?: ApiClient;
  readonly variables?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  /** Both streams are this terminal; they are none unless told. */
  readonly terminal?: Partial<Output>;
}

/** An output that keeps what is written to it. */
export function keptOutput(terminal: Partial<Output> = {}): Output & { text(): string } {
  let text = "";
  return {
    isTerminal: false,
    columns: 80,
    rows: 24,
    color: false,
    unicode: true,
    backlog: 0,
    ...terminal,
    write: (more) => {
      text += more;
    },
    text: () => text,
  };
}

/** Surroundings of a command in a directory, which is also the user's home. */
export function environmentIn(
  directory: string,
  place: Place = {},
  out = keptOutput(),
  err = keptOutput(),
): Environment {
  const { variables = {} } = place;
  return { variable: (name) => variables[name], all: variables, home: directory, directory, out, err };
}

/** Time that passes as fast as somebody waits for it. */
export function rushedClock(): Clock {
  let passed = 0;
  return {
    now: () => Date.UTC(2026, 0, 1) + passed,
    monotonic: () => passed,
    after(delay, run) {
      const due = setImmediate(() => {
        passed += delay;
        run();
      });
      return () => clearImmediate(due);
    },
  };
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
      });
      return { code, out: out.text(), err: err.text() };
    },
    close: () => rm(directory, { recursive: true, force: true }),
  };
}

export type CommandLine = Awaited<ReturnType<typeof commandLine>>;
