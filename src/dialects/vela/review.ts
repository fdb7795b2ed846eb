import { type JsonObject, messageOf, type Millis, objectAt, textAt } from "#lib/base/index.ts";
import {
  admitted,
  type Admitted,
  collectProblems,
  type ProblemCollector,
  type ReviewParts,
} from "#kernel/dialect/index.ts";
import { getOrUndefined } from "#kernel/kit/index.ts";
import type { KubeObject, Stored } from "#kernel/model/index.ts";
import type { Cue } from "#kernel/template/index.ts";
import { checkDefinitions, usedTypes } from "./checks/definitions.ts";
import { placedSteps } from "./checks/placed.ts";
import type { Definitions } from "./definitions/definition.ts";
import { definitionsOf, sourcesOfObjects } from "./definitions/find.ts";
import { splitRevision, typeFacts } from "./definitions/types.ts";
import { packagesFor } from "./definitions/packages.ts";
import { Application, DefinitionRevision, Package } from "./kinds.ts";
import { library, openCue } from "./library.ts";
import type { VelaOptions } from "./options.ts";
import { failureText } from "./render/failure-text.ts";
import { completeSettings, type Settings } from "./settings.ts";

/** For one question; the first one includes reading all packages. */
const budgetMs: Millis = 5000;

/** One for each control plane, because it remembers answers. */
const cues = new WeakMap<ReviewParts["templates"], Cue>();

function cueOf(templates: ReviewParts["templates"]): Cue {
  const cue = cues.get(templates) ?? openCue(templates, budgetMs);
  cues.set(templates, cue);
  return cue;
}

/** Checks types and properties against stored definitions. A run may wait for its definitions, an application not. */
export async function reviewRun(document: JsonObject, parts: ReviewParts): Promise<Admitted> {
  try {
    return await judge(document, parts);
  } catch (thrown) {
    // The controller checks again; a write must not fail because nobody can evaluate CUE now.
    return { causes: [], warnings: [`definitions were not checked: ${messageOf(thrown)}`] };
  }
}

const settingsOf = ({ options }: ReviewParts): Settings =>
  completeSettings((options as VelaOptions | undefined)?.settings);

/** A definition may be stored before it is right: whoever uses it meets the error, so whoever writes it is warned. */
export async function reviewDefinition(document: JsonObject, parts: ReviewParts): Promise<Admitted> {
  const template = textAt(document, "spec", "schematic", "cue", "template") ?? "";
  try {
    if (template === "" || (await isShipped(template))) return { causes: [], warnings: [] };
    const namespace = textAt(document, "metadata", "namespace") ?? "default";
    const { systemDefinitionNamespace } = settingsOf(parts);
    const packages = packagesFor(template, await storedPackages([namespace, systemDefinitionNamespace], parts));
    const vetted = await cueOf(parts.templates).vet(template, undefined, undefined, packages);
    if (vetted.ok) return { causes: [], warnings: [] };
    return { causes: [], warnings: [`spec.schematic.cue.template: ${failureText(vetted.error)}`] };
  } catch (thrown) {
    return { causes: [], warnings: [`the template was not checked: ${messageOf(thrown)}`] };
  }
}

const storedPackages = async (places: readonly string[], { client }: ReviewParts): Promise<readonly Stored[]> =>
  (await Promise.all(places.map((namespace) => client.list(Package, { namespace })))).flatMap(({ items }) => items);

/** Tests have checked those; a server that installs them would load CUE at its start, and ask it about a hundred. */
const isShipped = async (template: string): Promise<boolean> =>
  (await library.definitions()).some((shipped) => shipped.template === template);

async function judge(document: JsonObject, parts: ReviewParts): Promise<Admitted> {
  const { templates } = parts;
  const found = collectProblems();
  const namespace = textAt(document, "metadata", "namespace") ?? "default";
  const { systemDefinitionNamespace: systemNamespace, suspendOnFailure } = settingsOf(parts);
  if (suspendOnFailure) warnOfConditions(document, found);
  await checkDefinitions(
    document,
    {
      definitions: await definitionsFor(document, [...new Set([namespace, systemNamespace])], systemNamespace, parts),
      cue: cueOf(templates),
      systemNamespace,
      namespace,
      isOpen: document["kind"] !== Application.kind,
    },
    found,
  );
  return admitted(found.problems);
}

/** Runs that suspend on failure execute every step. */
function warnOfConditions(document: JsonObject, { warn }: ProblemCollector): void {
  for (const field of ["workflow", "workflowSpec"])
    for (const { step, path } of placedSteps(objectAt(document, "spec", field)?.["steps"], ["spec", field, "steps"]))
      if (step["if"] !== undefined)
        warn([...path, "if"], "ignored", "steps run whatever their condition, because runs suspend on failure here");
}

/** Reads only the definitions that the document names; all of a type when one is missing. */
async function definitionsFor(
  document: JsonObject,
  places: readonly string[],
  systemNamespace: string,
  parts: ReviewParts,
): Promise<Definitions> {
  const { client } = parts;
  const wanted = usedTypes(document).flatMap(({ type, name }) => {
    const { revision } = splitRevision(name);
    const kind = revision === undefined ? typeFacts[type].kind : DefinitionRevision;
    const stored = name.replace("@", "-");
    return places.map((place) => ({ type: kind, namespace: place, name: revision === undefined ? name : stored }));
  });
  const objects: Stored[] = [...(await storedPackages(places, parts))];
  for (const ref of wanted) {
    const object = await getOrUndefined(client as Parameters<typeof getOrUndefined>[0], ref);
    if (object !== undefined) objects.push(object);
  }
  const among = (all: readonly KubeObject[]) =>
    definitionsOf(sourcesOfObjects(all, { shipped: library.definitions, systemNamespace }));
  return {
    find: (type, name, place) => among(objects).find(type, name, place),
    async names(type, place) {
      const lists = await Promise.all(places.map((at) => client.list(typeFacts[type].kind, { namespace: at })));
      return await among(lists.flatMap(({ items }) => items)).names(type, place);
    },
  };
}
