import { hasErrors, isJsonObject, type JsonObject } from "#lib/base/index.ts";
import type { Kind } from "#lib/schema/index.ts";
import type { Manager } from "#kernel/kit/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { admitted, isSameSpec } from "./admitted.ts";
import type { Admission, Dialect, DocumentReader } from "./dialect.ts";
import { checkUnknown } from "./document-checks.ts";
import { documentReader, isOfGroup, kindOfDocument, schemaOf } from "./document-kind.ts";
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
  return documentReader({
    detect: (document) =>
      isJsonObject(document.value) && document.value["kind"] === RunAction.kind && isOfGroup(document, RunAction.group),
    read,
  });
};

function checkDocument(document: JsonObject, languages: Languages, report: Report): void {
  if (kindOfDocument(document, [RunAction], report) === undefined) return;
  checkUnknown(RunAction.schema, schemaOf(RunAction), document, report);
  checkRunAction(document, languages, report);
}
