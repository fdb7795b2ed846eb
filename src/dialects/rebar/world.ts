import type { Collection, ObjectOf, Prefs } from "./objects.ts";

/** All objects at one moment. Pure functions read it; nobody changes what it returns. */
export interface World {
  get<C extends Collection>(collection: C, key: string): ObjectOf[C] | undefined;
  /** In the order of the keys. */
  all<C extends Collection>(collection: C): readonly ObjectOf[C][];
  /** With defaults. */
  readonly prefs: Prefs;
}

/** Who asks, as events name them: a user by name, an agent by its machine, or the server itself. */
export type Principal =
  | { readonly kind: "user"; readonly name: string }
  | { readonly kind: "runner"; readonly machine: string }
  | { readonly kind: "internal" };

export const principalText = (principal: Principal): string =>
  principal.kind === "user"
    ? `user:${principal.name}`
    : principal.kind === "runner"
      ? `runner:${principal.machine}`
      : "internal";
