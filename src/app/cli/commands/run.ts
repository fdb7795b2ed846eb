import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { command, exitCode, type Invocation, printProblems, readParams, UsageError } from "#kernel/command/index.ts";
import type { ReadDocuments } from "#app/runs/index.ts";
import { dialects } from "#dialects/index.ts";
import type { Projects } from "#kernel/dialect/index.ts";
import type { RunOptions } from "../run-options.ts";

/** What dialects run besides documents. */
const projects: readonly Projects[] = dialects.flatMap((dialect) => dialect.projects ?? []);
const outputs = ["yaml", ...new Set(["json", ...projects.flatMap((each) => each.outputs)])];
const runtimes = ["process", ...new Set(["docker", ...projects.flatMap((each) => each.runtimes)])];

/**
 * Starts nothing unless all documents and parameters are valid. Exits with the worst exit code of its runs. Reads
 * documents before it loads the server, so mistakes are reported at once.
 */
export const runCommand = command<RunOptions>({
  name: "run",
  args: ["[files...]"],
  summary: "Run workflow files, a stored template or schedule, or a build",
  group: "Runs",
  examples: [
    "slipway run examples/workflow/hello.yaml --param name=you",
    "slipway run --ephemeral examples/workflow/release/release.yaml",
    "slipway run wft/greeting --param who=you",
    "slipway run schedule/nightly --detach",
    "slipway run --dry-run examples/workflow/fan-out.yaml",
    "slipway run --ephemeral examples/workflow/diamond.yaml --target two",
    "slipway run --ui examples/workflow/diamond.yaml",
    ...dialects.flatMap(({ run }) => run?.examples ?? []),
  ],
  options: [
    { flags: "-p, --param <name=value>", summary: "argument of the run; may be repeated", repeatable: true },
    { flags: "--set <name=value>", summary: "value of a template, like --param; may be repeated", repeatable: true },
    ...dialects.flatMap(({ run }) => run?.options ?? []),
    { flags: "--ephemeral", summary: "use a control plane of its own, even when one is running" },
    { flags: "--detach", summary: "return without waiting (requires a running control plane)" },
    { flags: "--ui", summary: "open the run in a browser, or print a link to it" },
    { flags: "--logs", summary: "print the output of steps as it arrives" },
    {
      flags: "--tail <lines>",
      summary: "lines to show of each failed step, and of a workflow's only step",
      integer: true,
      initial: 20,
    },
    {
      flags: "--runtime <name>",
      summary: "where steps run: here (process, host), in containers, or (builds) Pods",
      choices: runtimes,
    },
    { flags: "--target <step>", summary: "run only this step and its dependencies, without final steps" },
    {
      flags: "--dry-run [mode]",
      summary: "print what would run; server also checks a build's programs and images",
      choices: ["none", "client", "server"],
      preset: "client",
    },
    {
      flags: "-o, --output <format>",
      summary: "json; with --dry-run also yaml; for builds auto, pretty, plain or json",
      choices: outputs,
    },
    ...projects.flatMap(({ noun, options }) => options.map((option) => ({ ...option, heading: `Of a ${noun}:` }))),
  ],
  completes: ["file-or-startable"],
  async action(invocation: Invocation<RunOptions>) {
    const project = projectOf(invocation);
    if (project !== undefined) return await runProject(project, invocation);
    refuseProjectOptions(invocation.options);
    const { readDocuments } = await import("#app/runs/index.ts");
    const { hasRun, runDocuments, withImpliedRuns } = await import("../run-documents.ts");
    const { rest, options, environment } = invocation;
    const { directory, err } = environment;
    const [params, set] = [readParams(options.param ?? []), readParams(options.set ?? [], "--set")];
    const values = { ...params.values, ...set.values };
    const { hardware } = options;
    const isHardwareFile = hardware !== undefined && existsSync(resolve(directory, hardware));
    const files = isHardwareFile ? [...rest, hardware] : rest;
    const stored = mayBeStored(rest)
      ? await (await import("../stored-runs.ts")).storedRuns(values, invocation)
      : undefined;
    const read =
      stored ??
      (await readDocuments(files, { directory, arguments: values }).catch(async (thrown: unknown) => {
        throw await orNoProject(thrown, rest, directory);
      }));
    const named = hardware === undefined || isHardwareFile ? {} : { hardware };
    const complete = hasRun(read) ? read : withImpliedRuns(read, { arguments: values, ...named });
    if (printProblems([...params.problems, ...set.problems, ...complete.problems], err)) return exitCode.usage;
    const { target } = options;
    const output = documentOutput(options);
    const whole = target === undefined ? complete : (await import("../target.ts")).upTo(complete, target);
    if (options.dryRun === "client") return await dryRun(whole, invocation);
    if (output === "yaml") throw new UsageError("-o yaml is for --dry-run; a finished run is printed as json");
    return await runDocuments(whole, values, invocation);
  },
});

