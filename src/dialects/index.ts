import type { Dialect } from "./dialect.ts";
import type { Shared } from "./shared.ts";

export type {
  Admission,
  AdmissionServer,
  Admitted,
  CheckedDocument,
  Described,
  DescribeOptions,
  Dialect,
  DocumentReader,
  DocumentReading,
  Neighbours,
  Place,
  ReadOptions,
  References,
  RunPreviews,
  Runs,
  SourceDocument,
  Startable,
} from "./dialect.ts";
export type { Agents, LocalAgent } from "./agents.ts";
export type { CachedResult, CacheExplanation } from "./cached-result.ts";
export type { ControllerParts, DialectOptions, DialectPort, LogOpener, ServerCondition } from "./controller-parts.ts";
export type { GraphNode, RunGraph } from "./graph.ts";
export type { Simulation } from "./simulation.ts";
export type { Shared } from "./shared.ts";
export { unknownKind } from "./kubernetes-kinds.ts";

/** The dialects of this version. Each is loaded when it is asked for. */
const loaders = {
  workflow: async (): Promise<Dialect> => (await import("./workflow/index.ts")).dialect,
  tinkerbell: async (): Promise<Dialect> => (await import("./tinkerbell/index.ts")).dialect,
  wharf: async (): Promise<Dialect> => (await import("./wharf/index.ts")).dialect,
} as const satisfies Record<string, () => Promise<Dialect>>;

export type LoadableDialect = keyof typeof loaders;

/** The names of all dialects, without loading any. */
export const dialectNames: readonly LoadableDialect[] = ["workflow", "tinkerbell", "wharf"];

/** Loads one dialect. Loading it again costs nothing. */
export const loadDialect = (name: LoadableDialect): Promise<Dialect> => loaders[name]();

/** Loads all dialects. */
export const loadDialects = (): Promise<readonly Dialect[]> => Promise.all(dialectNames.map(loadDialect));

/** What these dialects share, which is no single one's. */
export const loadShared = async (dialects: readonly Dialect[]): Promise<Shared> =>
  (await import("./shared.ts")).sharedOf(dialects);

/** How programs of a user find that user's servers, and their tokens. */
export async function loadNotedServers() {
  const [noted, tokens] = await Promise.all([import("./noted-servers.ts"), import("./token-file.ts")]);
  return { ...noted, ...tokens };
}
