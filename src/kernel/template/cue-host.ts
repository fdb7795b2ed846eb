import { createHash } from "node:crypto";
import {
  deepFreeze,
  err,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Millis,
  ok,
  type Result,
} from "#lib/base/index.ts";
import { applyJsonPatch, canonicalJson, parseJson } from "#lib/json/index.ts";
import type {
  Cue,
  CueDefinition,
  CueHealth,
  CueHealthRequest,
  CueLookup,
  CueObjects,
  CuePackages,
  CueRendering,
  CueRenderRequest,
  CueTask,
  CueTaskState,
  CueUpgrade,
} from "./cue.ts";
import { sourceOf, type TemplateFailure, type TemplateHost } from "./template-host.ts";

/** Longest evaluation. */
const defaultBudgetMs = 2000;

/** A thread's first question also parses the packages and compiles code. */
const firstBudgets = 3;

/** Of equal questions with their answers: about 64 MB. */
const defaultMemoChars = 32 * 1024 * 1024;

/** Deepest nesting of answers. */
const maxDepth = 1000;

export interface CueOptions {
  readonly templates: Pick<TemplateHost, "ask">;
  /** What texts may import. Asked for before the first question that needs it. */
  readonly packages: CuePackages | (() => CuePackages | Promise<CuePackages>);
  readonly budgetMs?: Millis;
  readonly maxMemoChars?: number;
}

type Answer<T> = Promise<Result<T, TemplateFailure>>;

interface SentPackages {
  readonly hash: string;
  readonly sources: CuePackages;
}

/** See `go/calls/calls.go`. */
interface ModuleAnswer {
  readonly value?: unknown;
  readonly failure?: Omit<TemplateFailure, "kind">;
  readonly misuse?: string;
  readonly unknownPackages?: boolean;
}

/** A rendering as the module returns it: JSON patches are applied here. */
interface ModuleRendering extends CueRendering {
  readonly operations?: {
    readonly output?: JsonValue;
    readonly outputs?: Readonly<Record<string, JsonValue>>;
  };
}

/** Evaluates CUE in the threads of templates. Answers are frozen, and shared between equal questions. */
export const createCue = (options: CueOptions): Cue => new CueHost(options);

class CueHost implements Cue {
  readonly #options: CueOptions;
  readonly #budgetMs: Millis;
  readonly #memo: Memo<Result<unknown, TemplateFailure>>;
  #packages: Promise<SentPackages> | undefined;

  constructor(options: CueOptions) {
    this.#options = options;
    this.#budgetMs = options.budgetMs ?? defaultBudgetMs;
    this.#memo = new Memo(options.maxMemoChars ?? defaultMemoChars);
  }

  async render(request: CueRenderRequest, signal?: AbortSignal): Answer<CueRendering> {
    const rendered = await this.#ask<ModuleRendering>("cueRender", request, signal);
    return rendered.ok ? withOperations(rendered.value, request.base) : rendered;
  }

  health(request: CueHealthRequest, signal?: AbortSignal): Answer<CueHealth> {
    return this.#ask("cueHealth", request, signal);
  }

  next(task: CueTask, signal?: AbortSignal): Answer<CueTaskState> {
    return this.#ask("cueNext", task, signal);
  }

  lookup(task: CueTask, expressions: readonly string[], signal?: AbortSignal): Answer<readonly CueLookup[]> {
    return this.#ask("cueLookup", { ...task, expressions }, signal);
  }

  async patch(task: CueTask, path: string, base: JsonObject, signal?: AbortSignal): Answer<JsonObject> {
    const patched = await this.#ask<ModuleRendering>("cuePatch", { ...task, path, base }, signal);
    const applied = patched.ok ? withOperations(patched.value, { output: base, outputs: {} }) : patched;
    return applied.ok ? ok(applied.value.output ?? base) : applied;
  }

  evaluateBoolean(expression: string, scope: JsonObject, signal?: AbortSignal): Answer<boolean> {
    return this.#ask("cueBoolean", { expression, scope }, signal);
  }

  references(expression: string, signal?: AbortSignal): Answer<readonly string[]> {
    return this.#ask("cueReferences", { expression }, signal);
  }

  schema(text: string, signal?: AbortSignal, packages?: CuePackages): Answer<JsonObject> {
    return this.#ask("cueSchema", { text, packages }, signal);
  }

  async vet(text: string, file?: string, signal?: AbortSignal, packages?: CuePackages): Answer<undefined> {
    const vetted = await this.#ask("cueVet", { text, file, packages }, signal);
    return vetted.ok ? ok(undefined) : vetted;
  }

  upgrade(text: string, signal?: AbortSignal): Answer<CueUpgrade> {
    return this.#ask("cueUpgrade", { text }, signal);
  }

  readDefinition(text: string, file?: string, signal?: AbortSignal): Answer<CueDefinition> {
    return this.#ask("cueReadDefinition", { text, file }, signal);
  }

  writeDefinition(definition: CueDefinition, signal?: AbortSignal): Answer<string> {
    return this.#ask("cueWriteDefinition", definition, signal);
  }

