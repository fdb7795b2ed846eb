import { parseArgs } from "node:util";

export interface Options {
  /** Ids of benchmarks; all when empty. */
  readonly only: readonly string[];
  readonly isQuick: boolean;
  /** Try every benchmark once, with a hundredth of its objects and without peers. */
  readonly isSmoke: boolean;
  /** Exit 1 below a hold line; with `--quick`, when CPU per operation against the floors has grown. */
  readonly isCheck: boolean;
  /** Write a V8 CPU profile of our programs. */
  readonly isProfiling: boolean;
  /** Keep the CPU ratios to the floors as the new budgets. */
  readonly isRecording: boolean;
  /** Print the records instead of the table. */
  readonly isJson: boolean;
  readonly rounds: number;
  readonly ms: number;
}

export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      quick: { type: "boolean", default: false },
      smoke: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      profile: { type: "boolean", default: false },
      record: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      rounds: { type: "string" },
      ms: { type: "string" },
    },
  });
  const { only, quick, smoke, check, profile, record, json } = values;
  return {
    only: only === undefined ? [] : only.split(",").map((id) => id.trim()),
    isQuick: quick,
    isSmoke: smoke,
    isCheck: check,
    isProfiling: profile,
    isRecording: record,
    isJson: json,
    rounds: Number(values.rounds ?? (smoke ? 1 : quick ? 2 : 5)),
    ms: Number(values.ms ?? (smoke ? 50 : quick ? 1000 : 2000)),
  };
}
