import type { PageCaller } from "#kernel/apiserver/index.ts";
import type { Dialect, References, Startable, StartParameter } from "#kernel/dialect/index.ts";
import { getOrUndefined } from "#kernel/kit/index.ts";
import {
  ApiError,
  asJson,
  badRequest,
  isForbidden,
  isNotFound,
  type KubeObject,
  type Stored,
} from "#kernel/model/index.ts";
import { hasErrors, isJsonObject, type JsonObject, textAt } from "#lib/base/index.ts";
import { isRunOf, previewProblems, type ReadDocuments, readTexts } from "#app/runs/index.ts";
import type { LintAnswer, StartableObject } from "../wire.ts";
import type { UiContext } from "./context.ts";

const mostStartables = 500;
/** Reading a text holds up every other request: about a second for the longest. */
const longestText = 256 * 1024;
/** A text of nothing but mistakes has one in every line. */
const mostProblems = 1000;

/** The problems that `slipway lint` reports for a text, or those of a new run of a stored object. Stores nothing. */
export async function lint(
  context: UiContext,
  caller: PageCaller,
  body: JsonObject,
  signal: AbortSignal,
): Promise<LintAnswer> {
  const { text, start } = body;
  if (typeof text === "string") return await lintText(context, text, signal);
  if (isJsonObject(start)) return await lintStart(context, caller, start, body["arguments"], signal);
  throw badRequest("expected text, or start with a stored object");
}

async function lintText(context: UiContext, text: string, signal: AbortSignal): Promise<LintAnswer> {
  if (text.length > longestText)
    throw new ApiError("RequestEntityTooLarge", `text: expected at most ${longestText} characters; use slipway lint`);
  const read = await readTexts([{ file: "document", text }], { lint: true });
  const rendered = hasErrors(read.problems) ? [] : await rendering(context, read, signal);
  const beside = read.documents.flatMap(({ object }) => object ?? []);
  return {
    problems: [...read.problems, ...rendered].slice(0, mostProblems),
    documents: read.documents.map(({ object, dialect }) => documentOf(object, dialect, beside)),
  };
}

const rendering = ({ templates }: UiContext, read: ReadDocuments, signal: AbortSignal) =>
  templates === undefined ? [] : previewProblems(read, { templates, signal });

function documentOf(
  object: KubeObject | undefined,
  dialect: Dialect | undefined,
  beside: readonly KubeObject[],
): LintAnswer["documents"][number] {
  return {
    ...(object === undefined ? {} : { object: asJson(object) }),
    ...(dialect === undefined ? {} : { dialect: dialect.name }),
    ...(object === undefined || dialect === undefined || !isRunOf(dialect, object)
      ? {}
      : { graph: dialect.runs.graph(object, beside) }),
  };
}

async function lintStart(
  { dialects, clock }: UiContext,
  { client }: PageCaller,
  ref: JsonObject,
  given: unknown,
  signal: AbortSignal,
): Promise<LintAnswer> {
  const [kind = "", apiVersion = "", name = ""] = [textAt(ref, "kind"), textAt(ref, "apiVersion"), textAt(ref, "name")];
  const found = startablesOf(dialects).find(({ startable }) => startable.kind === kind);
  const type = await client.resourceType(apiVersion, kind);
  if (found === undefined || type?.group !== found.startable.group)
    throw badRequest(`start: objects of kind ${JSON.stringify(kind)} cannot be run`);
  const stored = await client.get({ type, namespace: textAt(ref, "namespace") ?? "default", name }, { signal });
  const { dialect, startable } = found;
  const value = startable.run(stored, clock.now());
  const source = { value, positionOf: () => ({ line: 1, column: 1 }) };
  const values = Object.entries(isJsonObject(given) ? given : {});
  const texts = Object.fromEntries(values.flatMap(([key, value]) => (typeof value === "string" ? [[key, value]] : [])));
  const beside = [stored, ...(await referredBy(dialect.documents.references(source), stored, client, signal))];
  const local = beside.map(withoutPlace);
  const { object, problems } = dialect.documents.read(source, { arguments: texts, beside: local });
  // Its steps are known before its arguments are right.
  const graph = dialect.runs.graph(value as unknown as KubeObject, local);
  return { problems, documents: [{ ...documentOf(object, dialect, local), graph }] };
}

/** What the run takes its steps from, as far as the caller may read it. */
async function referredBy(
  references: References,
  { metadata: { namespace = "default" } }: Stored,
  client: PageCaller["client"],
  signal: AbortSignal,
): Promise<readonly Stored[]> {
  const found = await Promise.all(
    references.map(async ({ ref: { apiVersion, kind, name } }) => {
      const type = await client.resourceType(apiVersion, kind);
      if (type === undefined) return undefined;
      return await getOrUndefined(client, { type, namespace, name }, signal).catch(() => undefined);
    }),
  );
  return found.filter((one) => one !== undefined);
}

/** As in a file: references of a run name no namespace. */
function withoutPlace(object: KubeObject): KubeObject {
  const { namespace: _callers, ...metadata } = object.metadata;
  return { ...object, metadata };
}

const startablesOf = (dialects: readonly Dialect[]) =>
  dialects.flatMap((dialect) => (dialect.startable ?? []).map((startable) => ({ dialect, startable })));

/** What the caller may see of it. */
export async function listStartables(
  { dialects }: UiContext,
  { client }: PageCaller,
): Promise<readonly StartableObject[]> {
  const types = await client.resourceTypes();
  const lists = await Promise.all(
    startablesOf(dialects).map(async ({ dialect, startable }) => {
      const type = types.find(({ group, kind }) => group === startable.group && kind === startable.kind);
      if (type === undefined) return [];
      try {
        const { items } = await client.list(type, { limit: mostStartables });
        return items.map((object) => startableOf(dialect, startable, object));
      } catch (thrown) {
        if (isForbidden(thrown) || isNotFound(thrown)) return [];
        throw thrown;
      }
    }),
  );
  return lists.flat();
}

function startableOf({ name: dialect }: Dialect, startable: Startable, object: Stored): StartableObject {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace } = metadata;
  const parameters: readonly StartParameter[] = startable.parameters?.(object) ?? [];
  return { ref: { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) }, dialect, parameters };
}
