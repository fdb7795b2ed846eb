import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { Kind } from "#lib/schema/index.ts";
import { type Admission, admitted, collectProblems, guardStatus, type Report } from "#kernel/dialect/index.ts";
import type { Writer } from "#kernel/model/index.ts";
import { ownSecretName } from "./builds/inputs-secret.ts";
import { createdByAnnotation } from "./build-annotations.ts";
import { Build, Project, Worker } from "./kinds.ts";
import { checkBuild, checkProject } from "./rules.ts";

type Check = (spec: JsonObject, report: Report, old?: JsonObject, ownSecret?: string) => void;

const specOf = (object: JsonObject | undefined): JsonObject | undefined => {
  const spec = object?.["spec"];
  return isJsonObject(spec) ? spec : undefined;
};

function ownSecretOf({ metadata }: JsonObject): string | undefined {
  const { name, uid } = isJsonObject(metadata) ? metadata : {};
  return typeof name === "string" && typeof uid === "string" ? ownSecretName(name, uid) : undefined;
}

const admissionOf = ({ group, kind }: Kind, check: Check): Admission => ({
  group,
  kind,
  coversSchema: false,
  prepareForCreate: (object, writer) =>
    kind === Build.kind && writer !== undefined ? createdBy(object, writer) : object,
  validate(object, old) {
    const found = collectProblems();
    if (old !== undefined && creatorIn(object) !== creatorIn(old))
      found.error(["metadata", "annotations", createdByAnnotation], "immutable", "set by the server and immutable");
    const [spec, before] = [specOf(object), specOf(old)];
    // The server reports schema errors. Objects that are being deleted are not checked.
    if (spec !== undefined && !isSame(spec, before)) check(spec, found.error, before, ownSecretOf(object));
    return admitted(found.problems);
  },
});

const annotationsIn = ({ metadata }: JsonObject): JsonObject => {
  const { annotations } = isJsonObject(metadata) ? metadata : {};
  return isJsonObject(annotations) ? annotations : {};
};

const creatorIn = (object: JsonObject): JsonValue | undefined => annotationsIn(object)[createdByAnnotation];

/** Adds the authenticated creator, overriding whatever the request said. */
const createdBy = (object: JsonObject, { user }: Writer): JsonObject => ({
  ...object,
  metadata: {
    ...(isJsonObject(object["metadata"]) ? object["metadata"] : {}),
    annotations: { ...annotationsIn(object), [createdByAnnotation]: user },
  },
});

const isSame = (spec: JsonObject, before: JsonObject | undefined): boolean =>
  before !== undefined && JSON.stringify(spec) === JSON.stringify(before);

export const admission: readonly Admission[] = [
  { ...admissionOf(Build, checkBuild), ownStatus: (status) => status },
  admissionOf(Project, checkProject),
  // The status names the address that a token is sent to and the processes that are killed.
  guardStatus(Worker),
];
