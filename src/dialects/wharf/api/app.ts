import { addArtifactRoutes } from "../results-api/artifact-routes.ts";
import { addLogRoutes } from "../results-api/log-routes.ts";
import type { ResultsApiParts } from "../results-api/parts.ts";
import { addTestResultRoutes } from "../results-api/test-result-routes.ts";
import { engineJson } from "./json.ts";
import { createRestApi, sendJson } from "../http/rest-api.ts";
import type { Api, ApiParts } from "./routes/parts.ts";
import { resultsOf } from "./known-builds.ts";
import { addBranchRoutes } from "./routes/branches.ts";
import { addBuildRoutes } from "./routes/builds.ts";
import { addProjectRoutes } from "./routes/projects.ts";
import { addProviderRoutes, addTokenRoutes } from "./routes/providers.ts";
import { addStartRoutes } from "./routes/start.ts";

export function createApi(parts: ApiParts, origins: readonly string[] = []): Api {
  const api = createRestApi({ log: parts.log, origins });
  addMetaRoutes(api, parts);
  addProjectRoutes(api, parts);
  addBranchRoutes(api, parts);
  addStartRoutes(api, parts);
  addBuildRoutes(api, parts);
  addProviderRoutes(api, parts);
  addTokenRoutes(api, parts);
  addResultRoutes(api, resultsOf(parts));
  return api;
}

/** The wharf-api release whose endpoints these are; clients compare it. */
const apiVersion = "5.2.0";

/** `/` and `/health` are for older clients. */
function addMetaRoutes(api: Api, { version, start }: ApiParts): void {
  api.get("/api/ping", (context) => sendJson(context, { message: "pong" }));
  for (const path of ["/health", "/api/health"])
    api.get(path, (context) => sendJson(context, { message: "API is healthy.", isHealthy: true }));
  // npm packages have no build data.
  const build = { buildGitCommit: "", buildDate: "1970-01-01T00:00:00Z", buildRef: 0 };
  api.get("/api/version", (context) => sendJson(context, { version: apiVersion, ...build, slipwayVersion: version }));
  api.get("/api/engine", (context) => {
    const list = start.engines.map(engineJson);
    return sendJson(context, { defaultEngine: list[0] ?? null, list });
  });
}

export function addResultRoutes(api: Api, parts: ResultsApiParts): void {
  addLogRoutes(api, parts);
  addArtifactRoutes(api, parts);
  addTestResultRoutes(api, parts);
}
