import { parseArgs } from "node:util";

export interface Options {
  /** Ids of benchmarks; all when empty. */
  readonly only: readonly string[];
  readonly isHelp: boolean;
  readonly isQuick: boolean;
  /** Try every benchmark once, with a hundredth of its objects and without peers. */
  readonly isSmoke: boolean;
  readonly isOnlyOurs: boolean;
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

export const usage = `Usage: npm run bench -- [options]

Measures Slipway beside its peers and bare programs, prints one table and keeps the records in bench/results.

Examples:
  npm run bench                           everything, about 20 minutes
  npm run bench -- --only B1,B3b --quick  two benchmarks, 2 rounds of 1 s
  npm run bench -- --quick --check        exit 1 if CPU per operation has grown

Options:
  --only <ids>    benchmarks to run, separated by commas (see bench/README.md)
  --quick         2 rounds of 1 s instead of 5 of 2 s
  --smoke         run each benchmark once, with a hundredth of its objects and without peers
  --ours          without peers and floors
  --check         exit 1 below a hold line; with --quick, if CPU against the floors has grown
  --profile       write V8 CPU profiles to bench/results/profiles
  --record        store the CPU ratios to the floors as the new budgets
  --json          print the records instead of the table
  --rounds <n>    number of rounds
  --ms <n>        length of a round in milliseconds
  --help          print this text
`;

export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      quick: { type: "boolean", default: false },
      smoke: { type: "boolean", default: false },
      ours: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      profile: { type: "boolean", default: false },
      record: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      rounds: { type: "string" },
      ms: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const { only, quick, smoke, ours, check, profile, record, json } = values;
  return {
    only: only === undefined ? [] : only.split(",").map((id) => id.trim()),
    isHelp: values.help,
    isQuick: quick,
    isSmoke: smoke,
    isOnlyOurs: ours,
    isCheck: check,
    isProfiling: profile,
    isRecording: record,
    isJson: json,
    rounds: Number(values.rounds ?? (smoke ? 1 : quick ? 2 : 5)),
    ms: Number(values.ms ?? (smoke ? 50 : quick ? 1000 : 2000)),
  };
}
