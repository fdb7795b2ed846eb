import type { ArtifactRef, RunView } from "#engine/index.ts";
import { command, exitCode, type Invocation, UsageError, withSession } from "#kernel/command/index.ts";

/** `output` is a format for the list and a file for `get`. */
interface ArtifactsOptions {
  readonly output?: string;
  readonly force?: boolean;
}

/**
 * `get` as the first of several words downloads one artifact; otherwise the words name a run, and its artifacts are
 * listed.
 */
export const artifactsCommand = command<ArtifactsOptions>({
  name: "artifacts",
  args: ["<run...>"],
  summary: "List the artifacts of a run, or download one",
  group: "Runs",
  examples: [
    "slipway artifacts site",
    "slipway artifacts site -o json",
    "slipway artifacts get site build report -o report.txt",
  ],
  options: [
    { flags: "-o, --output <place>", summary: "list: json; get: file to write (default: the artifact's name)" },
    { flags: "--force", summary: "get: replace an existing file" },
  ],
  completes: ["run", "step"],
  async action(invocation) {
    const { rest } = invocation;
    const [first, ...words] = rest;
    return first === "get" && words.length > 0 ? await get(words, invocation) : await list(rest, invocation);
  },
});

interface Left extends ArtifactRef {
  readonly step: string;
}

const artifactsOf = (view: RunView): readonly Left[] =>
  view.steps.flatMap(({ id, artifacts }) => artifacts.map((artifact) => ({ step: id, ...artifact })));

async function list(words: readonly string[], invocation: Invocation<ArtifactsOptions>): Promise<number> {
  const { viewOf } = await import("#app/runs/index.ts");
  const { readRun } = await import("../runs.ts");
  const { formatTable } = await import("#kernel/command/index.node.ts");
  const { environment, options } = invocation;
  if (options.output !== undefined && options.output !== "json")
    throw new UsageError(
      `the list is printed as text or json, found "${options.output}"`,
      "to download one: slipway artifacts get RUN STEP NAME",
    );
  return await withSession(invocation, async ({ client, namespace }) => {
    const { dialect, object } = await readRun({ client, namespace }, words, { alone: "the list" });
    const all = artifactsOf(viewOf(dialect, object));
    const rows = all.map((one) => [one.step, one.name, String(one.sizeBytes ?? ""), one.digest ?? ""]);
    environment.out.write(
      options.output === "json"
        ? `${JSON.stringify(all, null, 2)}\n`
        : formatTable(["STEP", "NAME", "SIZE", "DIGEST"], rows),
    );
    return exitCode.succeeded;
  });
}

/** Verifies the digest of the download. */
async function get(words: readonly string[], invocation: Invocation<ArtifactsOptions>): Promise<number> {
  const { viewOf } = await import("#app/runs/index.ts");
  const { readRun } = await import("../runs.ts");
  const { saveArtifact } = await import("../save-artifact.ts");
  const { environment, options, signal } = invocation;
  return await withSession(invocation, async ({ client, namespace }) => {
    const { type, name, dialect, rest, object } = await readRun({ client, namespace }, words);
    const [step, artifact, ...more] = rest;
    if (step === undefined || artifact === undefined || more.length > 0)
      throw new UsageError("get takes a run, a step and the name of an artifact: artifacts get RUN STEP NAME");
    const all = artifactsOf(viewOf(dialect, object));
    const found = all.find((one) => one.step === step && one.name === artifact);
    if (found?.digest === undefined) throw new UsageError(`${name} has no artifact ${step}/${artifact}`, known(all));
    const bytes = client.artifact({ type, namespace, name }, found.digest, { signal });
    // The artifact of an item is named `name/index`.
    const plain = artifact.replace("/", "-");
    const file = options.output ?? (found.archive === undefined ? plain : `${plain}.${found.archive}`);
    await saveArtifact(bytes, found.digest, { ...options, file }, environment);
    environment.out.write(`${file}: ${found.sizeBytes ?? 0} bytes\n`);
    return exitCode.succeeded;
  });
}

/** The hint for an artifact that does not exist. */
const known = (all: readonly Left[]): string =>
  all.length === 0
    ? "its steps have produced none"
    : `it has ${all
        .slice(0, 20)
        .map(({ step, name }) => `${step}/${name}`)
        .join(", ")}`;
