import { type Clock, err, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import type { ActionsPlan, TemplatePlan } from "./plan.ts";
import { defaultLimits, type PoolFailure, type PoolLimits, TemplatePool } from "./pool.ts";
import { type ModuleFiles, threadStarter } from "./thread.ts";

export type { ModuleFiles } from "./thread.ts";

/** Which functions a template may call. */
export interface TemplateFunctions {
  /** The set that templates were written against before 2024. */
  readonly legacy?: boolean;
  /** Also those whose answers depend on the clock or on chance. There is no environment and no network for them to see. */
  readonly allowNonhermetic?: boolean;
}

/** A template text. */
export interface TemplateText {
  /** What failures call it: the name of the workflow. */
  readonly id: string;
  readonly text: string;
  readonly functions?: TemplateFunctions;
}

/** How much a template may write, in bytes; 256 KiB unless told. */
interface RenderLimit {
  readonly maxBytes?: number;
}

/** A template of shape A and what it is rendered over. */
export interface RenderRequest extends TemplateText, RenderLimit {
  readonly values: Readonly<Record<string, string>>;
  /** The whole object, as stored; without it every field of `.Hardware` has its zero value. */
  readonly hardware?: unknown;
  readonly references?: Readonly<Record<string, unknown>>;
}

/** A template of shape B, each text of which is rendered on its own. */
export interface RenderActionsRequest extends RenderLimit {
  readonly id: string;
  /** Of the Template, as stored. */
  readonly spec: unknown;
  readonly hardware?: unknown;
  readonly params: Readonly<Record<string, string>>;
  readonly workflow: { readonly name: string; readonly namespace: string };
  readonly functions?: TemplateFunctions;
}

/** A CUE text, JSON that is unified with it, and the path of the value that is wanted; all of it without a path. */
export interface CueRequest {
  readonly text: string;
  readonly file?: string;
  readonly context?: unknown;
  readonly path?: string;
}

/** One thing that is wrong with a template. Places are in its text; 0 and absent are unknown. */
export interface TemplateProblem {
  readonly code: string;
  readonly message: string;
  readonly path?: string;
  readonly line?: number;
  readonly column?: number;
}

/** Why there is no result. `message` is for the resource's condition; a failure of `kind` other than `template` may pass. */
export interface TemplateFailure {
  readonly kind: "template" | PoolFailure["kind"];
  readonly message: string;
  readonly problems: readonly TemplateProblem[];
  /** The text that could not be decoded, for the log. */
  readonly rendered?: string;
}

/** Bytes that a template may write. */
const defaultMaxBytes = 262_144;

/** What the build has set as the most that an instance may have; a test compares. */
export const moduleMemoryMb = 512;

export interface TemplateHostOptions extends ModuleFiles {
  readonly clock: Clock;
  readonly limits?: Partial<PoolLimits>;
}

/** Answers of the module; see `go/calls/calls.go`. */
interface Answer {
  readonly value?: unknown;
  readonly failure?: Omit<TemplateFailure, "kind">;
  readonly misuse?: string;
}

/**
 * Renders templates in threads of their own. Whatever a template does is a result; only a broken installation rejects. Starts
 * nothing before it is asked.
 */
export class TemplateHost {
  readonly #pool: TemplatePool;
  readonly #budgetMs: number;

  constructor(options: TemplateHostOptions) {
    this.#pool = new TemplatePool(threadStarter(options), options.clock, options.limits);
    this.#budgetMs = options.limits?.budgetMs ?? defaultLimits.budgetMs;
  }

  /** Renders, decodes and judges a template of shape A. */
  render(request: RenderRequest, signal?: AbortSignal): Promise<Result<TemplatePlan, TemplateFailure>> {
    return this.#ask("render", { maxBytes: defaultMaxBytes, ...request }, signal);
  }

  /** Finds errors of syntax; what the template would write is not judged. */
  async parse(template: TemplateText, signal?: AbortSignal): Promise<Result<undefined, TemplateFailure>> {
    const parsed = await this.#ask("parse", template, signal);
    return parsed.ok ? ok(undefined) : parsed;
  }

  /** Renders and judges a template of shape B. */
  renderActions(request: RenderActionsRequest, signal?: AbortSignal): Promise<Result<ActionsPlan, TemplateFailure>> {
    return this.#ask("renderActions", { maxBytes: defaultMaxBytes, ...request }, signal);
  }

  /** The JSON of a value; every error of CUE, each with its place, when it is not concrete. */
  async evaluateCue(request: CueRequest, signal?: AbortSignal): Promise<Result<JsonValue, TemplateFailure>> {
    const evaluated = await this.#ask<{ readonly json: JsonValue }>("cue", request, signal);
    return evaluated.ok ? ok(evaluated.value.json) : evaluated;
  }

  /** Starts ahead of the first question. */
  warm(): void {
    this.#pool.warm();
  }

  /** Ends the threads. Whoever waits gets a failure. */
  close(): Promise<void> {
    return this.#pool.close();
  }

  async #ask<T>(operation: string, request: object, signal?: AbortSignal): Promise<Result<T, TemplateFailure>> {
    const asked = await this.#pool.ask(JSON.stringify({ operation, ...request }), signal);
    if (!asked.ok) return err({ kind: asked.error.kind, message: this.#sentence(asked.error), problems: [] });
    const { value, failure, misuse } = JSON.parse(asked.value) as Answer;
    if (misuse !== undefined) throw new Error(`the template module does not understand: ${misuse}`);
    if (failure !== undefined) return err({ kind: "template", ...failure });
    // Each operation's answer has the type that its Go function returns.
    return ok(value as T);
  }

  #sentence(failure: PoolFailure): string {
    switch (failure.kind) {
      case "time":
        return `the template ran longer than ${this.#budgetMs / 1000} s`;
      case "memory":
        return `the template needs more than ${moduleMemoryMb} MB`;
      case "busy":
        return "too many templates wait to be rendered";
      case "closed":
        return "templates are rendered no more: the program ends";
      case "crashed":
        return `the template has ended the thread that rendered it: ${failure.message}`;
    }
  }
}
