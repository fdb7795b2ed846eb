import { command, type Invocation } from "../command.ts";
import type { ReadDocuments } from "../documents.ts";
import { exitCode, UsageError } from "../exit-codes.ts";

/** Options of `slipway run`, as commander gives them; absent flags were not given. */
export interface RunOptions {
  readonly param?: string[];
  /** The same, in the word of templates. */
  readonly set?: string[];
  /** A file with the machine for templates, or the name of one. */
  readonly hardware?: string;
  /** Who carries the run out, and connects from outside; else agents of our own do. */
  readonly agent?: string;
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
  readonly runtime: "process" | "host" | "docker";
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
    "slipway run --ephemeral examples/tinkerbell/template.yaml --set device_1=local",
  ],
  options: [
    { flags: "-p, --param <name=value>", summary: "an argument of the run; may be repeated", repeatable: true },
    { flags: "--set <name=value>", summary: "the same, for values of a template; may be repeated", repeatable: true },
    { flags: "--hardware <name>", summary: "the Hardware that a Template is run for, or a file with it" },
    {
      flags: "--agent <id>",
      summary: "wait for this agent of Tinkerbell instead of being it (at 127.0.0.1:42113, or $SLIPWAY_TINK_LISTEN)",
    },
    { flags: "--ephemeral", summary: "on a control plane of its own, even when one is running" },
    { flags: "--detach", summary: "do not wait for the end (needs a running control plane)" },
    { flags: "--logs", summary: "print what the steps write as it comes" },
    { flags: "--tail <lines>", summary: "lines shown of every failed step", integer: true, initial: 20 },
    {
      flags: "--runtime <name>",
      summary: "where steps run on a control plane of its own: as you (process, host), or in containers (docker)",
      choices: ["process", "host", "docker"],
      initial: "process",
    },
    { flags: "--target <step>", summary: "only this step and those it depends on, without final steps" },
    { flags: "--dry-run", summary: "print what would be created or carried out, in order, and do nothing" },
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
    const { hasRun, runDocuments } = await import("../run-documents.ts");
    const { rest, options, environment } = invocation;
    const { directory, err } = environment;
    const [params, set] = [readParams(options.param ?? []), readParams(options.set ?? [], "--set")];
    const values = { ...params.values, ...set.values };
    const hardware = await readHardware(options.hardware, directory);
    const files = hardware?.is === "file" ? [...rest, hardware.path] : rest;
    const read = await readDocuments(files, { directory, arguments: values, stdin: readStdin });
    const { withImpliedRuns } = await import("../implied-runs.ts");
    const named = hardware?.is === "name" ? { hardware: hardware.name } : {};
    const complete = hasRun(read) ? read : withImpliedRuns(read, { arguments: values, ...named });
    if (printProblems([...params.problems, ...set.problems, ...complete.problems], err)) return exitCode.usage;
    const { target } = options;
    const whole = target === undefined ? complete : (await import("../target.ts")).upTo(complete, target);
    if (options.dryRun === true) return await dryRun(whole, invocation);
    if (options.output === "yaml")
      throw new UsageError("-o yaml is for --dry-run; the end of a run is printed as json");
    return await runDocuments(whole, values, invocation);
  },
});

/** A file where there is one, else a name. */
async function readHardware(given: string | undefined, directory: string) {
  if (given === undefined) return undefined;
  const path = await import("node:path");
  const { stat } = await import("node:fs/promises");
  const isFile = await stat(path.resolve(directory, given)).then(
    () => true,
    () => false,
  );
  return isFile ? ({ is: "file", path: given } as const) : ({ is: "name", name: given } as const);
}

/** Yaml unless told otherwise: it can be read, and holds why something cannot be told. Plans for agents are text unless told otherwise. */
async function dryRun(read: ReadDocuments, invocation: Invocation<RunOptions>): Promise<number> {
  const { options, environment, clock } = invocation;
  const { trialsOf } = await import("../simulation.ts");
  const { dryRunText } = await import("../dry-run.ts");
  const { printProblems } = await import("../output/problems.ts");
  const { previewsText, runPreviews } = await import("../run-previews.ts");
  const previews = await runPreviews(read, invocation);
  if (previews !== undefined) {
    environment.out.write(await previewsText(previews, options.output));
    return printProblems(previews.problems, environment.err) ? exitCode.usage : exitCode.succeeded;
  }
  const trials = await trialsOf(read);
  if (!trials.ok) {
    printProblems(trials.error, environment.err);
    return exitCode.usage;
  }
  environment.out.write(dryRunText(read, trials.value, options.output ?? "yaml", clock.now()));
  return exitCode.succeeded;
}
