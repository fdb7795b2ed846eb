import type { JsonObject, JsonValue, Result } from "#lib/base/index.ts";
import type { TemplateFailure, TemplateProblem } from "./template-host.ts";

/** Sources that templates import, by import path (`vela/op`). Parsed once in each thread. */
export type CuePackages = Readonly<Record<string, string>>;

/** A CUE text and the data it is evaluated with. */
export interface CueTemplate {
  readonly text: string;
  /** Its name in problems; default: `template`. */
  readonly file?: string;
  /** Fills `parameter`, or `parameters` if the text declares only that. */
  readonly parameter?: JsonValue;
  readonly context?: JsonObject;
  /** What this text may import beside what all may. */
  readonly packages?: CuePackages;
}

/** The objects of a template. `outputs` are in source order. */
export interface CueObjects {
  readonly output?: JsonObject;
  readonly outputs: Readonly<Record<string, JsonObject>>;
}

/** `errs` are the template's own errors; with any, the objects are empty. */
export interface CueRendering extends CueObjects {
  readonly errs: readonly string[];
}

/** A trait: with `base`, its `patch` and `patchOutputs` are merged into it and its `outputs` are appended. */
export interface CueRenderRequest extends CueTemplate {
  readonly base?: CueObjects;
}

/** The texts of a definition's `status`, evaluated over live objects in `context`. */
export interface CueHealthRequest {
  readonly details?: string;
  readonly healthPolicy?: string;
  readonly customStatus?: string;
  readonly parameter?: JsonValue;
  readonly context: JsonObject;
}

/** Problems of a text never make an object healthy: `isHealthy` is then false and `message` says why. */
export interface CueHealth {
  /** Absent without a health policy. */
  readonly isHealthy?: boolean;
  readonly message?: string;
  readonly details: Readonly<Record<string, string>>;
}

/** A task in progress: template, values that replace parts of its parameter, results of finished actions. */
export interface CueTask extends CueTemplate {
  readonly inputs?: readonly { readonly path: string; readonly value: JsonValue }[];
  /** In the order of execution. A result is unified with the value at the path. */
  readonly done: readonly { readonly path: string; readonly result?: JsonValue }[];
}

/** The next action of a task. */
export interface CueAction {
  readonly path: string;
  readonly provider: string;
  readonly do: string;
  /** As far as it is concrete; other members are absent. */
  readonly value: JsonValue;
  /** Why it is not concrete, if so. */
  readonly incomplete: readonly CueProblem[];
  /** Attributes of the field: `once`, `always`. */
  readonly attributes: readonly string[];
}

/** `action` is absent when all have been executed. A task with conflicts is a failure instead. */
export interface CueTaskState {
  readonly action?: CueAction;
  /** Whether the template has any action; without one, `objects` are what it renders. */
  readonly hasActions: boolean;
  readonly objects?: CueObjects;
}

export interface CueProblem extends TemplateProblem {
  readonly file?: string;
}

/** `value` is absent if the path does not exist or is not concrete; `problems` tell which. */
export interface CueLookup {
  readonly exists: boolean;
  readonly value?: JsonValue;
  readonly problems: readonly CueProblem[];
}

/** A definition as its author writes it, and as it is stored. */
export interface CueDefinition {
  readonly name: string;
  readonly type: string;
  readonly alias?: string;
  readonly description?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly attributes: JsonObject;
  /** Imports and the body of `template`. */
  readonly template: string;
}

/** An upgraded text and what was changed, for people. */
export interface CueUpgrade {
  readonly text: string;
  readonly applied: readonly string[];
}

type Answer<T> = Promise<Result<T, TemplateFailure>>;

/** Evaluates CUE in threads. Equal questions are answered from memory. Texts of older versions are upgraded first. */
export interface Cue {
  render(request: CueRenderRequest, signal?: AbortSignal): Answer<CueRendering>;
  health(request: CueHealthRequest, signal?: AbortSignal): Answer<CueHealth>;
  /** Only conflicts are failures: what is merely incomplete is part of the answer. */
  next(task: CueTask, signal?: AbortSignal): Answer<CueTaskState>;
  /** Paths or expressions over the value of a task. */
  lookup(task: CueTask, expressions: readonly string[], signal?: AbortSignal): Answer<readonly CueLookup[]>;
  /** The base with the patch at a path of the task's value. As in traits, comments above fields say how lists merge. */
  patch(task: CueTask, path: string, base: JsonObject, signal?: AbortSignal): Answer<JsonObject>;
  /** Members of the scope that are no identifiers are found by `steps["a-b"]` only if the scope has it so. */
  evaluateBoolean(expression: string, scope: JsonObject, signal?: AbortSignal): Answer<boolean>;
  /** Free references of an expression, outermost selectors included (`request.output.responseCode`). */
  references(expression: string, signal?: AbortSignal): Answer<readonly string[]>;
  /** The OpenAPI v3 schema of `parameter`, with descriptions from `+usage`. */
  schema(text: string, signal?: AbortSignal, packages?: CuePackages): Answer<JsonObject>;
  /** All problems of a template without data: syntax, unknown imports, conflicts, unknown actions. */
  vet(text: string, file?: string, signal?: AbortSignal, packages?: CuePackages): Answer<undefined>;
  upgrade(text: string, signal?: AbortSignal): Answer<CueUpgrade>;
  readDefinition(text: string, file?: string, signal?: AbortSignal): Answer<CueDefinition>;
  /** The reverse of `readDefinition`. */
  writeDefinition(definition: CueDefinition, signal?: AbortSignal): Answer<string>;
}
