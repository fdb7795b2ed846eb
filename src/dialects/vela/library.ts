import { type Cue, createCue, type CuePackages, type TemplateHost } from "#kernel/template/index.ts";
import { defined, type Millis } from "#lib/base/index.ts";
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

/** CUE with the packages of the dialect. */
export const openCue = (templates: Pick<TemplateHost, "ask">, budgetMs?: Millis): Cue =>
  createCue({ templates, packages: library.packages, ...defined({ budgetMs }) });

/** For commands, whose first question includes reading all packages. */
export const commandBudgetMs: Millis = 20_000;
