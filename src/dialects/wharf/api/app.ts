import { addResultRoutes } from "../results-api/add-result-routes.ts";
import { createRestApi } from "../http/rest-api.ts";
import { resultsOf } from "./known-builds.ts";
import { addBranchRoutes } from "./routes/branches.ts";
import { addBuildRoutes } from "./routes/builds.ts";
import { addMetaRoutes } from "./routes/meta.ts";
import type { Api, ApiParts } from "./routes/parts.ts";
import { addProjectRoutes } from "./routes/projects.ts";
import { addProviderRoutes, addTokenRoutes } from "./routes/providers.ts";
import { addStartRoutes } from "./routes/start.ts";

/** wharf-api with the paths of the original and additions. The door has already checked access. */
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
