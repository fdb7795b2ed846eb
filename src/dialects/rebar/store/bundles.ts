import { inParallel, isJsonObject, type JsonObject, objectAt, textAt, textsAt } from "#lib/base/index.ts";
import { createOrUpdate } from "#kernel/kit/index.ts";
import { apiVersionOf, isNotFound, type KubeObject } from "#kernel/model/index.ts";
import {
  type BundleObject,
  contentRefusal,
  countsOf,
  type ReadContent,
  readContent,
  sectionsOf,
} from "../bundles/content.ts";
import { brokenErrors, demandErrors, judgeObjects } from "../bundles/judge-bundle.ts";
import { ThoughtWorld } from "../bundles/thought-world.ts";
import { Refused } from "../failure.ts";
import { collections, ContentBundle } from "../kinds.ts";
import { asJson, keyOf } from "../model/read.ts";
import type { Collection } from "../objects.ts";
import type { Bundles, Content, ContentSummary, Write } from "../store.ts";
import { principalText } from "../world.ts";
import { basicStore, basicStoreMeta, builtIn, builtInSections } from "./built-in.ts";
import { refreshEverything } from "./cascade.ts";
import { keptOf, writable, writesOf } from "./codec.ts";
import { directEdit } from "./direct-edits.ts";
import { templateErrors } from "./judge.ts";
import { activeRev, type StoredBundle as Stored } from "./mirror.ts";
import { nameOf } from "./names.ts";
import { type Parts, randomText, taken } from "./parts.ts";
import { completeEdits, removeInactive, removeReplaced } from "./upkeep.ts";

const refuse = (code: number, name: string, ...messages: readonly string[]): Refused =>
  new Refused(contentRefusal(code, name, ...messages));
const unknown = (name: string): Refused => refuse(404, name, "No such content store");

/** Bundles: objects of a new revision are stored beside those of the present one, and one write switches. */
export function bundlesOf(parts: Parts): Bundles {
  const { mirror } = parts;
  const put = (content: ReadContent, write: Write, replaces: boolean) =>
    parts.inTurn("contents", () => load(parts, content, write, replaces));
  return {
    list: () => [
      { meta: writableMeta, Counts: countsOf(writableSections(parts)), Warnings: [] },
      { meta: basicStoreMeta, Counts: countsOf(jsonOf(builtInSections())), Warnings: [] },
      ...[...mirror.bundles.values()].map((object) => summaryOf(object)).toSorted(byName),
    ],
    get: (name) => contentOf(parts, name),
    async create(sent, write, replacesWritable) {
      const content = taken(readContent(sent));
      const { name } = content;
      if (isFixed(name) || mirror.bundles.has(name)) throw refuse(409, name, "already exists");
      return await put(content, write, replacesWritable);
    },
    async replace(name, sent, write, replacesWritable) {
      if (isFixed(name)) throw refuse(403, name, `readonly: ${name}`);
      if (!mirror.bundles.has(name)) throw unknown(name);
      const content = taken(readContent(sent));
      if (content.name !== name) throw refuse(400, name, `Key change from ${name} to ${content.name} not allowed`);
      return await put(content, write, replacesWritable);
    },
    remove: (name, write) => parts.inTurn("contents", () => unload(parts, name, write)),
  };
}

const writableMeta = { Name: writable, Type: "writable", Description: "What clients have written." } as const;
const isFixed = (name: string): boolean => name === writable || name === basicStore;
const byName = (a: ContentSummary, b: ContentSummary): number =>
  (textAt(a.meta, "Name") ?? "") < (textAt(b.meta, "Name") ?? "") ? -1 : 1;
const jsonOf = (value: object): JsonObject => ({ ...value });

function summaryOf({ spec }: Stored): ContentSummary {
  const counts = objectAt(spec, "counts") ?? {};
  return {
    meta: objectAt(spec, "meta") ?? {},
    Counts: Object.fromEntries(Object.entries(counts).map(([type, count]) => [type, Number(count)])),
    Warnings: textsAt(spec, "warnings"),
  };
}

function objectsOf({ mirror }: Pick<Parts, "mirror">, revision: number | undefined): readonly BundleObject[] {
  return collections.flatMap((collection) =>
    [...mirror.table(collection).entries()].flatMap(({ key, wire, revision: own }) =>
      own === revision && wire !== undefined ? [{ collection, key, object: wire }] : [],
    ),
  );
}

