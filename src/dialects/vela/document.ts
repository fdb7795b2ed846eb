import { type FieldPath, hasErrors, isJsonObject, type JsonObject, textAt } from "#lib/base/index.ts";
import { type CompiledSchema, compileSchema, type Kind } from "#lib/schema/index.ts";
import { apiVersionOf, type KubeObject } from "#kernel/model/index.ts";
import {
  checkName,
  checkSchema,
  checkUnknown,
  collectProblems,
  type DocumentReader,
  type ProblemCollector,
  type References,
  type SourceDocument,
} from "#kernel/dialect/index.ts";
import { didYouMean } from "#lib/text/index.ts";
import {
  checkApplication,
  checkPackage,
  checkPolicyObject,
  checkWorkflow,
  checkWorkflowRun,
} from "./checks/application.ts";
import { Application, group, kinds, Package, Policy, Rollout, Workflow, WorkflowRun } from "./kinds.ts";
import { nameApplication, nameWorkflow, nameWorkflowRun } from "./names.ts";

const groups = [group, Rollout.group, Package.group];

interface Rules {
  readonly complete: (object: JsonObject) => JsonObject;
  readonly check: (object: JsonObject, found: ProblemCollector) => void;
}

const same = (object: JsonObject): JsonObject => object;
const rules: ReadonlyMap<Kind, Rules> = new Map<Kind, Rules>([
  [Application, { complete: nameApplication, check: checkApplication }],
  [WorkflowRun, { complete: nameWorkflowRun, check: checkWorkflowRun }],
  [Workflow, { complete: nameWorkflow, check: checkWorkflow }],
  [Policy, { complete: same, check: checkPolicyObject }],
  [Package, { complete: same, check: checkPackage }],
]);

const schemas = new Map<Kind, CompiledSchema>();

function schemaOf(kind: Kind): CompiledSchema {
  const known = schemas.get(kind) ?? compileSchema(kind.schema);
  schemas.set(kind, known);
  return known;
}

const definitionFile = /\.cue$/i;

/** A definition as its author writes it, which only CUE can read. */
const cueKind = "CueFile";

const cueSource = (text: string, file: string): SourceDocument => ({
  value: { apiVersion: `${group}/file`, kind: cueKind, metadata: { name: file }, text },
  positionOf: () => ({ file, line: 1, column: 1 }),
});

/** Reads documents of these groups. Returns problems and never throws. */
export const documents: DocumentReader = {
  detect({ value }) {
    const apiVersion = isJsonObject(value) ? textAt(value, "apiVersion") : undefined;
    return groups.some((name) => apiVersion?.startsWith(`${name}/`) === true);
  },
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
  lint: (document) => documents.read(document).problems,
  readTogether: (all) => all.map(() => []),
  lintTogether: (all) => all.map(() => []),
};

function readObject(document: JsonObject, found: ProblemCollector): KubeObject | undefined {
  const kind = kindOf(document, found);
  if (kind === undefined) return undefined;
  const { metadata } = document;
  if (!isJsonObject(metadata)) {
    found.error(["metadata"], "required", "metadata with a name are required");
    return undefined;
  }
  checkName(metadata, found.error);
  const schema = schemaOf(kind);
  const { complete = same, check } = rules.get(kind) ?? {};
  const whole = complete(document);
  checkUnknown(kind.schema, schema, document, found.error);
  const completed = schema.withDefaults(whole);
  checkSchema(schema, isJsonObject(completed) ? completed : whole, found.error);
  check?.(whole, found);
  // Valid if nothing was reported.
  return whole as unknown as KubeObject;
}

/** With a wrong version or kind all other complaints would follow from that. */
function kindOf(document: JsonObject, { error }: ProblemCollector): Kind | undefined {
  const { apiVersion, kind: name } = document;
  if (name === cueKind && typeof document["text"] === "string") {
    error([], "cue-file", "a definition in CUE is not run", "use slipway def apply FILE, or slipway def vet FILE");
    return undefined;
  }
  const named = kinds.filter(({ kind }) => kind === name);
  const exact = named.find((kind) => apiVersionOf(kind) === apiVersion);
  if (exact !== undefined) return exact;
  const place: FieldPath = named.length > 0 ? ["apiVersion"] : ["kind"];
  const versions = named.map(apiVersionOf);
  if (versions.length > 0)
    error(place, "unknown-version", `expected ${versions.join(" or ")}, found ${JSON.stringify(apiVersion)}`);
  else {
    const guess = didYouMean(
      typeof name === "string" ? name : "",
      kinds.map(({ kind }) => kind),
    );
    error(place, "unknown-kind", `${JSON.stringify(name ?? null)} is not a kind of this group`, guess);
  }
  return undefined;
}

/** The Workflow that an Application or a run names. */
function referencesOf(document: JsonObject): References {
  const isRun = document["kind"] === WorkflowRun.kind;
  if (!isRun && document["kind"] !== Application.kind) return [];
  const path = isRun ? ["spec", "workflowRef"] : ["spec", "workflow", "ref"];
  const name = textAt(document, ...path);
  const namespace = textAt(document, "metadata", "namespace");
  if (name === undefined) return [];
  const ref = { apiVersion: apiVersionOf(Workflow), kind: Workflow.kind, name };
  return [{ ref: namespace === undefined ? ref : { ...ref, namespace }, path }];
}