  async #ask<T>(operation: string, asked: object, signal?: AbortSignal): Promise<Result<T, TemplateFailure>> {
    signal?.throwIfAborted();
    // Only requests of this file come here: the member has this type or is absent.
    const { packages, ...request } = asked as { readonly packages?: CuePackages };
    const { hash, sources } = withOwn(await this.#packagesNow(), packages);
    const question = JSON.stringify({ operation, packages: hash, ...request });
    const known = this.#memo.get(question);
    // Each operation's answer has the type that its Go function returns.
    if (known !== undefined) return known as Result<T, TemplateFailure>;
    const source = sourceOf(request);
    const first = await this.#askModule(question, source, signal);
    const last =
      first.ok && first.value.answer.unknownPackages === true
        ? await this.#askModule(
            JSON.stringify({ operation, packages: hash, sources, ...request }),
            source,
            signal,
            firstBudgets,
          )
        : first;
    if (!last.ok) return last;
    const { answer, chars } = last.value;
    if (answer.misuse !== undefined) throw new Error(`the template module does not understand: ${answer.misuse}`);
    const result: Result<unknown, TemplateFailure> =
      answer.failure === undefined ? ok(answer.value) : err({ kind: "template", ...answer.failure });
    this.#memo.set(question, deepFreeze(result), chars);
    return result as Result<T, TemplateFailure>;
  }

  async #askModule(
    question: string,
    source: string | undefined,
    signal?: AbortSignal,
    budgets = 1,
  ): Promise<Result<{ readonly answer: ModuleAnswer; readonly chars: number }, TemplateFailure>> {
    const asked = await this.#options.templates.ask(question, signal, this.#budgetMs * budgets, source);
    if (!asked.ok) return asked;
    const read = parseJson(asked.value, { maxDepth });
    if (read.ok) return ok({ answer: read.value as ModuleAnswer, chars: asked.value.length });
    const message = `the result cannot be read: ${read.error.message}`;
    return err({ kind: "template", message, problems: [{ code: "cue-result", message }] });
  }

  /** A failed attempt is not kept. */
  #packagesNow(): Promise<SentPackages> {
    this.#packages ??= this.#loadPackages().catch((thrown: unknown) => {
      this.#packages = undefined;
      throw thrown;
    });
    return this.#packages;
  }

  async #loadPackages(): Promise<SentPackages> {
    const { packages } = this.#options;
    const sources = typeof packages === "function" ? await packages() : packages;
    if (Object.keys(sources).length === 0) return { hash: "", sources };
    return { hash: hashOf(sources), sources };
  }
}

/** What comes with the product cannot be replaced. */
function withOwn(shared: SentPackages, own: CuePackages = {}): SentPackages {
  if (Object.keys(own).length === 0) return shared;
  const hash = hashOf([shared.hash, own]);
  return { hash, sources: { ...own, ...shared.sources } };
}

const hashOf = (value: JsonValue): string => createHash("sha256").update(canonicalJson(value)).digest("hex");

function withOperations(
  rendered: ModuleRendering,
  base: CueObjects | undefined,
): Result<CueRendering, TemplateFailure> {
  const { operations, ...rendering } = rendered;
  if (operations === undefined) return ok(rendered);
  const outputs = new Map(Object.entries(rendering.outputs));
  let output = rendering.output;
  for (const [name, patch] of Object.entries(operations.outputs ?? {})) {
    const patched = patchedObject(base?.outputs[name], patch);
    if (!patched.ok) return patched;
    outputs.set(name, patched.value);
  }
  if (operations.output !== undefined) {
    const patched = patchedObject(base?.output, operations.output);
    if (!patched.ok) return patched;
    output = patched.value;
  }
  return ok({ ...rendering, ...(output === undefined ? {} : { output }), outputs: Object.fromEntries(outputs) });
}

function patchedObject(base: JsonObject | undefined, patch: JsonValue): Result<JsonObject, TemplateFailure> {
  const patched = applyJsonPatch(base ?? {}, patch);
  if (patched.ok && isJsonObject(patched.value)) return ok(patched.value);
  const message = patched.ok ? "the patched value is not an object" : patched.error.message;
  return err({ kind: "template", message, problems: [{ code: "cue-conflict", message, path: "patch" }] });
}

/** Keeps the values that were used last, up to a number of characters of keys and values together. */
class Memo<V> {
  readonly #maxChars: number;
  readonly #entries = new Map<string, { readonly value: V; readonly chars: number }>();
  #chars = 0;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** `valueChars` is the size of the value. Values that are too large for all are not kept. */
  set(key: string, value: V, valueChars: number): void {
    const chars = key.length + valueChars;
    this.#forget(key);
    if (chars > this.#maxChars) return;
    this.#entries.set(key, { value, chars });
    this.#chars += chars;
    for (const oldest of this.#entries.keys()) {
      if (this.#chars <= this.#maxChars) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#chars -= this.#entries.get(key)?.chars ?? 0;
    this.#entries.delete(key);
  }
}
