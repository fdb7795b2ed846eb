import { hasErrors, isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { compileSchema, type Kind } from "#lib/schema/index.ts";
import type { Manager } from "#kernel/kit/index.ts";
import { apiVersionOf, type KubeObject } from "#kernel/model/index.ts";
import { admitted, isSameSpec } from "./admitted.ts";
import type { Admission, Dialect, DocumentReader } from "./dialect.ts";
import { checkName, checkUnknown } from "./document-checks.ts";
import { collectProblems, type Report } from "./problems.ts";
import { RunAction } from "./run-action.ts";
import { checkRunAction, type Languages } from "./run-action-check.ts";
import { addActionUpkeep } from "./run-action-upkeep.ts";

/** What all dialects share: RunActions. */
export interface Shared {
  readonly kinds: readonly Kind[];
  readonly admission: readonly Admission[];
  readonly documents: DocumentReader;
  addControllers(manager: Manager): void;
}

export const sharedOf = (dialects: readonly Dialect[]): Shared => ({
  kinds: [RunAction],
  admission: [runActionAdmission(dialects)],
  documents: runActionDocuments(dialects),
  addControllers: (manager) => addActionUpkeep(manager, dialects),
});

/** Checks whether a RunAction makes sense. Whether it is possible now, the controller answers in the status. */
const runActionAdmission = (languages: Languages): Admission => ({
  group: RunAction.group,
  kind: RunAction.kind,
  coversSchema: true,
  /** The author. Controllers of other processes may write the answer. */
  ownStatus: ({ by = null, groups = null }) => [by, groups],
  prepareForCreate: ({ status: _dropped, ...object }, writer) =>
    writer === undefined ? object : { ...object, status: { by: writer.user, groups: [...writer.groups] } },
  validate(object, old) {
    const found = collectProblems();
    if (old !== undefined && !isSameSpec(object, old))
      found.error(["spec"], "immutable", "an action cannot be changed; create another one");
    checkRunAction(object, languages, found.error);
    return admitted(found.problems);
  },
});

const schema = compileSchema(RunAction.schema);

const runActionDocuments = (languages: Languages): DocumentReader => {
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
