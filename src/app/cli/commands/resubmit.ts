import { command, exitCode, type Invocation, printProblems, readParams, withSession } from "#kernel/command/index.ts";
import type { RunOptions } from "../run-options.ts";

interface ResubmitOptions extends Pick<RunOptions, "param" | "detach" | "logs" | "tail" | "output"> {
  /** Refused for dialects that cannot take over results. */
  readonly reuse?: boolean;
}

/** Creates a new run with the specification of an earlier one; exits with its code. */
export const resubmitCommand = command<ResubmitOptions>({
  name: "resubmit",
  args: ["<run...>"],
  shown: ["<run>"],
  summary: "Start a new run of the same specification",
  group: "Runs",
  examples: ["slipway resubmit diamond", "slipway resubmit workflow/diamond --reuse --detach"],
  options: [
    { flags: "--reuse", summary: "skip succeeded steps whose definition and inputs are unchanged" },
    { flags: "-p, --param <name=value>", summary: "another argument; may be repeated", repeatable: true },
    { flags: "--detach", summary: "return without waiting" },
    { flags: "--logs", summary: "print the output of steps as it arrives" },
    {
      flags: "--tail <lines>",
      summary: "lines to show of each failed step, and of a workflow's only step",
      integer: true,
      initial: 20,
    },
    { flags: "-o, --output <format>", summary: "print the run at its end: json", choices: ["json"] },
  ],
  completes: ["run"],
  async action(invocation: Invocation<ResubmitOptions>) {
    const { abilityOf, readRun } = await import("../runs.ts");
    const { fetchReferred } = await import("../referred-documents.ts");
    const { watchToEnd } = await import("../watch-to-end.ts");
    const { environment, options, rest } = invocation;
    const params = readParams(options.param ?? []);
    return await withSession(invocation, async ({ client, namespace }) => {
      const found = await readRun({ client, namespace }, rest, { alone: "resubmit" });
      const { type, dialect, object: former } = found;
      const again = abilityOf(dialect, "resubmission", "resubmitted")(former, { reuse: options.reuse === true });
      const source = { value: JSON.parse(JSON.stringify(again)), positionOf: () => ({ line: 1, column: 1 }) };
      const referred = await fetchReferred(dialect.documents.references(source), { client, namespace });
      const beside = referred.filter((object) => object !== undefined);
      const read = dialect.documents.read(source, { arguments: params.values, beside });
      const problems = [...params.problems, ...read.problems.map(({ position: _none, ...problem }) => problem)];
      if (printProblems(problems, environment.err) || read.object === undefined) return exitCode.usage;
      const stored = await client.create(type, read.object);
      if (options.detach === true) {
        const { tellCreated } = await import("../run-documents.ts");
        tellCreated(stored, options.output, environment);
        return exitCode.succeeded;
      }
      environment.err.write(`slipway: this run is ${stored.metadata.name}\n`);
      const started = { stored, type, dialect, isAlone: false };
      return await watchToEnd(client, started, invocation, true);
    });
  },
});
