import { isJsonObject, type JsonObject, objectAt, objectsAt, textAt, textsAt } from "#lib/base/index.ts";
import type { Component, Policy, Trait } from "../app.ts";

/**
 * The components as the policies of type `override` change them, in order; other policies are ignored. A change without
 * a name is for all components (of its type); a change that matches none is a new component.
 */
export function overrideComponents(
  components: readonly Component[],
  policies: readonly Policy[],
): readonly Component[] {
  let result = components;
  for (const { type, properties } of policies) {
    if (type !== "override") continue;
    for (const change of objectsAt(properties, "components")) result = withChange(result, change);
    const selector = textsAt(properties, "selector");
    if (selector.length > 0) result = result.filter(({ name }) => selector.some((one) => nameMatcher(one)(name)));
  }
  return result;
}

function withChange(components: readonly Component[], change: JsonObject): readonly Component[] {
  const name = textAt(change, "name");
  const type = textAt(change, "type");
  // With a name, another type replaces that of the component; without one, the type selects.
  const matches = name === undefined ? ofType(type) : nameMatcher(name);
  if (name === undefined) return components.map((one) => (matches(one.name, one.type) ? changed(one, change) : one));
  if (components.some((one) => matches(one.name, one.type)))
    return components.map((one) => (matches(one.name, one.type) ? changed(one, change) : one));
  return name.includes("*") || type === undefined ? components : [...components, added(name, type, change)];
}

type Matcher = (name: string, type?: string) => boolean;

const ofType =
  (wanted: string | undefined): Matcher =>
  (_name, type) =>
    wanted === undefined || wanted === type;

/** `*` stands for any characters; the whole name must match. */
export function nameMatcher(pattern: string): Matcher {
  const parts = pattern.split("*");
  const [first = "", ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return (name) => name === pattern;
  return (name) => {
    if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = name.indexOf(part, at);
      if (found < 0 || found + part.length > name.length - last.length) return false;
      at = found + part.length;
    }
    return true;
  };
}

const added = (name: string, type: string, change: JsonObject): Component => ({
  name,
  type,
  properties: objectAt(change, "properties") ?? {},
  traits: withTraits([], objectsAt(change, "traits")),
  dependsOn: textsAt(change, "dependsOn"),
  inputs: [],
  outputs: [],
});

function changed(component: Component, change: JsonObject): Component {
  const type = textAt(change, "type") ?? component.type;
  const properties = objectAt(change, "properties") ?? {};
  return {
    ...component,
    type,
    properties: type === component.type ? deepMerge(component.properties, properties) : properties,
    traits: withTraits(component.traits, objectsAt(change, "traits")),
  };
}

/** The first trait of a type is changed or taken away; traits of new types are appended. */
function withTraits(traits: readonly Trait[], changes: readonly JsonObject[]): readonly Trait[] {
  let result = traits;
  for (const change of changes) {
    const type = textAt(change, "type") ?? "";
    const properties = objectAt(change, "properties") ?? {};
    const at = result.findIndex((trait) => trait.type === type);
    if (change["disable"] === true) result = result.filter((trait) => trait.type !== type);
    else if (at < 0) result = [...result, { type, properties }];
    else
      result = result.map((trait, index) =>
        index === at ? { type, properties: deepMerge(trait.properties, properties) } : trait,
      );
  }
  return result;
}

/** Objects merge; everything else, lists included, is replaced. */
export function deepMerge(base: JsonObject, change: JsonObject): JsonObject {
  const merged = new Map(Object.entries(base));
  for (const [name, value] of Object.entries(change)) {
    const before = merged.get(name);
    merged.set(name, isJsonObject(before) && isJsonObject(value) ? deepMerge(before, value) : value);
  }
  return Object.fromEntries(merged);
}
