import type { Dialect } from "#kernel/dialect/index.ts";

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
