import { hasErrors, isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { compileSchema } from "#lib/schema/index.ts";
import { apiVersionOf, type KubeObject } from "#kernel/model/index.ts";
import type { DocumentReader } from "./dialect.ts";
import { checkName, checkUnknown } from "./document-checks.ts";
import { collectProblems, type Report } from "./problems.ts";
import { RunAction } from "./run-action.ts";
import { checkRunAction, type Languages } from "./run-action-check.ts";

const schema = compileSchema(RunAction.schema);

export const runActionDocuments = (languages: Languages): DocumentReader => {
  const read: DocumentReader["read"] = ({ value, positionOf }) => {
    const found = collectProblems(positionOf);
    if (isJsonObject(value)) checkDocument(value, languages, found.error);
    // Only valid objects are used.
    return {
      object: hasErrors(found.problems) ? undefined : (value as unknown as KubeObject),
      problems: found.problems,
    };
  };
  return {
    detect: ({ value }) =>
      isJsonObject(value) &&
      value["kind"] === RunAction.kind &&
      typeof value["apiVersion"] === "string" &&
      value["apiVersion"].startsWith(`${RunAction.group}/`),
    read,
    references: () => [],
    lint: (document) => read(document).problems,
    readTogether: (documents) => documents.map(() => []),
    lintTogether: (documents) => documents.map(() => []),
  };
};

/** A wrong version hides other problems, a wrong name does not. */
function checkDocument(document: JsonObject, languages: Languages, report: Report): void {
  const { apiVersion, metadata } = document;
  const wanted = apiVersionOf(RunAction);
  if (apiVersion !== wanted)
    return report(["apiVersion"], "unknown-version", `expected ${wanted}, found ${JSON.stringify(apiVersion)}`);
  if (!isJsonObject(metadata)) return report(["metadata"], "required", "metadata with a name are required");
  checkName(metadata, report);
  checkUnknown(RunAction.schema, schema, document, report);
  checkRunAction(document, languages, report);
}
