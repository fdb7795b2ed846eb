import { engineJson } from "../json.ts";
import { sendJson } from "../../http/rest-api.ts";
import type { Api, ApiParts } from "./parts.ts";

/** The wharf-api release whose endpoints these are; clients compare it. */
const apiVersion = "5.2.0";

/** `/` and `/health` are for older clients. */
export function addMetaRoutes(api: Api, { version, start }: ApiParts): void {
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
