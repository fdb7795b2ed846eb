import { type JsonObject, messageOf, type Millis, textAt } from "#lib/base/index.ts";
import { admitted, type Admitted, collectProblems, type ReviewParts } from "#kernel/dialect/index.ts";
import { getOrUndefined } from "#kernel/kit/index.ts";
import type { KubeObject, Stored } from "#kernel/model/index.ts";
import type { Cue } from "#kernel/template/index.ts";
import { checkDefinitions, usedTypes } from "./checks/definitions.ts";
import type { Definitions } from "./definitions/definition.ts";
import { definitionsOf, sourcesOfObjects } from "./definitions/find.ts";
import { splitRevision, typeFacts } from "./definitions/types.ts";
import { Application, DefinitionRevision } from "./kinds.ts";
import { library, openCue } from "./library.ts";
import { defaultSettings } from "./settings.ts";

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

async function judge(document: JsonObject, { client, templates }: ReviewParts): Promise<Admitted> {
  const found = collectProblems();
  const namespace = textAt(document, "metadata", "namespace") ?? "default";
  const { systemDefinitionNamespace: systemNamespace } = defaultSettings;
  await checkDefinitions(
    document,
    {
      definitions: await definitionsFor(document, namespace, client),
      cue: cueOf(templates),
      systemNamespace,
      namespace,
      isOpen: document["kind"] !== Application.kind,
    },
    found,
  );
  return admitted(found.problems);
}

/** Reads only the definitions that the document names; all of a type when one is missing. */
async function definitionsFor(
  document: JsonObject,
  namespace: string,
  client: ReviewParts["client"],
): Promise<Definitions> {
  const { systemDefinitionNamespace: systemNamespace } = defaultSettings;
  const places = [...new Set([namespace, systemNamespace])];
  const wanted = usedTypes(document).flatMap(({ type, name }) => {
    const { revision } = splitRevision(name);
    const kind = revision === undefined ? typeFacts[type].kind : DefinitionRevision;
    const stored = name.replace("@", "-");
    return places.map((place) => ({ type: kind, namespace: place, name: revision === undefined ? name : stored }));
  });
  const objects: Stored[] = [];
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
