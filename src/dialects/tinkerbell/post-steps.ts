import { isJsonObject } from "#lib/base/index.ts";
import type { AnyWorkflow } from "./stored.ts";

/**
 * Whether something is done after the last action: what was changed on the machine's way of booting is changed back. Only released documents
 * have that; a boot mode never comes so far on a server without power control.
 */
export function hasPostSteps({ spec = {} }: AnyWorkflow): boolean {
  const options = spec["bootOptions"];
  return isJsonObject(options) && (options["toggleAllowNetboot"] === true || isNamed(options["bootMode"]));
}

const isNamed = (mode: unknown): boolean => typeof mode === "string" && mode !== "";
