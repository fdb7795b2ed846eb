import { isJsonObject } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";

/** Where the embedded server notes who wrote a workflow. On a cluster nobody does, and everybody's rights are the controller's. */
const actsForAnnotation = "slipway.dev/acts-for";

/** The name of whoever wrote a workflow; empty for somebody who may do everything. What cannot be read is a name of its own. */
export function writerNameOf({ metadata }: KubeObject): string {
  const note = metadata.annotations?.[actsForAnnotation];
  if (note === undefined) return "";
  try {
    const read: unknown = JSON.parse(note);
    if (isJsonObject(read) && typeof read["user"] === "string") return read["user"];
  } catch {
    // Damaged: whoever it was shares results with nobody else.
  }
  return note;
}
