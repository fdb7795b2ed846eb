import { err, type JsonObject, ok, type Problem, type Result } from "#lib/base/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import type { CheckedDocument, SourceDocument } from "#kernel/dialect/index.ts";
import { Hardware, Template, TemplateV2 } from "./kinds.ts";

/** A Workflow per Template for the named or only Hardware. Only for documents without a Workflow. */
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
      // Problems are reported at the Template.
      positionOf: () => source.positionOf([]),
    })),
  );
}

/** In v1alpha1 a reference is a text, in v1alpha2 an object. */
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
