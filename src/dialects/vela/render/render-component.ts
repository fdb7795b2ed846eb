import {
  err,
  jsonEquals,
  type JsonObject,
  type JsonValue,
  ok,
  objectAt,
  type Result,
  textAt,
} from "#lib/base/index.ts";
import type { Cue, CueObjects, CueTemplate } from "#kernel/template/index.ts";
import type { App, Component, Trait } from "../app.ts";
import type { Definition, Definitions, DefinitionType } from "../definitions/definition.ts";
import { notFoundMessage } from "../definitions/find.ts";
import type { RenderOptions } from "../delivery/delivery.ts";
import { parsePath, setAt } from "../json-path.ts";
import { auxiliaryWorkload, nameOf } from "../labels.ts";
import { componentContext, type ContextOptions } from "./context.ts";
import { failureText } from "./failure-text.ts";
import { type IsNamespaced, nameAuxiliary, nameWorkload, namespaceFor, objectFault } from "./naming.ts";
import { withAnswer } from "./processing.ts";
import type { RenderedComponent, RenderedObject } from "./rendered.ts";

export interface RenderParts {
  readonly app: App;
  readonly cue: Cue;
  readonly definitions: Definitions;
  /** Looked in after the application's namespace. */
  readonly systemNamespace: string;
  /** Empty for a WorkflowRun. */
  readonly revisionHash: string;
  readonly isNamespaced: IsNamespaced;
  /** The objects of a `ref-objects` component. */
  readonly referredObjects: (
    component: Component,
    signal?: AbortSignal,
  ) => Promise<Result<readonly JsonObject[], string>>;
  /** The objects of a `helmchart` component. */
  readonly chartObjects: (properties: JsonObject, place: ContextOptions) => Promise<ChartObjects>;
  /** The answer to the request of a trait's `processing`. */
  readonly answer: (http: JsonObject) => Promise<Result<JsonValue, string>>;
  readonly signal: AbortSignal;
}

export type ChartObjects = Result<readonly JsonObject[], string>;

/** An object before it has its name and labels. */
interface Draft {
  readonly trait: string;
  readonly resource: string;
  readonly object: JsonObject;
  readonly definition?: Definition;
}

interface Drafts {
  readonly workload: JsonObject;
  readonly auxiliaries: readonly Draft[];
}

/**
 * The objects of a component and its traits, which see the result of those before them. `patches` are merged last, as
 * CUE unifies them. Reads nothing but definitions and, for `ref-objects`, the referred objects.
 */
export async function renderComponent(
  parts: RenderParts,
  component: Component,
  place: ContextOptions,
  patches: readonly NonNullable<RenderOptions["patch"]>[] = [],
): Promise<Result<RenderedComponent, string>> {
  const inComponent = (text: string): string => `component "${component.name}": ${text}`;
  const definition = await findDefinition(parts, "component", component.type);
  if (!definition.ok) return err(inComponent(definition.error));
  const context = componentContext(parts.app, component, place);
  let drafts = await renderWorkload(parts, component, definition.value, place);
  for (const trait of component.traits) {
    if (!drafts.ok) break;
    drafts = await renderTrait(parts, trait, drafts.value, context);
  }
  for (const patch of patches) {
    if (!drafts.ok) break;
    drafts = await mergePatch(parts, patch, drafts.value);
  }
  if (!drafts.ok) return err(inComponent(drafts.error));
  const rendered = await complete(parts, component, drafts.value, place.namespace);
  const twice = sameObjects(rendered);
  return twice === undefined ? ok(rendered) : err(inComponent(twice));
}

/** The later one would replace the earlier one at each pass. */
function sameObjects({ workload, auxiliaries }: RenderedComponent): string | undefined {
  const firsts = new Map<string, RenderedObject>();
  for (const one of [workload, ...auxiliaries]) {
    const { apiVersion, kind, metadata } = one.object;
    const id = [apiVersion.split("/").slice(0, -1), kind, metadata.namespace, metadata.name].join("/");
    const first = firsts.get(id);
    if (first !== undefined) return `${partText(first)} and ${partText(one)} both render ${nameOf(one.object)}`;
    firsts.set(id, one);
  }
  return undefined;
}

const partText = ({ role, trait, resource = "" }: RenderedObject): string =>
  role === "WORKLOAD" ? "output" : trait === auxiliaryWorkload ? `outputs.${resource}` : `trait "${trait ?? ""}"`;

/** The refusal names where it was looked for and the nearest name. */
export async function findDefinition(
  { app, definitions, systemNamespace }: Pick<RenderParts, "app" | "definitions" | "systemNamespace">,
  type: DefinitionType,
  name: string,
): Promise<Result<Definition, string>> {
  const { namespace } = app.identity;
  const found = await definitions.find(type, name, namespace);
  if (found !== undefined) return ok(found);
  return err(await notFoundMessage(definitions, { type, name, namespace, systemNamespace }));
}

