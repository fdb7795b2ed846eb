import { didYouMean } from "#lib/text/index.ts";
import type { Described, Dialect, Neighbours } from "#kernel/dialect/index.ts";
import type { RunView } from "#engine/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import { isForbidden, type KubeObject, type ResourceType, splitApiVersion, type Stored } from "#kernel/model/index.ts";
import { findKind, findKinds, splitNames } from "./kinds.ts";
import { type Session, UsageError } from "#kernel/command/index.ts";

export interface NamedRun {
  readonly type: ResourceType;
  readonly name: string;
  readonly dialect: Dialect;
}

/** The dialect whose runs have this kind. Loads all dialects. */
export async function dialectOf({
  group,
  kind,
}: {
  readonly group: string;
  readonly kind: string;
}): Promise<Dialect | undefined> {
  const { loadDialects } = await import("#dialects/index.ts");
  return (await loadDialects()).find(({ runs }) =>
    runs.kinds.some((known) => known.group === group && known.kind === kind),
  );
}

/** Optional operations of a dialect. */
type Ability = "approvalValues" | "explainCache" | "resubmission" | "simulation" | "upTo";

/** The operation; a UsageError if runs of this dialect cannot be `what`, such as "simulated". */
export function abilityOf<A extends Ability>(
  { name, runs }: Dialect,
  ability: A,
  what: string,
): NonNullable<Dialect["runs"][A]> {
  const found = runs[ability];
  if (found === undefined) throw new UsageError(`runs of ${name} cannot be ${what}`);
  return found;
}

/** A dialect's description of a kind that is not a run. */
export async function describedOf({ group, kind }: ResourceType): Promise<Described | undefined> {
  const { loadDialects } = await import("#dialects/index.ts");
  return (await loadDialects())
    .flatMap(({ described }) => described)
    .find((known) => known.group === group && known.kind === kind);
}

/**
 * Reads `hello`, `workflow/hello` or `workflow hello`; a bare name is a Workflow's. `rest` are the words after the run,
 * such as steps. Checks that the run exists only where several dialects may have it. A first word that names a kind of
 * runs is one if another word follows, so a run called `workflow` with a step is written `workflow/workflow step`.
 */
export async function findRun(
  session: NamingSession,
  words: readonly string[],
): Promise<NamedRun & { readonly rest: readonly string[] }> {
  const { type, name, rest } = await findNamed(session, words, async (kind) => (await dialectOf(kind)) !== undefined);
  const dialect = await dialectOf(type);
  if (dialect === undefined) throw new UsageError(`objects of kind ${type.kind} are not runs`);
  return { type, name, dialect, rest };
}

/**
 * A run, the object stored for it, and the words after it. `alone` names the caller when no word may follow the run.
 */
export async function readRun(
  session: NamingSession,
  words: readonly string[],
  { alone, signal }: { readonly alone?: string; readonly signal?: AbortSignal } = {},
): Promise<NamedRun & { readonly rest: readonly string[]; readonly object: Stored }> {
  const run = await findRun(session, words);
  if (alone !== undefined) refuseMore(`${alone} takes one run`, run.rest);
  const ref = { type: run.type, namespace: session.namespace, name: run.name };
  return { ...run, object: await session.client.get(ref, signal === undefined ? {} : { signal }) };
}

/** Refuses words that a command does not take. */
export function refuseMore(problem: string, words: readonly string[]): void {
  if (words.length > 0) throw new UsageError(`${problem}, found also ${words.join(", ")}`);
}

/** The refusal of a step that does not exist, with the one that was probably meant, or else the first twenty. */
export const unknownStep = (problem: string, step: string, ids: readonly string[]): UsageError =>
  new UsageError(problem, didYouMean(step, ids) ?? `the steps are ${ids.slice(0, 20).join(", ")}`);

/** As `findRun`, for the kinds that `isWanted` accepts. */
export async function findNamed(
  { client, namespace }: NamingSession,
  words: readonly string[],
  isWanted: (type: ResourceType) => Promise<boolean> = () => Promise.resolve(true),
): Promise<Omit<NamedRun, "dialect"> & { readonly rest: readonly string[] }> {
  const isPair = words.length > 1 && !words[0]?.includes("/") && (await isKind(client, words[0] ?? "", isWanted));
  const spelled = isPair ? [`${words[0]}/${words[1]}`, ...words.slice(2)] : words;
  const first = spelled[0]?.includes("/") ? spelled[0] : `workflow/${spelled[0] ?? ""}`;
  const { kind, names } = splitNames([first]);
  const name = names[0] ?? "";
  const type = await kindHaving(client, namespace, await findKinds(client, kind), name);
  return { type, name, rest: spelled.slice(1) };
}

type NamingSession = Pick<Session, "client" | "namespace">;

