import type { ArtifactRef, RunView } from "#engine/index.ts";
import { command, exitCode, type Invocation, UsageError } from "#kernel/command/index.ts";

/** `output` is a format for the list, and a file for `get`. */
interface ArtifactsOptions {
  readonly output?: string;
  readonly force?: boolean;
}

/**
 * What the steps of a run have left for each other. A first word `get` with more words after it fetches one artifact, byte for byte as
 * it is stored: its SHA-256 is its digest, and a file is only there when it is whole.
 */
export const artifactsCommand = command<ArtifactsOptions>({
  name: "artifacts",
  args: ["<run...>"],
  summary: "List the artifacts of a run, or download one: artifacts get RUN STEP NAME",
  group: "Runs",
  examples: [
    "slipway artifacts site",
    "slipway artifacts site -o json",
    "slipway artifacts get site build report -o report.txt",
  ],
  options: [
    {
      flags: "-o, --output <place>",
      summary: "list: json; get: the file to write (default: the artifact's name)",
    },
    { flags: "--force", summary: "get: replace an existing file" },
  ],
  completes: ["run", "step"],
  async action(invocation) {
    const { rest } = invocation;
    const [first, ...words] = rest;
    return first === "get" && words.length > 0 ? await get(words, invocation) : await list(rest, invocation);
  },
});

/** One artifact, and the step that has left it. */
interface Left extends ArtifactRef {
  readonly step: string;
}

/** In the order of the steps, which is that of the graph, and of names. */
const artifactsOf = (view: RunView): readonly Left[] =>
  view.steps.flatMap(({ id, artifacts }) => artifacts.map((artifact) => ({ step: id, ...artifact })));

/** Exit code 0 also where there is none: a run that leaves nothing is no failure. */
async function list(words: readonly string[], invocation: Invocation<ArtifactsOptions>): Promise<number> {
  const { withSession } = await import("#kernel/command/index.ts");
  const { findRun, viewOf } = await import("../runs.ts");
  const { formatTable } = await import("#kernel/command/index.node.ts");
  const { environment, options } = invocation;
  if (options.output !== undefined && options.output !== "json")
    throw new UsageError(
      `the list is text or json, found "${options.output}"`,
      "one artifact: artifacts get RUN STEP NAME",
    );
  return await withSession(invocation, async ({ client, namespace }) => {
    const { type, name, dialect, rest } = await findRun({ client, namespace }, words);
    if (rest.length > 0) throw new UsageError(`the list takes one run, found also ${rest.join(", ")}`);
    const all = artifactsOf(viewOf(dialect, await client.get({ type, namespace, name })));
    const rows = all.map((one) => [one.step, one.name, String(one.sizeBytes ?? ""), one.digest ?? ""]);
    environment.out.write(
      options.output === "json"
        ? `${JSON.stringify(all, null, 2)}\n`
        : formatTable(["STEP", "NAME", "SIZE", "DIGEST"], rows),
    );
    return exitCode.succeeded;
  });
}

/** The bytes are checked on this side as well: what arrives is what the status says, or a failure. */
async function get(words: readonly string[], invocation: Invocation<ArtifactsOptions>): Promise<number> {
  const { withSession } = await import("#kernel/command/index.ts");
  const { findRun, viewOf } = await import("../runs.ts");
  const { saveArtifact } = await import("../save-artifact.ts");
  const { environment, options, signal } = invocation;
  return await withSession(invocation, async ({ client, namespace }) => {
    const { type, name, dialect, rest } = await findRun({ client, namespace }, words);
    const [step, artifact, ...more] = rest;
    if (step === undefined || artifact === undefined || more.length > 0)
      throw new UsageError("get takes a run, a step and the name of an artifact: artifacts get RUN STEP NAME");
    const all = artifactsOf(viewOf(dialect, await client.get({ type, namespace, name })));
    const found = all.find((one) => one.step === step && one.name === artifact);
    if (found?.digest === undefined) throw new UsageError(`${name} has no artifact ${step}/${artifact}`, known(all));
    const bytes = client.artifact({ type, namespace, name }, found.digest, { signal });
    // That of an item is called `name/index`.
    const plain = artifact.replace("/", "-");
    const file = options.output ?? (found.archive === undefined ? plain : `${plain}.${found.archive}`);
    await saveArtifact(bytes, found.digest, { ...options, file }, environment);
    environment.out.write(`${file}: ${found.sizeBytes ?? 0} bytes\n`);
    return exitCode.succeeded;
  });
}

/** What there is instead. */
const known = (all: readonly Left[]): string =>
  all.length === 0
    ? "its steps have left none"
    : `it has ${all
        .slice(0, 20)
        .map(({ step, name }) => `${step}/${name}`)
        .join(", ")}`;
