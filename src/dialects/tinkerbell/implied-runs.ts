import { err, type JsonObject, ok, type Problem, type Result } from "#lib/base/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import type { CheckedDocument, SourceDocument } from "#kernel/dialect/index.ts";
import { Hardware, Template, TemplateV2 } from "./kinds.ts";

/**
 * A Workflow for each Template, of its version and under its name, on the one Hardware among the documents or the one that is named. For
 * documents without a Workflow: whoever has written one has said what is to run.
 */
export function impliedRuns(
  documents: readonly CheckedDocument[],
  { hardware: named }: { readonly hardware?: string },
): Result<readonly SourceDocument[], readonly Problem[]> {
  const templates = documents.filter(({ object }) => object.kind === Template.kind);
  const found = documents.filter(({ object }) => object.kind === Hardware.kind);
  const names = [...new Set(found.flatMap(({ object }) => object.metadata.name ?? []))];
  if (templates.length > 0 && named === undefined && names.length > 1) return err([several(names, found[1])]);
  const hardware = named ?? names[0] ?? "";
  return ok(
    templates.map(({ source, object }) => ({
      value: workflowOf(object, hardware),
      // Whatever is wrong with it, the Template is where it comes from.
      positionOf: () => source.positionOf([]),
    })),
  );
}

/** Released documents name an object by a text, the others by an object with the name in it. */
function workflowOf({ apiVersion, metadata }: CheckedDocument["object"], hardware: string): JsonObject {
  const { name = "", namespace } = metadata;
  const place = namespace === undefined ? { name } : { name, namespace };
  const isProposed = apiVersion === apiVersionOf(TemplateV2);
  const refer = (to: string) => (isProposed ? { name: to } : to);
  const machine = hardware === "" ? {} : { hardwareRef: refer(hardware) };
  return { apiVersion, kind: "Workflow", metadata: place, spec: { templateRef: refer(name), ...machine } };
}

const several = (names: readonly string[], second: CheckedDocument | undefined): Problem => ({
  severity: "error",
  code: "several-hardware",
  path: "",
  message: `there are several Hardware (${names.slice(0, 5).join(", ")}): name one with --hardware, or write a Workflow`,
  ...(second === undefined ? {} : { position: second.source.positionOf([]) }),
});
