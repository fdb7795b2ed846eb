import { refuse } from "../http/problem.ts";
import { type RestContext, uintOf } from "../http/rest-api.ts";
import type { KnownBuilds, ResultsApiParts, ResultStores } from "./parts.ts";

export function buildOf(context: RestContext, { builds }: { readonly builds: KnownBuilds }): number {
  const buildId = numberOf(context);
  if (builds.has(buildId)) return buildId;
  throw notFound(buildId);
}

/** Also refuses builds that are being deleted: what is stored in this turn is removed with the build. */
export async function takenFor(
  context: RestContext,
  { builds, stores }: Pick<ResultsApiParts, "builds" | "stores">,
): Promise<ResultStores & { readonly buildId: number }> {
  const buildId = numberOf(context);
  // Unknown builds must not open the stores.
  if (!builds.takes(buildId)) throw notFound(buildId);
  const opened = await stores.open();
  if (!builds.takes(buildId)) throw notFound(buildId);
  return { ...opened, buildId };
}

const numberOf = (context: RestContext): number => uintOf("buildId", context.req.param("buildId") ?? "");

const notFound = (buildId: number) => refuse("record-not-found", `build with ID ${buildId} was not found`);