const writableSections = (parts: Parts): JsonObject =>
  sectionsOf(
    objectsOf(parts, undefined).filter(({ collection }) => collection !== "jobs"),
    {},
  );

function contentOf(parts: Parts, name: string): Content | undefined {
  if (name === basicStore) return { meta: basicStoreMeta, sections: jsonOf(builtInSections()) };
  if (name === writable) return { meta: writableMeta, sections: writableSections(parts) };
  const bundle = parts.mirror.bundles.get(name);
  if (bundle === undefined) return undefined;
  const sections = sectionsOf(objectsOf(parts, activeRev(bundle)), objectAt(bundle.spec, "extra") ?? {});
  return { meta: objectAt(bundle.spec, "meta") ?? {}, sections };
}

/** The world without a bundle's present objects, and with others instead. */
function thought(parts: Pick<Parts, "mirror">, name: string, added: readonly BundleObject[]): ThoughtWorld {
  const present = parts.mirror.bundles.get(name);
  const gone = present === undefined ? [] : objectsOf(parts, activeRev(present));
  const below = (collection: Collection, key: string) =>
    builtIn(collection).find((object) => keyOf(collection, object) === key);
  return new ThoughtWorld(parts.mirror, { added, gone, below });
}

function metasAfter(
  { mirror }: Pick<Parts, "mirror">,
  name: string,
  meta: JsonObject | undefined,
): ReadonlyMap<string, JsonObject> {
  const metas = new Map<string, JsonObject>([[basicStore, basicStoreMeta]]);
  for (const [other, { spec }] of mirror.bundles) metas.set(other, objectAt(spec, "meta") ?? {});
  if (meta === undefined) metas.delete(name);
  else metas.set(name, meta);
  return metas;
}

/** What judging a bundle takes. */
export type JudgingBundle = Pick<Parts, "mirror" | "features" | "renderer" | "random">;

/** Everything that is wrong with a bundle, and its objects as they would be in force. */
export async function judgeContent(parts: JudgingBundle, content: ReadContent, replaces: boolean) {
  const { name, meta } = content;
  const { taken: writables, errors: overrides } = overridden(parts, content);
  const world = thought(parts, name, content.objects);
  const judged = await judgeObjects(content.objects, world, (of, object) =>
    templateErrors({ ...parts, world: of }, object),
  );
  const errors = [
    ...demandErrors(name, metasAfter(parts, name, meta), parts.features),
    ...(replaces ? [] : writables.map(({ text }) => text)),
    ...overrides,
    ...judged.errors,
    ...brokenErrors(parts.mirror, world, new Set([name])),
  ];
  return { errors, judged, writables, world };
}

async function load(parts: Parts, content: ReadContent, write: Write, replaces: boolean): Promise<ContentSummary> {
  const { name, meta, extra } = content;
  const before = parts.mirror.bundles.get(name);
  const { errors, judged, writables } = await judgeContent(parts, content, replaces);
  if (errors.length > 0) throw refuse(422, name, ...errors);
  const spec: JsonObject = {
    meta,
    counts: countsOf(sectionsOf(judged.objects, extra)),
    warnings: judged.warnings,
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
    ...(writables.length === 0 ? {} : { replaces: writables.map(({ collection, key }) => ({ collection, key })) }),
  };
  const after = await activate(parts, name, judged.objects, spec);
  publish(parts, before === undefined ? "create" : "update", name, write, summaryOf(after), before);
  await removeReplaced(parts);
  await removeInactive(parts);
  await refreshEverything(parts);
  return summaryOf(after);
}

/**
 * Loads what was written into a ContentBundle, and takes it out of there. What is refused is told in the status: the
 * objects in force stay.
 */
export const loadWritten = (parts: Parts, written: KubeObject): Promise<void> =>
  parts.inTurn("contents", async () => {
    const { client, namespace, clock } = parts;
    try {
      await load(parts, taken(readContent(asSpec(written))), directEdit, false);
    } catch (thrown) {
      if (!(thrown instanceof Refused)) throw thrown;
      const errors = thrown.body.Messages;
      const ref = { type: ContentBundle, namespace, name: written.metadata.name ?? "" };
      await createOrUpdate<KubeObject>(
        client,
        ref,
        (present) => {
          const { sections: _refused, ...spec } = asSpec(present ?? written);
          return { ...(present ?? written), spec, status: { writes: writesAfter(present), errors } };
        },
        { clock },
      );
    }
    // They may have waited for this.
    await completeEdits(parts);
  });

