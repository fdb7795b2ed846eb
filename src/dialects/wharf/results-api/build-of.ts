import { refuse } from "../http/problem.ts";
import { type RestContext, uintOf } from "../http/rest-api.ts";
import type { KnownBuilds, ResultsApiParts, ResultStores } from "./parts.ts";

/** The build that a path names; refuses one that is not there. */
export function buildOf(context: RestContext, { builds }: { readonly builds: KnownBuilds }): number {
  const buildId = numberOf(context);
  if (builds.has(buildId)) return buildId;
  throw notFound(buildId);
}

/**
 * The same for requests that bring something, with the stores. Refuses also a build that is being deleted: what is given to a store in the same turn
 * is there before the build is removed, and goes with it.
 */
export async function takenFor(
  context: RestContext,
  { builds, stores }: Pick<ResultsApiParts, "builds" | "stores">,
): Promise<ResultStores & { readonly buildId: number }> {
  const buildId = numberOf(context);
  // For nobody stores are opened.
  if (!builds.takes(buildId)) throw notFound(buildId);
  const opened = await stores.open();
  if (!builds.takes(buildId)) throw notFound(buildId);
  return { ...opened, buildId };
}

const numberOf = (context: RestContext): number => uintOf("buildId", context.req.param("buildId") ?? "");

const notFound = (buildId: number) => refuse("record-not-found", `build with ID ${buildId} was not found`);
