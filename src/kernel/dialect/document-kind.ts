import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { type CompiledSchema, compileSchema, type Kind } from "#lib/schema/index.ts";
import { didYouMean } from "#lib/text/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import type { DocumentReader } from "./dialect.ts";
import { checkName } from "./document-checks.ts";
import type { Report } from "./problems.ts";

const schemas = new Map<Kind, CompiledSchema>();

/** Compiled once for each kind. */
export function schemaOf(kind: Kind): CompiledSchema {
  const known = schemas.get(kind) ?? compileSchema(kind.schema);
  schemas.set(kind, known);
  return known;
}

/** Whether a document's apiVersion is of one of these groups. */
export const isOfGroup = ({ value }: { readonly value: unknown }, ...groups: readonly string[]): boolean => {
  const apiVersion = isJsonObject(value) ? value["apiVersion"] : undefined;
  return typeof apiVersion === "string" && groups.some((group) => apiVersion.startsWith(`${group}/`));
};

/** Reports a name that is none. A wrong version or kind stops here: all other problems would follow from it. */
export function kindOfDocument(document: JsonObject, kinds: readonly Kind[], report: Report): Kind | undefined {
  const { apiVersion, kind: name, metadata } = document;
  const named = kinds.filter(({ kind }) => kind === name);
  const versions = [...new Set((named.length > 0 ? named : kinds).map(apiVersionOf))];
  if (!versions.some((version) => version === apiVersion)) {
    report(["apiVersion"], "unknown-version", `expected ${orList(versions)}, found ${JSON.stringify(apiVersion)}`);
    return undefined;
  }
  const ofVersion = kinds.filter((kind) => apiVersionOf(kind) === apiVersion);
  const kind = ofVersion.find((known) => known.kind === name);
  if (kind === undefined) {
    const names = ofVersion.map((known) => known.kind);
    const hint = typeof name === "string" ? didYouMean(name, names) : undefined;
    report(["kind"], "unknown-kind", `expected ${orList(names)}, found ${JSON.stringify(name)}`, hint);
    return undefined;
  }
  if (isJsonObject(metadata)) checkName(metadata, report);
  else report(["metadata"], "required", "metadata with a name are required");
  return isJsonObject(metadata) ? kind : undefined;
}

const orList = (words: readonly string[]): string => words.join(", ").replace(/, (?=[^,]+$)/, " or ");

/** A reader of documents that are checked one by one and refer to no others, as far as it says nothing else. */
export function documentReader(
  reader: Pick<DocumentReader, "detect" | "read"> & Partial<DocumentReader>,
): DocumentReader {
  return {
    references: () => [],
    lint: (document) => reader.read(document).problems,
    readTogether: (documents) => documents.map(() => []),
    lintTogether: (documents) => documents.map(() => []),
    ...reader,
  };
}
