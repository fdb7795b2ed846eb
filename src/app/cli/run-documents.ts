import type { CheckedDocument, Dialect } from "#kernel/dialect/index.ts";
import { hasErrors, type Problem } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined, refTo } from "#kernel/kit/index.ts";
import { asJson, isAlreadyExists, type KubeObject, type ResourceType, type Stored } from "#kernel/model/index.ts";
import { type Environment, exitCode, type Invocation, printProblems, UsageError } from "#kernel/command/index.ts";
import type { RunOptions } from "./run-options.ts";
import { type Document, objectsOf, type ReadDocuments, runsIn } from "#app/runs/index.ts";
import { type ControlPlaneSession, openControlPlane } from "./control-plane.ts";
import { withReferred } from "./referred-documents.ts";
import { openRunPage, type RunPage } from "./run-page.ts";
import { type StartedRun, watchToEnd } from "./watch-to-end.ts";

/**
 * Applies the other objects first, since runs may need them, then starts the runs, follows them in parallel and returns
 * the worst exit code. If one cannot be started, earlier ones continue on a server and end with an ephemeral control
 * plane. `given` are the arguments of the command line.
 */
export async function runDocuments(
  read: ReadDocuments,
  given: Readonly<Record<string, string>>,
  invocation: Invocation<RunOptions>,
): Promise<number> {
  if (!hasRun(read)) throw noRun(read, invocation.rest);
  const dialects = new Set(read.documents.flatMap(({ dialect }) => dialect ?? []));
  const session = await openControlPlane(invocation, [...dialects]);
  let page: RunPage | undefined;
  try {
    const whole = await withReferred(read, given, session);
    if (printProblems(whole.problems, invocation.environment.err)) return exitCode.usage;
    const all = objectsOf(whole);
    const runs = runsIn(whole);
    const others = all.filter(({ document }) => !runs.some((run) => run.document === document));
    announce(session, all, invocation);
    page = invocation.options.ui === true ? await openRunPage(session, invocation) : undefined;
    const namespace = session.namespace;
    // From here on a signal cancels the runs.
    invocation.signal.throwIfAborted();
    for (const { object } of others) await declare(session.client, object, namespace);
    const started: StartedRun[] = [];
    for (const { object, dialect } of runs) {
      const type = await typeOf(session.client, object);
      const isDeclared = dialect.runs.declared?.some(({ group, kind }) => group === type.group && kind === type.kind);
      const begin = isDeclared === true ? update : start;
      const stored = await begin(session.client, type, object, namespace, invocation);
      started.push({ stored, type, dialect, isAlone: session.isEphemeral, agentsFor: session.agentsFor });
    }
    await page?.tell(started);
    if (invocation.options.detach === true) return detached(session, started, invocation);
    const codes = await Promise.all(
      started.map((run) => watchToEnd(session.client, run, invocation, started.length === 1)),
    );
    const code = Math.max(...codes);
    await page?.stay(code);
    return code;
  } finally {
    await page?.close();
    await session.close();
  }
}

/** Schedules and templates are stored first and then run by name. */
function noRun(read: ReadDocuments, files: readonly string[]): UsageError {
  const runnable = objectsOf(read).flatMap(({ object: { apiVersion, kind, metadata } }) => {
    const word = apiVersion.startsWith("slipway.dev/") ? runnableAs[kind] : undefined;
    return word === undefined ? [] : [`slipway run ${word}/${metadata.name ?? "NAME"}`];
  });
  const store = `store them with: slipway apply ${files.map((file) => `-f ${file}`).join(" ")}`;
  const run = runnable.length === 0 ? "" : `\nthen run one with: ${runnable.slice(0, 3).join(", or ")}`;
  return new UsageError("the files contain no run, only other objects", `${store}${run}`);
}

/** The words of `slipway run` for kinds whose objects it can start. */
const runnableAs: Readonly<Record<string, string>> = { WorkflowTemplate: "wft", ScheduledWorkflow: "schedule" };

/** False for invalid documents. */
export const hasRun = (read: ReadDocuments): boolean => !hasErrors(read.problems) && runsIn(read).length > 0;

/** Reports where steps run and why, and which images are not used, so that no one assumes a container isolates them. */
function announce(
  session: ControlPlaneSession,
  all: readonly { readonly object: KubeObject }[],
  { environment }: Invocation<RunOptions>,
): void {
  const images = [...new Set(all.flatMap(({ object }) => imagesOf(object)))].sort();
  const unused =
    images.length === 0 || session.usesImages === true
      ? ""
      : `; images are not used: ${images.slice(0, 5).join(", ")}${images.length > 5 ? ", …" : ""}`;
  environment.err.write(`slipway: ${session.note}${unused}\n`);
}

function imagesOf(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(imagesOf);
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "image" && typeof inner === "string" ? [inner] : imagesOf(inner),
  );
}

async function typeOf(client: ApiClient, { apiVersion, kind }: KubeObject): Promise<ResourceType> {
  const type = await client.resourceType(apiVersion, kind);
  if (type === undefined) throw new UsageError(`the control plane serves no ${apiVersion} ${kind}`);
  return type;
}

