import type { FieldPath, Position } from "#lib/base/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import type { SourceDocument } from "#kernel/dialect/index.ts";
import { Template } from "./kinds.ts";

/**
 * The Template that a file is the text of: one with tasks, and without the envelope that every object has. It is taken as it is written and
 * not read as YAML, because it need not be any before it is rendered. Its name is the one that the text tells, or else the file's.
 */
export function templateOfText(text: string, file: string): SourceDocument | undefined {
  if (!/^tasks[ \t]*:/m.test(text) || /^(?:apiVersion|kind)[ \t]*:/m.test(text)) return undefined;
  const name = nameFrom(/^name[ \t]*:[ \t]*(\S.*)$/m.exec(text)?.[1] ?? "") || nameFrom(stemOf(file)) || "template";
  return {
    value: { apiVersion: apiVersionOf(Template), kind: Template.kind, metadata: { name }, spec: { data: text } },
    positionOf: (_path: FieldPath): Position => ({ file, line: 1, column: 1 }),
  };
}

/** Without folders and ending. */
const stemOf = (file: string): string => (file.split("/").at(-1) ?? "").replace(/\.[^.]*$/, "");

/** As a name of Kubernetes; empty where what is written is still to be rendered, or has no letter or digit. */
const nameFrom = (written: string): string =>
  written.includes("{{")
    ? ""
    : written
        .replace(/\s+#.*$/, "")
        .toLowerCase()
        .replaceAll(/[^a-z0-9]+/g, "-")
        .slice(0, 200)
        .replaceAll(/^-+|-+$/g, "");
