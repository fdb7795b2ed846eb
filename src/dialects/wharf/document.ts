import {
  type FieldPath,
  hasErrors,
  isJsonObject,
  type JsonObject,
  type Position,
  type Problem,
} from "#lib/base/index.ts";
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
import { Build, group, kinds, Project } from "./kinds.ts";
import { prepare } from "./prepare.ts";
import { checkBuild, checkProject } from "./rules.ts";

const definitionFile = /(?:^|\/)\.wharf-ci\.yml$/;

/** A definition file, read as a Build of it. */
interface DefinitionSource extends SourceDocument {
  readonly definition: string;
}

export const documents: DocumentReader = documentReader({
  detect: (document) => isOfGroup(document, group),
  fromText: (text, file) => (definitionFile.test(file) ? sourceOf(text, file) : undefined),
  read(document) {
    const problems = isDefinition(document) ? definitionProblems(document) : objectProblems(document);
    return { object: hasErrors(problems) ? undefined : (document.value as unknown as KubeObject), problems };
  },
});

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

function checkDocument(document: JsonObject, report: Report): void {
  const kind = kindOfDocument(document, kinds, report);
  if (kind === undefined) return;
  const schema = schemaOf(kind);
  const whole = schema.withDefaults(document);
  checkUnknown(kind.schema, schema, document, report);
  checkSchema(schema, isJsonObject(whole) ? whole : document, report);
  const spec = document["spec"];
  if (!isJsonObject(spec)) return;
  if (kind === Build) checkBuild(spec, report);
  if (kind === Project) checkProject(spec, report);
}
