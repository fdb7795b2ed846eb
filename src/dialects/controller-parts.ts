import type { RpcPort } from "#kernel/rpc/index.ts";
import type { TemplateHost } from "#kernel/template/index.ts";
import type { TinkerbellOptions } from "./tinkerbell/index.ts";

/** What renders, for controllers: they do not close what is not theirs. */
export type Templates = Pick<TemplateHost, "evaluateCue" | "parse" | "render" | "renderActions">;

/** What a person has set of dialects. What is absent is as the dialect has it. */
export interface DialectOptions {
  readonly tinkerbell?: TinkerbellOptions;
}

/** A port that a dialect serves, as the dialect tells it. */
export interface DialectPort {
  /** Who connects there, for people: `agents of Tinkerbell`. */
  readonly serves: string;
  /** `host:port`. */
  readonly address: string;
}

/** What people should know of a server for as long as it is so: a condition of its Node. */
export interface ServerCondition {
  /** Says what is wrong when it is true, as other conditions of a Node do. */
  readonly type: string;
  readonly isTrue: boolean;
  readonly reason: string;
  readonly message: string;
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
  /** Takes an address, `host:port`, while the server starts. Rejects with `rpc-listen` when it cannot be had. */
  readonly openPort: (address: string) => Promise<RpcPort>;
  /** Is told of what is served where. */
  readonly tellPort: (port: DialectPort) => void;
  /** Is told of what is unwise about it, and of what is not: what was told at an earlier start is remembered. */
  readonly tellCondition: (condition: ServerCondition) => void;
}
