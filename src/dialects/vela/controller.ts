import type { ControllerParts } from "#kernel/dialect/index.ts";
import type { Manager } from "#kernel/kit/index.ts";
import type { VelaOptions } from "./options.ts";
import { completeSettings } from "./settings.ts";

/** Adds the dialect's controllers to a manager that has not started. */
export function addControllers(_manager: Manager, parts: ControllerParts<VelaOptions>): void {
  completeSettings(parts.options?.settings);
}
