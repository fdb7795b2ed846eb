import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import type { CheckedDocument, PreviewParts, RunPreviews } from "#kernel/dialect/index.ts";
import type { AnyHardware } from "../hardware.ts";
import type { AnyTemplate } from "../reconcile/inputs.ts";
import { Hardware, Template, Workflow } from "../kinds.ts";
import type { AnyWorkflow } from "../stored.ts";
import { previewAll, problemsTogether } from "./preview.ts";
import type { Written } from "./sources.ts";
import { subjectsOf } from "./subjects.ts";
import { previewText } from "./text.ts";

/** Lines of the file are unknown, so places within texts are reported relative to the text. */
const noLines = [""];

/** Renders the Workflows among these documents, with their template and hardware, without storing anything. */
export async function previewRuns(
  documents: readonly CheckedDocument[],
  { templates: renderer, signal }: PreviewParts,
): Promise<RunPreviews> {
  const sources = {
    templates: writtenOf<AnyTemplate>(documents, Template.kind),
    hardware: writtenOf<AnyHardware>(documents, Hardware.kind),
    workflows: writtenOf<AnyWorkflow>(documents, Workflow.kind),
  };
  const { subjects, problems } = subjectsOf(sources, { values: {} });
  const runs = subjects.filter(({ written }) => written !== undefined);
  const previews = await previewAll(runs, { renderer, signal });
  return {
    plans: previews
      .filter(({ tasks }) => tasks !== undefined)
      .map((preview) => ({
        text: previewText(preview),
        data: JSON.parse(JSON.stringify(preview)) as JsonValue,
      })),
    problems: [...problems, ...problemsTogether(previews)],
  };
}

/** Validated by the document reader. */
function writtenOf<T extends CheckedDocument["object"] & { readonly spec?: JsonObject }>(
  documents: readonly CheckedDocument[],
  kind: string,
): readonly Written<T>[] {
  return documents
    .filter(({ object }) => object.kind === kind)
    .map(({ object, source }) => ({
      object: object as T,
      positionOf: source.positionOf,
      lines: noLines,
      isBare: false,
    }));
}