/** Objects without a namespace get the session's, as in kubectl. */
const placed = <T extends KubeObject>(object: T, type: ResourceType, namespace: string): T =>
  type.namespaced && object.metadata?.namespace === undefined
    ? { ...object, metadata: { ...object.metadata, namespace } }
    : object;

/** Creates an object, or merges the document into the existing one. */
async function declare(client: ApiClient, object: KubeObject, namespace: string): Promise<void> {
  const type = await typeOf(client, object);
  const wanted = placed(object, type, namespace);
  try {
    await client.create(type, wanted);
  } catch (thrown) {
    if (!isAlreadyExists(thrown)) throw thrown;
    const place = wanted.metadata.namespace === undefined ? {} : { namespace: wanted.metadata.namespace };
    const body: unknown = JSON.parse(JSON.stringify(wanted));
    await client.patch({ type, ...place, name: wanted.metadata.name ?? "" }, { type: "merge", body: body as never });
  }
}

/** Creates or updates the object, as `slipway apply`. */
async function update(
  client: ApiClient,
  type: ResourceType,
  object: KubeObject,
  namespace: string,
  { environment, signal }: Invocation<RunOptions>,
): Promise<Stored> {
  const wanted = placed(object, type, namespace);
  const { name } = wanted.metadata;
  if (name === undefined) return await client.create(type, wanted, { signal });
  const ref = refTo(type, wanted);
  const before = await getOrUndefined(client, ref, signal);
  const patch = { type: "apply", body: asJson(wanted), force: true } as const;
  const stored = await client.patch(ref, patch, { fieldManager: "slipway", signal });
  if (before !== undefined) {
    const what = before.metadata.resourceVersion === stored.metadata.resourceVersion ? "is unchanged" : "is updated";
    environment.err.write(`slipway: ${name} ${what}\n`);
  }
  return stored;
}

/** Every `slipway run` starts a new run: a name that exists gets a suffix, which is reported. */
async function start(
  client: ApiClient,
  type: ResourceType,
  object: KubeObject,
  namespace: string,
  { environment, options }: Invocation<RunOptions>,
): Promise<Stored> {
  const wanted = placed(object, type, namespace);
  try {
    const stored = await client.create(type, wanted);
    if (wanted.metadata.name === undefined && options.detach !== true)
      environment.err.write(`slipway: this run is ${stored.metadata.name}\n`);
    return stored;
  } catch (thrown) {
    const { name, ...metadata } = wanted.metadata;
    if (!isAlreadyExists(thrown) || name === undefined) throw thrown;
    const stored = await client.create(type, { ...wanted, metadata: { ...metadata, generateName: `${name}-` } });
    environment.err.write(`slipway: ${name} already exists; this run is ${stored.metadata.name}\n`);
    return stored;
  }
}

function detached(
  session: ControlPlaneSession,
  started: readonly { readonly stored: Stored }[],
  { environment, options }: Invocation<RunOptions>,
): number {
  if (session.isEphemeral)
    throw new UsageError("--detach needs a running control plane", "start one with: slipway up --detach");
  for (const { stored } of started) tellCreated(stored, options.output, environment);
  return exitCode.succeeded;
}

/** Prints a run that the command does not wait for. */
export function tellCreated(stored: Stored, output: RunOptions["output"], { out }: Pick<Environment, "out">): void {
  if (output === "json") out.write(`${JSON.stringify(stored, null, 2)}\n`);
  else out.write(`${stored.kind.toLowerCase()}/${stored.metadata.name} created\n`);
}

/** Options for runs of templates that need no document. */
interface ImpliedBy {
  readonly arguments: Readonly<Record<string, string>>;
  readonly hardware?: string;
}

/** Adds the runs that templates imply. Called only if no document is a run; adds nothing to invalid documents. */
export function withImpliedRuns(read: ReadDocuments, by: ImpliedBy): ReadDocuments {
  if (hasErrors(read.problems)) return read;
  const problems: Problem[] = [];
  const documents: Document[] = [];
  const hardware = by.hardware === undefined ? {} : { hardware: by.hardware };
  for (const dialect of new Set(read.documents.flatMap((document) => document.dialect ?? []))) {
    const own = read.documents.filter((document) => document.dialect === dialect);
    const implied = dialect.documents.impliedRuns?.(own.flatMap(checkedOf), hardware);
    if (implied?.ok === false) problems.push(...implied.error);
    const sources = implied?.ok === true ? implied.value : [];
    documents.push(...sources.map((source) => readRun(dialect, own[0]?.file ?? "", source, by, problems)));
  }
  return { documents: [...read.documents, ...documents], problems: [...read.problems, ...problems] };
}

const checkedOf = ({ source, object }: Document): readonly CheckedDocument[] =>
  object === undefined ? [] : [{ source, object }];

function readRun(
  dialect: Dialect,
  file: string,
  source: Document["source"],
  { arguments: given }: ImpliedBy,
  problems: Problem[],
): Document {
  const reading = dialect.documents.read(source, { arguments: given });
  problems.push(...reading.problems);
  return { file, source, dialect, reader: dialect.documents, object: reading.object };
}
