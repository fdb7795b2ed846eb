import { hasErrors, isJsonObject, type JsonObject, objectAt, textAt } from "#lib/base/index.ts";
import { apiVersionOf, type KubeObject } from "#kernel/model/index.ts";
import {
  checkSchema,
  checkUnknown,
  collectProblems,
  type DocumentReader,
  documentReader,
  isOfGroup,
  kindOfDocument,
  type Report,
  schemaOf,
  type SourceDocument,
} from "#kernel/dialect/index.ts";
import { readContent } from "./bundles/content.ts";
import { ContentBundle, defaultNamespace, group, kinds } from "./kinds.ts";
import { withoutNulls } from "./model/shape.ts";
import { nameOf } from "./store/names.ts";

/** Reads objects of this group, and content bundles as the original's clients write them. Never throws. */
export const documents: DocumentReader = documentReader({
  detect: (document) => isOfGroup(document, group) || (isJsonObject(document.value) && isBundle(document.value)),
  // A machine names keys of `/api/v3`, which are no names of objects: there are no references.
  read: readDocument,
});

const isBundle = (value: JsonObject): boolean =>
  value["apiVersion"] === undefined && isJsonObject(value["meta"]) && isJsonObject(value["sections"]);

function readDocument({ value, positionOf }: SourceDocument) {
  const found = collectProblems(positionOf);
  let object: JsonObject | undefined;
  if (!isJsonObject(value)) found.error([], "wrong-type", "expected an object");
  else if (isBundle(value)) object = bundleObject(value, found.error);
  else object = checkedObject(value, found.error);
  return {
    // Validated: it is an object of this group.
    object: hasErrors(found.problems) ? undefined : (object as unknown as KubeObject | undefined),
    problems: found.problems,
  };
}

/** The object that makes a server load the bundle. */
function bundleObject(content: JsonObject, report: Report): JsonObject {
  const read = readContent(content);
  if (!read.ok) for (const message of read.error.Messages) report(["sections"], "invalid-value", message);
  const name = textAt(content, "meta", "Name") ?? "";
  return {
    apiVersion: apiVersionOf(ContentBundle),
    kind: ContentBundle.kind,
    metadata: { name: nameOf(name), namespace: defaultNamespace },
    spec: { meta: content["meta"] ?? {}, sections: content["sections"] ?? {} },
  };
}

function checkedObject(document: JsonObject, report: Report): JsonObject | undefined {
  const kind = kindOfDocument(document, kinds, report);
  if (kind === undefined) return undefined;
  const metadata = objectAt(document, "metadata");
  const spec = isJsonObject(document["spec"]) ? { spec: withoutNulls(document["spec"]) } : {};
  const placed = { ...document, ...spec, metadata: { namespace: defaultNamespace, ...metadata } };
  if (!checkSchema(schemaOf(kind), placed, report)) return undefined;
  checkUnknown(kind.schema, schemaOf(kind), placed, report);
  return placed;
}
