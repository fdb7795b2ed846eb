import { type Clock, err, type JsonValue, type Millis, ok, type Result } from "#lib/base/index.ts";
import type { HelmRendering, HelmRequest } from "./helm.ts";
import type { ActionsPlan, TemplatePlan } from "./plan.ts";
import { defaultLimits, type PoolFailure, type PoolLimits, TemplatePool } from "./pool.ts";
import { type ModuleFiles, threadStarter } from "./thread.ts";

export type { ModuleFiles } from "./thread.ts";

export interface TemplateFunctions {
  /** The functions of before 2024. */
  readonly legacy?: boolean;
  /** Also functions that depend on the clock or on chance. Environment and network are never visible. */
  readonly allowNonhermetic?: boolean;
}

export interface TemplateText {
  /** The workflow's name, for failures. */
  readonly id: string;
  readonly text: string;
  readonly functions?: TemplateFunctions;
}

/** Limit of the output in bytes; default 256 KiB. */
interface RenderLimit {
  readonly maxBytes?: number;
}

/** A template of shape A. */
export interface RenderRequest extends TemplateText, RenderLimit {
  readonly values: Readonly<Record<string, string>>;
  /** The whole object as stored; without it all fields of `.Hardware` have zero values. */
  readonly hardware?: unknown;
  readonly references?: Readonly<Record<string, unknown>>;
}

/** A template of shape B, whose texts are rendered one by one. */
export interface RenderActionsRequest extends RenderLimit {
  readonly id: string;
  /** Of the Template, as stored. */
  readonly spec: unknown;
  readonly hardware?: unknown;
  readonly params: Readonly<Record<string, string>>;
  readonly workflow: { readonly name: string; readonly namespace: string };
  readonly functions?: TemplateFunctions;
}

/** A CUE text, JSON that is unified with it, and the path of the wanted value (default: all). */
export interface CueRequest {
  readonly text: string;
  readonly file?: string;
  readonly context?: unknown;
  readonly path?: string;
}

/** A place is in the template's text; 0 or absent if unknown. */
export interface TemplateProblem {
  readonly code: string;
  readonly message: string;
  readonly path?: string;
  readonly line?: number;
  readonly column?: number;
}

/** `message` is for the resource's condition; failures of kinds other than `template` may pass. */
export interface TemplateFailure {
  readonly kind: "template" | PoolFailure["kind"];
  readonly message: string;
  readonly problems: readonly TemplateProblem[];
  readonly rendered?: string;
}

const defaultMaxBytes = 262_144;

/** Set by the build as an instance's limit; a test compares the two. */
export const moduleMemoryMb = 512;

export interface TemplateHostOptions extends ModuleFiles {
  readonly clock: Clock;
  readonly limits?: Partial<PoolLimits>;
}

/** See `go/calls/calls.go`. */
interface Answer {
  readonly value?: unknown;
  readonly failure?: Omit<TemplateFailure, "kind">;
  readonly misuse?: string;
}

/** Renders templates in threads. Failures of templates are results; only a broken installation rejects. */
export class TemplateHost {
  readonly #pool: TemplatePool;
  readonly #budgetMs: number;

  constructor(options: TemplateHostOptions) {
    this.#pool = new TemplatePool(threadStarter(options), options.clock, options.limits);
    this.#budgetMs = options.limits?.budgetMs ?? defaultLimits.budgetMs;
  }

  /** Shape A. */
  render(request: RenderRequest, signal?: AbortSignal): Promise<Result<TemplatePlan, TemplateFailure>> {
    return this.#ask("render", { maxBytes: defaultMaxBytes, ...request }, signal);
  }

  /** Finds syntax errors only. */
  async parse(template: TemplateText, signal?: AbortSignal): Promise<Result<undefined, TemplateFailure>> {
    const parsed = await this.#ask("parse", template, signal);
    return parsed.ok ? ok(undefined) : parsed;
  }

  /** Shape B. */
  renderActions(request: RenderActionsRequest, signal?: AbortSignal): Promise<Result<ActionsPlan, TemplateFailure>> {
    return this.#ask("renderActions", { maxBytes: defaultMaxBytes, ...request }, signal);
  }

  /** The value as JSON, or every error with its place if it is not concrete. */
  async evaluateCue(request: CueRequest, signal?: AbortSignal): Promise<Result<JsonValue, TemplateFailure>> {
    const evaluated = await this.#ask<{ readonly json: JsonValue }>("cue", request, signal);
    return evaluated.ok ? ok(evaluated.value.json) : evaluated;
  }

  /** Without a cluster: `lookup` finds nothing. Paths of problems name files of the chart. */
  renderChart(request: HelmRequest, signal?: AbortSignal): Promise<Result<HelmRendering, TemplateFailure>> {
    return this.#ask("helm", request, signal);
  }

  /**
   * Any question to the Go module. The answer is JSON, whose numbers may exceed a double's precision. `source` is the
   * template: after it has once run out of its budget, its questions take one thread at most.
   */
  async ask(
    question: string,
    signal?: AbortSignal,
    budgetMs: Millis = this.#budgetMs,
    source?: string,
  ): Promise<Result<string, TemplateFailure>> {
    const asked = await this.#pool.ask(question, signal, budgetMs, source);
    if (asked.ok) return asked;
    return err({ kind: asked.error.kind, message: sentence(asked.error, budgetMs), problems: [] });
  }

  /** How many threads were replaced, by reason. */
  get replaced(): TemplatePool["replaced"] {
    return this.#pool.replaced;
  }

  warm(): void {
    this.#pool.warm();
  }

  /** Ends the threads. Waiting callers get a failure. */
  close(): Promise<void> {
    return this.#pool.close();
  }

  async #ask<T>(operation: string, request: object, signal?: AbortSignal): Promise<Result<T, TemplateFailure>> {
    const asked = await this.ask(JSON.stringify({ operation, ...request }), signal, this.#budgetMs, sourceOf(request));
    if (!asked.ok) return asked;
    const { value, failure, misuse } = JSON.parse(asked.value) as Answer;
    if (misuse !== undefined) throw new Error(`the template module does not understand: ${misuse}`);
    if (failure !== undefined) return err({ kind: "template", ...failure });
    // Each operation's answer has the type that its Go function returns.
    return ok(value as T);
  }
}

const sourceMembers = ["text", "healthPolicy", "customStatus", "details", "expression"] as const;

/** What all requests about one template have in common. */
export function sourceOf(request: object): string | undefined {
  const members = new Map<string, unknown>(Object.entries(request));
  return sourceMembers.map((name) => members.get(name)).find((value) => typeof value === "string");
}

function sentence(failure: PoolFailure, budgetMs: Millis): string {
  switch (failure.kind) {
    case "time":
      return `the template ran longer than ${budgetMs / 1000} s`;
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
