import { err, isJsonObject, type JsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import type { Machine, Params, Plugin, Profile, Stage } from "../objects.ts";
import type { World } from "../world.ts";
import { defaultOf } from "./values.ts";

/** An object with params of its own. */
export type ParamOwner =
  | { readonly collection: "machines"; readonly object: Machine }
  | { readonly collection: "stages"; readonly object: Stage }
  | { readonly collection: "profiles"; readonly object: Profile }
  | { readonly collection: "plugins"; readonly object: Plugin };

export interface ParamSource {
  /** The owner of sealed values: a machine's UUID, otherwise a name. */
  readonly owner: string;
  readonly values: Params;
}

/** All sources of values, most specific first. The first one with a key wins, whatever its value is. */
export function paramSources(world: World, { collection, object }: ParamOwner): readonly ParamSource[] {
  switch (collection) {
    case "machines": {
      const stage = world.get("stages", object.Stage);
      return [
        { owner: object.Uuid, values: object.Params },
        ...profileSources(world, object.Profiles),
        ...(stage === undefined ? [] : [{ owner: stage.Name, values: stage.Params }]),
        ...profileSources(world, stage?.Profiles ?? []),
        ...profileSources(world, ["global"]),
      ];
    }
    case "stages":
      return [
        { owner: object.Name, values: object.Params },
        ...profileSources(world, object.Profiles),
        ...profileSources(world, ["global"]),
      ];
    case "profiles":
      return [{ owner: object.Name, values: object.Params }, ...profileSources(world, object.Profiles, [object.Name])];
    case "plugins":
      return [{ owner: object.Name, values: object.Params }];
  }
}

/** Profiles in order, each followed by its nested profiles. Repeated profiles are skipped. */
function profileSources(world: World, names: readonly string[], met: readonly string[] = []): readonly ParamSource[] {
  const seen = new Set(met);
  const sources: ParamSource[] = [];
  const visit = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    const profile = world.get("profiles", name);
    if (profile === undefined) return;
    sources.push({ owner: name, values: profile.Params });
    for (const nested of profile.Profiles) visit(nested);
  };
  for (const name of names) visit(name);
  return sources;
}

export interface FoundParam {
  readonly value: JsonValue;
  /** Undefined: the default of the param's schema. */
  readonly owner?: string;
}

const memberOf = (values: Params, name: string): JsonValue | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined;

/** The effective value for an owner, or the param's default. */
export function findParam(world: World, owner: ParamOwner, name: string): FoundParam | undefined {
  const own = memberOf(owner.object.Params, name);
  if (own !== undefined) {
    return { value: own, owner: owner.collection === "machines" ? owner.object.Uuid : owner.object.Name };
  }
  for (const source of paramSources(world, owner)) {
    const value = memberOf(source.values, name);
    if (value !== undefined) return { value, owner: source.owner };
  }
  const param = world.get("params", name);
  const fallback = param === undefined ? undefined : defaultOf(param);
  return fallback === undefined ? undefined : { value: fallback };
}

/** The effective values for an owner, without defaults. */
export function aggregateParams(world: World, owner: ParamOwner): Params {
  const entries = paramSources(world, owner).map(({ values }) => Object.entries(values));
  return Object.fromEntries(entries.reverse().flat());
}

/**
 * Combines all values, including the default: maps are merged deeply, lists are concatenated, most specific first.
 * Undefined if there is no value. `open` unseals a value of an owner.
 */
export function composeParam(
  world: World,
  owner: ParamOwner,
  name: string,
  open: (owner: string, value: JsonValue) => JsonValue = (_, value) => value,
): Result<JsonValue | undefined, string> {
  const values = paramSources(world, owner).flatMap((source) => {
    const value = memberOf(source.values, name);
    return value === undefined ? [] : [open(source.owner, value)];
  });
  const param = world.get("params", name);
  const fallback = param === undefined ? undefined : defaultOf(param);
  if (fallback !== undefined) values.push(fallback);
  if (values.length <= 1) return ok(values[0]);
  if (values.every((value) => Array.isArray(value))) return ok(values.flat());
  if (values.every(isJsonObject)) return ok(values.reduceRight((general, specific) => merged(general, specific)));
  return err("Cannot compose freeform");
}

function merged(general: JsonObject, specific: JsonObject): JsonObject {
  const entries = Object.entries(specific).map(([key, value]): [string, JsonValue | undefined] => {
    const under = Object.hasOwn(general, key) ? general[key] : undefined;
    return [key, isJsonObject(value) && isJsonObject(under) ? merged(under, value) : value];
  });
  return { ...general, ...Object.fromEntries(entries) };
}
