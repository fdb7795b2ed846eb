import { defined } from "#lib/base/index.ts";
import type { Definition, Definitions } from "./definition.ts";

/** Finds each definition once, so that its writers and what runs are of one version during a pass. */
export function remembered(definitions: Definitions): Definitions {
  const found = new Map<string, Promise<Definition | undefined>>();
  return {
    find(type, name, namespace) {
      const key = JSON.stringify([type, name, namespace]);
      const known = found.get(key) ?? definitions.find(type, name, namespace);
      found.set(key, known);
      return known;
    },
    ...defined({ complete: definitions.complete }),
    names: (type, namespace) => definitions.names(type, namespace),
  };
}