/** `wft/release`, unless a file has that name. */
const mayBeStored = ([first = ""]: readonly string[]): boolean => /^[a-z.]+\/[^/]+$/i.test(first);

/** A project is named by its definition file or directory, or is meant when no file is named. */
function projectOf({ rest, options, environment }: Invocation<RunOptions>): Projects | undefined {
  const [path, more] = rest;
  if (path === undefined || options.file !== undefined) return projects[0];
  if (more !== undefined) return undefined;
  return projects.find(
    ({ definition }) => basename(path) === definition || existsSync(resolve(environment.directory, path, definition)),
  );
}

/** Extends the error for a directory without documents: a project may have been meant. */
async function orNoProject(thrown: unknown, [path, more]: readonly string[], directory: string): Promise<unknown> {
  const { NoDocuments } = await import("#kernel/command/index.node.ts");
  if (!(thrown instanceof NoDocuments) || path === undefined || more !== undefined) return thrown;
  const found = await Promise.all(projects.map((project) => project.nearest(resolve(directory, path))));
  const above = found.find((nearest) => nearest !== undefined);
  const missing = projects.map(({ definition }) => `, nor ${definition}`).join("");
  return new UsageError(`${thrown.message}${missing}`, above && `did you mean ${above}?`);
}

const documentFlags = {
  param: "--param",
  set: "--set",
  hardware: "--hardware",
  agent: "--agent",
  ephemeral: "--ephemeral",
  detach: "--detach",
  logs: "--logs",
  ui: "--ui",
  target: "--target",
} as const satisfies Partial<Record<keyof RunOptions, string>>;

/** Refuses options that have no effect on a project. */
async function runProject(project: Projects, invocation: Invocation<RunOptions>): Promise<number> {
  const { options } = invocation;
  const is = `this is a ${project.noun}`;
  for (const [name, flag] of Object.entries(documentFlags))
    if (Object.hasOwn(options, name)) throw new UsageError(`${flag} is for documents, and ${is}`);
  const { output } = options;
  const runtime = options.runtime === "process" ? "host" : options.runtime;
  if (output !== undefined && !project.outputs.includes(output))
    throw new UsageError(`-o ${output} is for documents, and ${is}`);
  return await project.run(runtime === undefined ? invocation : { ...invocation, options: { ...options, runtime } });
}

/** Refuses options that have no effect on documents. */
function refuseProjectOptions(options: RunOptions): void {
  for (const { noun, options: specs } of projects)
    for (const { flags } of specs) {
      const long = /--(?:no-)?([a-z0-9-]+)/.exec(flags)?.[1] ?? "";
      const name = long.replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
      // Commander always gives a value to `--no-` flags.
      const isGiven = flags.includes("--no-") ? Reflect.get(options, name) === false : Object.hasOwn(options, name);
      if (isGiven)
        throw new UsageError(`${/--[a-z0-9-]+/.exec(flags)?.[0] ?? ""} is for ${noun}s, and these are documents`);
    }
  if (options.dryRun === "server") throw new UsageError("--dry-run server is for builds, and these are documents");
  if (options.runtime !== undefined && !["process", "host", "docker"].includes(options.runtime))
    throw new UsageError(`--runtime ${options.runtime} is for builds`);
}

function documentOutput({ output }: RunOptions): "json" | "yaml" | undefined {
  if (output === undefined || output === "json" || output === "yaml") return output;
  throw new UsageError(`-o ${output} is for builds; a finished run is printed as json`);
}

/** Prints YAML by default, with comments on what cannot be rendered; plans for agents are text by default. */
async function dryRun(read: ReadDocuments, invocation: Invocation<RunOptions>): Promise<number> {
  const { environment, clock } = invocation;
  const output = documentOutput(invocation.options);
  const { trialsOf } = await import("../simulation.ts");
  const { dryRunText } = await import("../dry-run.ts");
  const { previewsText, runPreviews } = await import("#app/runs/index.ts");
  const previews = await runPreviews(read, invocation);
  if (previews !== undefined) {
    environment.out.write(await previewsText(previews, output));
    return printProblems(previews.problems, environment.err) ? exitCode.usage : exitCode.succeeded;
  }
  const trials = await trialsOf(read);
  if (!trials.ok) {
    printProblems(trials.error, environment.err);
    return exitCode.usage;
  }
  environment.out.write(dryRunText(read, trials.value, output ?? "yaml", clock.now()));
  return exitCode.succeeded;
}
