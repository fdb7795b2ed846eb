import type { Dialect, DialectFace } from "#kernel/dialect/index.ts";
import { rebar } from "./rebar/index.ts";
import { tinkerbell } from "./tinkerbell/index.ts";
import { vela } from "./vela/index.ts";
import { wharf } from "./wharf/index.ts";
import { workflow } from "./workflow/index.ts";

/** The dialects of this version: a new one is its folder and its entry here. */
export const dialects: readonly DialectFace[] = [workflow, tinkerbell, rebar, wharf, vela];

/** Loads all dialects. */
export const loadDialects = (): Promise<readonly Dialect[]> => Promise.all(dialects.map((dialect) => dialect.load()));
