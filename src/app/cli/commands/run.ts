import { command, type Invocation } from "../command.ts";
import type { ReadDocuments } from "../documents.ts";
import { exitCode, UsageError } from "../exit-codes.ts";
import {
  definitionOptions,
  dryRunOption,
  outputForms,
  runtimeNames,
  type WharfRunOptions,
  wharfRunOptions,
} from "../wharf-run-options.ts";

/** Options of `slipway run`, as commander gives them; absent flags were not given. */
export interface RunOptions extends Omit<WharfRunOptions, "runtime" | "output"> {
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
  readonly output?: "json" | "yaml" | (typeof outputForms)[number];
  /** Only this step and what it depends on. */
  readonly target?: string;
  /** 0 shows nothing of failed steps. */
  readonly tail: number;
  /** Of a control plane of its own; a running one has chosen already. */
  readonly runtime?: "process" | (typeof runtimeNames)[number];
}

/**
 * Nothing is started unless all documents of the command line are right and the parameters are pairs. Ends with the
 * worst exit code of its runs. The documents are read before anything of the server is loaded, so that mistakes are
 * answered at once.
 */
export const runCommand = command<RunOptions>({
  name: "run",
  args: ["[files...]"],
  summary: "Run workflow files, a stored wft/NAME or schedule/NAME, or a repository's build",
  group: "Runs",
  examples: [
    "slipway run examples/workflow/hello.yaml --param name=you",
    "slipway run --ephemeral examples/workflow/release/release.yaml",
    "slipway run wft/greeting --param who=you",
    "slipway run schedule/nightly --detach",
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
    {
      flags: "--tail <lines>",
      summary: "lines shown of every failed step, and of an only step",
      integer: true,
      initial: 20,
    },
    {
      flags: "--runtime <name>",
      summary:
        "where steps run: as you (process, host; of documents the default), in containers (docker), of a build also in Pods (kubernetes)",
      choices: ["process", ...runtimeNames],
    },
    { flags: "--target <step>", summary: "only this step and those it depends on, without final steps" },
    dryRunOption(
      "print what would be created or carried out, in order, and do nothing; of a build its plan (client), and whether it could run here (server)",
    ),
    {
      flags: "-o, --output <format>",
      summary: "the run at its end as json; with --dry-run json or yaml; of a build: auto, pretty, plain, json",
      choices: ["yaml", ...outputForms],
    },
    ...[...definitionOptions, ...wharfRunOptions].map((option) => ({ ...option, heading: "Of a build:" })),
  ],
  completes: ["file-or-startable"],
  async action(invocation: Invocation<RunOptions>) {
    if (await isBuild(invocation)) return await runBuild(invocation);
    refuseBuildOptions(invocation.options);
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
    const stored = mayBeStored(rest)
      ? await (await import("../stored-runs.ts")).storedRuns(values, invocation)
      : undefined;
    const read =
      stored ??
      (await readDocuments(files, { directory, arguments: values, stdin: readStdin }).catch(async (thrown: unknown) => {
        throw await orNoBuild(thrown, rest, directory);
      }));
    const { withImpliedRuns } = await import("../implied-runs.ts");
    const named = hardware?.is === "name" ? { hardware: hardware.name } : {};
    const complete = hasRun(read) ? read : withImpliedRuns(read, { arguments: values, ...named });
    if (printProblems([...params.problems, ...set.problems, ...complete.problems], err)) return exitCode.usage;
    const { target } = options;
    const output = documentOutput(options);
    const whole = target === undefined ? complete : (await import("../target.ts")).upTo(complete, target);
    if (options.dryRun === "client") return await dryRun(whole, invocation);
    if (output === "yaml") throw new UsageError("-o yaml is for --dry-run; the end of a run is printed as json");
    return await runDocuments(whole, values, invocation);
  },
});

/** `wft/release` and its like; a file of that name comes first. */
const mayBeStored = ([first = ""]: readonly string[]): boolean => /^[a-z.]+\/[^/]+$/i.test(first);

