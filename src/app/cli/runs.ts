import type { Described, Dialect, Neighbours } from "#kernel/dialect/index.ts";
import type { RunView } from "#engine/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import { isForbidden, type KubeObject, type ResourceType, splitApiVersion } from "#kernel/model/index.ts";
import { findKind, findKinds, splitNames } from "./kinds.ts";
import { type Session, UsageError } from "#kernel/command/index.ts";

/** A run named on the command line: where it is, and who can explain it. */
export interface NamedRun {
  readonly type: ResourceType;
  readonly name: string;
  readonly dialect: Dialect;
}

/** The dialect whose runs are objects of this kind; undefined for kinds that are no runs. Loads all dialects. */
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

/** What a dialect can do with its runs beyond what all can. */
type Ability = "approvalValues" | "explainCache" | "resubmission" | "simulation" | "upTo";

/** The dialect's way to do it; a UsageError where runs of its language cannot be `what`, such as "simulated". */
export function abilityOf<A extends Ability>(
  { name, runs }: Dialect,
  ability: A,
  what: string,
): NonNullable<Dialect["runs"][A]> {
  const found = runs[ability];
  if (found === undefined) throw new UsageError(`runs of ${name} cannot be ${what}`);
  return found;
}

/** What a dialect knows of a kind whose objects are no runs; undefined for kinds that nobody knows more about than their fields. */
export async function describedOf({ group, kind }: ResourceType): Promise<Described | undefined> {
  const { loadDialects } = await import("#dialects/index.ts");
  return (await loadDialects())
    .flatMap(({ described }) => described)
    .find((known) => known.group === group && known.kind === kind);
}

/**
 * `hello`, `workflow/hello` or `workflow hello`: a bare name is a Workflow's. `rest` are the words after the run,
 * such as names of steps. Whether the run exists is looked at only where several languages may have it; a kind that is not served,
 * or whose objects are no runs, is a UsageError.
 *
 * A first word that names a kind of runs is one as soon as another word follows: a run called `workflow` with a step is written
 * `workflow/workflow step`. Words for other kinds are names of runs here, because no such object can be meant.
 */
export async function findRun(
  session: NamingSession,
  words: readonly string[],
): Promise<NamedRun & { readonly rest: readonly string[] }> {
  const { type, name, rest } = await findNamed(session, words, async (kind) => (await dialectOf(kind)) !== undefined);
  const dialect = await dialectOf(type);
  if (dialect === undefined) throw new UsageError(`objects of kind ${type.kind} are no runs`);
  return { type, name, dialect, rest };
}

/** As `findRun`, for objects of any kind; `isWanted` says which kinds a first word can mean. */
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

/** Where names are looked up. */
type NamingSession = Pick<Session, "client" | "namespace">;

/**
 * The one of these kinds that has an object of this name, of which the caller may know; the first where none has. Where several have
 * one nobody can say which is meant: a UsageError with what to write.
 */
export async function kindHaving(
  client: ApiClient,
  namespace: string,
  kinds: readonly ResourceType[],
  name: string,
): Promise<ResourceType> {
  const [first] = kinds;
  if (first === undefined) throw new Error("no kind has a name without a kind");
  if (kinds.length === 1 || name === "") return first;
  const objects = await Promise.all(kinds.map((type) => readOrUndefined(client, { type, namespace, name })));
  const having = kinds.filter((_type, index) => objects[index] !== undefined);
  if (having.length > 1) {
    const spelled = having.map((type) => `${type.kind.toLowerCase()}.${type.group}/${name}`);
    throw new UsageError(`several kinds have an object "${name}"`, `write ${spelled.join(" or ")}`);
  }
  return having[0] ?? first;
}

/** Undefined also where the caller may not look. */
async function readOrUndefined(
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

/** The view of a run object, with what its dialect makes of the objects it has created. */
export function viewOf(dialect: Dialect, object: KubeObject, children: readonly KubeObject[] = []): RunView {
  return dialect.runs.view(object, children);
}

/**
 * The objects that the run owns, of the kinds its steps have: what describes it and tells the logs of earlier
 * attempts. One list per kind, in the run's namespace; those of other owners are dropped by uid. Empty for kinds that
 * are not served any more.
 */
export async function childrenOf(client: ApiClient, run: KubeObject, dialect: Dialect): Promise<readonly KubeObject[]> {
  const kinds = new Map(
    viewOf(dialect, run).children.map(({ apiVersion, kind }) => [`${apiVersion}/${kind}`, { apiVersion, kind }]),
  );
  return await controlledBy(client, run, [...kinds.values()]);
}

/** Whether the run was asked to stop and has not stopped yet. */
export async function isStopping(
  client: ApiClient,
  namespace: string,
  { type, name, dialect }: NamedRun,
  signal: AbortSignal,
): Promise<boolean> {
  const object = await getOrUndefined(client, { type, namespace, name }, signal);
  return object !== undefined && viewOf(dialect, object).phase === "Cancelling";
}

/** Objects of these kinds that have the object for an owner, as far as the caller may see them; one list per kind, in its namespace. */
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
          // Who may see a run need not see everything it has made: the picture is poorer then.
          if (isForbidden(thrown)) return [];
          throw thrown;
        },
      );
    }),
  );
  return lists.flat().filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid));
}

/**
 * What its dialect wants to see beside a run, as far as the caller may. All of a kind means those of every namespace, or of the
 * run's own for who may list no others.
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

/** Undefined where the caller may not look, or the server does not serve the kind. */
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
