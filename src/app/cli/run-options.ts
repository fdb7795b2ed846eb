import type { ProjectRunOptions } from "#kernel/dialect/index.ts";

/** The options of `slipway run`; absent flags were not given. */
export interface RunOptions extends ProjectRunOptions {
  readonly param?: string[];
  /** The same, for values of templates. */
  readonly set?: string[];
  /** A file with the machine for templates, or its name. */
  readonly hardware?: string;
  /** The agent to wait for; when absent, the command starts its own. */
  readonly agent?: string;
  readonly ephemeral?: boolean;
  readonly detach?: boolean;
  readonly logs?: boolean;
  readonly ui?: boolean;
  readonly target?: string;
  readonly tail: number;
}
