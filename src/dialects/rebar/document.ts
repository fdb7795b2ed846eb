import { hasErrors, isJsonObject, type JsonObject, textAt } from "#lib/base/index.ts";
import { type CompiledSchema, compileSchema, type Kind } from "#lib/schema/index.ts";
import { apiVersionOf, type KubeObject } from "#kernel/model/index.ts";
import {
  checkName,
  checkSchema,
  checkUnknown,
  collectProblems,
  type DocumentReader,
  type Report,
  type SourceDocument,
} from "#kernel/dialect/index.ts";
import { didYouMean } from "#lib/text/index.ts";
import { readContent } from "./bundles/content.ts";
import { ContentBundle, defaultNamespace, group, kinds } from "./kinds.ts";
import { withoutNulls } from "./model/shape.ts";
import { nameOf } from "./store/names.ts";

/** Reads objects of this group, and content bundles as the original's clients write them. Never throws. */
export const documents: DocumentReader = {
  detect: ({ value }) =>
    isJsonObject(value) && (isBundle(value) || (textAt(value, "apiVersion") ?? "").startsWith(`${group}/`)),
  read: readDocument,
  // A machine names keys of `/api/v3`, which are no names of objects.
  references: () => [],
  lint: (document) => readDocument(document).problems,
  readTogether: (all) => all.map(() => []),
  lintTogether: (all) => all.map(() => []),
};

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

const schemas = new Map<Kind, CompiledSchema>();

function schemaOf(kind: Kind): CompiledSchema {
  const known = schemas.get(kind) ?? compileSchema(kind.schema);
  schemas.set(kind, known);
  return known;
}

/** With a wrong version or kind all other complaints would follow from that. */
function checkedObject(document: JsonObject, report: Report): JsonObject | undefined {
  const { apiVersion, kind: name, metadata } = document;
  const version = `${group}/v1`;
  if (apiVersion !== version) {
    report(["apiVersion"], "unknown-version", `expected ${version}, found ${JSON.stringify(apiVersion)}`);
    return undefined;
  }
  const kind = kinds.find((known) => known.kind === name);
  if (kind === undefined) {
    const names = kinds.map((known) => known.kind);
    const message = `expected one of ${names.join(", ")}, found ${JSON.stringify(name)}`;
    report(["kind"], "unknown-kind", message, typeof name === "string" ? didYouMean(name, names) : undefined);
    return undefined;
  }
  if (!isJsonObject(metadata)) {
    report(["metadata"], "required", "metadata with a name are required");
    return undefined;
  }
  checkName(metadata, report);
  const spec = isJsonObject(document["spec"]) ? { spec: withoutNulls(document["spec"]) } : {};
  const placed = { ...document, ...spec, metadata: { namespace: defaultNamespace, ...metadata } };
  if (!checkSchema(schemaOf(kind), placed, report)) return undefined;
  checkUnknown(kind.schema, schemaOf(kind), placed, report);
  return placed;
}
