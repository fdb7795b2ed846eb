import { addArtifactRoutes } from "./artifact-routes.ts";
import { addLogRoutes } from "./log-routes.ts";
import type { Api, ResultsApiParts } from "./parts.ts";
import { addTestResultRoutes } from "./test-result-routes.ts";

export function addResultRoutes(api: Api, parts: ResultsApiParts): void {
  addLogRoutes(api, parts);
  addArtifactRoutes(api, parts);
  addTestResultRoutes(api, parts);
}
