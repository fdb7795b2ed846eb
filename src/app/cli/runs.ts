import { didYouMean } from "#lib/text/index.ts";
import type { Dialect } from "#kernel/dialect/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import type { ResourceType, Stored } from "#kernel/model/index.ts";
import { dialectOf, readIfVisible, viewOf } from "#app/runs/index.ts";
import { findKind, findKinds, splitNames } from "./kinds.ts";
import { type Session, UsageError } from "#kernel/command/index.ts";

export interface NamedRun {
  readonly type: ResourceType;
  readonly name: string;
  readonly dialect: Dialect;
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

async function isKind(
  client: ApiClient,
  word: string,
  isWanted: (type: ResourceType) => Promise<boolean>,
): Promise<boolean> {
  const type = await findKind(client, word).catch(() => undefined);
  return type !== undefined && (await isWanted(type));
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
