import type { JsonObject } from "#lib/base/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { componentsOf } from "./components.ts";
import { pathsOf } from "./paths.ts";

/** The same in both versions of OpenAPI; the version is that of the API that is emulated. */
export const documentInfo = { title: "Slipway", version: "v1.33.0" } as const;

/** The OpenAPI 3.0 document of one group and version, made of the kinds served there. Pure; equal kinds give equal documents. */
export const openApiV3 = (resources: readonly ServedResource[]): JsonObject => ({
  openapi: "3.0.0",
  info: documentInfo,
  paths: Object.assign({}, ...resources.map(pathsOf)) as JsonObject,
  components: { schemas: Object.fromEntries(componentsOf(resources)) },
});
