import { hasErrors, type Problem } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { KubeObject, ResourceType } from "#kernel/model/index.ts";
import { type AnyHardware } from "../hardware.ts";
import { type AnyTemplate } from "../reconcile/inputs.ts";
import { Hardware, Template, Workflow } from "../kinds.ts";
import type { Renderer } from "../reconcile/prepare.ts";
import { referencesOf } from "../references.ts";
import type { AnyWorkflow } from "../stored.ts";
import { type Preview, previewAll, problemsTogether } from "./preview.ts";
import { fromServer, readSourceTexts, type Sources, type SourceText, type Written } from "./sources.ts";
import { subjectsOf } from "./subjects.ts";

export interface PreviewRequest {
  readonly sources: readonly SourceText[];
  /** Objects of the server. A workflow includes its template and machine. */
  readonly stored: { readonly templates: readonly string[]; readonly workflows: readonly string[] };
  readonly values: Readonly<Record<string, string>>;
  /** If absent, those that the documents name, from the files or else the server. */
  readonly machines?: "all" | { readonly named: string } | { readonly sources: readonly SourceText[] };
}

export interface PreviewPlace {
  readonly renderer: Renderer;
  readonly server: () => Promise<{ readonly client: ApiClient; readonly namespace: string }>;
  readonly signal: AbortSignal;
}

export interface PreviewAnswer {
  readonly previews: readonly Preview[];
  readonly problems: readonly Problem[];
}

/** Renders templates without storing anything. Rejects if the server or the installation is broken. */
export async function previewTemplates(request: PreviewRequest, place: PreviewPlace): Promise<PreviewAnswer> {
  const files = readSourceTexts(request.sources);
  const stored = await storedSources(request.stored, place);
  const machines = await machinesOf(request.machines, files, place);
  const found = [...files.problems, ...stored.problems, ...machines.problems];
  const sources = {
    templates: [...files.templates, ...stored.templates],
    hardware: [...files.hardware, ...stored.hardware],
    workflows: [...files.workflows, ...stored.workflows],
  };
  if (sources.templates.length === 0 && !hasErrors(found))
    found.push(missing("there is no template to render: expected a Template or the text of one"));
  // Without its machine a template cannot be rendered.
  if (machines.problems.length > 0) return { previews: [], problems: found };
  const choice = { values: request.values, ...(machines.list === undefined ? {} : { machines: machines.list }) };
  const { subjects, problems } = subjectsOf(sources, choice);
  const previews = await previewAll(subjects, place);
  return { previews, problems: [...found, ...problems, ...problemsTogether(previews)] };
}

const missing = (message: string): Problem => ({ severity: "error", code: "missing-reference", path: "", message });

/** A missing object is a problem if it was named on the command line; references are checked where they are written. */
async function storedSources(names: PreviewRequest["stored"], place: PreviewPlace): Promise<Sources> {
  const problems: Problem[] = [];
  const read = async <T extends KubeObject>(type: ResourceType, asked: readonly string[], more: readonly string[]) => {
    const found: Written<T>[] = [];
    for (const name of new Set([...asked, ...more].filter((one) => one !== ""))) {
      const { objects, namespace } = await storedOf<T>(type, name, place);
      found.push(...objects.map((object) => fromServer(object)));
      if (objects.length === 0 && asked.includes(name))
        problems.push(missing(`${type.kind.toLowerCase()} not found: "${name}" in namespace ${namespace}`));
    }
    return found;
  };
  const workflows = await read<AnyWorkflow>(Workflow, names.workflows, []);
  const references = workflows.map(({ object }) => referencesOf(object));
  const templateNames = references.map(({ template }) => template);
  const templates = await read<AnyTemplate>(Template, names.templates, templateNames);
  const hardwareNames = references.map((reference) => reference.hardware);
  const hardware = await read<AnyHardware>(Hardware, [], hardwareNames);
  return { templates, hardware, workflows, problems };
}

/** The requested machines. A problem means that they are unknown, and nothing is rendered. */
async function machinesOf(
  wanted: PreviewRequest["machines"],
  { hardware }: Sources,
  place: PreviewPlace,
): Promise<{ readonly list?: readonly AnyHardware[]; readonly problems: readonly Problem[] }> {
  if (wanted === undefined) return { problems: [] };
  if (wanted !== "all" && "sources" in wanted) {
    const { problems, ...read } = readSourceTexts(wanted.sources);
    const list = read.hardware.map(({ object }) => object);
    const names = wanted.sources.map(({ file }) => file).join(", ");
    return { list, problems: list.length > 0 ? problems : [...problems, missing(`there is no hardware in ${names}`)] };
  }
  const name = wanted === "all" ? undefined : wanted.named;
  const written = hardware.map(({ object }) => object);
  const own = name === undefined ? written : written.filter(({ metadata }) => metadata.name === name);
  if (own.length > 0) return { list: own, problems: [] };
  if (written.length > 0) {
    const names = written.map(({ metadata }) => metadata.name ?? "").join(", ");
    return { problems: [missing(`hardware not found: "${name ?? ""}"; the files hold ${names}`)] };
  }
  const { objects, namespace } = await storedOf<AnyHardware>(Hardware, name, place);
  const what = name === undefined ? "there is no hardware" : `hardware not found: "${name}"`;
  return { list: objects, problems: objects.length > 0 ? [] : [missing(`${what} in namespace ${namespace}`)] };
}

async function storedOf<T extends KubeObject>(type: ResourceType, name: string | undefined, place: PreviewPlace) {
  const { client, namespace } = await place.server();
  const only = name === undefined ? {} : { fieldSelector: `metadata.name=${name}` };
  const { items } = await client.list<T>(type, { namespace, ...only, signal: place.signal });
  return { objects: items, namespace };
}