async function renderWorkload(
  parts: RenderParts,
  component: Component,
  definition: Definition,
  place: ContextOptions,
): Promise<Result<Drafts, string>> {
  if (component.type === "ref-objects") {
    const referred = await parts.referredObjects(component, parts.signal);
    return referred.ok ? draftsOf(referred.value, "ref-objects selects no object") : referred;
  }
  const context = componentContext(parts.app, component, place);
  const source = sourceOf(definition, component.type);
  const objects = await renderObjects(parts, source, { parameter: component.properties, context });
  if (!objects.ok) return objects;
  if (component.type === "helmchart") {
    const charted = await parts.chartObjects(component.properties, place);
    return charted.ok ? draftsOf(workloadFirst(charted.value), "the chart renders no object") : charted;
  }
  const { output, outputs } = objects.value;
  const fault = output === undefined ? `definition "${component.type}" renders no output` : objectFault(output);
  if (output === undefined || fault !== undefined) return err(fault ?? "");
  const auxiliaries = Object.entries(outputs).map(([name, object]) => auxiliary(name, object));
  const broken = auxiliaries.find(({ object }) => objectFault(object) !== undefined);
  if (broken !== undefined) return err(`outputs.${broken.resource}: ${objectFault(broken.object) ?? ""}`);
  return ok({ workload: output, auxiliaries });
}

function draftsOf([workload, ...more]: readonly JsonObject[], nothing: string): Result<Drafts, string> {
  if (workload === undefined) return err(nothing);
  const auxiliaries = more.map((object, index) => auxiliary(`objects-${index + 1}`, object));
  const fault = [workload, ...more].map((object) => objectFault(object)).find((text) => text !== undefined);
  return fault === undefined ? ok({ workload, auxiliaries }) : err(fault);
}

/** Traits act on what runs. Everything else keeps its order. */
function workloadFirst(objects: readonly JsonObject[]): readonly JsonObject[] {
  const kinds = ["Deployment", "StatefulSet", "DaemonSet"];
  const workload = objects.find(({ kind }) => kinds.some((one) => one === kind));
  return workload === undefined ? objects : [workload, ...objects.filter((one) => one !== workload)];
}

const auxiliary = (resource: string, object: JsonObject): Draft => ({ trait: auxiliaryWorkload, resource, object });

async function renderTrait(
  parts: RenderParts,
  trait: Trait,
  drafts: Drafts,
  context: JsonObject,
): Promise<Result<Drafts, string>> {
  const inTrait = (text: string): string => `trait "${trait.type}": ${text}`;
  const definition = await findDefinition(parts, "trait", trait.type);
  if (!definition.ok) return definition;
  const base = baseOf(drafts);
  const data = {
    parameter: trait.properties,
    context: { ...context, output: base.output, outputs: base.outputs },
  };
  const template = sourceOf(definition.value, trait.type);
  const answered = await withAnswer(parts, template, data, parts.answer);
  if (!answered.ok) return err(inTrait(answered.error));
  const source = answered.value;
  const objects = await renderObjects(parts, source, { ...data, base });
  if (!objects.ok) {
    // A template that is right by itself does not fit what it patches.
    const isConflict = (await renderObjects(parts, source, data)).ok;
    return err(
      isConflict ? `invalid patch trait ${trait.type} into workload: ${objects.error}` : inTrait(objects.error),
    );
  }
  // An object that changed was patched, or hidden by another one of its name: then both are wanted.
  const isChanged = drafts.auxiliaries.some(
    ({ resource, object }) => !jsonEquals(objects.value.outputs[resource], object),
  );
  const alone = isChanged ? await renderObjects(parts, source, data) : undefined;
  const own = alone?.ok === true ? alone.value.outputs : {};
  const merged = mergedDrafts(drafts, objects.value, { trait: trait.type, definition: definition.value }, own);
  const broken = merged.auxiliaries.find(({ object }) => objectFault(object) !== undefined);
  return broken === undefined
    ? ok(merged)
    : err(inTrait(`outputs.${broken.resource}: ${objectFault(broken.object) ?? ""}`));
}

