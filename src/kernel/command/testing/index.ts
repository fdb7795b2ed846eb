import type { Clock } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { Environment, Output } from "../environment.ts";

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
