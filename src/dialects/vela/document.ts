import { defined, hasErrors, isJsonObject, type JsonObject, textAt } from "#lib/base/index.ts";
import { apiVersionOf, type KubeObject } from "#kernel/model/index.ts";
import {
  checkSchema,
  checkUnknown,
  collectProblems,
  type DocumentReader,
  documentReader,
  isOfGroup,
  kindOfDocument,
  type ProblemCollector,
  type References,
  schemaOf,
  type SourceDocument,
} from "#kernel/dialect/index.ts";
import { kindRules } from "./checks/kind-rules.ts";
import { Application, group, kinds, Package, Rollout, Workflow, WorkflowRun } from "./kinds.ts";

const definitionFile = /\.cue$/i;

/** A definition as its author writes it, which only CUE can read. */
const cueKind = "CueFile";

const cueSource = (text: string, file: string): SourceDocument => ({
  value: { apiVersion: `${group}/file`, kind: cueKind, metadata: { name: file }, text },
  positionOf: () => ({ file, line: 1, column: 1 }),
});

/** Reads documents of these groups. Returns problems and never throws. */
export const documents: DocumentReader = documentReader({
  detect: (document) => isOfGroup(document, group, Rollout.group, Package.group),
  fromText: (text, file) => (definitionFile.test(file) ? cueSource(text, file) : undefined),
  read({ value, positionOf }) {
    const found = collectProblems(positionOf);
    if (!isJsonObject(value)) {
      found.error([], "wrong-type", "expected an object");
      return { object: undefined, problems: found.problems };
    }
    const object = readObject(value, found);
    return { object: hasErrors(found.problems) ? undefined : object, problems: found.problems };
  },
  references: ({ value }) => (isJsonObject(value) ? referencesOf(value) : []),
});

function readObject(document: JsonObject, found: ProblemCollector): KubeObject | undefined {
  if (document["kind"] === cueKind && typeof document["text"] === "string") {
    const hint = "use slipway def apply FILE, or slipway def vet FILE";
    found.error([], "cue-file", "a definition in CUE is not run", hint);
    return undefined;
  }
  const kind = kindOfDocument(document, kinds, found.error);
  if (kind === undefined) return undefined;
  const schema = schemaOf(kind);
  const { complete, check } = kindRules(kind);
  const whole = complete(document);
  checkUnknown(kind.schema, schema, document, found.error);
  const completed = schema.withDefaults(whole);
  checkSchema(schema, isJsonObject(completed) ? completed : whole, found.error);
  check(whole, found);
  // Valid if nothing was reported.
  return whole as unknown as KubeObject;
}

/** The Workflow that an Application or a run names. */
function referencesOf(document: JsonObject): References {
  const isRun = document["kind"] === WorkflowRun.kind;
  if (!isRun && document["kind"] !== Application.kind) return [];
  const path = isRun ? ["spec", "workflowRef"] : ["spec", "workflow", "ref"];
  const name = textAt(document, ...path);
  const namespace = textAt(document, "metadata", "namespace");
  if (name === undefined) return [];
  const ref = { apiVersion: apiVersionOf(Workflow), kind: Workflow.kind, name, ...defined({ namespace }) };
  return [{ ref, path }];
}
