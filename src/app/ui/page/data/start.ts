import { isJsonObject, type JsonObject, textAt } from "#lib/base/index.ts";
import type { LintAnswer, LintRequest, RunAgain, StartableObject } from "#app/ui/wire.ts";
import { RequestFailure, requestJson } from "./api.ts";
import { apiVersionOf, collectionPath, type ObjectName, servedKinds } from "./kinds.ts";

/** Problems of a text, or of a new run of a stored object. Nothing is stored. */
export const lint = (request: LintRequest, signal?: AbortSignal): Promise<LintAnswer> =>
  requestJson<LintAnswer>("POST", "/lint", { body: request, ...(signal === undefined ? {} : { signal }) });

/** The document of another run like the one whose names the page's address has, `DIALECT/NAMESPACE/NAME`. */
export const documentAgain = async (run: string, signal: AbortSignal): Promise<string> =>
  (await requestJson<RunAgain>("GET", `/runs/${run}/again`, { signal })).text;

/** Stored objects that can be run; none from a server that does not list them. */
export async function startables(signal: AbortSignal): Promise<readonly StartableObject[]> {
  try {
    return (await requestJson<{ readonly items: readonly StartableObject[] }>("GET", "/startables", { signal })).items;
  } catch (thrown) {
    if (thrown instanceof RequestFailure && thrown.status === 404) return [];
    throw thrown;
  }
}

/** Creates the objects in order; with `isDryRun` the server checks each as far as it can without the others. */
export async function create(objects: readonly JsonObject[], isDryRun: boolean): Promise<readonly ObjectName[]> {
  const kinds = await servedKinds();
  const created: ObjectName[] = [];
  for (const object of objects) {
    const [apiVersion = "", name = ""] = [textAt(object, "apiVersion"), textAt(object, "kind")];
    const kind = kinds.find((one) => one.kind === name && apiVersionOf(one) === apiVersion);
    if (kind === undefined) throw new Error(`the server has no kind ${name} in ${apiVersion}`);
    const namespace = kind.isNamespaced ? (textAt(object, "metadata", "namespace") ?? "default") : undefined;
    const stored = await requestJson<JsonObject>("POST", collectionPath(kind, namespace), {
      body: withNamespace(object, namespace),
      query: { fieldValidation: "Strict", ...(isDryRun ? { dryRun: "All" } : {}) },
    });
    created.push({ kind, namespace, name: textAt(stored, "metadata", "name") ?? "" });
  }
  return created;
}

function withNamespace(object: JsonObject, namespace: string | undefined): JsonObject {
  const metadata = object["metadata"];
  if (namespace === undefined || !isJsonObject(metadata)) return object;
  return { ...object, metadata: { ...metadata, namespace } };
}
