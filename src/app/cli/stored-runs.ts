import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { loadDialects } from "#dialects/index.ts";
import type { Dialect, Startable } from "#kernel/dialect/index.ts";
import { nearest } from "#lib/text/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import { apiVersionOf, isForbidden, type KubeObject, type ResourceType } from "#kernel/model/index.ts";
import { type Invocation, type Session, UsageError } from "#kernel/command/index.ts";
import type { RunOptions } from "./run-options.ts";
import type { Document, ReadDocuments } from "#app/runs/index.ts";
import { namesOf } from "./kinds.ts";

/** A kind whose stored objects can be run, and the words for it, shortest first. */
interface StartableKind {
  readonly dialect: Dialect;
  readonly kind: Dialect["kinds"][number];
  readonly startable: Startable;
  readonly words: readonly string[];
}

interface Named extends StartableKind {
  readonly word: string;
  readonly name: string;
}

/** The number of names searched for suggestions. */
const most = 500;

async function startableKinds(): Promise<readonly StartableKind[]> {
  return (await loadDialects()).flatMap((dialect) =>
    (dialect.startable ?? []).flatMap((startable) =>
      dialect.kinds
        .filter(({ group, kind }) => group === startable.group && kind === startable.kind)
        .map((kind) => ({
          dialect,
          kind,
          startable,
          words: [...(startable.aliases ?? []), ...kind.shortNames, ...namesOf(kind)],
        })),
    ),
  );
}

/**
 * Runs of the named stored templates and schedules, as documents. Undefined if the first word is a file or names no
 * such kind. `given` are the arguments of the command line.
 */
export async function storedRuns(
  given: Readonly<Record<string, string>>,
  invocation: Invocation<RunOptions>,
): Promise<ReadDocuments | undefined> {
  const { rest, options, clock, connect } = invocation;
  const kinds = await kindsNamed(rest, invocation.environment.directory);
  if (kinds === undefined) return undefined;
  const named = rest.map((word) => namedBy(word, kinds));
  if (options.ephemeral === true)
    throw new UsageError(`${rest[0] ?? ""} is stored on the running control plane, which --ephemeral does not use`);
  const session = await connect();
  try {
    const documents: Document[] = [];
    const problems: ReadDocuments["problems"][number][] = [];
    for (const one of named) {
      const stored = await fetched(one, session);
      const object = withoutPlace(stored);
      // A dry run needs the template too.
      if (options.dryRun !== undefined) documents.push({ ...asDocument(one, object), object });
      const run = asDocument(one, one.startable.run(stored, clock.now()));
      const reading = one.dialect.documents.read(run.source, { arguments: given, beside: [object] });
      problems.push(...reading.problems);
      documents.push({ ...run, object: reading.object });
    }
    return { documents, problems };
  } finally {
    await session.close();
  }
}

/** Undefined for files, which take precedence. */
async function kindsNamed(
  [first = ""]: readonly string[],
  directory: string,
): Promise<readonly StartableKind[] | undefined> {
  if (existsSync(resolve(directory, first))) return undefined;
  const kinds = await startableKinds();
  const word = wordOf(first);
  return kinds.some(({ words }) => words.includes(word)) ? kinds : undefined;
}

const wordOf = (text: string): string => text.slice(0, text.indexOf("/")).toLowerCase();

function namedBy(text: string, kinds: readonly StartableKind[]): Named {
  const word = wordOf(text);
  const kind = kinds.find(({ words }) => words.includes(word));
  if (kind !== undefined) return { ...kind, word, name: text.slice(word.length + 1) };
  throw new UsageError(`expected a stored template or schedule such as wft/NAME beside the first, found "${text}"`);
}

async function fetched({ kind, word, name }: Named, { client, namespace }: Session): Promise<KubeObject> {
  const type = await client.resourceType(apiVersionOf(kind), kind.kind);
  if (type === undefined) throw new UsageError(`the control plane serves no ${kind.kind} of ${kind.group}`);
  const found = await getOrUndefined(client, { type, namespace, name });
  if (found !== undefined) return found;
  const message = `there is no ${kind.kind} "${name}" in the namespace ${namespace}`;
  throw new UsageError(message, hintFor(word, name, await namesIn(client, type, namespace)));
}

const namesIn = (client: ApiClient, type: ResourceType, namespace: string): Promise<readonly string[]> =>
  client.list(type, { namespace, limit: most }).then(
    ({ items }) => items.map(({ metadata }) => metadata.name),
    (thrown: unknown) => {
      if (isForbidden(thrown)) return [];
      throw thrown;
    },
  );

function hintFor(word: string, name: string, names: readonly string[]): string | undefined {
  const meant = nearest(name, names);
  if (meant !== undefined) return `did you mean ${word}/${meant}?`;
  return names.length === 0 ? undefined : `it holds ${names.slice(0, 10).join(", ")}${names.length > 10 ? ", …" : ""}`;
}

/** References without a namespace mean the caller's. */
function withoutPlace(object: KubeObject): KubeObject {
  const { namespace: _callers, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function asDocument({ dialect, word, name }: Named, object: object): Omit<Document, "object"> {
  const file = `${word}/${name}`;
  const value: Document["source"]["value"] = JSON.parse(JSON.stringify(object)) as never;
  return {
    file,
    source: { value, positionOf: () => ({ file, line: 1, column: 1 }) },
    dialect,
    reader: dialect.documents,
  };
}

/** All names that `slipway run` accepts, for completion. */
export async function startableNames(
  { client, namespace }: Pick<Session, "client" | "namespace">,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const lists = (await startableKinds()).map(async ({ kind, words: [word = ""] }) => {
    const type = await client.resourceType(apiVersionOf(kind), kind.kind);
    if (type === undefined) return [];
    const { items } = await client.list(type, { namespace, limit: most, signal });
    return items.map(({ metadata }) => `${word}/${metadata.name}`);
  });
  return (await Promise.all(lists)).flat();
}