const asSpec = (object: KubeObject): JsonObject => (isJsonObject(object.spec) ? object.spec : {});
const writesAfter = (present: KubeObject | undefined): number =>
  (present === undefined ? 0 : (writesOf(present) ?? 0)) + 1;

/** Keys that others own; those of the built-in bundle may be overridden. */
function overridden({ mirror }: Pick<Parts, "mirror">, { name, objects }: ReadContent) {
  const errors: string[] = [];
  const taken: { readonly collection: Collection; readonly key: string; readonly text: string }[] = [];
  for (const { collection, key } of objects) {
    const owner = mirror.get(collection, key)?.Bundle ?? basicStore;
    if (owner === name || owner === basicStore) continue;
    const layer = owner === writable ? `writable-${owner}` : `dynamic-${owner}`;
    const text = `${collection}:${key} in layer dynamic-${name} would override layer ${layer}`;
    if (owner === writable) taken.push({ collection, key, text });
    else errors.push(text);
  }
  return { taken, errors };
}

/** The objects first, then the switch, which is the commit. */
async function activate(
  parts: Parts,
  name: string,
  objects: readonly BundleObject[],
  spec: JsonObject,
): Promise<Stored> {
  const { mirror, client, namespace, clock } = parts;
  const revision = nextRevision(parts);
  try {
    await inParallel(
      objects,
      async ({ collection, object }) => {
        const isNewUser = collection === "users" && asJson(object)["Secret"] === "";
        const own = isNewUser ? { ...object, Secret: randomText(parts, 16) } : object;
        await parts.writer.create(collection, own, { name, revision });
      },
      32,
    );
    const metadata = { name: nameOf(name), namespace };
    const { object } = await createOrUpdate<KubeObject>(
      client,
      { type: ContentBundle, ...metadata },
      (present) => ({
        ...(present ?? { apiVersion: apiVersionOf(ContentBundle), kind: ContentBundle.kind, metadata }),
        spec: { ...spec, activeRev: revision },
        status: { writes: writesAfter(present) },
      }),
      { clock },
    );
    const stored = keptOf(object);
    mirror.putBundle(stored);
    return stored;
  } catch (thrown) {
    await removeInactive(parts);
    throw thrown;
  }
}

/** Larger than every revision that has left a trace. */
function nextRevision({ mirror }: Parts): number {
  let highest = 0;
  for (const bundle of mirror.bundles.values()) highest = Math.max(highest, activeRev(bundle));
  for (const collection of collections)
    for (const { revision = 0 } of mirror.table(collection).entries()) highest = Math.max(highest, revision);
  return highest + 1;
}

async function unload(parts: Parts, name: string, write: Write): Promise<void> {
  const { mirror, client, namespace } = parts;
  if (isFixed(name)) throw refuse(403, name, `readonly: ${name}`);
  const bundle = mirror.bundles.get(name);
  if (bundle === undefined) throw unknown(name);
  const errors = [
    ...demandErrors(name, metasAfter(parts, name, undefined), parts.features),
    ...brokenErrors(mirror, thought(parts, name, []), new Set([name])),
  ];
  if (errors.length > 0) throw refuse(422, name, ...errors);
  try {
    await client.delete({ type: ContentBundle, namespace, name: bundle.metadata.name });
  } catch (thrown) {
    if (!isNotFound(thrown)) throw thrown;
  }
  mirror.dropBundle(bundle);
  publish(parts, "delete", name, write, summaryOf(bundle), undefined);
  await removeInactive(parts);
  await refreshEverything(parts);
}

function publish(
  { events }: Parts,
  Action: string,
  Key: string,
  { by }: Write,
  summary: ContentSummary,
  before: Stored | undefined,
): void {
  const Original = before === undefined ? null : jsonOf(summaryOf(before));
  events.publish({ Type: "contents", Action, Key, Principal: principalText(by), Object: jsonOf(summary), Original });
}
