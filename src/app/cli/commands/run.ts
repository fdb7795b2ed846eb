import { command, type Invocation } from "../command.ts";
import type { ReadDocuments } from "../documents.ts";
import { exitCode, UsageError } from "../exit-codes.ts";

/** Options of `slipway run`, as commander gives them; absent flags were not given. */
export interface RunOptions {
  readonly param?: string[];
  readonly ephemeral?: boolean;
  readonly detach?: boolean;
  readonly logs?: boolean;
  /** The object of every run at its end, on stdout, as the server has it. */
  readonly output?: "json" | "yaml";
  /** Nothing is created; what would be is printed. */
  readonly dryRun?: boolean;
  /** Only this step and what it depends on. */
  readonly target?: string;
  /** 0 shows nothing of failed steps. */
  readonly tail: number;
  /** Of a control plane of its own; a running one has chosen already. */
  readonly runtime: "process" | "docker";
}

/**
 * Nothing is started unless all documents of the command line are right and the parameters are pairs. Ends with the
 * worst exit code of its runs. The documents are read before anything of the server is loaded, so that mistakes are
 * answered at once.
 */
export const runCommand = command<RunOptions>({
  name: "run",
  args: ["<files...>"],
  summary: "Carry documents to their end and show it live",
  group: "Runs",
  examples: [
    "slipway run examples/workflow/hello.yaml --param name=you",
    "slipway run --ephemeral examples/workflow/release/release.yaml",
    "slipway run --dry-run examples/workflow/fan-out.yaml",
    "slipway run --ephemeral examples/workflow/diamond.yaml --target two",
  ],
  options: [
    { flags: "-p, --param <name=value>", summary: "an argument of the run; may be repeated", repeatable: true },
    { flags: "--ephemeral", summary: "on a control plane of its own, even when one is running" },
    { flags: "--detach", summary: "do not wait for the end (needs a running control plane)" },
    { flags: "--logs", summary: "print what the steps write as it comes" },
    { flags: "--tail <lines>", summary: "lines shown of every failed step", integer: true, initial: 20 },
    {
      flags: "--runtime <name>",
      summary: "where steps run on a control plane of its own: as you, or in containers of the Docker Engine",
      choices: ["process", "docker"],
      initial: "process",
    },
    { flags: "--target <step>", summary: "only this step and those it depends on, without final steps" },
    { flags: "--dry-run", summary: "print what would be created, in order, and create nothing" },
    {
      flags: "-o, --output <format>",
      summary: "print the run at its end as json; with --dry-run json or yaml",
      choices: ["json", "yaml"],
    },
  ],
  completes: ["file"],
  async action(invocation: Invocation<RunOptions>) {
    const { readDocuments, readParams } = await import("../documents.ts");
    const { printProblems } = await import("../output/problems.ts");
    const { readStdin } = await import("../stdin.ts");
    const { rest, options, environment } = invocation;
    const { directory, err } = environment;
    const params = readParams(options.param ?? []);
    const whole = await readDocuments(rest, { directory, arguments: params.values, stdin: readStdin });
    if (printProblems([...params.problems, ...whole.problems], err)) return exitCode.usage;
    const read = options.target === undefined ? whole : (await import("../target.ts")).upTo(whole, options.target);
    if (options.dryRun === true) return await dryRun(read, invocation);
    if (options.output === "yaml")
      throw new UsageError("-o yaml is for --dry-run; the end of a run is printed as json");
    const { runDocuments } = await import("../run-documents.ts");
    return await runDocuments(read, params.values, invocation);
  },
});

/** Yaml unless told otherwise: it can be read, and holds why something cannot be told. */
async function dryRun(read: ReadDocuments, { options, environment, clock }: Invocation<RunOptions>): Promise<number> {
  const { trialsOf } = await import("../simulation.ts");
  const { dryRunText } = await import("../dry-run.ts");
  const { printProblems } = await import("../output/problems.ts");
  const trials = await trialsOf(read);
  if (!trials.ok) {
    printProblems(trials.error, environment.err);
    return exitCode.usage;
  }
  environment.out.write(dryRunText(read, trials.value, options.output ?? "yaml", clock.now()));
  return exitCode.succeeded;
}
