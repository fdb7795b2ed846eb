import type { TemplateHost } from "#kernel/template/index.ts";
import type { TinkerbellOptions } from "./tinkerbell/index.ts";

/** What renders, for controllers: they do not close what is not theirs. */
export type Templates = Pick<TemplateHost, "evaluateCue" | "parse" | "render" | "renderActions">;

/** What a person has set of dialects. What is absent is as the dialect has it. */
export interface DialectOptions {
  readonly tinkerbell?: TinkerbellOptions;
}

/**
 * What controllers have besides their manager, from whoever puts the program together: the same for each dialect, which takes what it needs.
 * Nothing of it is loaded or started before it is used, and all of it is closed by whoever gave it, after the manager has stopped.
 */
export interface ControllerParts {
  readonly templates: Templates;
  /** Where the dialect may keep files: its own, absolute, and made by the dialect. */
  readonly directory: string;
  readonly options: DialectOptions;
}
