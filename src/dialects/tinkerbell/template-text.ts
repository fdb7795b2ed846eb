import type { FieldPath, Position } from "#lib/base/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import type { SourceDocument } from "#kernel/dialect/index.ts";
import { Template } from "./kinds.ts";

/** The Template whose text is this file: one with tasks and without the envelope of objects. Need not be YAML. */
export function templateOfText(text: string, file: string): SourceDocument | undefined {
  if (!/^tasks[ \t]*:/m.test(text) || /^(?:apiVersion|kind)[ \t]*:/m.test(text)) return undefined;
  const name = nameFrom(/^name[ \t]*:[ \t]*(\S.*)$/m.exec(text)?.[1] ?? "") || nameFrom(stemOf(file)) || "template";
  return {
    value: { apiVersion: apiVersionOf(Template), kind: Template.kind, metadata: { name }, spec: { data: text } },
    positionOf: (_path: FieldPath): Position => ({ file, line: 1, column: 1 }),
  };
}

const stemOf = (file: string): string => (file.split("/").at(-1) ?? "").replace(/\.[^.]*$/, "");

/** A Kubernetes name; empty if it must be rendered first or has no letter or digit. */
const nameFrom = (written: string): string =>
  written.includes("{{")
    ? ""
    : written
        .replace(/\s+#.*$/, "")
        .toLowerCase()
        .replaceAll(/[^a-z0-9]+/g, "-")
        .slice(0, 200)
        .replaceAll(/^-+|-+$/g, "");