/** A patch is a template that has nothing else. */
async function mergePatch(
  parts: RenderParts,
  { workload, traits }: NonNullable<RenderOptions["patch"]>,
  drafts: Drafts,
): Promise<Result<Drafts, string>> {
  const text = [
    ...(workload === undefined ? [] : [`patch: ${JSON.stringify(workload)}`]),
    ...(traits === undefined ? [] : [`patchOutputs: ${JSON.stringify(traits)}`]),
  ].join("\n");
  if (text === "") return ok(drafts);
  const objects = await renderObjects(parts, { text, file: "patch" }, { context: {}, base: baseOf(drafts) });
  return objects.ok ? ok(mergedDrafts(drafts, objects.value, { trait: "patch" })) : err(`patch: ${objects.error}`);
}

const baseOf = ({ workload, auxiliaries }: Drafts) => ({
  output: workload,
  outputs: Object.fromEntries(auxiliaries.map(({ resource, object }) => [resource, object])),
});

/** Objects keep their place; new ones are the trait's. Of several with one name the last one is patched. */
function mergedDrafts(
  { workload, auxiliaries }: Drafts,
  { output, outputs }: CueObjects,
  added: { readonly trait: string; readonly definition?: Definition },
  own: Readonly<Record<string, JsonObject>> = {},
): Drafts {
  const last = new Map(auxiliaries.map((draft) => [draft.resource, draft]));
  const kept = auxiliaries.map((draft) => {
    const isPatched = last.get(draft.resource) === draft && !Object.hasOwn(own, draft.resource);
    return isPatched ? { ...draft, object: outputs[draft.resource] ?? draft.object } : draft;
  });
  const fresh = Object.entries(outputs).filter(([name]) => !last.has(name) || Object.hasOwn(own, name));
  const drafts = fresh.map(([resource, object]) => ({ ...added, resource, object }));
  return { workload: output ?? workload, auxiliaries: [...kept, ...drafts] };
}

export type Source = Pick<CueTemplate, "text" | "file" | "packages">;

/** A definition for CUE, with its name in problems. */
export const sourceOf = ({ template, imports }: Definition, file: string): Source => ({
  text: template,
  file,
  ...(imports === undefined ? {} : { packages: imports.sources }),
});

/** Objects of a template, or its own errors, or its problems. */
export async function renderObjects(
  { cue, signal }: Pick<RenderParts, "cue" | "signal">,
  source: Source,
  data: { readonly parameter?: JsonObject; readonly context: JsonObject; readonly base?: CueObjects },
): Promise<Result<CueObjects, string>> {
  const rendering = await cue.render({ ...source, ...data }, signal);
  if (!rendering.ok) return err(failureText(rendering.error));
  return rendering.value.errs.length > 0 ? err(rendering.value.errs.join("; ")) : ok(rendering.value);
}

async function complete(
  { app, revisionHash, isNamespaced }: RenderParts,
  component: Component,
  { workload, auxiliaries }: Drafts,
  namespace: string,
): Promise<RenderedComponent> {
  const placing = async (object: JsonObject) => ({
    identity: app.identity,
    revisionHash,
    namespace: await namespaceFor(object, namespace, isNamespaced),
  });
  const object = nameWorkload(workload, component, component.type, await placing(workload));
  const key = component.replicaKey === undefined ? component.name : `${component.name}-${component.replicaKey}`;
  const keys = new Set([key]);
  const objects: RenderedObject[] = [];
  for (const { trait, resource, definition, object: draft } of auxiliaries) {
    const referring = withWorkloadReference(draft, definition, object);
    objects.push({
      key: distinct(`${key}.${trait}.${resource}`, keys),
      role: "TRAIT",
      component: component.name,
      trait,
      resource,
      ...dispatchOf(definition),
      object: nameAuxiliary(referring, component, { trait, resource }, await placing(referring)),
    });
  }
  return { component, workload: { key, role: "WORKLOAD", component: component.name, object }, auxiliaries: objects };
}

function dispatchOf(definition: Definition | undefined): Pick<RenderedObject, "stage" | "controlPlaneOnly"> {
  const stage = textAt(definition?.spec, "stage");
  return {
    ...(stage === "PreDispatch" || stage === "PostDispatch" ? { stage } : {}),
    ...(definition?.spec["controlPlaneOnly"] === true ? { controlPlaneOnly: true } : {}),
  };
}

/** Traits that act on a workload name it at a path of their definition's choice. */
function withWorkloadReference(
  object: JsonObject,
  definition: Definition | undefined,
  { apiVersion, kind, metadata }: RenderedObject["object"],
): JsonObject {
  const path = parsePath(textAt(definition?.spec, "workloadRefPath") ?? "");
  if (path === undefined) return object;
  return objectAt(setAt(object, path, { apiVersion, kind, name: metadata.name ?? "" })) ?? object;
}

function distinct(key: string, taken: Set<string>): string {
  let free = key;
  for (let number = 2; taken.has(free); number++) free = `${key}.${number}`;
  taken.add(free);
  return free;
}
