import { textAt, type JsonObject } from "#lib/base/index.ts";
import { availability } from "../model/availability.ts";
import { syntaxErrors } from "../model/syntax.ts";
import { collections } from "../kinds.ts";
import type { AnyObject, Collection } from "../objects.ts";
import type { World } from "../world.ts";
import type { BundleObject } from "./content.ts";
import type { ThoughtWorld } from "./thought-world.ts";
import { listOf, prerequisitesOf, readRange, readVersion } from "./versions.ts";

/** Problems of what bundles demand of the server and of each other; `metas` are those after the change. */
export function demandErrors(
  name: string,
  metas: ReadonlyMap<string, JsonObject>,
  features: readonly string[],
): readonly string[] {
  const meta = metas.get(name);
  const version = textAt(meta, "Version") ?? "";
  const known = new Set(features.map((feature) => feature.toLowerCase()));
  return [
    ...(readVersion(version) === undefined ? [`Layer ${name} has an invalid version ${version}`] : []),
    ...listOf(textAt(meta, "RequiredFeatures") ?? "")
      .filter((feature) => !known.has(feature.toLowerCase()))
      .map((feature) => `Content layer ${name} requires feature ${feature}, but dr-provision does not provide it`),
    ...[...metas].flatMap(([layer, one]) => prerequisiteErrors(layer, one, metas)),
  ];
}

function prerequisiteErrors(
  layer: string,
  meta: JsonObject,
  metas: ReadonlyMap<string, JsonObject>,
): readonly string[] {
  return prerequisitesOf(textAt(meta, "Prerequisites") ?? "").flatMap(({ name, range }) => {
    const found = metas.get(name);
    if (found === undefined) return [`Layer ${layer} has ${name} as a prerequisite, but ${name} does not exist!`];
    if (range === undefined) return [];
    const version = readVersion(textAt(found, "Version") ?? "");
    const test = readRange(range);
    const isMet = version !== undefined && test?.(version) === true;
    return isMet ? [] : [`Layer ${layer} prerequisite test on ${name} failed`];
  });
}

export interface JudgedBundle {
  readonly errors: readonly string[];
  /** Dangling references. */
  readonly warnings: readonly string[];
  /** With what is computed. */
  readonly objects: readonly BundleObject[];
}

type TemplateErrors = (world: World, object: AnyObject) => Promise<readonly string[]>;

/** Judges a bundle's objects in the world after the switch, each after those it may refer to. */
export async function judgeObjects(
  objects: readonly BundleObject[],
  world: ThoughtWorld,
  templateErrors: TemplateErrors,
): Promise<JudgedBundle> {
  const [errors, warnings]: [string[], string[]] = [[], []];
  const judged: BundleObject[] = [];
  const rank = new Map<Collection, number>(collections.map((collection, index) => [collection, index]));
  for (const one of objects.toSorted((a, b) => (rank.get(a.collection) ?? 0) - (rank.get(b.collection) ?? 0))) {
    const { collection, key, object } = one;
    const unsound = [...syntaxErrors(collection, object, world), ...(await templateErrors(world, object))];
    errors.push(...unsound.map((error) => `${collection}:${key}: ${error}`));
    const found = availability(collection, object, world);
    warnings.push(...found.Errors.map((error) => `${collection}:${key}: ${error}`));
    const settled = { ...object, ...found };
    world.settle(collection, key, settled);
    judged.push({ collection, key, object: settled });
  }
  return { errors, warnings, objects: judged };
}

/** What else would become unsound, such as a task without its prerequisite. */
export function brokenErrors(before: World, after: World, own: ReadonlySet<string>): readonly string[] {
  return collections
    .filter((collection) => collection !== "jobs" && collection !== "machines")
    .flatMap((collection) => newlyUnsound(collection, before, after, own));
}

function newlyUnsound<C extends Collection>(
  collection: C,
  before: World,
  after: World,
  own: ReadonlySet<string>,
): readonly string[] {
  return after.all(collection).flatMap((object) => {
    if (own.has(object.Bundle)) return [];
    const errors = syntaxErrors(collection, object, after);
    return errors.length === 0 || syntaxErrors(collection, object, before).length > 0 ? [] : errors;
  });
}
