import type { CuePackages } from "#kernel/template/index.ts";
import type { Definition } from "./definitions/definition.ts";

/** What comes with the dialect, loaded on demand. */
export interface Library {
  readonly definitions: () => Promise<readonly Definition[]>;
  /** What templates may import. */
  readonly packages: () => Promise<CuePackages>;
}

export const library: Library = {
  definitions: () => Promise.resolve([]),
  packages: () => Promise.resolve({}),
};
