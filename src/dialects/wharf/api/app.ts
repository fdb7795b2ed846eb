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

//   GET    /api/ping  /api/health  /api/version            that it is there
//   GET    /api/engine                                     who runs builds
//   GET    /api/project            POST                    projects
//   GET    /api/project/ID         PUT DELETE              one of them, replaced whole
//   GET    /api/project/ID/override  PUT DELETE            what people want of it otherwise than its provider
//   GET    /api/project/ID/branch  POST PUT                its branches
//   POST   /api/project/ID/build                           starts a build; POST /api/project/ID/STAGE/run is the older form
//   GET    /api/build                                      builds, by pages and filters
//   GET    /api/build/ID                                   one of them
//   PUT    /api/build/ID/status                            tells its state
//   POST   /api/build/ID/cancel                            has it ended
//   GET    /api/build/ID/log       POST PUT                its lines; PUT /logs brings many, GET /log/cursor tells how far they are there
//   GET    /api/build/ID/stream                            its lines as they come, as server-sent events
//   GET    /api/build/ID/artifact  POST, GET with /ID      what it has left; PUT with /STEP/N brings what a worker has under a number
//   POST   /api/build/ID/test-result                       results of tests; GET /detail /summary /list-summary, and /tests-results
//   GET    /api/provider  /api/token   POST, PUT with /ID  where projects come from, and what they are cloned with

/**
 * wharf-api as a hono app, with every path of the original and those that are additions. Whether somebody may ask is the door's question, and
 * was answered before.
 */
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
