import { command, exitCode, printProblems, readParams } from "#kernel/command/index.ts";

interface SimulateOptions {
  readonly param?: string[];
  readonly fail?: string[];
  readonly reject?: string[];
  readonly seed?: number;
  readonly output?: "json";
}

/**
 * Runs the engine in virtual time, without a server. Simulates the runs one after another and exits with the worst
 * code.
 */
export const simulateCommand = command<SimulateOptions>({
  name: "simulate",
  args: ["<files...>"],
  summary: "Simulate a document in virtual time, without running anything",
  group: "Documents",
  examples: [
    "slipway simulate examples/workflow/diamond.yaml --seed 7",
    "slipway simulate examples/workflow/fan-out.yaml --fail probe[3]:1",
    "slipway simulate examples/workflow/hello.yaml --param name=you -o json",
  ],
  options: [
    { flags: "-p, --param <name=value>", summary: "argument of the run; may be repeated", repeatable: true },
    {
      flags: "--fail <step[:n]>",
      summary: "fail a step, or its first n attempts; step[3] is an item of a fan-out",
      repeatable: true,
    },
    { flags: "--reject <step>", summary: "reject the approval of this step", repeatable: true },
    { flags: "--seed <n>", summary: "seed for durations of 1 to 60 seconds (default: 1 second each)", integer: true },
    { flags: "-o, --output <format>", summary: "json", choices: ["json"] },
  ],
  completes: ["file"],
  async action({ rest, options, environment, clock }) {
    const { readDocuments } = await import("#app/runs/index.ts");
    const { simulateRun, trialsOf } = await import("../simulation.ts");
    const { simulationText } = await import("../output/simulation-text.ts");
    const { directory, out, err } = environment;
    const params = readParams(options.param ?? []);
    const read = await readDocuments(rest, { directory, arguments: params.values });
    if (printProblems([...params.problems, ...read.problems], err)) return exitCode.usage;
    const trials = await trialsOf(read);
    if (!trials.ok) {
      printProblems(trials.error, err);
      return exitCode.usage;
    }
    const wishes = { fail: options.fail ?? [], reject: options.reject ?? [], seed: options.seed };
    const tried = trials.value.map((trial) => simulateRun(trial, wishes, clock.now()));
    for (const run of tried)
      out.write(options.output === "json" ? `${JSON.stringify(run, null, 2)}\n` : simulationText(run));
    return Math.max(...tried.map((run) => run.exitCode));
  },
});