/** The one of these kinds that has an object of this name, or the first. A UsageError if several have one. */
export async function kindHaving(
  client: ApiClient,
  namespace: string,
  kinds: readonly ResourceType[],
  name: string,
): Promise<ResourceType> {
  const [first] = kinds;
  if (first === undefined) throw new Error("no kind has a name without a kind");
  if (kinds.length === 1 || name === "") return first;
  const objects = await Promise.all(kinds.map((type) => readIfVisible(client, { type, namespace, name })));
  const having = kinds.filter((_type, index) => objects[index] !== undefined);
  if (having.length > 1) {
    const spelled = having.map((type) => `${type.kind.toLowerCase()}.${type.group}/${name}`);
    throw new UsageError(`several kinds have an object "${name}"`, `write ${spelled.join(" or ")}`);
  }
  return having[0] ?? first;
}

/** Undefined if the object does not exist or the caller may not read it. */
export async function readIfVisible(
  client: ApiClient,
  { type, namespace, name }: { readonly type: ResourceType; readonly namespace: string; readonly name: string },
) {
  try {
    return await getOrUndefined(client, { type, name, ...(type.namespaced ? { namespace } : {}) });
  } catch (thrown) {
    if (isForbidden(thrown)) return undefined;
    throw thrown;
  }
}

async function isKind(
  client: ApiClient,
  word: string,
  isWanted: (type: ResourceType) => Promise<boolean>,
): Promise<boolean> {
  const type = await findKind(client, word).catch(() => undefined);
  return type !== undefined && (await isWanted(type));
}

/** The view of a run, including its children. */
export function viewOf(dialect: Dialect, object: KubeObject, children: readonly KubeObject[] = []): RunView {
  return dialect.runs.view(object, children);
}

/** The objects that the run owns, of the kinds its steps have. One list for each kind that is still served. */
export async function childrenOf(client: ApiClient, run: KubeObject, dialect: Dialect): Promise<readonly KubeObject[]> {
  const kinds = new Map(
    viewOf(dialect, run).children.map(({ apiVersion, kind }) => [`${apiVersion}/${kind}`, { apiVersion, kind }]),
  );
  return await controlledBy(client, run, [...kinds.values()]);
}

/** Whether the run is being canceled. */
export async function isStopping(
  client: ApiClient,
  namespace: string,
  { type, name, dialect }: NamedRun,
  signal: AbortSignal,
): Promise<boolean> {
  const object = await getOrUndefined(client, { type, namespace, name }, signal);
  return object !== undefined && viewOf(dialect, object).phase === "Cancelling";
}

/** The objects of these kinds that the object owns and the caller may list. One list for each kind. */
export async function controlledBy(
  client: ApiClient,
  owner: KubeObject,
  kinds: readonly { readonly apiVersion: string; readonly kind: string }[],
): Promise<readonly KubeObject[]> {
  const { namespace } = owner.metadata;
  const lists = await Promise.all(
    kinds.map(async ({ apiVersion, kind }) => {
      const type = await client.resourceType(apiVersion, kind);
      if (type === undefined) return [];
      const scope = type.namespaced && namespace !== undefined ? { namespace } : {};
      return await client.list(type, scope).then(
        ({ items }) => items,
        (thrown: unknown) => {
          // The caller may see a run but not its children.
          if (isForbidden(thrown)) return [];
          throw thrown;
        },
      );
    }),
  );
  return lists.flat().filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid));
}

/**
 * Other objects that the dialect shows with a run, as far as the caller may read them: of all namespaces, or of the
 * run's own if the caller may list no others.
 */
export async function neighboursOf(
  client: ApiClient,
  run: KubeObject,
  { runs }: Dialect,
): Promise<{ readonly found: readonly KubeObject[]; readonly hidden: readonly string[] }> {
  const hidden: string[] = [];
  const found = await Promise.all(
    (runs.neighbours?.(run) ?? []).map(async (wanted) => {
      const seen = await readNeighbours(client, run, wanted);
      if (seen === undefined) hidden.push(wanted.kind);
      return seen ?? [];
    }),
  );
  return { found: found.flat(), hidden };
}

/** Undefined if the caller may not read them or the kind is not served. */
async function readNeighbours(
  client: ApiClient,
  { metadata: { namespace = "default" } }: KubeObject,
  { apiVersion, kind, names }: Neighbours,
): Promise<readonly KubeObject[] | undefined> {
  const type = await client.resourceType(apiVersion, kind);
  if (type === undefined) return undefined;
  const place = type.namespaced ? { namespace } : {};
  const reads =
    names === undefined
      ? [() => client.list(type).then(({ items }) => items), () => client.list(type, place).then(({ items }) => items)]
      : [
          async () =>
            (await Promise.all(names.map((name) => getOrUndefined(client, { type, name, ...place })))).flatMap(
              (one) => one ?? [],
            ),
        ];
  for (const read of reads) {
    try {
      return await read();
    } catch (thrown) {
      if (!isForbidden(thrown)) throw thrown;
    }
  }
  return undefined;
}

/** Whether an object is a run of this dialect. */
export const isRunOf = ({ runs }: Dialect, { apiVersion, kind }: KubeObject): boolean =>
  runs.kinds.some((known) => known.kind === kind && known.group === splitApiVersion(apiVersion).group);
