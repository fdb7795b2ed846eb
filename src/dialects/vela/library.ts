import type { CuePackages } from "#kernel/template/index.ts";
import type { Definition } from "./definitions/definition.ts";
import { shippedDefinitions } from "./definitions/shipped.ts";
import { velaPackages } from "./packages.ts";

/** What comes with the dialect, loaded on demand. */
export interface Library {
  readonly definitions: () => Promise<readonly Definition[]>;
  /** What templates may import. */
  readonly packages: () => Promise<CuePackages>;
}

export const library: Library = { definitions: shippedDefinitions, packages: velaPackages };
