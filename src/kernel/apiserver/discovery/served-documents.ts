import type { Documents } from "../http/documents.ts";
import { openApiDocuments } from "../openapi/openapi-documents.ts";
import { discoveryDocuments } from "./discovery-documents.ts";

/**
 * Answers the paths by which clients learn what is served: discovery first, then OpenAPI; undefined for any other path. Keeps what it
 * made, so a server has one of these and asks it for every request.
 */
export function servedDocuments(): Documents {
  const sources = [discoveryDocuments(), openApiDocuments()];
  return async (registry, request) => {
    for (const source of sources) {
      const reply = await source(registry, request);
      if (reply !== undefined) return reply;
    }
    return undefined;
  };
}
