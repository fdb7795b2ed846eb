import { type Clock, err, ok, type Result, systemClock } from "#lib/base/index.ts";
import type { TemplateFailure } from "#kernel/template/index.ts";
import { type ModelError, refusal } from "../failure.ts";
import type { JobAction, RenderPlace, Renderer, RenderSubject } from "../render.ts";
import type { TemplateInfo } from "../objects.ts";
import type { World } from "../world.ts";
import { askModule, type Templates } from "./ask.ts";
import { checkObject } from "./check.ts";
import { type Closure, closureOf, isCurrent, type Renderable } from "./closure.ts";
import { Learned, type Needs } from "./learned.ts";
import { Parts } from "./parts.ts";
import { questionOf, type RenderQuestion } from "./question.ts";
import { MachineValues } from "./values.ts";

export interface RendererOptions {
  readonly templates: Templates;
  readonly place: RenderPlace;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** See `go/rebar/render.go`. */
interface Rendered {
  readonly needs?: Needs;
  readonly actions: readonly { readonly at: number; readonly path: string; readonly content: string }[] | null;
  readonly messages: readonly string[] | null;
}

/** Of all objects with templates; of others the closures are made again. */
const maxKnown = 2000;
/** Questions of one rendering; each of them has found out something that the next one brings. */
const maxRounds = 500;
/** Each question has the budget of the module; this is for all of one rendering. */
const maxMs = 30_000;

const titles = { tasks: "Task", stages: "Stage", bootenvs: "BootEnv" } as const;

export const createRenderer = (options: RendererOptions): Renderer => new ModuleRenderer(options);

interface Known {
  closure: Closure | undefined;
  learned: Learned;
}

class ModuleRenderer implements Renderer {
  readonly #options: RendererOptions;
  readonly #parts = new Parts();
  /** By collection and name, the oldest first. */
  readonly #known = new Map<string, Known>();

  constructor(options: RendererOptions) {
    this.#options = options;
  }

  async actions(world: World, subject: RenderSubject): Promise<Result<readonly JobAction[], ModelError>> {
    const { collection, name, machine, os } = subject;
    const refuse = (...messages: readonly string[]): ModelError =>
      refusal(422, "ValidationError", collection, name, ...messages);
    const object = world.get(collection, name);
    if (object === undefined) return err(refuse(`${titles[collection]} ${name} does not exist`));
    const values = new MachineValues(machine, world, this.#parts);
    const unresolved = object.RequiredParams.filter((param) => !values.has(param));
    if (unresolved.length > 0)
      return err(refuse(...unresolved.map((param) => `Missing required parameter ${param} for ${collection} ${name}`)));
    const wanted = object.Templates.flatMap((info, at) => (isForOs(info, os) ? [{ info, at }] : []));
    // Agents write texts; a stage or boot environment is served, and may point at a file.
    const linked = collection === "tasks" ? wanted.filter(({ info }) => info.Link !== "") : [];
    if (linked.length > 0)
      return err(refuse(...linked.map(({ info }) => `template ${info.Name} of a task cannot have a Link`)));
    if (wanted.length === 0) return ok([]);
    const rendered = await this.#render(
      { world, subject, object, values, actions: wanted.map(({ at }) => at), place: this.#options.place },
      refuse,
    );
    if (!rendered.ok) return rendered;
    return ok(
      rendered.value.flatMap((action) => {
        const info = object.Templates[action.at];
        return info === undefined ? [] : [actionOf(info, action)];
      }),
    );
  }

  check: Renderer["check"] = (object) => checkObject(this.#options.templates, object);

  async #render(
    question: Omit<RenderQuestion, "closure" | "learned" | "parts">,
    refuse: (...messages: readonly string[]) => ModelError,
  ): Promise<Result<NonNullable<Rendered["actions"]>, ModelError>> {
    const known = this.#knownOf(question.subject);
    const missing = new Set<string>();
    const { clock = systemClock } = this.#options;
    const latest = clock.monotonic() + maxMs;
    for (let round = 0; round < maxRounds && clock.monotonic() < latest; round++) {
      const closure = this.#closureOf(known, question.object, question.world);
      // What is served to everybody shows sealed values as they are.
      if (question.subject.collection === "tasks") await question.values.open(known.learned, this.#options.place);
      const text = questionOf({ ...question, closure, learned: known.learned, parts: this.#parts }, missing);
      const asked = await askModule<Rendered>(this.#options.templates, text);
      if (!asked.ok) return err(unanswered(asked.error, refuse));
      const { value } = asked;
      if (value.needs === undefined) {
        if (value.messages !== null && value.messages.length > 0) return err(refuse(...value.messages));
        return ok(value.actions ?? []);
      }
      for (const hash of value.needs.parts ?? []) missing.add(hash);
      known.learned.learn(value.needs);
    }
    return err(refuse("rendering takes too long: the templates read too many params whose names are computed"));
  }

  #knownOf({ collection, name }: RenderSubject): Known {
    const key = `${collection}/${name}`;
    const known = this.#known.get(key) ?? { closure: undefined, learned: new Learned() };
    if (known.learned.isFull) known.learned = new Learned();
    this.#known.delete(key);
    this.#known.set(key, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxKnown && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  #closureOf(known: Known, object: Renderable, world: World): Closure {
    const { closure, learned } = known;
    if (closure !== undefined && isCurrent(closure, object, learned.templates, world)) return closure;
    known.closure = closureOf(object, learned.templates, world);
    learned.learn({ params: known.closure.params, composed: known.closure.composed });
    return known.closure;
  }
}

/** Only a server that is busy or ending is not the template's fault. */
function unanswered(failure: TemplateFailure, refuse: (message: string) => ModelError): ModelError {
  const error = refuse(failure.message);
  return failure.kind === "busy" || failure.kind === "closed" ? { ...error, Type: "GET", Code: 503 } : error;
}

/** True if the template is for the system; both say nothing of it: for all. */
function isForOs({ Meta }: TemplateInfo, os: string): boolean {
  const listed = (Meta["OS"] ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "");
  return os === "" || listed.length === 0 || listed.includes("any") || listed.includes(os.toLowerCase());
}

function actionOf(
  { ID, Name, Link, Meta }: TemplateInfo,
  { path, content }: { readonly path: string; readonly content: string },
): JobAction {
  const named = { Name: ID === "" ? Name : ID, Path: path, Meta };
  return Link === "" ? { ...named, Content: content } : { ...named, Content: "", Link: content };
}
