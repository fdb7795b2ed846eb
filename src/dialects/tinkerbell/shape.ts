import { isJsonObject } from "#lib/base/index.ts";
import type { Shape } from "./state.ts";

// Both versions are served for every object and nothing is converted, so that the version somebody asks by says nothing of how a
// document is written.

/** The shape of a Workflow, told by its structure alone; one that names no template at all is as released. */
export function shapeOfWorkflow(spec: unknown): Shape {
  if (!isJsonObject(spec)) return "A";
  if (Array.isArray(spec["tasks"])) return "C";
  return isJsonObject(spec["templateRef"]) || isJsonObject(spec["hardwareRef"]) ? "B" : "A";
}

/** The shape of a Template; undefined for one that has neither a text nor actions. */
export function shapeOfTemplate(spec: unknown): "A" | "B" | undefined {
  if (!isJsonObject(spec)) return undefined;
  if (Array.isArray(spec["actions"])) return "B";
  return typeof spec["data"] === "string" ? "A" : undefined;
}
