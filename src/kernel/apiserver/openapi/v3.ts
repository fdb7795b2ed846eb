import type { JsonObject } from "#lib/base/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { componentsOf } from "./components.ts";
import { pathsOf } from "./paths.ts";

/** The version is that of the emulated API. */
export const documentInfo = { title: "Slipway", version: "v1.33.0" } as const;

export const openApiV3 = (resources: readonly ServedResource[]): JsonObject => ({
  openapi: "3.0.0",
  info: documentInfo,
  paths: Object.assign({}, ...resources.map(pathsOf)) as JsonObject,
  components: { schemas: Object.fromEntries(componentsOf(resources)) },
});
