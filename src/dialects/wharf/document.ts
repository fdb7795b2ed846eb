import {
  type FieldPath,
  hasErrors,
  isJsonObject,
  type JsonObject,
  type Position,
  type Problem,
} from "#lib/base/index.ts";
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
import { Build, group, kinds, Project } from "./kinds.ts";
import { prepare } from "./prepare.ts";
import { checkBuild, checkProject } from "./rules.ts";

const definitionFile = /(?:^|\/)\.wharf-ci\.yml$/;

/** A definition file, read as a Build of it. */
interface DefinitionSource extends SourceDocument {
  readonly definition: string;
}

export const documents: DocumentReader = {
  detect: ({ value }) => {
    const apiVersion = isJsonObject(value) ? value["apiVersion"] : undefined;
    return typeof apiVersion === "string" && apiVersion.startsWith(`${group}/`);
  },
  fromText: (text, file) => (definitionFile.test(file) ? sourceOf(text, file) : undefined),
  read(document) {
    const problems = isDefinition(document) ? definitionProblems(document) : objectProblems(document);
    return { object: hasErrors(problems) ? undefined : (document.value as unknown as KubeObject), problems };
  },
  references: () => [],
  lint: (document) => documents.read(document).problems,
  readTogether: (all) => all.map(() => []),
  lintTogether: (all) => all.map(() => []),
};

const isDefinition = (document: SourceDocument): document is DefinitionSource => "definition" in document;

const sourceOf = (text: string, file: string): DefinitionSource => ({
  value: {
    apiVersion: apiVersionOf(Build),
    kind: Build.kind,
    metadata: { generateName: "build-" },
    spec: { definition: text },
  },
  positionOf: (_path: FieldPath): Position => ({ file, line: 1, column: 1 }),
  definition: text,
});

/** Problems of a definition wherever it lies: variables that are missing here may be set where it runs. */
function definitionProblems({ definition, positionOf }: DefinitionSource): readonly Problem[] {
  const { file = ".wharf-ci.yml" } = positionOf([]);
  const { diagnostics } = prepare({ bytes: new TextEncoder().encode(definition), file });
  return diagnostics.filter(({ code }) => code !== "var-missing").map(({ related: _places, ...problem }) => problem);
}

function objectProblems({ value, positionOf }: SourceDocument): readonly Problem[] {
  const found = collectProblems(positionOf);
  if (isJsonObject(value)) checkDocument(value, found.error);
  else found.error([], "wrong-type", "expected an object");
  return found.problems;
}

const schemas = new Map<Kind, CompiledSchema>();

function schemaOf(kind: Kind): CompiledSchema {
  const known = schemas.get(kind) ?? compileSchema(kind.schema);
  schemas.set(kind, known);
  return known;
}

/** A wrong version or kind stops here: every other problem would follow from it. */
function checkDocument(document: JsonObject, report: Report): void {
  const { apiVersion, metadata } = document;
  const wanted = apiVersionOf(Build);
  if (apiVersion !== wanted)
    return report(["apiVersion"], "unknown-version", `expected ${wanted}, found ${JSON.stringify(apiVersion)}`);
  const kind = kinds.find((known) => known.kind === document["kind"]);
  if (kind === undefined) {
    const names = kinds.map((known) => known.kind).join(", ");
    return report(["kind"], "unknown-kind", `expected one of ${names}, found ${JSON.stringify(document["kind"])}`);
  }
  if (!isJsonObject(metadata)) return report(["metadata"], "required", "metadata with a name are required");
  checkName(metadata, report);
  const schema = schemaOf(kind);
  const whole = schema.withDefaults(document);
  checkUnknown(kind.schema, schema, document, report);
  checkSchema(schema, isJsonObject(whole) ? whole : document, report);
  const spec = document["spec"];
  if (!isJsonObject(spec)) return;
  if (kind === Build) checkBuild(spec, report);
  if (kind === Project) checkProject(spec, report);
}
