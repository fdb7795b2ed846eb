import { isJsonObject } from "#lib/base/index.ts";
import type { Shape } from "./state.ts";

// Both versions are served for every object, so the apiVersion does not say how a document is written.

/** By structure alone; without a template it counts as released. */
export function shapeOfWorkflow(spec: unknown): Shape {
  if (!isJsonObject(spec)) return "A";
  if (Array.isArray(spec["tasks"])) return "C";
  return isJsonObject(spec["templateRef"]) || isJsonObject(spec["hardwareRef"]) ? "B" : "A";
}

/** Undefined without a text or actions. */
export function shapeOfTemplate(spec: unknown): "A" | "B" | undefined {
  if (!isJsonObject(spec)) return undefined;
  if (Array.isArray(spec["actions"])) return "B";
  return typeof spec["data"] === "string" ? "A" : undefined;
}
