import type { Dialect } from "#kernel/dialect/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { isAlreadyExists, type KubeObject, type ResourceType, type Stored } from "#kernel/model/index.ts";
import { type Environment, exitCode, type Invocation, printProblems, UsageError } from "#kernel/command/index.ts";
import type { RunOptions } from "./commands/run.ts";
import { type Document, objectsOf, type ReadDocuments } from "./documents.ts";
import { type ControlPlaneSession, openControlPlane } from "./control-plane.ts";
import { withReferred } from "./referred-documents.ts";
import { isRunOf } from "./runs.ts";
import { type StartedRun, watchToEnd } from "./watch-to-end.ts";

/** A document that starts a run, and who understands it. */
interface RunDocument {
  readonly object: KubeObject;
  readonly dialect: Dialect;
}

/**
 * Applies what the documents declare, starts their runs, follows them to their ends, and answers with the worst exit
 * code. Other objects come first and in order, because runs may need them. Several runs go on side by side. When one
 * cannot be started, those started before it go on where there is a server, and end with an ephemeral one. `given` are
 * the arguments of the command line, for documents whose params are on the server.
 */
export async function runDocuments(
  read: ReadDocuments,
  given: Readonly<Record<string, string>>,
  invocation: Invocation<RunOptions>,
): Promise<number> {
  if (!hasRun(read)) throw noRun(read, invocation.rest);
  const dialects = new Set(read.documents.flatMap(({ dialect }) => dialect ?? []));
  const session = await openControlPlane(invocation, [...dialects]);
  try {
    const whole = await withReferred(read, given, session);
    if (printProblems(whole.problems, invocation.environment.err)) return exitCode.usage;
    const all = objectsOf(whole);
    const runs = all.flatMap(({ document, object }) => runOf(document, object) ?? []);
    const others = all
      .filter(({ document, object }) => runOf(document, object) === undefined)
      .map(({ object }) => object);
    announce(session, all, invocation);
    const namespace = session.namespace;
    // Later than this a signal cancels the runs, instead of leaving some of them started.
    invocation.signal.throwIfAborted();
    for (const object of others) await declare(session.client, object, namespace);
    const started: StartedRun[] = [];
    for (const { object, dialect } of runs) {
      const type = await typeOf(session.client, object);
      const stored = await start(session.client, type, object, namespace, invocation);
      started.push({ stored, type, dialect, isAlone: session.isEphemeral, agentsFor: session.agentsFor });
    }
    if (invocation.options.detach === true) return detached(session, started, invocation);
    const codes = await Promise.all(
      started.map((run) => watchToEnd(session.client, run, invocation, started.length === 1)),
    );
    return Math.max(...codes);
  } finally {
    await session.close();
  }
}

/** Schedules and templates are stored first, and run by their names then. */
function noRun(read: ReadDocuments, files: readonly string[]): UsageError {
  const runnable = objectsOf(read).flatMap(({ object: { apiVersion, kind, metadata } }) => {
    const word = apiVersion.startsWith("slipway.dev/") ? runnableAs[kind] : undefined;
    return word === undefined ? [] : [`slipway run ${word}/${metadata.name ?? "NAME"}`];
  });
  const store = `store them with: slipway apply ${files.map((file) => `-f ${file}`).join(" ")}`;
  const run = runnable.length === 0 ? "" : `\nthen run one with: ${runnable.slice(0, 3).join(", or ")}`;
  return new UsageError("the files hold no run, only other objects", `${store}${run}`);
}

/** What `slipway run` calls objects that it can start a run of. */
const runnableAs: Readonly<Record<string, string>> = { WorkflowTemplate: "wft", ScheduledWorkflow: "schedule" };

/** Whether there is anything to carry out. Wrong documents count for nothing. */
export const hasRun = (read: ReadDocuments): boolean =>
  objectsOf(read).some(({ document, object }) => runOf(document, object) !== undefined);

/** Undefined for objects that are no runs: ConfigMaps, definitions, a RunAction. */
const runOf = ({ dialect }: Document, object: KubeObject): RunDocument | undefined =>
  dialect !== undefined && isRunOf(dialect, object) ? { object, dialect } : undefined;

/**
 * Says where steps run and why, and that images play no part where a document names some: nobody shall believe that a
 * container was isolated. Names five images at most.
 */
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

/** Every `image` a document names, wherever it does. */
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

/** The session's namespace for an object that names none, as kubectl does. */
const placed = <T extends KubeObject>(object: T, type: ResourceType, namespace: string): T =>
  type.namespaced && object.metadata?.namespace === undefined
    ? { ...object, metadata: { ...object.metadata, namespace } }
    : object;

/**
 * Creates what is no run, or brings what is there up to the document by a merge patch: fields that the document does
 * not name stay as they are.
 */
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

/**
 * Every `slipway run` is a new run: a name that is taken gets a suffix, which the server makes, and the person is
 * told the name.
 */
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
    environment.err.write(`slipway: ${name} exists already; this run is ${stored.metadata.name}\n`);
    return stored;
  }
}

/** An ephemeral control plane ends with the command, and its runs with it: there is nothing to leave them to. */
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

/** A run that is not waited for: its object where one was asked for. */
export function tellCreated(stored: Stored, output: RunOptions["output"], { out }: Pick<Environment, "out">): void {
  if (output === "json") out.write(`${JSON.stringify(stored, null, 2)}\n`);
  else out.write(`${stored.kind.toLowerCase()}/${stored.metadata.name} created\n`);
}
