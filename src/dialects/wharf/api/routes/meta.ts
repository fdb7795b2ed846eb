import { engineJson } from "../json.ts";
import { sendJson } from "../../http/rest-api.ts";
import type { Api, ApiParts } from "./parts.ts";

/** The released wharf-api whose endpoints this one has: clients compare it with the oldest one that they can use. */
const apiVersion = "5.2.0";

/** Whether it answers, what it is, and which engines there are. `/` and `/health` are what older clients ask. */
export function addMetaRoutes(api: Api, { version, start }: ApiParts): void {
  api.get("/api/ping", (context) => sendJson(context, { message: "pong" }));
  for (const path of ["/health", "/api/health"])
    api.get(path, (context) => sendJson(context, { message: "API is healthy.", isHealthy: true }));
  // An npm package is built once for every machine: where and when says nothing.
  const build = { buildGitCommit: "", buildDate: "1970-01-01T00:00:00Z", buildRef: 0 };
  api.get("/api/version", (context) => sendJson(context, { version: apiVersion, ...build, slipwayVersion: version }));
  // Without the tokens that they are triggered with.
  api.get("/api/engine", (context) => {
    const list = start.engines.map(engineJson);
    return sendJson(context, { defaultEngine: list[0] ?? null, list });
  });
}
