import { isJsonObject } from "#lib/base/index.ts";
import type { AnyWorkflow } from "../stored.ts";

/** Whether netboot settings are reverted after the last action. Only released documents ask for it. */
export function hasPostSteps({ spec = {} }: AnyWorkflow): boolean {
  const options = spec["bootOptions"];
  return isJsonObject(options) && (options["toggleAllowNetboot"] === true || isNamed(options["bootMode"]));
}

const isNamed = (mode: unknown): boolean => typeof mode === "string" && mode !== "";