/** A build is meant by its file, by a directory that has one, and by no word at all. */
async function isBuild({ rest, options, environment }: Invocation<RunOptions>): Promise<boolean> {
  const [path, more] = rest;
  if (path === undefined || options.file !== undefined) return true;
  if (more !== undefined) return false;
  const paths = await import("node:path");
  if (paths.basename(path) === definitionName) return true;
  const { stat } = await import("node:fs/promises");
  return await stat(paths.resolve(environment.directory, path, definitionName)).then(
    () => true,
    () => false,
  );
}

/** What is said of a directory without documents that may have been meant as a project; anything else as it is. */
async function orNoBuild(thrown: unknown, [path, more]: readonly string[], directory: string): Promise<unknown> {
  const { NoDocuments } = await import("../source-texts.ts");
  if (!(thrown instanceof NoDocuments) || path === undefined || more !== undefined) return thrown;
  const { loadWharf } = await import("#dialects/wharf/index.ts");
  const paths = await import("node:path");
  const above = await (await loadWharf()).nearestDefinition(paths.resolve(directory, path));
  return new UsageError(`${thrown.message}, nor ${definitionName}`, above && `did you mean ${above}?`);
}

/** The one name that needs no `--file`. It stands here, too, because the dialect is not loaded to tell documents from builds. */
const definitionName = ".wharf-ci.yml";

/** Flags of documents, under the names of their values. */
const documentFlags = {
  param: "--param",
  set: "--set",
  hardware: "--hardware",
  agent: "--agent",
  ephemeral: "--ephemeral",
  detach: "--detach",
  logs: "--logs",
  target: "--target",
} as const satisfies Partial<Record<keyof RunOptions, string>>;

/** What says nothing about a build is refused: whoever has written it expects something of it. */
async function runBuild(invocation: Invocation<RunOptions>): Promise<number> {
  const { options, rest } = invocation;
  for (const [name, flag] of Object.entries(documentFlags))
    if (Object.hasOwn(options, name)) throw new UsageError(`${flag} is for documents, and this is a build`);
  const { output, runtime } = options;
  if (output === "yaml") throw new UsageError("-o yaml is for documents, and this is a build");
  if (runtime === "process") throw new UsageError("--runtime process is for documents; of a build it is called host");
  const { onePath } = await import("../wharf-run-options.ts");
  const { runWharfBuild } = await import("../wharf-run.ts");
  // What is left of the choices of documents is refused above.
  const { output: _, runtime: __, ...others } = options;
  const own = {
    ...others,
    ...(output === undefined ? {} : { output }),
    ...(runtime === undefined ? {} : { runtime }),
  };
  return await runWharfBuild({ ...invocation, options: own }, onePath(rest));
}

/** The same the other way round. */
function refuseBuildOptions(options: RunOptions): void {
  for (const { flags } of [...definitionOptions, ...wharfRunOptions]) {
    const long = /--(?:no-)?([a-z0-9-]+)/.exec(flags)?.[1] ?? "";
    const name = long.replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    // Commander gives flags that switch something off a value in any case.
    const isGiven = flags.includes("--no-") ? Reflect.get(options, name) === false : Object.hasOwn(options, name);
    if (isGiven)
      throw new UsageError(`${/--[a-z0-9-]+/.exec(flags)?.[0] ?? ""} is for builds, and these are documents`);
  }
  if (options.dryRun === "server") throw new UsageError("--dry-run server is for builds, and these are documents");
  if (options.runtime === "kubernetes") throw new UsageError("--runtime kubernetes is for builds");
}

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

/** The forms in which a run is printed; those of builds are refused. */
function documentOutput({ output }: RunOptions): "json" | "yaml" | undefined {
  if (output === undefined || output === "json" || output === "yaml") return output;
  throw new UsageError(`-o ${output} is for builds; the end of a run is printed as json`);
}

/** Yaml unless told otherwise: it can be read, and holds why something cannot be told. Plans for agents are text unless told otherwise. */
async function dryRun(read: ReadDocuments, invocation: Invocation<RunOptions>): Promise<number> {
  const { environment, clock } = invocation;
  const output = documentOutput(invocation.options);
  const { trialsOf } = await import("../simulation.ts");
  const { dryRunText } = await import("../dry-run.ts");
  const { printProblems } = await import("../output/problems.ts");
  const { previewsText, runPreviews } = await import("../run-previews.ts");
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
