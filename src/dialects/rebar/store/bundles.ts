import type { Bundles } from "../store.ts";
import type { Parts } from "./parts.ts";

export const bundlesOf = (_parts: Parts): Bundles => ({
  list: () => [],
  get: () => undefined,
  create: () => Promise.reject(new Error("not yet")),
  replace: () => Promise.reject(new Error("not yet")),
  remove: () => Promise.reject(new Error("not yet")),
});
