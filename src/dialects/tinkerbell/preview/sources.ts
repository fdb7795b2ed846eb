import type { FieldPath, JsonObject, Position, Problem } from "#lib/base/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import type { SourceDocument } from "#kernel/dialect/index.ts";
import { documents } from "../document.ts";
import type { AnyHardware } from "../hardware.ts";
import type { AnyTemplate } from "../reconcile/inputs.ts";
import type { AnyWorkflow } from "../stored.ts";
import { templateOfText } from "../template-text.ts";

export interface SourceText {
  readonly file: string;
  readonly text: string;
}

export interface Written<T extends KubeObject> {
  readonly object: T;
  readonly positionOf: (path: FieldPath) => Position;
  /** Lines of its file; none for an object of a server. */
  readonly lines: readonly string[];
  /** The file is the template's text. */
  readonly isBare: boolean;
}

export interface Sources {
  readonly templates: readonly Written<AnyTemplate>[];
  readonly hardware: readonly Written<AnyHardware>[];
  readonly workflows: readonly Written<AnyWorkflow>[];
  readonly problems: readonly Problem[];
}

export function readSourceTexts(sources: readonly SourceText[]): Sources {
  const problems: Problem[] = [];
  const objects: Written<SpecObject>[] = [];
  for (const { file, text } of sources) {
    const lines = text.split(/\r?\n/);
    const bare = templateOfText(text, file);
    for (const document of bare === undefined ? documentsIn(text, file, problems) : [bare]) {
      if (!documents.detect(document)) continue;
      const { object, problems: found } = documents.read(document);
      problems.push(...found);
      if (object === undefined) continue;
      // Validated by the schema.
      const checked = object as SpecObject;
      objects.push({ object: checked, positionOf: document.positionOf, lines, isBare: bare !== undefined });
    }
  }
  const ofKind = (kind: string) => objects.filter(({ object }) => object.kind === kind);
  return { templates: ofKind("Template"), hardware: ofKind("Hardware"), workflows: ofKind("Workflow"), problems };
}

type SpecObject = KubeObject & { readonly spec?: JsonObject; readonly status?: JsonObject };

function documentsIn(text: string, file: string, problems: Problem[]): readonly SourceDocument[] {
  const read = readYaml(text, { file });
  problems.push(...(read.ok ? read.value.warnings : read.error));
  return read.ok ? read.value.documents : [];
}

export const fromServer = <T extends KubeObject>(object: T): Written<T> => ({
  object,
  positionOf: () => ({ file: `${object.kind.toLowerCase()}/${object.metadata.name ?? ""}`, line: 1, column: 1 }),
  lines: [],
  isBare: false,
});
